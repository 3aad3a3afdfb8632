#include "ckpt/ops.h"

namespace ckpt {

Checkpoint remap(Checkpoint checkpoint, const DeviceMap& map) {
  for (Storage& storage : checkpoint.storages) storage.location = map.map(storage.location);
  // Tensors of devices without storages (XLA, some subclasses) name their device in the call that rebuilds them.
  for (Tensor& tensor : checkpoint.tensors) {
    if (tensor.device_holder == no_value) continue;
    const std::string mapped = map.map(tensor.device);
    if (mapped == tensor.device) continue;
    checkpoint.values.set_item(tensor.device_holder, tensor.device_index, checkpoint.values.make_str(mapped));
    tensor.device = mapped;
  }
  return checkpoint;
}

}  // namespace ckpt
