#include "torchscript/torchscript.h"

namespace ckpt::torchscript {

static constexpr std::string_view suffixes[] = {".pt", ".pth", ".jit", ".ptl", ".ts", ".torchscript"};

const Format script_format{
    .name = "torchscript",
    .description = "TorchScript: a model with its code (torch.jit.save since 1.0, mobile too)",
    .suffixes = suffixes,
    .loader = "torch.jit.load",
    .has_checksums = true,
    .probe = probe_script,
    .read = read_script,
    .write = write_script,
};

}  // namespace ckpt::torchscript
