#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/ops.h"
#include "ops/dense_tensor.h"
#include "ops/float_bits.h"
#include "ops/storage_window.h"
#include "ops/tensor_bytes.h"

namespace ckpt {
namespace {

/// A tensor as it lies in its storage, and what has been found in it.
class View {
 public:
  View(DenseTensor tensor, const FloatBits& bits) : tensor_(std::move(tensor)), bits_(bits) {
    const TensorInfo& info = tensor_.placed;
    std::uint64_t place = 1;
    for (std::size_t i = info.shape.size(); i-- > 0;) {
      const auto size = static_cast<std::uint64_t>(info.shape[i]), stride = static_cast<std::uint64_t>(info.stride[i]);
      if (stride == 0)
        repeats_ *= size;
      else if (size > 1)
        axes_.push_back({size, stride, place});
      place *= size;
    }
    std::stable_sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) { return a.stride < b.stride; });
    for (const Axis& axis : axes_) {
      overlaps_ = overlaps_ || axis.stride <= reach_;
      reach_ += (axis.size - 1) * axis.stride;
    }
    std::reverse(axes_.begin(), axes_.end());
  }

  [[nodiscard]] std::uint32_t storage() const { return *tensor_.tensor->storage; }
  [[nodiscard]] const FloatBits& bits() const { return bits_; }
  [[nodiscard]] const DenseTensor& tensor() const { return tensor_; }
  /// Bytes of the storage that it lies in.
  [[nodiscard]] std::uint64_t begin() const { return tensor_.begin; }
  [[nodiscard]] std::uint64_t end() const { return tensor_.begin + (reach_ + 1) * item(); }
  /// Whether an element of the storage may be several of its own, at different places.
  [[nodiscard]] bool overlaps() const { return overlaps_; }

  /// Looks at those of its elements that lie in `bytes`, which begin at `address` of the storage.
  void look_at(std::uint64_t address, std::span<const std::byte> bytes) {
    const std::uint64_t first = std::max(begin(), address), last = std::min(end(), address + bytes.size());
    constexpr std::uint64_t piece = 4 * limits::kib;
    for (std::uint64_t from = first; from < last; from += piece) {
      const std::uint64_t to = std::min(last, from + piece);
      if (!any_not_finite(bits_, bytes.subspan(from - address, to - from))) continue;
      for (std::uint64_t at = from; at < to; at += item()) {
        const std::byte* const element = bytes.data() + (at - address);
        if (!holds_fault(element)) continue;
        if (const auto index = index_at((at - begin()) / item())) count(element, *index, repeats_);
      }
    }
  }

  /// Looks at all of its elements in the order of their indices.
  void look_at_all(const Storage& storage) {
    std::uint64_t index = 0;
    TensorInfo plain = tensor_.placed;
    plain.conjugate = plain.negative = false;
    stream_tensor(storage, plain, [&](std::span<const std::byte> elements) {
      for (std::size_t at = 0; at + item() <= elements.size(); at += item(), ++index)
        if (holds_fault(elements.data() + at)) count(elements.data() + at, index, 1);
    });
  }

  /// None where all is finite.
  [[nodiscard]] std::optional<NonFinite> result() const {
    if (found_.nan + found_.positive + found_.negative == 0) return std::nullopt;
    NonFinite found = found_;
    found.name = tensor_.name;
    found.first = index_of(first_, tensor_.placed.shape);
    return found;
  }

 private:
  struct Axis {
    std::uint64_t size, stride, place;  ///< a step's length in the storage, and in the order of the indices
  };

  [[nodiscard]] std::uint64_t item() const { return dtype_size(tensor_.placed.dtype); }

  [[nodiscard]] bool holds_fault(const std::byte* element) const {
    for (std::size_t part = 0; part < item(); part += bits_.width)
      if (finiteness(bits_, element + part) != Finiteness::finite) return true;
    return false;
  }

  /// Which of its elements lies that far from its first; none where none does.
  [[nodiscard]] std::optional<std::uint64_t> index_at(std::uint64_t distance) const {
    std::uint64_t index = 0;
    for (const Axis& axis : axes_) {
      const std::uint64_t steps = distance / axis.stride;
      if (steps >= axis.size) return std::nullopt;
      index += steps * axis.place;
      distance -= steps * axis.stride;
    }
    return distance == 0 ? std::optional(index) : std::nullopt;
  }

