#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "container/zip_reader.h"

namespace ckpt::torchscript {

/// The archive that a script was read from. The checkpoint's graph is a view of its pickles, so that no part of it can
/// be taken and no name changed: the archive's code holds it to both.
class ScriptDetails final : public FormatDetails {
 public:
  /// A pickle that names storages: its member, and the run of the graph's values that it made.
  struct Pickle {
    std::string member;
    ValueId first = 0, behind = 0;
  };

  std::shared_ptr<const ZipReader> zip;
  std::string root;              ///< the folder that all members lie in
  std::uint32_t alignment = 64;  ///< of members' data
  std::vector<Pickle> pickles;
  ValueId object = no_value;  ///< the module, as data.pkl has it
  std::string class_name;     ///< its class
  /// Of the form with model.json, which tells what code tells in later ones.
  std::optional<StateEntries> entries;

  [[nodiscard]] std::optional<std::string> whole_module() const override { return class_name; }
  [[nodiscard]] StateEntries state_entries(const Checkpoint& checkpoint) const override;
  [[nodiscard]] std::vector<std::string> out_of_reach(const DeviceMap& map) const override;
  [[nodiscard]] std::map<std::string, ByteSourcePtr> code() const override;

 private:
  /// Calls use(name within the root, its text) for each file of the code, in the order of their names.
  template <class Use>
  void each_code(Use&& use) const;
};

}  // namespace ckpt::torchscript
