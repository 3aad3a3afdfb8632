#include "ops/compare_tensors.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "io/checksum.h"
#include "ops/ordered_work.h"
#include "ops/tensor_bytes.h"
#include "ops/watched_source.h"

namespace ckpt {
namespace {

bool is_different(const TensorDifference& difference) {
  return difference.shape || difference.dtype || difference.layout || difference.device ||
         !difference.not_compared.empty();
}

/// Storage by storage, each forward; equal pairs side by side.
auto reading_order(const Tensor& tensor) {
  const TensorInfo& info = tensor.info;
  return std::tie(tensor.storage, tensor.view_offset, info.offset, info.dtype, info.shape, info.stride, info.conjugate,
                  info.negative);
}

/// False for a meta tensor, and for one that is held as an array: that is compared with the other values.
bool has_elements(const Checkpoint& checkpoint, const Tensor& tensor) {
  return tensor.storage &&
         (checkpoint.storages[*tensor.storage].bytes || checkpoint.storages[*tensor.storage].location != "meta");
}

bool all_lie_there(const DiffSide& side) { return std::all_of(side.storages.begin(), side.storages.end(), lies_there); }

template <class T>
std::optional<Changed<T>> changed(T a, T b) {
  if (a == b) return std::nullopt;
  return Changed<T>{std::move(a), std::move(b)};
}

}  // namespace

DiffSide::DiffSide(const Checkpoint& of) : checkpoint(of), storages(watched_storages(of, Compared::when_asked)) {}

TensorPairs::TensorPairs(const DiffSide& a, const DiffSide& b, const DiffOptions& options)
    : a_(a), b_(b), options_(options) {
  rules_.bits = !options.rtol && !options.atol;
  rules_.rtol = options.rtol.value_or(0);
  rules_.atol = options.atol.value_or(0);
}

void TensorPairs::add(const std::string& name, const Tensor& a, const Tensor& b, bool same_content) {
  struct Open {
    std::string name;
    const Tensor* a;
    const Tensor* b;
  };
  std::vector<Open> open{{name, &a, &b}};
  while (!open.empty()) {
    const Open next = std::move(open.back());
    open.pop_back();
    add_dense(next.name, *next.a, *next.b, same_content);
    if (next.a->info.layout != next.b->info.layout || next.a->parts.size() != next.b->parts.size()) continue;
    for (std::size_t i = next.a->parts.size(); i-- > 0;)
      open.push_back({part_name(next.name, next.a->parts[i].name), &next.a->parts[i].tensor, &next.b->parts[i].tensor});
  }
}

/// One tensor, or one part of a tensor of parts, which says more than the whole: that has no elements of its own.
void TensorPairs::add_dense(const std::string& name, const Tensor& a, const Tensor& b, bool same_content) {
  TensorDifference difference;
  difference.name = name;
  difference.shape = changed(a.info.shape, b.info.shape);
  difference.layout = changed(std::string(layout_name(a.info.layout)), std::string(layout_name(b.info.layout)));
  const bool by_parts = !a.parts.empty() && !difference.layout && a.parts.size() == b.parts.size();
  if (!options_.ignore_dtypes && !by_parts)
    difference.dtype = changed(std::string(dtype_name(a.info.dtype)), std::string(dtype_name(b.info.dtype)));
  const bool whole = a.parts.empty() && b.parts.empty();
  if (!options_.ignore_devices && !by_parts)
    difference.device = changed(device_of(a_.checkpoint, a), device_of(b_.checkpoint, b));
  const std::size_t place = places_++;
  if (whole && !difference.shape && !difference.layout && !same_content) {
    const bool in_a = has_elements(a_.checkpoint, a), in_b = has_elements(b_.checkpoint, b);
    if (in_a != in_b)
      difference.not_compared = "only one of them has its elements in the file";
    else if (in_a)
      difference.not_compared = incomparable(a.info.dtype, b.info.dtype);
    if (in_a && in_b && difference.not_compared.empty()) jobs_.push_back({place, name, &a, &b});
  }
  if (is_different(difference)) differences_.emplace(place, std::move(difference));
}

void TensorPairs::run() {
  const Tensor* Job::*one = &Job::a;
  const Tensor* Job::*other = &Job::b;
  if (all_lie_there(a_) && !all_lie_there(b_)) std::swap(one, other);
  std::stable_sort(jobs_.begin(), jobs_.end(), [&](const Job& x, const Job& y) {
    return std::tuple(reading_order(*(x.*one)), reading_order(*(x.*other))) <
           std::tuple(reading_order(*(y.*one)), reading_order(*(y.*other)));
  });
  const auto again = [&](std::size_t i) {
    return i > 0 && reading_order(*jobs_[i - 1].a) == reading_order(*jobs_[i].a) &&
           reading_order(*jobs_[i - 1].b) == reading_order(*jobs_[i].b);
  };
  const auto check = [&](const DiffSide& side, const Tensor* Job::*tensor) {
    in_file_of(side, [&] {
      std::vector<DenseTensor> dense;
      for (std::size_t i = 0; i < jobs_.size(); ++i)
        if (!again(i)) add_dense_tensors(side.checkpoint, jobs_[i].name, *(jobs_[i].*tensor), dense);
      check_views_together(side.checkpoint, dense);
    });
  };
  check(a_, &Job::a);
  check(b_, &Job::b);
  std::size_t job = 0;
  const auto next = [&]() -> std::optional<ElementPair> {
    for (; job < jobs_.size(); ++job)
      if (!again(job))
        if (auto pair = pair_of(job)) return ++job, pair;
    return std::nullopt;
  };
  compare_elements({a_, b_, rules_, options_.threads == 0 ? working_threads() : options_.threads}, next,
                   [&](std::size_t first, const ValueDifference& values) {
                     for (std::size_t i = first; i < jobs_.size() && (i == first || again(i)); ++i) {
                       TensorDifference& difference = differences_[jobs_[i].place];
                       difference.name = jobs_[i].name;
                       difference.values = values;
                     }
                   });
  jobs_.clear();
}

std::optional<ElementPair> TensorPairs::pair_of(std::size_t number) const {
  const Job& job = jobs_[number];
  auto a = dense_tensor(a_.checkpoint, job.name, *job.a), b = dense_tensor(b_.checkpoint, job.name, *job.b);
  if (!a || !b) return std::nullopt;
  return ElementPair{number, job.name, job.a->info, job.b->info, std::move(*a), std::move(*b)};
}

std::vector<TensorDifference> TensorPairs::take() {
  std::vector<TensorDifference> found;
  found.reserve(differences_.size());
  for (auto& [place, difference] : differences_) found.push_back(std::move(difference));
  differences_.clear();
  return found;
}

std::string form_of(const Tensor& tensor) {
  std::string form = std::string(dtype_name(tensor.info.dtype)) + " " + std::string(layout_name(tensor.info.layout));
  for (const std::int64_t size : tensor.info.shape) form += " " + std::to_string(size);
  return form;
}

std::string content_of(const DiffSide& side, const NamedTensor& tensor) {
  return in_file_of(side, [&] {
    if (!tensor.tensor->storage && tensor.tensor->parts.empty()) return form_of(*tensor.tensor);
    std::vector<DenseTensor> parts;
    add_dense_tensors(side.checkpoint, tensor.name, *tensor.tensor, parts);
    std::string content = form_of(*tensor.tensor);
    for (const DenseTensor& part : parts) {
      std::uint32_t crc = 0;
      stream_tensor(side.storages[*part.tensor->storage], *part.placed,
                    [&](std::span<const std::byte> bytes) { crc = crc32(crc, bytes); });
      content += "; " + form_of(*part.tensor) + " " + hexadecimal(crc);
    }
    return content;
  });
}

}  // namespace ckpt
