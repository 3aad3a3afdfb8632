#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/value.h"
#include "dcp/steps.h"
#include "io/keyed_hash.h"

namespace ckpt::dcp {

/// The nested state dict that flat names were made from: dicts by string keys, lists by positions
/// (torch/distributed/checkpoint/_traverse.py, set_element).
class Tree {
 public:
  enum class Kind : std::uint8_t { dict, list, leaf };
  static constexpr std::uint32_t hole = 0xFFFFFFFF;  ///< a place of a list that nothing was put into: None

  /// `steps`: to be taken by all paths; must outlive the tree.
  explicit Tree(Steps& steps) : steps_(steps) {
    nodes_.push_back({.kind = Kind::dict, .key = {}, .leaf = 0, .children = {}});
  }

  /// Puts `leaf` under a key of the root.
  void put(std::string_view key, std::uint32_t leaf);
  /// Puts it at the end of `path`, whose parts are strings and integers of `values`. Throws Error: corrupt (what is on
  /// the way is no container, or another one; the place is taken), limit_exceeded.
  void put(const ValueGraph& values, std::span<const ValueId> path, std::uint32_t leaf);

  /// Builds values from the leaves up, in order: `leaf(index)` of each, `none()` of a hole, then `dict(pairs)` and
  /// `list(items)`. `key(text)` comes before what it holds.
  struct Builder {
    std::function<ValueId(std::uint32_t)> leaf;
    std::function<ValueId()> none;
    std::function<ValueId(std::string_view)> key;
    std::function<ValueId(std::span<const ValueId>)> dict, list;
  };
  [[nodiscard]] ValueId build(const Builder& builder) const;

 private:
  struct Node {
    Kind kind{};
    std::string key;  ///< in its dict
    std::uint32_t leaf = 0;
    std::vector<std::uint32_t> children;
  };

  std::uint32_t child(std::uint32_t parent, const ValueGraph& values, ValueId part);
  std::uint32_t child_by_key(std::uint32_t parent, std::string_view key);
  void become(std::uint32_t node, Kind kind);
  void set_leaf(std::uint32_t node, std::uint32_t leaf);

  std::vector<Node> nodes_;
  std::vector<bool> fresh_{false};  ///< made, and not yet of any kind
  NameMap<std::uint32_t> by_key_;
  std::uint64_t key_bytes_ = 0;  ///< of all nodes: a path may hold one text again and again
  Steps& steps_;
};

}  // namespace ckpt::dcp
