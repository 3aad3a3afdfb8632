#include "named_tensors/sharing.h"

#include <algorithm>
#include <optional>
#include <tuple>

namespace ckpt::named_tensors {
namespace {

/// A tensor and the elements of its storage that it spans: [begin, end).
struct Reach {
  std::size_t index = 0;  ///< in the list of all
  std::uint32_t storage = 0;
  DType dtype{};
  std::int64_t begin = 0, end = 0;
  bool contiguous = false;
  bool lazy = false;  ///< a conjugate or a negative: its elements are not those of its storage
};

/// None of what shares bytes with nothing: an empty tensor.
std::optional<Reach> reach_of(const DenseTensor& tensor, std::size_t index) {
  const TensorInfo& info = *tensor.placed;
  if (element_count(info) == 0) return std::nullopt;
  std::int64_t last = info.offset;
  for (std::size_t i = 0; i < info.shape.size(); ++i) last += (info.shape[i] - 1) * info.stride[i];
  return Reach{.index = index,
               .storage = *tensor.tensor->storage,
               .dtype = info.dtype,
               .begin = info.offset,
               .end = last + 1,
               .contiguous = is_contiguous(info),
               .lazy = info.conjugate || info.negative};
}

/// Goes over the tensors of each storage from its beginning to its end, those that reach furthest first.
class Finder {
 public:
  explicit Finder(std::span<const DenseTensor* const> all) : all_(all) { found_.is_view.resize(all.size(), false); }

  Sharing run() {
    std::vector<Reach> reaches;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (const auto reach = reach_of(*all_[i], i)) reaches.push_back(*reach);
    std::sort(reaches.begin(), reaches.end(), [&](const Reach& a, const Reach& b) { return comes_before(a, b); });
    for (const Reach& reach : reaches) add(reach);
    return std::move(found_);
  }

 private:
  [[nodiscard]] const DenseTensor& tensor(const Reach& reach) const { return *all_[reach.index]; }

  [[nodiscard]] bool comes_before(const Reach& a, const Reach& b) const {
    const auto key = [](const Reach& r) { return std::tuple(r.storage, r.dtype, r.begin, -r.end, !r.contiguous); };
    if (key(a) != key(b)) return key(a) < key(b);
    const DenseTensor &x = tensor(a), &y = tensor(b);
    // Equal ones that are not contiguous must meet.
    if (!a.contiguous && geometry(x) != geometry(y)) return geometry(x) < geometry(y);
    return x.name < y.name;
  }

  static std::pair<const std::vector<std::int64_t>&, const std::vector<std::int64_t>&> geometry(
      const DenseTensor& tensor) {
    return {tensor.placed->shape, tensor.placed->stride};
  }

  void add(const Reach& reach) {
    if (any_ && any_->storage != reach.storage) any_ = std::nullopt;
    if (reach.lazy) return note_apart(reach);
    if (last_ && (last_->storage != reach.storage || last_->dtype != reach.dtype)) last_ = cover_ = std::nullopt;
    const DenseTensor& self = tensor(reach);
    if (cover_ && reach.end <= cover_->end) return add_view(reach, *cover_);
    if (last_ && last_->begin == reach.begin && geometry(tensor(*last_)) == geometry(self))
      return add_view(reach, *last_);
    note_apart(reach);
    if (reach.contiguous) cover_ = reach;  // reaches further than the one before, or that would hold it
    last_ = reach;
  }

  void add_view(const Reach& reach, const Reach& of) {
    const DenseTensor &self = tensor(reach), &base = tensor(of);
    found_.is_view[reach.index] = true;
    View view{.name = self.name, .of = base.name};
    view.whole = geometry(self) == geometry(base) && reach.begin == of.begin;
    if (!view.whole) {
      view.shape = self.placed->shape;
      view.stride = self.placed->stride;
      view.offset = reach.begin - of.begin;
    }
    found_.views.push_back(std::move(view));
  }

  void note_apart(const Reach& reach) {
    if (any_ && found_.apart.first == found_.apart.second) found_.apart = {tensor(*any_).name, tensor(reach).name};
    any_ = reach;
  }

  std::span<const DenseTensor* const> all_;
  Sharing found_;
  std::optional<Reach> last_;   ///< the last that is no view, of this storage and dtype
  std::optional<Reach> cover_;  ///< the contiguous one among them that reaches furthest
  std::optional<Reach> any_;    ///< the last that is no view, of this storage and any dtype
};

}  // namespace

Sharing find_sharing(std::span<const DenseTensor* const> tensors) { return Finder(tensors).run(); }

}  // namespace ckpt::named_tensors
