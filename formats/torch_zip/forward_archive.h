#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/storage.h"
#include "container/zip_forward.h"
#include "container/zip_reader.h"
#include "io/keyed_hash.h"
#include "torch_zip/details.h"

namespace ckpt::torch {

/// An archive that is walked from member to member as its bytes are asked for. Where it turns out not to be plain
/// enough for that, its directory is read after all, and what is wrong with it, if anything, is said then.
class ForwardArchive {
 public:
  struct Entry {
    std::string name;  ///< within the root folder
    std::uint64_t data_offset = 0;
    std::uint64_t size = 0;
    std::optional<std::uint32_t> crc32;  ///< once its end has been read
  };

  ForwardArchive(ByteSourcePtr source, const ReadContext& context) : source_(std::move(source)), context_(context) {}

  /// The first member, its size still open; null where it is not the pickle. Throws Error: what reading throws.
  const zip::ForwardMember* first();
  /// Tells the size of the pickle, and those of the storages by their keys. False where the pickle is not followed by
  /// what has to follow it, or is not the one that its checksum was taken of.
  bool begin(std::uint64_t pickle_size, const std::vector<Storage>& storages);

  /// Member `index` in the order of the file; null past the last that walking leads to.
  const Entry* walk_to(std::size_t index);
  /// A storage's member; null where walking does not lead to it.
  const Entry* find(const std::string& key);
  /// Reads the checksum behind an entry's bytes. False where it is not where it should be: the directory may know it.
  bool close(const Entry& entry);

  /// The directory at the end, compared with what was walked. Throws Error: what ZipReader::open and find_root throw,
  /// corrupt where they differ.
  const ZipReader& directory();

  /// Every storage is there and every checksum was one. Returns what a user should know.
  std::vector<std::string> finish();

  [[nodiscard]] const ByteSourcePtr& source() const { return source_; }
  [[nodiscard]] const std::string& root() const { return root_; }
  [[nodiscard]] bool is_storage(const std::string& name) const { return storages_.contains(name); }

 private:
  bool step();
  bool give_up();
  void compare_with_directory() const;

  ByteSourcePtr source_;
  ReadContext context_;
  std::string root_;
  std::unordered_map<std::string, Storage, KeyedHash> storages_;  // by name within the root folder
  std::unordered_map<std::string, std::size_t, KeyedHash> places_;
  std::vector<Entry> entries_;
  std::optional<zip::ForwardMember> last_;  // the header of the last entry
  std::uint64_t next_ = 0;
  bool walking_ = true;
  SeenHeaders seen_;
  std::optional<ZipReader> directory_;
  std::optional<std::vector<std::string>> finished_;
};

}  // namespace ckpt::torch
