#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"

/// Tar archives as POSIX, GNU and the tar of Unix V7 write them: 512 bytes of header a member, then its bytes, padded
/// to a multiple of 512; docs/formats/tar.md.
namespace ckpt {

struct TarMember {
  enum class Kind : std::uint8_t { file, folder, other } kind{};  ///< other: links, devices
  std::string name;                                               ///< without "./" in front or a slash at its end
  std::uint64_t offset = 0;                                       ///< of its bytes
  std::uint64_t size = 0;
};

/// Whether the source begins with a tar header whose checksum is right. Throws only Error (io).
bool is_tar(const ByteSource& source);

/// Every member, in the order of the archive: names of any length (GNU's and pax's), sizes past 8 GiB. Nothing but
/// headers is read. Throws Error: corrupt (a header, checksum or size that is none; names that lead out of the folder
/// or come twice), truncated, unsupported (sparse files), limit_exceeded.
std::vector<TarMember> read_tar(const ByteSource& source);

/// Where the archive's end stands, behind the last of its members; 0 where it has none.
std::uint64_t end_of_tar(const std::vector<TarMember>& members);

/// A file's bytes, called "FILE: member 'NAME'".
ByteSourcePtr open_tar_member(const ByteSourcePtr& source, const TarMember& member);

}  // namespace ckpt
