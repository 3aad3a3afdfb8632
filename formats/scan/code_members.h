#pragma once

#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "container/zip_reader.h"

/// Members of an archive that are no pickles, and are run all the same by what loads the archive.
namespace ckpt::scanning {

struct Code {
  std::string_view of;  ///< whose it is: what a finding has for a module
  Verdict verdict{};
};

/// Knows them by their names, in any case, as PyTorch's reader of archives does.
class CodeMembers {
 public:
  explicit CodeMembers(const std::vector<ZipMember>& members);
  /// Null for a member that is no code. Lives as long as the program.
  [[nodiscard]] const Code* find(std::string_view name) const;
  /// Whether what loads the archive may be told to unpickle a member of any name.
  [[nodiscard]] bool may_load_any() const { return is_package_ || is_export_; }

 private:
  bool is_script_ = false, is_package_ = false, is_export_ = false;
};

}  // namespace ckpt::scanning
