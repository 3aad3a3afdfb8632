#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt::pickle {

/// Fills a list of names that pickles would import, as Checkpoint::globals has it: each once. Pickles are judged one by
/// one, and a name may be harmless in the first and not in the second: the worst verdict stays, with its place.
class GlobalUses {
 public:
  /// Adds to `list`, which must outlive this.
  explicit GlobalUses(std::vector<GlobalUse>& list);

  [[nodiscard]] bool contains(std::string_view module, std::string_view name) const;
  /// The place in the list of the name in `use`, which is added where there is none yet. Throws Error: limit_exceeded.
  GlobalUse& find_or_add(GlobalUse use);
  void add(GlobalUse use);
  /// `offset`: where the bytes begin that their places are counted from.
  void add(std::span<const GlobalUse> uses, std::uint64_t offset = 0);

 private:
  std::vector<GlobalUse>& list_;
  std::map<std::pair<std::string, std::string>, std::size_t> places_;
};

}  // namespace ckpt::pickle
