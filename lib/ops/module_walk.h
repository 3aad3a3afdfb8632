#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_set>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/state_dict.h"
#include "model/module_reader.h"

namespace ckpt {

/// Through the modules that a module holds, once for each place, each before what is in it, in the order of
/// `_modules`, as torch.nn.Module goes through them.
class ModuleWalk {
 public:
  /// `path`: from the outer module, joined by dots. `depth`: 0 for that one.
  using Enter = std::function<void(ValueId module, const std::string& path, std::size_t depth)>;
  using Other = std::function<void(const std::string& path)>;

  /// The checkpoint must outlive this; values may be added to it meanwhile.
  explicit ModuleWalk(const Checkpoint& checkpoint);

  [[nodiscard]] const ModuleParts& parts(ValueId id) { return reader_.read(id); }

  /// `other`: of what stands among the modules and is none. Throws Error: corrupt (a module within itself),
  /// limit_exceeded.
  void run(ValueId module, const Enter& enter, const Other& other);

  /// For what else is done for each module. Throws Error (limit_exceeded).
  void count_step(std::uint64_t steps = 1);
  /// A mapping's, each a step; of no_value none.
  std::vector<MappingEntry> entries_of(ValueId mapping);

 private:
  struct Open {
    ValueId module;
    std::string prefix;  ///< of what is in it: empty, or its name and a dot
    std::vector<MappingEntry> children;
    std::size_t next = 0;
  };

  void open(ValueId module, const std::string& path, const Enter& enter);

  const Checkpoint& checkpoint_;
  ModuleReader reader_;
  std::uint64_t most_steps_, steps_ = 0;
  std::vector<Open> open_;
  std::unordered_set<ValueId> on_path_;
};

}  // namespace ckpt
