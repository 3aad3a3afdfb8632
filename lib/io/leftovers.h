#pragma once

#include <string>
#include <vector>

namespace ckpt {

/// Holds a temporary file or folder (io/temporaries.h) for as long as the descriptor is open, so that no process takes
/// it for left over; a file is open for writing.
void hold_temporary(int fd);

/// The same of a file that is read, where it or its folder is named as temporaries are: somebody may save what a run
/// that was killed has left.
void hold_input(int fd, const std::string& path);

/// Removes what runs that were killed have left in a folder: files and folders of files, named as temporaries are, that
/// belong to this user (or to anybody, where this is root, who gives files away), were last written to an hour ago or
/// longer, and are held by nobody. Returns their names. What cannot be removed stays; of a folder with very many
/// entries only the first are looked at.
std::vector<std::string> remove_leftovers(int folder);

}  // namespace ckpt
