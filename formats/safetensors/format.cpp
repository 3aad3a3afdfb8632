#include "safetensors/safetensors.h"

namespace ckpt::safetensors {

static constexpr std::string_view suffixes[] = {".safetensors"};

const Format safetensors_format{
    .name = "safetensors",
    .description = "safetensors file: tensors by name, and text beside them",
    .suffixes = suffixes,
    .loader = "safetensors.torch.load_file",
    .has_checksums = false,
    .pickled = false,
    .keeps_metadata = true,
    .probe = probe,
    .read = read,
    .salvage = salvage,
    .write = write,
    .losses = losses,
};

}  // namespace ckpt::safetensors
