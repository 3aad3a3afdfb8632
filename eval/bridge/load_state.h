#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "bridge/loaded_storages.h"
#include "ckpt/torch.h"

namespace ckpt::eval {

struct LoadedState {
  std::vector<StateTensor> tensors;
  LoadedStorages storages;  ///< that they lie in
};

/// What to_torch() returns, with the memory that was filled for it.
LoadedState load_state(const Checkpoint& checkpoint, std::string_view root,
                       const std::function<bool(std::string_view name)>& wanted = {});

}  // namespace ckpt::eval
