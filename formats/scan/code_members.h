#pragma once

#include <string_view>

#include "ckpt/checkpoint.h"

/// Members of an archive that are no pickles, and are run all the same by what loads the archive.
namespace ckpt::scanning {

struct Code {
  std::string_view of;  ///< whose it is: what a finding has for a module
  Verdict verdict{};
};

/// Knows them by their names, in any case, as PyTorch's reader of archives does.
class CodeMembers {
 public:
  void meet(std::string_view name);
  /// Null for a member that is no code. Lives as long as the program. All of the archive's names must have been met.
  [[nodiscard]] const Code* find(std::string_view name) const;
  /// The same of what is run from a folder as well, once it is unpacked.
  [[nodiscard]] const Code* find_unpacked(std::string_view name) const;
  /// Whether what loads the archive may be told to unpickle a member of any name.
  [[nodiscard]] bool may_load_any() const { return is_package_ || is_export_; }

 private:
  bool is_script_ = false, is_package_ = false, is_export_ = false;
};

}  // namespace ckpt::scanning
