#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>

#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "io/posix.h"

namespace ckpt {

/// `size` bytes of an open file from `begin` on, read by pread. Owns the descriptor. With `as_opened`, what fstat said
/// of a file that others may write to, a read is an Error (io) once its size or time of modification is another.
ByteSourcePtr file_source(UniqueFd fd, std::uint64_t begin, std::uint64_t size, std::string name,
                          const std::optional<struct stat>& as_opened = std::nullopt, std::string folder = {});

/// What a file is called that is not as it was when it was opened. `how`: " and …".
[[nodiscard]] Error changed_while_read(const std::string& path, const std::string& how = {});

inline bool is_same(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

/// Whether a file has the size and the time of modification that it had then.
inline bool is_unwritten(const struct stat& then, const struct stat& now) {
  return then.st_size == now.st_size && is_same(then.st_mtim, now.st_mtim);
}

/// Opens what nobody named but ckpt itself, which is to be a file: a pipe would keep it waiting, a device has no end.
/// `status` is what fstat says of it. Throws Error: io, unsupported (it is none).
UniqueFd open_regular(const std::string& path, struct stat& status);

/// The same as open_file() gives it.
ByteSourcePtr open_regular_file(const std::string& path);

/// Copies all that `fd` still gives to an unnamed temporary file in temporary_folder() and returns that.
/// Throws Error (io).
UniqueFd spool(int fd, const std::string& name, std::uint64_t& size);

}  // namespace ckpt
