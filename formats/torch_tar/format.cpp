#include "torch_tar/torch_tar.h"

namespace ckpt::torch {

const Format tar_format{
    .name = "torch-tar",
    .description = "PyTorch 0.1's torch.save: a tar archive of pickle, tensors and storages",
    .suffixes = {},
    .loader = "torch.load",
    .has_checksums = false,
    .probe = probe_tar,
    .read = read_torch_tar,
    .write = nullptr,
};

}  // namespace ckpt::torch
