#include "dcp/tiling.h"

#include <algorithm>
#include <string>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/shape.h"
#include "io/bytes.h"

namespace ckpt::dcp {
namespace {}  // namespace

Tiling::Tiling(std::span<const std::int64_t> shape, std::span<const std::int64_t> boxes, Steps& steps)
    : shape_(shape.begin(), shape.end()), boxes_(boxes.begin(), boxes.end()) {
  for (const std::int64_t size : shape_) size_ *= static_cast<std::uint64_t>(size);
  check_bounds();
  if (size_ == 0) return;
  const std::size_t dims = shape_.size();
  const std::size_t count = dims == 0 ? 0 : boxes_.size() / (2 * dims);
  Open all;
  for (std::uint32_t box = 0; box < count; ++box) {
    bool empty = false;
    for (std::size_t d = 0; d < dims; ++d) empty |= extent(box, d) == 0;
    if (!empty) all.boxes.push_back(box);
  }
  if (dims == 0) return;  // one element, in the one box that there is
  nodes_.emplace_back();
  std::vector<Open> open{std::move(all)};
  while (!open.empty()) {
    const Open next = std::move(open.back());
    open.pop_back();
    fill(next, open, steps);
  }
}

void Tiling::check_bounds() const {
  const std::size_t dims = shape_.size();
  for (std::size_t at = 0; dims != 0 && at < boxes_.size(); at += 2 * dims) {
    for (std::size_t d = 0; d < dims; ++d) {
      const auto end = checked_add(boxes_[at + d], boxes_[at + dims + d]);
      // Ranks that have nothing of a tensor may say so past its end.
      if (end && (*end <= shape_[d] || boxes_[at + dims + d] == 0)) continue;
      throw Error(ErrorCode::corrupt, "a chunk at " + shape_text(std::span(boxes_).subspan(at, dims)) + " of shape " +
                                          shape_text(std::span(boxes_).subspan(at + dims, dims)))
          .expected("one within the tensor's shape " + shape_text(shape_));
    }
  }
}

bool Tiling::is_wide(std::uint32_t box, std::size_t from) const {
  for (std::size_t d = from; d < shape_.size(); ++d)
    if (extent(box, d) != shape_[d]) return false;
  return true;
}

/// Cuts a node along its dimension, and walks over the slabs with the list of boxes that each lies in.
void Tiling::fill(const Open& open, std::vector<Open>& next, Steps& steps) {
  const std::size_t d = open.dimension;
  std::vector<std::uint32_t> by_begin = open.boxes;
  std::sort(by_begin.begin(), by_begin.end(), [&](auto a, auto b) { return offset(a, d) < offset(b, d); });
  std::vector<std::int64_t> cuts{0, shape_[d]};
  for (const std::uint32_t box : by_begin) {
    cuts.push_back(offset(box, d));
    cuts.push_back(offset(box, d) + extent(box, d));
  }
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());

  nodes_[open.node].first = slabs_.size();
  nodes_[open.node].count = cuts.size() - 1;
  slabs_.reserve(slabs_.size() + cuts.size() - 1);
  std::vector<std::uint32_t> inside;
  std::size_t begun = 0;
  for (std::size_t cut = 0; cut + 1 < cuts.size(); ++cut) {
    std::erase_if(inside, [&](std::uint32_t box) { return offset(box, d) + extent(box, d) <= cuts[cut]; });
    while (begun < by_begin.size() && offset(by_begin[begun], d) == cuts[cut]) inside.push_back(by_begin[begun++]);
    steps.spend(inside.size() + 1);
    add_slab(open, cuts[cut], cuts[cut + 1], inside, next);
  }
}

void Tiling::add_slab(const Open& open, std::int64_t begin, std::int64_t end, const std::vector<std::uint32_t>& inside,
                      std::vector<Open>& next) {
  const auto here = [&] {
    std::vector<std::int64_t> index = open.prefix;
    index.push_back(begin);
    index.resize(shape_.size(), 0);
    return shape_text(index);
  };
  if (inside.empty())
    throw Error(ErrorCode::corrupt, "no chunk holds the element " + here() + " and those after it")
        .expected("chunks for all of its shape " + shape_text(shape_));
  const std::size_t following = open.dimension + 1;
  if (inside.size() == 1 && is_wide(inside[0], following)) {
    slabs_.push_back({end, inside[0], true});
    return;
  }
  if (following == shape_.size())
    throw Error(ErrorCode::corrupt, std::to_string(inside.size()) + " chunks hold the element " + here())
        .expected("chunks that do not overlap");
  Open child{static_cast<std::uint32_t>(nodes_.size()), following, inside, open.prefix};
  child.prefix.push_back(begin);
  slabs_.push_back({end, child.node, false});
  nodes_.emplace_back();
  next.push_back(std::move(child));
}

Tiling::Run Tiling::run_at(std::uint64_t element) const {
  if (shape_.empty()) return {0, 0, 1};
  std::uint64_t inner = size_;  // elements of what one index stands for, in the dimension at hand
  std::uint64_t rest = element;
  Node node = nodes_[0];
  std::uint64_t first = 0;
  std::vector<std::int64_t> index;
  for (std::size_t d = 0;; ++d) {
    inner /= static_cast<std::uint64_t>(shape_[d]);
    const auto at = static_cast<std::int64_t>(rest / inner);
    rest %= inner;
    index.push_back(at);
    const auto* const begin = slabs_.data() + node.first;
    const Slab& slab = *std::upper_bound(begin, begin + node.count, at,
                                         [](std::int64_t wanted, const Slab& each) { return wanted < each.end; });
    if (!slab.whole) {
      node = nodes_[slab.inside];
      continue;
    }
    for (std::size_t k = 0; k <= d; ++k)
      first = first * static_cast<std::uint64_t>(extent(slab.inside, k)) +
              static_cast<std::uint64_t>(index[k] - offset(slab.inside, k));
    return {slab.inside, first * inner + rest, static_cast<std::uint64_t>(slab.end - at) * inner - rest};
  }
}

}  // namespace ckpt::dcp
