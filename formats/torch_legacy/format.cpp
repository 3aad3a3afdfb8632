#include "torch_legacy/torch_legacy.h"

namespace ckpt::torch {

static constexpr std::string_view suffixes[] = {".pt", ".pth", ".ckpt", ".bin", ".th"};

const Format legacy_format{
    .name = "torch-legacy",
    .description = "PyTorch checkpoint, a run of pickles (torch.save until 1.5)",
    .suffixes = suffixes,
    .loader = "torch.load",
    .has_checksums = false,
    .probe = probe_legacy,
    .read = read_legacy,
    .end = end_of_legacy,
    .salvage = salvage_legacy,
    .write = write_legacy,
};

}  // namespace ckpt::torch
