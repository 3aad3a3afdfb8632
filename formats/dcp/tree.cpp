#include "dcp/tree.h"

#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/utf8.h"
#include "io/bytes.h"

namespace ckpt::dcp {

void Tree::put(std::string_view key, std::uint32_t leaf) { set_leaf(child_by_key(0, key), leaf); }

void Tree::put(const ValueGraph& values, std::span<const ValueId> path, std::uint32_t leaf) {
  if (path.empty()) throw Error(ErrorCode::corrupt, "its path is empty").expected("keys and positions");
  steps_.spend(path.size());
  std::uint32_t node = 0;
  for (const ValueId part : path) {
    become(node, values.is_string(part) ? Kind::dict : Kind::list);
    node = child(node, values, part);
  }
  set_leaf(node, leaf);
}

void Tree::become(std::uint32_t node, Kind kind) {
  if (fresh_[node]) nodes_[node].kind = kind;
  fresh_[node] = false;
  if (nodes_[node].kind != kind)
    throw Error(ErrorCode::corrupt, "its path leads through what is another value, or another kind of container")
        .expected("a dict or a list on the way");
}

void Tree::set_leaf(std::uint32_t node, std::uint32_t leaf) {
  if (!fresh_[node]) throw Error(ErrorCode::corrupt, "its path is another value's too").expected("a place of its own");
  become(node, Kind::leaf);
  nodes_[node].leaf = leaf;
}

std::uint32_t Tree::child(std::uint32_t parent, const ValueGraph& values, ValueId part) {
  if (values.is_string(part)) {
    if (values.kind(part) == ValueKind::py2_str && !is_utf8(values.text(part)))
      throw Error(ErrorCode::corrupt, "its path has a key that is no text").expected("UTF-8");
    return child_by_key(parent, values.text(part));
  }
  if (values.kind(part) != ValueKind::integer || values.integer(part) < 0)
    throw Error(ErrorCode::corrupt, "its path has a part that is neither a string nor a position");
  const auto index = static_cast<std::uint64_t>(values.integer(part));
  const std::size_t size = nodes_[parent].children.size();
  if (index >= size) {
    steps_.spend(index - size);
    nodes_[parent].children.resize(static_cast<std::size_t>(index) + 1, hole);
  }
  std::uint32_t& place = nodes_[parent].children[static_cast<std::size_t>(index)];
  if (place != hole) return place;
  place = static_cast<std::uint32_t>(nodes_.size());
  const std::uint32_t made = place;
  nodes_.emplace_back();
  fresh_.push_back(true);
  return made;
}

std::uint32_t Tree::child_by_key(std::uint32_t parent, std::string_view key) {
  std::string wanted;
  append_le(wanted, parent);
  wanted += key;
  const auto [found, fresh] = by_key_.try_emplace(std::move(wanted), static_cast<std::uint32_t>(nodes_.size()));
  if (!fresh) return found->second;
  key_bytes_ += key.size();
  if (key_bytes_ > limits::tensor_name_bytes)
    throw Error(ErrorCode::limit_exceeded,
                "the paths come to more than " + std::to_string(limits::tensor_name_bytes) + " bytes of keys");
  nodes_[parent].children.push_back(found->second);
  nodes_.emplace_back().key = key;
  fresh_.push_back(true);
  return found->second;
}

ValueId Tree::build(const Builder& builder) const {
  struct Open {
    std::uint32_t node = 0;
    std::size_t next = 0;
    std::vector<ValueId> made;  ///< keys and values in turn, or items
  };
  std::vector<Open> open;
  open.push_back({});
  while (true) {
    Open& at = open.back();
    const Node& node = nodes_[at.node];
    if (at.next < node.children.size()) {
      const std::uint32_t next = node.children[at.next++];
      if (next == hole) {
        at.made.push_back(builder.none());
        continue;
      }
      if (node.kind == Kind::dict) at.made.push_back(builder.key(nodes_[next].key));
      if (nodes_[next].kind == Kind::leaf)
        at.made.push_back(builder.leaf(nodes_[next].leaf));
      else
        open.push_back({next, 0, {}});
      continue;
    }
    const ValueId made = node.kind == Kind::dict ? builder.dict(at.made) : builder.list(at.made);
    open.pop_back();
    if (open.empty()) return made;
    open.back().made.push_back(made);
  }
}

}  // namespace ckpt::dcp
