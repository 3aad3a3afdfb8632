#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/state_dict.h"
#include "model/walk.h"

namespace ckpt {

/// A walk along every path of a checkpoint, in the file's order: entries of mappings, and what stands in lists, tuples
/// and objects. Paths are as tensor_names() has them; tensors are where they end. The attributes of a mapping (a state
/// dict's _metadata) belong to it and are no paths. What is shared is met on each of its paths.
class EntryWalk {
 public:
  static constexpr std::size_t no_entry = static_cast<std::size_t>(-1);

  /// A pair of a mapping, or of an object that is given pairs.
  struct Entry {
    ValueId holder = no_value;
    MappingEntry pair;
  };
  struct Place {
    std::string_view path;
    std::size_t entry = no_entry;  ///< in entries(); no_entry: it has no key of its own
    ValueKind holder{};            ///< what it stands in
    bool inside = false;           ///< what `visit` said of the place it lies below
  };
  /// Returns what becomes `inside` of everything below.
  using Visit = std::function<bool(const Place& place)>;

  explicit EntryWalk(const Checkpoint& checkpoint);

  /// Throws Error (limit_exceeded) where shared containers multiply past ckpt/limits.h.
  void run(const Visit& visit);

  /// Those met so far: an entry is one however many paths lead to it.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// Entries that the place visited lies in, outermost first.
  [[nodiscard]] const std::vector<std::size_t>& around() const { return around_; }

 private:
  struct Child {
    std::string part;
    ValueId value = no_value;
    std::size_t entry = no_entry;
  };
  struct Open {
    ValueId value = no_value;
    std::size_t path_size = 0, around_size = 0;
    bool inside = false;
    std::vector<Child> children;
    std::size_t next = 0;
  };

  std::vector<Child> children_of(ValueId value);
  void open(ValueId value, std::size_t entry, bool inside);
  void count_step();

  const Checkpoint& checkpoint_;
  std::vector<bool> is_tensor_, on_path_;
  std::unordered_map<ValueId, std::size_t> first_entry_;  ///< of each holder
  std::vector<Entry> entries_;
  std::vector<std::size_t> around_;
  std::vector<Open> open_;
  std::string path_;
  NameBudget parts_;
  std::uint64_t steps_ = 0, path_bytes_ = 0;
};

}  // namespace ckpt