  void count(const std::byte* element, std::uint64_t index, std::uint64_t times) {
    const TensorInfo& info = tensor_.placed;
    first_ = std::min(first_, index);
    for (std::size_t part = 0; part < item(); part += bits_.width) {
      const bool turned = info.negative != (info.conjugate && part != 0);
      switch (finiteness(bits_, element + part)) {
        case Finiteness::finite:
          break;
        case Finiteness::nan:
          found_.nan += times;
          break;
        case Finiteness::positive_infinity:
          (turned ? found_.negative : found_.positive) += times;
          break;
        case Finiteness::negative_infinity:
          (turned ? found_.positive : found_.negative) += times;
          break;
      }
    }
  }

  DenseTensor tensor_;
  FloatBits bits_;
  std::vector<Axis> axes_;  ///< the longest step first
  std::uint64_t reach_ = 0, repeats_ = 1;
  bool overlaps_ = false;
  NonFinite found_;
  std::uint64_t first_ = static_cast<std::uint64_t>(-1);
};

/// Every tensor with floating elements, or part of one, once, in the file's order.
std::vector<View> floating_views(const Checkpoint& checkpoint, std::vector<Error>* unread) {
  std::vector<View> views;
  std::set<const Tensor*> seen;
  for (const NamedTensor& named : tensor_names(checkpoint)) {
    if (!seen.insert(named.tensor).second) continue;
    std::vector<DenseTensor> dense;
    try {
      add_dense_tensors(checkpoint, named.name, *named.tensor, dense);
    } catch (Error& error) {
      if (unread == nullptr) throw error.in(checkpoint.file);
      unread->push_back(error);
    }
    for (DenseTensor& tensor : dense)
      if (const auto bits = float_bits(tensor.placed.dtype); bits && logical_bytes(tensor.placed) > 0)
        views.emplace_back(std::move(tensor), *bits);
  }
  std::vector<const DenseTensor*> dense;
  for (const View& view : views) dense.push_back(&view.tensor());
  try {
    check_views_together(checkpoint, dense);
  } catch (Error& error) {
    if (unread == nullptr) throw error.in(checkpoint.file);
    unread->push_back(error);
    views.clear();
  }
  return views;
}

/// Reads the part of a storage that views lie in once, forward.
void scan(const Storage& storage, std::span<View* const> views) {
  constexpr std::uint64_t alignment = 16;  // that of the largest element
  std::uint64_t begin = views.front()->begin(), end = 0;
  std::vector<FloatBits> kinds;
  for (const View* view : views) {
    begin = std::min(begin, view->begin());
    end = std::max(end, view->end());
    const auto same = [&](const FloatBits& bits) {
      return bits.mask == view->bits().mask && bits.width == view->bits().width;
    };
    if (std::none_of(kinds.begin(), kinds.end(), same)) kinds.push_back(view->bits());
  }
  StorageWindow window(storage, end, limits::copy_chunk);
  for (std::uint64_t at = begin / alignment * alignment; at < end;) {
    auto bytes = window.from(at);
    bytes = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), end - at)));
    const bool any =
        std::any_of(kinds.begin(), kinds.end(), [&](const FloatBits& bits) { return any_not_finite(bits, bytes); });
    for (View* view : views)
      if (any && !view->overlaps() && view->begin() < at + bytes.size() && view->end() > at) view->look_at(at, bytes);
    at += bytes.size();
  }
  for (View* view : views)
    if (view->overlaps()) view->look_at_all(storage);
}

}  // namespace

std::vector<NonFinite> find_non_finite(const Checkpoint& checkpoint, std::vector<Error>* unread) {
  std::vector<View> views = floating_views(checkpoint, unread);
  std::vector<View*> order;
  for (View& view : views) order.push_back(&view);
  std::stable_sort(order.begin(), order.end(),
                   [](const View* a, const View* b) { return a->storage() < b->storage(); });
  for (auto first = order.begin(); first != order.end();) {
    const auto last =
        std::find_if(first, order.end(), [&](const View* v) { return v->storage() != (*first)->storage(); });
    try {
      scan(checkpoint.storages[(*first)->storage()], {first, last});
    } catch (Error& error) {
      error.within("tensor '" + (*first)->tensor().name + "'");
      if (unread == nullptr) throw error.in(checkpoint.file);
      unread->push_back(error);
    }
    first = last;
  }
  std::vector<NonFinite> found;
  for (const View& view : views)
    if (auto result = view.result()) found.push_back(std::move(*result));
  return found;
}

}  // namespace ckpt
