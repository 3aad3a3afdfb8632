#pragma once

namespace ckpt::tools {

/// Linux: the part of confine() that system calls are, for this thread and those that it starts. `writes`: files are
/// written, which may be given a mode and an owner. Where the kernel has no seccomp, or the machine is another than the
/// two that are known, nothing happens.
void confine_calls(bool writes);

}  // namespace ckpt::tools
