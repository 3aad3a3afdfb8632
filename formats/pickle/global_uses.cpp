#include "pickle/global_uses.h"

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt::pickle {

GlobalUses::GlobalUses(std::vector<GlobalUse>& list) : list_(list) {
  for (std::size_t i = 0; i < list.size(); ++i) places_.emplace(std::pair(list[i].module, list[i].name), i);
}

bool GlobalUses::contains(std::string_view module, std::string_view name) const {
  return places_.contains({std::string(module), std::string(name)});
}

GlobalUse& GlobalUses::find_or_add(GlobalUse use) {
  const auto [found, fresh] = places_.try_emplace({use.module, use.name}, list_.size());
  if (!fresh) return list_[found->second];
  if (list_.size() == limits::pickle_globals)
    throw Error(ErrorCode::limit_exceeded,
                "the pickles import more than " + std::to_string(limits::pickle_globals) + " names");
  return list_.emplace_back(std::move(use));
}

void GlobalUses::add(GlobalUse use) {
  GlobalUse& first = find_or_add(use);
  if (use.verdict > first.verdict) first = std::move(use);
}

void GlobalUses::add(std::span<const GlobalUse> uses, std::uint64_t offset) {
  for (GlobalUse use : uses) {
    use.offset += offset;
    add(std::move(use));
  }
}

}  // namespace ckpt::pickle
