#pragma once

#include <string>
#include <vector>

namespace ckpt::tools {

/// Gives up, until the process ends, what turning one file into another takes no part of. On Linux, as far as the
/// kernel goes along (one without Landlock or seccomp gives up the less, and nothing fails):
///
/// - no file is created, written, renamed or removed but in the folders in which `outputs` will stand and those below
///   them, and in temporary_folder() where one of `words`, the command line's, is a pipe; what is open already, such as
///   standard output, stays writable (Landlock, Linux 5.13);
/// - no program is started and no process made, there are no new sockets, no other process is signalled, traced or
///   looked into, nothing of the system is changed (seccomp).
///
/// Called once, before any thread is started: threads take it over. Reading is not confined.
void confine(std::vector<std::string> outputs, const std::vector<std::string>& words);

}  // namespace ckpt::tools
