#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/limits.h"
#include "container/zip_descriptor.h"
#include "container/zip_directory.h"
#include "container/zip_forward.h"
#include "format.h"
#include "io/faults.h"
#include "io/keyed_hash.h"

/// A ZIP archive that may be cut or damaged anywhere, walked from local header to local header. What a header cannot
/// tell is taken from the directory, where there is one, and from what the archive's user knows; where a member's end
/// is not where all of them say, the next header is looked for.
namespace ckpt::zip {

/// What is left of a member.
struct SalvagedMember {
  std::string name;
  std::uint64_t header_offset = 0, data_offset = 0;
  std::uint64_t compressed_size = 0;  ///< bytes of the file that are its data, as far as they are there
  std::uint64_t size = 0;             ///< what they inflate to, where that is told; else past any size
  bool is_stored = true;
  /// More stands between it and the next record than belongs there, or less: its bytes may be others, moved to where
  /// they are.
  bool is_displaced = false;
  bool is_closed = true;     ///< what belongs behind it stands there, or the file ends within that
  bool ends_as_told = true;  ///< where a header, the directory or what stands behind it says that it ends
  /// Each CRC-32 that the archive records for it, none where that is 0: more than one where its records differ. That
  /// of a directory comes first.
  std::vector<std::uint32_t> checksums;
};

/// What the archive's user knows of its members.
struct Expected {
  std::function<bool(const std::string& name)> is_known;  ///< there should be one of that name
  /// What a stored one of that name should hold, where that is known.
  std::function<std::optional<std::uint64_t>(const std::string& name)> size_of;
};

class SalvageWalk {
 public:
  /// Faults go to `context`, which collects them. Throws Error: io.
  SalvageWalk(ByteSourcePtr source, const ReadContext& context);

  /// The next member, in the order of the file; none at the end. Throws Error: io, limit_exceeded.
  std::optional<SalvagedMember> next(const Expected& expected);
  /// Whether there is a directory that can be read.
  [[nodiscard]] bool has_directory() const { return !listed_.empty(); }
  /// Whether so much has stood between two members that there may have been another.
  [[nodiscard]] bool has_gaps() const { return has_gaps_; }
  /// Where another archive begins right behind this one, whose directory could not be read: asked at the end of the
  /// walk. Throws Error: io.
  [[nodiscard]] std::optional<std::uint64_t> another_behind() const;

 private:
  /// Where the directory says that a name stands.
  struct Place {
    std::uint64_t offset;
    bool is_only_one = true;
  };
  /// What the directory says of a member.
  struct Listed {
    std::uint32_t crc32 = 0;  ///< 0: nothing, for there are several
    std::uint64_t compressed_size = 0;
  };
  /// Names that are longer are no checkpoint's.
  static constexpr std::size_t longest_name = 2 * limits::kib;
  /// Where a member ends, or what stands where one ought to.
  struct End {
    std::uint64_t data_end = 0;
    std::uint64_t next = 0;  ///< where the next record begins
    std::optional<Descriptor> descriptor;
  };

  void read_listed();
  void note_names(const std::vector<DirectoryEntry>& directory);
  [[nodiscard]] const Listed* only_listed(const std::string& name) const;
  [[nodiscard]] std::uint32_t listed_checksum(const std::string& name) const;
  std::optional<LocalHeader> moved_first_header();
  void tell_of_header(const std::string& name, std::uint64_t offset);
  static bool is_name(const std::string& name);
  void fault(std::string found, std::uint64_t at, std::string expected);
  void remark_of_gap(std::uint64_t begin, std::uint64_t end);
  /// Whether the directory has a member, or stands itself, there.
  [[nodiscard]] bool is_where_listed(std::uint64_t offset) const;
  [[nodiscard]] bool is_unlisted(std::uint64_t offset) const;
  [[nodiscard]] const DirectoryEntry* listed_at(std::uint64_t offset) const;
  [[nodiscard]] bool is_plausible(const LocalHeader& header, std::uint64_t offset) const;
  [[nodiscard]] bool is_within_listed(std::uint64_t offset) const;
  [[nodiscard]] bool stands_where_listed(const std::string& name) const;
  [[nodiscard]] std::optional<LocalHeader> named_header(std::uint64_t offset) const;
  [[nodiscard]] bool ends_members(std::uint64_t offset) const;
  void reconcile(LocalHeader& header, const DirectoryEntry& entry, const Expected& expected);
  std::optional<LocalHeader> header_at(std::uint64_t offset, const Expected& expected);
  [[nodiscard]] LocalHeader header_of(const DirectoryEntry& entry) const;
  [[nodiscard]] std::optional<Descriptor> descriptor_at(const LocalHeader& header, std::uint64_t offset,
                                                        std::uint64_t compressed_size) const;
  [[nodiscard]] std::optional<End> end_at(const LocalHeader& header, std::uint64_t compressed_size) const;
  [[nodiscard]] std::optional<End> end_before(const LocalHeader& header, std::uint64_t size) const;
  [[nodiscard]] std::optional<End> search(std::uint64_t from, const LocalHeader* member) const;
  [[nodiscard]] std::optional<End> match(std::uint64_t at, const LocalHeader* member) const;
  void tell_of_end(const SalvagedMember& member, std::optional<std::uint64_t> told, bool goes_on);
  [[nodiscard]] bool has_checksum(const LocalHeader& header, std::uint64_t begin, std::uint64_t size) const;
  std::optional<End> place(LocalHeader& header, std::uint64_t size, std::uint64_t next) const;
  std::optional<End> find_end(LocalHeader& header, const std::vector<std::uint64_t>& told);
  [[nodiscard]] bool begins_record(std::uint64_t offset) const;
  static std::uint64_t most_inflated(const SalvagedMember& member);
  void count_inflated(const SalvagedMember& member);
  SalvagedMember take(LocalHeader header, const Expected& expected);

  ByteSourcePtr source_;
  ReadContext context_;
  std::uint64_t size_;  ///< of the file
  std::vector<DirectoryEntry> listed_;
  NameViewMap<Place> offsets_;                 ///< of headers, as listed
  NameMap<Listed> listed_by_name_;             ///< also of a directory whose offsets are wrong
  std::optional<DirectoryEntry> moved_first_;  ///< the first member, of a directory whose offsets are wrong
  std::uint64_t directory_offset_;             ///< the file's size, where there is no directory
  std::string root_;                           ///< the folder of the first member, with its slash
  std::uint64_t at_ = 0;
  std::uint64_t members_ = 0;
  bool has_gaps_ = false;
  std::uint64_t inflated_ = 0;  ///< what deflated members may come to
};

/// Its bytes, as far as they are there, inflated where they are deflated; what is wrong with that goes to `faults`.
/// They record the CRC-32 that they have, where the archive records several of which that is one.
ByteSourcePtr read(const SalvagedMember& member, const ByteSourcePtr& source, const Faults& faults,
                   const ReadContext& context);

}  // namespace ckpt::zip
