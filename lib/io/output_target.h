#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

#include "ckpt/error.h"
#include "io/posix.h"

namespace ckpt {

/// Where an output is to appear: an open folder and a name in it, with symbolic links at the end followed.
struct OutputTarget {
  std::string shown;  ///< as the user gave it
  UniqueFd folder;
  std::string folder_path;
  std::string name;
  std::optional<struct stat> existing;  ///< what stands there now
};

/// Throws Error (io, on_output): no such folder, a folder or a device in the target's place.
OutputTarget open_target(const std::string& path);

/// The same for a folder to be made: nothing stands there, or an empty folder. Throws Error (io, on_output).
OutputTarget open_folder_target(const std::string& path);

/// What stands in the target's place by now; none where nothing does. Throws Error (io, on_output).
std::optional<struct stat> standing_at(const OutputTarget& target);

/// Gives the file or folder that is open as `fd` the permissions that what it will stand in the place of has by now,
/// its access list too, and its owner and group, where this user may; where group or list cannot be given, the group's
/// rights go, for they were the old group's, or the most that the list grants. Throws Error (io, on_output).
void take_over_permissions(int fd, const OutputTarget& target);

/// Gives a new folder what the files that are made in it will get from it, as far as may be: the group, where it hands
/// that on, and the default access list. Nobody else may look into it before take_over_permissions().
void take_over_group(int fd, const OutputTarget& target);

/// Throws Error (io, on_output) where a file stands that is to stay: because of --no-clobber, because this user may
/// not write to it, though a file may be replaced by whoever may write to its folder, or because that folder is sticky
/// and both are others'.
void require_replaceable(const OutputTarget& target, bool no_clobber);

/// Whether this user may use it in that way (access(2)); errno tells why not.
[[nodiscard]] bool is_permitted(const std::string& path, int use);

/// What --no-clobber refuses.
[[nodiscard]] Error exists_already(const std::string& path);

}  // namespace ckpt
