#include "ops/moments.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "io/bytes.h"

namespace ckpt {
namespace {

template <class T>
double load(const std::byte* numbers, std::size_t index) {
  return static_cast<double>(load_le<T>(numbers + index * sizeof(T)));
}

template <class T>
void count_not_finite(Moments& moments, const std::byte* numbers, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const double number = load<T>(numbers, i);
    if (std::isnan(number)) ++moments.nan;
    if (std::isinf(number)) ++(number > 0 ? moments.positive : moments.negative);
  }
}

template <class T>
double sum(const std::byte* numbers, std::size_t count, const NumberKernels& kernels) {
  return (sizeof(T) == sizeof(float) ? kernels.sum_floats : kernels.sum_doubles)(numbers, count);
}

template <class T>
void add_block(Moments& moments, double sum, const std::byte* numbers, std::size_t count,
               const NumberKernels& kernels) {
  const auto numbers_of = static_cast<double>(count);
  const double average = sum / numbers_of;
  const auto measure = sizeof(T) == sizeof(float) ? kernels.measure_floats : kernels.measure_doubles;
  const NumberFigures figures = measure(numbers, count, average);
  Moments block;
  block.finite = count;
  block.zeros = figures.zeros;
  block.min = figures.min, block.max = figures.max;
  block.average = average;
  block.below = figures.distances / numbers_of;
  const double squares = figures.squares - figures.distances * block.below;
  block.squares = squares < 0 ? 0 : squares;
  moments.add(block);
}

}  // namespace

void Moments::add(const Moments& other) {
  zeros += other.zeros, nan += other.nan, positive += other.positive, negative += other.negative;
  if (other.finite == 0) return;
  const auto mine = static_cast<double>(finite), its = static_cast<double>(other.finite);
  const double apart = (other.average - average) + (other.below - below), part = its / (mine + its);
  if (finite == 0) {
    average = other.average, below = other.below, squares = other.squares;
  } else {
    squares += other.squares + apart * apart * (mine * part);
    const double before = average, step = apart * part;
    average += step;
    const double added = average - before;  // and what rounding took from it (Knuth)
    below += (before - (average - added)) + (step - added);
  }
  finite += other.finite;
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

void Moments::repeat(std::uint64_t times) {
  finite *= times, zeros *= times, nan *= times, positive *= times, negative *= times;
  squares *= static_cast<double>(times);
}

double Moments::mean() const {
  if (std::isnan(average)) return std::numeric_limits<double>::infinity();
  return std::isfinite(average) ? average + below : average;
}

double Moments::std() const {
  if (finite < 2) return std::numeric_limits<double>::quiet_NaN();
  if (std::isnan(squares)) return std::numeric_limits<double>::infinity();
  return std::sqrt(squares / static_cast<double>(finite - 1));
}

double Moments::norm() const {
  if (finite < 2) return finite == 0 ? 0 : std::abs(average);
  if (std::isnan(squares)) return std::numeric_limits<double>::infinity();
  return std::sqrt(squares + mean() * mean() * static_cast<double>(finite));
}

template <class T>
std::size_t copy_finite(const std::byte* numbers, std::size_t count, double* out) {
  double* end = out;
  for (std::size_t i = 0; i < count; ++i)
    if (const double number = load<T>(numbers, i); std::isfinite(number)) *end++ = number;
  return static_cast<std::size_t>(end - out);
}

template <class T>
void add_numbers(Moments& moments, const std::byte* numbers, std::size_t count, const NumberKernels& kernels) {
  if (count == 0) return;
  const double all = sum<T>(numbers, count, kernels);
  if (std::isfinite(all)) return add_block<T>(moments, all, numbers, count, kernels);
  count_not_finite<T>(moments, numbers, count);
  std::array<double, moments_block> finite;
  const std::size_t left = copy_finite<T>(numbers, count, finite.data());
  const auto* const rest = reinterpret_cast<const std::byte*>(finite.data());
  if (left > 0) add_block<double>(moments, sum<double>(rest, left, kernels), rest, left, kernels);
}

template std::size_t copy_finite<float>(const std::byte*, std::size_t, double*);
template std::size_t copy_finite<double>(const std::byte*, std::size_t, double*);
template void add_numbers<float>(Moments&, const std::byte*, std::size_t, const NumberKernels&);
template void add_numbers<double>(Moments&, const std::byte*, std::size_t, const NumberKernels&);

}  // namespace ckpt
