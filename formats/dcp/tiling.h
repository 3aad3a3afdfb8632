#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "dcp/steps.h"

namespace ckpt::dcp {

/// How boxes tile a tensor: which of them holds an element, and how many elements follow it there.
///
/// The first dimension is cut wherever a box begins or ends; where a slab between two cuts is not all of one box, it is
/// cut along the next dimension, and so on. Rows of shards and grids take a cut a chunk.
class Tiling {
 public:
  /// `boxes`: for each, offsets and then sizes, shape.size() numbers each, 0 or more; of a tensor without dimensions
  /// there is one. The shape's product fits 63 bits.
  /// Takes a step or two of `steps` a box where the boxes are rows or a grid.
  /// Throws Error: corrupt (a box that leaves the tensor, boxes that overlap, elements that none holds),
  /// limit_exceeded.
  Tiling(std::span<const std::int64_t> shape, std::span<const std::int64_t> boxes, Steps& steps);

  /// Elements of one box that follow each other in the tensor and in the box.
  struct Run {
    std::uint32_t box = 0;
    std::uint64_t first = 0;  ///< of the run, among the box's elements in the order of their indices
    std::uint64_t count = 0;
  };
  /// The run that begins with an element of the tensor.
  [[nodiscard]] Run run_at(std::uint64_t element) const;

 private:
  struct Slab {
    std::int64_t end = 0;      ///< along the node's dimension; it begins where the one before ends
    std::uint32_t inside = 0;  ///< a box if `whole`, else a node
    bool whole = false;        ///< nothing but that box, which is as wide as the tensor in the dimensions that follow
  };
  struct Node {
    std::size_t first = 0, count = 0;  ///< in slabs_
  };
  /// A node to be filled: the boxes in it, and how it was come to, for messages.
  struct Open {
    std::uint32_t node = 0;
    std::size_t dimension = 0;
    std::vector<std::uint32_t> boxes;
    std::vector<std::int64_t> prefix;
  };

  void check_bounds() const;
  void fill(const Open& open, std::vector<Open>& next, Steps& steps);
  void add_slab(const Open& open, std::int64_t begin, std::int64_t end, const std::vector<std::uint32_t>& inside,
                std::vector<Open>& next);
  [[nodiscard]] bool is_wide(std::uint32_t box, std::size_t from) const;
  [[nodiscard]] std::int64_t offset(std::uint32_t box, std::size_t dimension) const {
    return boxes_[2 * box * shape_.size() + dimension];
  }
  [[nodiscard]] std::int64_t extent(std::uint32_t box, std::size_t dimension) const {
    return boxes_[(2 * box + 1) * shape_.size() + dimension];
  }

  std::vector<std::int64_t> shape_, boxes_;
  std::uint64_t size_ = 1;  ///< elements of the tensor
  std::vector<Slab> slabs_;
  std::vector<Node> nodes_;
};

}  // namespace ckpt::dcp
