#include "torch_zip/torch_zip.h"

namespace ckpt::torch {

static constexpr std::string_view suffixes[] = {".pt", ".pth", ".ckpt", ".bin", ".th"};

const Format zip_format{
    .name = "torch",
    .description = "PyTorch checkpoint, a zip archive (torch.save since 1.6)",
    .suffixes = suffixes,
    .loader = "torch.load",
    .has_checksums = true,
    .probe = probe_zip,
    .read = read_zip,
    .salvage = salvage_zip,
    .write = write_zip,
};

}  // namespace ckpt::torch
