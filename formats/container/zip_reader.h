#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
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

/// Fixed part, name and extra field of local headers, as a walk from the first to the last has met them, and how far it
/// read what stands behind the members' bytes.
class SeenHeaders {
 public:
  /// `offset` lies behind those of all that were added before.
  void add(std::uint64_t offset, std::span<const std::byte> header);
  /// Empty where none was added. Valid until another is.
  [[nodiscard]] std::span<const std::byte> find(std::uint64_t offset) const;
  /// Data descriptors in front of `offset` are as they have to be, but for what whoever walks compares himself.
  void pass_ends(std::uint64_t offset) { ends_passed_ = offset; }
  [[nodiscard]] std::uint64_t ends_passed() const { return ends_passed_; }

 private:
  struct Place {
    std::uint64_t offset;
    std::size_t begin;  ///< in bytes_
  };
  std::vector<Place> places_;
  std::vector<std::byte> bytes_;
  std::uint64_t ends_passed_ = 0;
};

/// Whether names that are equal but for case may stand side by side. torch takes one for the other; numpy does not.
enum class NameCase { folded, exact };

/// The directory of a ZIP archive (APPNOTE 6.3.10; ZIP64). Opening refuses what readers disagree about: duplicate names
/// (also but for case, unless NameCase is exact), a local header or data descriptor that contradicts the directory
/// (name, method, flags, sizes or CRC where it has them), encryption, members that overlap or reach past their archive,
/// absolute or parent paths, links, several disks. Bytes after the archive are allowed (torch allows them) and counted;
/// bytes before it are refused.
class ZipReader {
 public:
  /// Throws Error: corrupt, truncated, unsupported, limit_exceeded, io. With findings in `context`, faults of single
  /// members are noted there and the member is still listed where that is possible. Local headers that `seen` holds are
  /// not read again.
  static ZipReader open(ByteSourcePtr source, const ReadContext& context = {}, const SeenHeaders* seen = nullptr,
                        NameCase names = NameCase::folded);

  /// In the order of their data in the file.
  [[nodiscard]] const std::vector<ZipMember>& members() const { return listed_->members; }
  /// Null where there is none. `likely`: one of members() that may be it, or null.
  [[nodiscard]] const ZipMember* find(std::string_view name, const ZipMember* likely = nullptr) const;
  /// Its place in members().
  [[nodiscard]] std::size_t index_of(const ZipMember& member) const {
    return static_cast<std::size_t>(&member - members().data());
  }
  /// The one that follows it; null behind the last.
  [[nodiscard]] const ZipMember* after(const ZipMember& member) const {
    return &member == &members().back() ? nullptr : &member + 1;
  }

  /// The bytes of one of members(), inflated where deflated. Its recorded CRC-32 is the directory's, none where that is
  /// 0: torch's compute_crc32=False records 0 for all (has_checksums() is false), its skip_data() for storages.
  [[nodiscard]] ByteSourcePtr read(const ZipMember& member) const;

  [[nodiscard]] bool has_checksums() const { return has_checksums_; }
  /// How many members have bytes and no checksum.
  [[nodiscard]] std::ptrdiff_t unchecked() const { return unchecked_; }
  /// Bytes after the end of the archive.
  [[nodiscard]] std::uint64_t trailing_bytes() const { return trailing_bytes_; }

 private:
  ZipReader() = default;

  /// Shared with the sources of members, which are called by what it lists.
  struct Listed final : SourceNames {
    [[nodiscard]] std::string name(std::uint32_t index) const override;

    ByteSourcePtr source;
    std::vector<ZipMember> members;
    zip::NameIndex names;
    std::shared_ptr<InflatingShare> inflating;
  };

  std::shared_ptr<const Listed> listed_;
  bool has_checksums_ = true;
  std::ptrdiff_t unchecked_ = 0;
  std::uint64_t trailing_bytes_ = 0;
};

/// True where the source begins with a local file header or is an empty archive. Throws Error (io).
bool is_zip(const ByteSource& source);

/// The name in the first local header, which says what most archives are; empty where there is none. Throws Error:
/// what reading the source throws.
std::string first_member_name(const ByteSource& source);

/// What a user should know about an archive that reads all the same.
std::vector<std::string> archive_warnings(const ZipReader& zip);

}  // namespace ckpt
