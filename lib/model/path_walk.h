#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/walk.h"

namespace ckpt {

/// A walk through values by their paths, depth first: a value is visited once for each path that leads to it.
class PathWalk {
 public:
  /// `values`: how many there are.
  explicit PathWalk(std::size_t values) : on_path_(values) {}

  /// The parts on the way to what is visited, joined by dots.
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Whether what is visited stands within that value.
  [[nodiscard]] bool is_within(ValueId id) const { return on_path_[id]; }

  /// For visit(id), which calls this where what the value holds is to be visited, too.
  void enter(ValueId id, NamedChildren children) {
    on_path_[id] = true;
    open_.push_back({id, path_.size(), std::move(children)});
  }

  template <class Visit>
  void run(ValueId root, const Visit& visit) {
    visit(root);
    while (!open_.empty()) {
      Open& open = open_.back();
      path_.resize(open.path_size);
      if (open.next == open.children.size()) {
        on_path_[open.id] = false;
        open_.pop_back();
        continue;
      }
      const std::size_t child = open.next++;
      if (open_.size() > 1) path_ += '.';
      path_ += open.children.part(child);
      visit(open.children.value(child));
    }
  }

 private:
  struct Open {
    ValueId id;
    std::size_t path_size;
    NamedChildren children;
    std::size_t next = 0;
  };

  std::vector<bool> on_path_;
  std::vector<Open> open_;
  std::string path_;
};

}  // namespace ckpt
