#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/ops.h"
#include "ops/dense_tensor.h"
#include "ops/float_bits.h"
#include "ops/ordered_work.h"
#include "ops/tensor_bytes.h"
#include "ops/view_sweep.h"

namespace ckpt {
namespace {

/// Which of a view's elements lies how far from its first one in the storage, or in the order of a view that overlaps.
class ElementPlaces {
 public:
  ElementPlaces() = default;
  explicit ElementPlaces(const SweptView& view) {
    const TensorInfo& info = *view.tensor.placed;
    std::uint64_t place = 1, order = 1;
    for (std::size_t i = info.shape.size(); i-- > 0;) {
      const auto size = static_cast<std::uint64_t>(info.shape[i]), stride = static_cast<std::uint64_t>(info.stride[i]);
      const bool overlaps = view.runs.overlaps();
      if (size > 1 && stride > 0) axes_.push_back({overlaps ? order : stride, place});
      if (stride > 0) order *= size;
      place *= size;
    }
    std::stable_sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) { return a.stride > b.stride; });
  }

  /// In the order of the indices, the first of those that an expanded view shows.
  [[nodiscard]] std::uint64_t at(std::uint64_t distance) const {
    std::uint64_t index = 0;
    for (const Axis& axis : axes_) {
      index += distance / axis.stride * axis.place;
      distance %= axis.stride;
    }
    return index;
  }

 private:
  struct Axis {
    std::uint64_t stride, place;  ///< a step's length in the storage, and in the order of the indices
  };
  std::vector<Axis> axes_;  ///< the longest step first
};

struct Found {
  std::uint64_t nan = 0, positive = 0, negative = 0;
  std::uint64_t first = static_cast<std::uint64_t>(-1);  ///< in the order of the indices

  void add(const Found& other, std::uint64_t times) {
    nan += other.nan * times, positive += other.positive * times, negative += other.negative * times;
    first = std::min(first, other.first);
  }
};

class FiniteVisitor final : public ViewVisitor {
 public:
  FiniteVisitor(std::span<const SweptView> views, std::vector<Found>& found) : views_(views), found_(found) {}

  void begin(std::size_t view, std::uint64_t /*done*/) override {
    view_ = view;
    info_ = views_[view].tensor.placed.get();
    bits_ = *float_bits(info_->dtype);
    places_.reset();
    here_ = {};
  }

  void elements(std::span<const std::byte> bytes, std::uint64_t distance) override {
    constexpr std::size_t piece = 4 * limits::kib;
    for (std::size_t from = 0; from < bytes.size(); from += piece) {
      const auto some = bytes.subspan(from, std::min(piece, bytes.size() - from));
      if (any_not_finite(bits_, some)) count(some, distance + from);
    }
  }

  void end() override {
    if (here_.nan + here_.positive + here_.negative > 0) parts_.emplace_back(view_, here_);
  }

  void join() override {
    for (const auto& [view, found] : parts_) found_[view].add(found, views_[view].runs.repeats());
    parts_.clear();
  }

 private:
  void count(std::span<const std::byte> bytes, std::uint64_t distance) {
    const std::size_t item = dtype_size(info_->dtype);
    if (!places_) places_.emplace(views_[view_]);
    for (std::size_t at = 0; at < bytes.size(); at += item) {
      bool any = false;
      for (std::size_t part = 0; part < item; part += bits_.width) any = count_part(bytes.data() + at, part) || any;
      if (any) here_.first = std::min(here_.first, places_->at((distance + at) / item));
    }
  }

  bool count_part(const std::byte* element, std::size_t part) {
    const bool turned = info_->negative != (info_->conjugate && part != 0);
    switch (finiteness(bits_, element + part)) {
      case Finiteness::finite:
        return false;
      case Finiteness::nan:
        ++here_.nan;
        break;
      case Finiteness::positive_infinity:
        ++(turned ? here_.negative : here_.positive);
        break;
      case Finiteness::negative_infinity:
        ++(turned ? here_.positive : here_.negative);
        break;
    }
    return true;
  }

  std::span<const SweptView> views_;
  std::vector<Found>& found_;
  std::vector<std::pair<std::size_t, Found>> parts_;
  std::size_t view_ = 0;
  const TensorInfo* info_ = nullptr;
  FloatBits bits_;
  std::optional<ElementPlaces> places_;  ///< once they are asked for
  Found here_;
};

/// Every tensor with floating elements, or part of one, once, in the file's order.
std::vector<SweptView> floating_views(const Checkpoint& checkpoint, std::vector<Error>* unread) {
  std::vector<SweptView> views;
  std::set<const Tensor*> seen;
  std::vector<NamedTensor> all = tensor_names(checkpoint);
  std::ranges::move(unnamed_tensors(checkpoint), std::back_inserter(all));
  for (const NamedTensor& named : all) {
    if (!seen.insert(named.tensor).second) continue;
    std::vector<DenseTensor> dense;
    try {
      add_dense_tensors(checkpoint, named.name, *named.tensor, dense);
    } catch (Error& error) {
      if (unread == nullptr) throw error.in(checkpoint.file);
      unread->push_back(error);
    }
    for (DenseTensor& tensor : dense) {
      if (!float_bits(tensor.placed->dtype) || logical_bytes(*tensor.placed) == 0) continue;
      try {
        ViewRuns runs(checkpoint.storages[*tensor.tensor->storage], *tensor.placed);
        views.push_back({std::move(tensor), std::move(runs)});
      } catch (Error& error) {
        error.within("tensor '" + tensor.name + "'");
        if (unread == nullptr) throw error.in(checkpoint.file);
        unread->push_back(error);
      }
    }
  }
  try {
    check_views_together(checkpoint, views, &SweptView::tensor);
  } catch (Error& error) {
    if (unread == nullptr) throw error.in(checkpoint.file);
    unread->push_back(error);
    views.clear();
  }
  return views;
}

}  // namespace

std::vector<NonFinite> find_non_finite(const Checkpoint& checkpoint, std::vector<Error>* unread) {
  const std::vector<SweptView> views = floating_views(checkpoint, unread);
  std::vector<Found> found(views.size());
  SweepOptions how{.threads = working_threads()};
  if (unread != nullptr) how.on_error = [&](const Error& error) { unread->push_back(error); };
  try {
    sweep(
        checkpoint.storages, views, [&] { return std::make_unique<FiniteVisitor>(views, found); }, how);
  } catch (Error& error) {
    if (unread == nullptr || error.code() != ErrorCode::limit_exceeded) throw error.in(checkpoint.file);
    unread->push_back(error);
  }
  std::vector<NonFinite> results;
  for (std::size_t i = 0; i < views.size(); ++i) {
    const auto& [nan, positive, negative, first] = found[i];
    if (nan + positive + negative == 0) continue;
    const DenseTensor& tensor = views[i].tensor;
    results.push_back({tensor.name, nan, positive, negative, index_of(first, tensor.placed->shape)});
  }
  return results;
}

}  // namespace ckpt
