#include "ops/compare_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "ops/numbers.h"
#include "ops/tensor_bytes.h"

namespace ckpt {
namespace {

/// Elements looked at one by one at a time, where a piece is not equal as a whole.
constexpr std::size_t stretch = 1024;

template <class T>
bool is_close(T error, T magnitude_b, const ValueRules& rules) {
  return std::isfinite(error) && error <= static_cast<T>(rules.atol) + static_cast<T>(rules.rtol) * magnitude_b;
}

}  // namespace

std::string incomparable(DType a, DType b) {
  if (a == b) return {};
  const bool numbers = is_numeric(a) && is_numeric(b) && is_quantised(a) == is_quantised(b);
  if (numbers && dtype_per_byte(a) == 1 && dtype_per_byte(b) == 1) return {};
  return std::string(dtype_name(a)) + " and " + std::string(dtype_name(b)) + " are not numbers of one kind";
}

ValueComparison::ValueComparison(const TensorInfo& a, const TensorInfo& b, const ValueRules& rules, std::uint64_t first)
    : dtype_a_(a.dtype),
      dtype_b_(b.dtype),
      shape_(a.shape),
      rules_(rules),
      size_a_(dtype_size(a.dtype)),
      size_b_(dtype_size(b.dtype)),
      numeric_(is_numeric(a.dtype) && is_numeric(b.dtype)),
      complex_(is_complex(a.dtype) || is_complex(b.dtype)),
      wide_(needs_long_double(a.dtype) || needs_long_double(b.dtype)),
      place_(first),
      has_beginning_(first == 0) {
  if (dtype_a_ != dtype_b_) rules_.bits = false;
  if (!numeric_) rules_.bits = true;
  if (is_integral(dtype_a_) && is_integral(dtype_b_)) rules_.rtol = rules_.atol = 0;
  found_.elements = element_count(a);
}

void ValueComparison::add(std::span<const std::byte> a, std::span<const std::byte> b) {
  const bool same_form = dtype_a_ == dtype_b_;
  if (same_form && std::memcmp(a.data(), b.data(), a.size()) == 0) {
    place_ += a.size() / size_a_;
    return;
  }
  while (!a.empty()) {
    const std::size_t count = std::min(stretch, a.size() / size_a_);
    const auto first_a = a.first(count * size_a_), first_b = b.first(count * size_b_);
    if (same_form && std::memcmp(first_a.data(), first_b.data(), first_a.size()) == 0)
      place_ += count;
    else if (dtype_per_byte(dtype_a_) > 1)
      add_packed(first_a, first_b);
    else
      add_stretch(first_a, first_b);
    a = a.subspan(first_a.size());
    b = b.subspan(first_b.size());
  }
}

/// Elements lie one after the other, whatever the rows; bits behind the last are no elements.
void ValueComparison::add_packed(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::uint64_t per_byte = dtype_per_byte(dtype_a_);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i, ++place_) {
    if (a[i] == b[i]) continue;
    const std::uint64_t first = place_ * per_byte;
    for (std::uint64_t part = 0; part < per_byte && first + part < found_.elements; ++part) {
      const std::byte x = unpack(dtype_a_, a[i], part), y = unpack(dtype_a_, b[i], part);
      if (x == y) continue;
      note(first + part, {&x, 1}, {&y, 1});
      const double error = std::abs(std::to_integer<int>(x) - std::to_integer<int>(y));
      sum += error;
      largest_ = std::max(largest_, error);
    }
  }
  add_sum(sum);
}

void ValueComparison::add_stretch(std::span<const std::byte> a, std::span<const std::byte> b) {
  const std::size_t count = a.size() / size_a_;
  if (!numeric_)
    add_bits(a, b, count);
  else if (wide_)
    add_numbers<long double>(a, b, count);
  else
    add_numbers<double>(a, b, count);
  place_ += count;
}

void ValueComparison::add_bits(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = a.subspan(i * size_a_, size_a_), y = b.subspan(i * size_b_, size_b_);
    if (std::memcmp(x.data(), y.data(), size_a_) != 0) note(place_ + i, x, y);
  }
}

template <class T>
void ValueComparison::add_numbers(std::span<const std::byte> a, std::span<const std::byte> b, std::size_t count) {
  std::array<T, 2 * stretch> x{}, y{};
  to_numbers(dtype_a_, a, complex_, x.data());
  to_numbers(dtype_b_, b, complex_, y.data());
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = complex_ ? 2 * i : i;
    const T imaginary_x = complex_ ? x[at + 1] : 0, imaginary_y = complex_ ? y[at + 1] : 0;
    const bool equal = x[at] == y[at] && imaginary_x == imaginary_y;
    if (equal && !rules_.bits) continue;
    const auto bits_a = a.subspan(i * size_a_, size_a_), bits_b = b.subspan(i * size_b_, size_b_);
    if (rules_.bits && std::memcmp(bits_a.data(), bits_b.data(), size_a_) == 0) continue;
    const bool nan_a = std::isnan(x[at]) || std::isnan(imaginary_x),
               nan_b = std::isnan(y[at]) || std::isnan(imaginary_y);
    if (!rules_.bits && nan_a && nan_b) continue;
    const T error = equal      ? T(0)
                    : complex_ ? std::hypot(x[at] - y[at], imaginary_x - imaginary_y)
                               : std::fabs(x[at] - y[at]);
    const T magnitude = complex_ ? std::hypot(y[at], imaginary_y) : std::fabs(y[at]);
    const bool differs = rules_.bits || !is_close(error, magnitude, rules_);
    if (differs) note(place_ + i, bits_a, bits_b);
    if (std::isfinite(error)) {
      sum += static_cast<double>(error);
      largest_ = std::max(largest_, static_cast<double>(error));
    } else {
      ++found_.not_finite;
    }
  }
  add_sum(sum);
}

void ValueComparison::note(std::uint64_t place, std::span<const std::byte> a, std::span<const std::byte> b) {
  if (++found_.different > 1) return;
  found_.first = index_of(place, shape_);
  found_.first_a = element_text(dtype_a_, a);
  found_.first_b = element_text(dtype_b_, b);
  if (found_.first_a != found_.first_b || !is_numeric(dtype_a_)) return;
  if (dtype_a_ != dtype_b_) {  // 1.2 of two widths
    found_.first_a = exact_text(dtype_a_, a);
    found_.first_b = exact_text(dtype_b_, b);
    return;
  }
  found_.first_a += " (" + bits_text(a) + ")";  // NaN and NaN, of other bits
  found_.first_b += " (" + bits_text(b) + ")";
}

void ValueComparison::add_sum(double sum) {
  if (has_beginning_)
    sum_ += sum;
  else if (sum != 0)
    sums_.push_back(sum);
}

void ValueComparison::join(const ValueComparison& rest) {
  if (found_.different == 0) {
    found_.first = rest.found_.first;
    found_.first_a = rest.found_.first_a;
    found_.first_b = rest.found_.first_b;
  }
  found_.different += rest.found_.different;
  found_.not_finite += rest.found_.not_finite;
  largest_ = std::max(largest_, rest.largest_);
  for (const double sum : rest.sums_) sum_ += sum;
}

std::optional<ValueDifference> ValueComparison::result() const {
  if (found_.different == 0) return std::nullopt;
  ValueDifference result = found_;
  if (numeric_ && result.not_finite < result.elements) {
    result.largest_error = largest_;
    result.mean_error = sum_ / static_cast<double>(result.elements - result.not_finite);
  }
  return result;
}

}  // namespace ckpt
