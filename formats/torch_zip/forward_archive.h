#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/storage.h"
#include "container/zip_forward.h"
#include "container/zip_reader.h"
#include "io/keyed_hash.h"
#include "model/position_index.h"
#include "torch_zip/details.h"

namespace ckpt::torch {

/// An archive that is walked from member to member as its bytes are asked for. Where it turns out not to be plain
/// enough for that, its directory is read after all, and what is wrong with it, if anything, is said then.
class ForwardArchive final : public SourceNames {
 public:
  struct Entry {
    std::string name;  ///< within the root folder
    std::uint64_t data_offset = 0;
    std::uint64_t size = 0;
    std::optional<std::uint32_t> crc32;  ///< once its end has been read
  };

  ForwardArchive(ByteSourcePtr source, const ReadContext& context) : source_(std::move(source)), context_(context) {}

  /// For who asks what is below, or uses what it gave, once other threads may do so too.
  [[nodiscard]] std::unique_lock<std::mutex> turn() { return std::unique_lock(mutex_); }

  /// The first member, its size still open; null where it is not the pickle. Throws Error: what reading throws.
  const zip::ForwardMember* first();
  /// Tells the size of the pickle, and those of the storages by their keys. False where the pickle is not followed by
  /// what has to follow it, or is not the one that its checksum was taken of.
  bool begin(std::uint64_t pickle_size, const std::vector<Storage>& storages);

  /// Member `index` in the order of the file; null past the last that walking leads to.
  const Entry* walk_to(std::size_t index);
  /// The member of a storage, in the order in which begin() was told them; null where walking does not lead to it.
  const Entry* find(std::uint32_t storage);
  /// Reads the checksum behind an entry's bytes. False where it is not where it should be: the directory may know it.
  bool close(const Entry& entry);

  /// The directory at the end, compared with what was walked. Throws Error: what ZipReader::open and find_root throw,
  /// corrupt where they differ.
  const ZipReader& directory();

  /// Every storage is there, every checksum was one, and the byte order is the one that the storages were read by:
  /// `told` by a record before them, else little. Returns what a user should know.
  std::vector<std::string> finish(std::optional<ByteOrder> told);
  /// Whether bytes follow the archive: once finish() has been there.
  [[nodiscard]] bool goes_on() const { return goes_on_; }

  [[nodiscard]] const ByteSourcePtr& source() const { return source_; }
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] bool is_storage(std::string_view name) const { return storage_called(name) != PositionIndex::nowhere; }
  /// What a storage's source is called.
  [[nodiscard]] std::string name(std::uint32_t storage) const override;
  [[nodiscard]] std::uint64_t size_of(std::uint32_t storage) const { return storages_[storage].nbytes; }
  /// Its member in the directory. Throws Error: corrupt, and what directory() throws.
  const ZipMember& listed(std::uint32_t storage);

 private:
  /// A storage as the pickle tells it.
  struct Told {
    std::string key;
    std::uint64_t nbytes = 0;
    std::size_t place = unseen;  ///< in entries_
  };
  static constexpr std::size_t unseen = SIZE_MAX;

  /// PositionIndex::nowhere where the member of that name within the root folder is none.
  [[nodiscard]] std::uint32_t storage_called(std::string_view name) const;
  const ZipMember* find_listed(const ZipReader& zip, const Told& storage, const ZipMember* likely) const;
  bool step();
  void see(const zip::ForwardMember& member);
  [[nodiscard]] std::string bare_hint() const;
  bool give_up();
  void forget_the_walk();
  void compare_with(const ZipReader& zip) const;

  std::mutex mutex_;
  ByteSourcePtr source_;
  ReadContext context_;
  std::string root_;
  std::vector<Told> storages_;
  PositionIndex by_key_;  // of storages_
  NameSet records_;       // members that are none
  std::vector<Entry> entries_;
  std::optional<zip::ForwardMember> last_;  // the header of the last entry
  std::uint64_t next_ = 0;
  std::uint64_t directory_bytes_ = 0;  ///< that those met so far take in the directory
  bool walking_ = true;
  SeenHeaders seen_;
  std::optional<ZipReader> directory_;
  std::optional<std::vector<std::string>> finished_;
  bool goes_on_ = false;
};

}  // namespace ckpt::torch
