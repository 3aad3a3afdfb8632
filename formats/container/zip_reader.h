#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ckpt/byte_source.h"
#include "container/zip_names.h"
#include "format.h"

namespace ckpt {

/// A member as the central directory describes it, checked against its local header.
struct ZipMember {
  std::string name;
  std::uint64_t header_offset = 0;
  std::uint64_t data_offset = 0;
  std::uint64_t compressed_size = 0;
  std::uint64_t size = 0;
  std::uint32_t crc32 = 0;
  std::uint16_t method = 0;  ///< 0 stored, 8 deflated
};

/// Fixed part, name and extra field of local headers, by their offset.
using SeenHeaders = std::unordered_map<std::uint64_t, std::vector<std::byte>>;

/// Whether names that are equal but for case may stand side by side. torch takes one for the other; numpy does not.
enum class NameCase { folded, exact };

/// The directory of a ZIP archive (APPNOTE 6.3.10; ZIP64). Opening refuses what readers disagree about: duplicate names
/// (also but for case, unless NameCase is exact), a local header that contradicts the directory (name, method, flags,
/// sizes or CRC where it has them), encryption, members that overlap or reach past their archive, absolute or parent
/// paths, links, several disks. Bytes after the archive are allowed (torch allows them) and counted; bytes before it
/// are refused.
class ZipReader {
 public:
  /// Throws Error: corrupt, truncated, unsupported, limit_exceeded, io. With findings in `context`, faults of single
  /// members are noted there and the member is still listed where that is possible. Local headers that `seen` holds are
  /// not read again.
  static ZipReader open(ByteSourcePtr source, const ReadContext& context = {}, const SeenHeaders* seen = nullptr,
                        NameCase names = NameCase::folded);

  /// In the order of their data in the file.
  [[nodiscard]] const std::vector<ZipMember>& members() const { return members_; }
  /// Null where there is none.
  [[nodiscard]] const ZipMember* find(std::string_view name) const;

  /// The member's bytes, inflated where deflated. Its recorded CRC-32 is the directory's, none where every member of
  /// the archive records 0 (torch's compute_crc32=False; then has_checksums() is false).
  [[nodiscard]] ByteSourcePtr read(const ZipMember& member) const;

  [[nodiscard]] bool has_checksums() const { return has_checksums_; }
  /// Bytes after the end of the archive.
  [[nodiscard]] std::uint64_t trailing_bytes() const { return trailing_bytes_; }

 private:
  ZipReader() = default;

  ByteSourcePtr source_;
  std::vector<ZipMember> members_;
  zip::NameIndex names_;
  bool has_checksums_ = true;
  std::uint64_t trailing_bytes_ = 0;
};

/// True where the source begins with a local file header or is an empty archive. Never throws.
bool is_zip(const ByteSource& source);

/// The name in the first local header, which says what most archives are; empty where there is none. Throws Error:
/// what reading the source throws.
std::string first_member_name(const ByteSource& source);

/// What a user should know about an archive that reads all the same.
std::vector<std::string> archive_warnings(const ZipReader& zip);

}  // namespace ckpt
