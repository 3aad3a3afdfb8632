#include "pickle/global_uses.h"

namespace ckpt::pickle {

GlobalUses::GlobalUses(std::vector<GlobalUse>& list) : list_(list) {
  for (std::size_t i = 0; i < list.size(); ++i) places_.emplace(std::pair(list[i].module, list[i].name), i);
}

void GlobalUses::add(GlobalUse use) {
  const auto [found, fresh] = places_.try_emplace({use.module, use.name}, list_.size());
  if (fresh)
    list_.push_back(std::move(use));
  else if (GlobalUse& first = list_[found->second]; use.verdict > first.verdict)
    first = std::move(use);
}

void GlobalUses::add(std::span<const GlobalUse> uses, std::uint64_t offset) {
  for (GlobalUse use : uses) {
    use.offset += offset;
    add(std::move(use));
  }
}

}  // namespace ckpt::pickle
