#include "ckpt/ops.h"

namespace ckpt {

Checkpoint remap(Checkpoint checkpoint, const DeviceMap& map) {
  for (Storage& storage : checkpoint.storages) storage.location = map.map(storage.location);
  return checkpoint;
}

}  // namespace ckpt
