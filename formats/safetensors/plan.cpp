#include "safetensors/plan.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/utf8.h"

namespace ckpt::safetensors {
namespace {

[[noreturn]] void refuse(const Checkpoint& checkpoint, const std::string& name, const std::string& what,
                         std::string hint) {
  throw Error(ErrorCode::unsupported, "tensor '" + name + "' " + what)
      .expected("what safetensors can hold")
      .in(checkpoint.file)
      .hint(std::move(hint));
}

OutTensor out_tensor(const Checkpoint& checkpoint, const NamedTensor& named) {
  const TensorInfo& info = named.tensor->info;
  const std::string drop = "--drop NAME leaves it out; --format torch can say it";
  if (info.layout != Layout::strided)
    refuse(checkpoint, named.name, "is " + std::string(layout_name(info.layout)), drop);
  const ElementType* const type = find_type(info.dtype);
  if (type == nullptr) refuse(checkpoint, named.name, "is " + std::string(dtype_name(info.dtype)), drop);
  if (is_packed(*type) && info.shape.empty())
    refuse(checkpoint, named.name, "is " + std::string(dtype_name(info.dtype)) + " without a dimension", drop);
  if (named.name == metadata_key) refuse(checkpoint, named.name, "has the name of the metadata", drop);
  if (!is_utf8(named.name)) refuse(checkpoint, named.name, "has a name that is not UTF-8", drop);
  auto dense = dense_tensor(checkpoint, named.name, *named.tensor);
  if (!dense) refuse(checkpoint, named.name, "is a meta tensor, which has no elements", drop);
  return {*std::move(dense), type};
}

/// A tensor and the elements of its storage that it spans: [begin, end).
struct Reach {
  std::size_t index = 0;  ///< in the list of all
  std::uint32_t storage = 0;
  DType dtype{};
  std::int64_t begin = 0, end = 0;
  bool contiguous = false;
};

/// None of what shares bytes with nothing: an empty tensor, or one whose elements are not those of its storage.
std::optional<Reach> reach_of(const DenseTensor& tensor, std::size_t index) {
  const TensorInfo& info = tensor.placed;
  if (info.conjugate || info.negative || element_count(info) == 0) return std::nullopt;
  std::int64_t last = info.offset;
  for (std::size_t i = 0; i < info.shape.size(); ++i) last += (info.shape[i] - 1) * info.stride[i];
  return Reach{index, *tensor.tensor->storage, info.dtype, info.offset, last + 1, is_contiguous(info)};
}

/// Goes over the tensors of each storage from its beginning to its end, those that reach furthest first.
class Sharing {
 public:
  Sharing(const std::vector<OutTensor>& all, Plan& plan) : all_(all), plan_(plan), is_view_(all.size(), false) {}

  /// For each tensor, whether it is a view.
  std::vector<bool> run() {
    std::vector<Reach> reaches;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (const auto reach = reach_of(all_[i].tensor, i)) reaches.push_back(*reach);
    std::sort(reaches.begin(), reaches.end(), [&](const Reach& a, const Reach& b) { return comes_before(a, b); });
    for (const Reach& reach : reaches) add(reach);
    return std::move(is_view_);
  }

 private:
  [[nodiscard]] const DenseTensor& tensor(const Reach& reach) const { return all_[reach.index].tensor; }

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
    return {tensor.placed.shape, tensor.placed.stride};
  }

  void add(const Reach& reach) {
    if (!written_.empty() && (written_.front().storage != reach.storage || written_.front().dtype != reach.dtype)) {
      if (written_.front().storage != reach.storage) any_ = std::nullopt;
      written_.clear();
      cover_ = std::nullopt;
    }
    const DenseTensor& self = tensor(reach);
    if (cover_ && reach.end <= cover_->end) return add_view(reach, *cover_);
    if (!written_.empty() && written_.back().begin == reach.begin &&
        geometry(tensor(written_.back())) == geometry(self))
      return add_view(reach, written_.back());
    note_parted(reach);
    if (reach.contiguous) cover_ = reach;  // reaches further than the one before, or that would hold it
    written_.push_back(reach);
  }

  void add_view(const Reach& reach, const Reach& of) {
    const DenseTensor &self = tensor(reach), &base = tensor(of);
    is_view_[reach.index] = true;
    View view{.name = self.name, .of = base.name};
    view.whole = geometry(self) == geometry(base) && reach.begin == of.begin;
    if (!view.whole) {
      view.shape = self.placed.shape;
      view.stride = self.placed.stride;
      view.offset = reach.begin - of.begin;
    }
    plan_.views.push_back(std::move(view));
  }

  void note_parted(const Reach& reach) {
    if (any_ && plan_.parted.first == plan_.parted.second) plan_.parted = {tensor(*any_).name, tensor(reach).name};
    any_ = reach;
  }

  const std::vector<OutTensor>& all_;
  Plan& plan_;
  std::vector<bool> is_view_;
  std::vector<Reach> written_;  ///< of this storage and dtype
  std::optional<Reach> cover_;  ///< the contiguous one among them that reaches furthest
  std::optional<Reach> any_;    ///< the last that was written of this storage, of whatever dtype
};

}  // namespace

Plan plan_of(const Checkpoint& checkpoint) {
  std::vector<OutTensor> all;
  for (const NamedTensor& named : tensor_names(checkpoint)) all.push_back(out_tensor(checkpoint, named));
  std::vector<const DenseTensor*> dense;
  dense.reserve(all.size());
  for (const OutTensor& out : all) dense.push_back(&out.tensor);
  check_views_together(checkpoint, dense);

  Plan plan;
  const std::vector<bool> is_view = Sharing(all, plan).run();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!is_view[i]) plan.written.push_back(std::move(all[i]));
  std::sort(plan.written.begin(), plan.written.end(), [](const OutTensor& a, const OutTensor& b) {
    const std::size_t left = rank_of(*a.type), right = rank_of(*b.type);
    return left != right ? left > right : a.tensor.name < b.tensor.name;
  });
  return plan;
}

}  // namespace ckpt::safetensors
