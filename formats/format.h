#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/folder_sink.h"
#include "ckpt/formats.h"
#include "ckpt/limits.h"
#include "ckpt/utf8.h"
#include "io/file_pool.h"
#include "io/inflating_share.h"
#include "io/keyed_hash.h"
#include "io/machine_error.h"

namespace ckpt {

/// What a reader is given beside the bytes: what the file may cost, what lies beside it, and where to put diagnostics.
struct ReadContext {
  /// Of pickles that only the reader finds.
  struct Met {
    std::vector<GlobalUse> globals;  ///< of those that it read
    std::uint64_t last = 0;  ///< where the last one begins in the file, which it may have refused; 0: there is none
    std::vector<std::pair<std::string, ByteSourcePtr>> beside;  ///< what lies in other files and is loaded, by name
  };

  /// Bytes that a pickle of this file may have, or an archive's directory: what is held in memory as a whole.
  std::uint64_t pickle_cap = limits::pickle_bytes;
  /// Bytes that everything compressed in this file may come to.
  std::uint64_t inflated_cap = UINT64_MAX;
  /// Set by verify(): the reader then reads every byte, and faults that do not keep the rest from being read go here
  /// instead of being thrown.
  std::vector<Finding>* findings = nullptr;
  /// Set by scan(): what a reader has met that refuses the file.
  Met* met = nullptr;
  ReadOptions options = {};
  /// ByteSource::folder() of what the user named.
  std::string folder = {};
  std::shared_ptr<FilePool> files = std::make_shared<FilePool>();
  /// Of members of archives.
  std::shared_ptr<InflatingShare> inflating = std::make_shared<InflatingShare>();
  /// How many files this one lies in, and what findings call it there.
  int depth = 0;
  std::string place = {};

  /// For a file that the user named.
  static ReadContext of(const ByteSource& source, const ReadOptions& options = {});

  /// Reads a checkpoint, in any format, that lies in this file or beside it, but names no others beside it; `where` is
  /// what messages call it. Throws Error: what read() throws, limit_exceeded (files in files in files).
  [[nodiscard]] Checkpoint open(const ByteSourcePtr& source, const std::string& where) const;
  /// The path of that name in the same folder or below; none where nothing lies there. Throws Error: corrupt (a name
  /// that leads out of the folder), unsupported (this file came from no folder).
  [[nodiscard]] std::optional<std::string> path_beside(const std::string& name) const;
  /// The file at path_beside(); null where there is none. Throws Error: also unsupported (it is no file), io.
  [[nodiscard]] ByteSourcePtr open_beside(const std::string& name) const;

  /// Throws the error, or notes it where findings are collected.
  void report(const Error& error, const std::string& where) const;
  /// Where findings are collected: notes what is no fault.
  void remark(std::string what, const std::string& where = {}) const;
  /// … of each name that a pickle calls for and that can run code.
  void remark_dangers(const std::vector<GlobalUse>& globals) const;
  /// Where findings are collected: reads all of `bytes` and reports what is wrong with them.
  void check_bytes(const ByteSource& bytes, const std::string& where) const;
};

/// Whether a format whose metadata is text can hold that entry.
inline bool is_text_entry(const std::pair<std::string, std::string>& entry) {
  return is_utf8(entry.first) && is_utf8(entry.second);
}

/// Whether any of them is more than a remark.
bool has_faults(std::span<const Finding> findings);

/// The CRC-32 of each storage as it was written, by its key in the file.
using WriteReceipt = NameMap<std::uint32_t>;

/// A value of a graph of which nothing can be made, and why.
struct Doubt {
  ValueId value;
  std::shared_ptr<const Error> error;  ///< one for all ids that nobody knows: there may be millions
  bool is_foreign = false;             ///< an id that nobody knows: damage, or what its writer meant
};
using Doubts = std::vector<Doubt>;

/// What is left of a damaged file.
struct Salvage {
  /// Each storage has the bytes that are left of it, from its first on: fewer than `nbytes`, or null. Whether they are
  /// what their recorded CRC-32 says has not been looked at.
  Checkpoint checkpoint;
  Doubts doubts;
  /// False: names and values may be wrong, or there was more in the file, of which not even a name is left.
  bool is_certain = true;
  bool is_checked = false;  ///< a checksum of its own vouches for the object's pickle
};

/// A file format: the whole of what the rest of ckpt knows about it. Adding one is a folder and a line in registry.cpp.
struct Format {
  std::string_view name;
  std::string_view description;
  std::span<const std::string_view> suffixes;
  std::string_view loader;
  bool has_checksums = false;
  bool pickled = true;          ///< what it writes holds the object's pickle, and the globals that it calls for
  bool keeps_metadata = false;  ///< what it writes holds Checkpoint::metadata
  /// Whether the content is this format's; asked by recognises(). Throws Error: what reading throws.
  bool (*probe)(const ByteSource& source);
  Checkpoint (*read)(const ByteSourcePtr& source, const ReadContext& context);
  /// Where the file ends, which may be before its bytes do. Null: it does not say, or all of it is read. Throws Error:
  /// what reading throws.
  std::uint64_t (*end)(const ByteSourcePtr& source, const ReadContext& context) = nullptr;
  /// Reads what is left of a damaged file; `context` collects what is wrong with it. Null for a format of which nothing
  /// is recovered. Throws Error: unsupported, where nothing of it is this format's; where nothing can be made of what
  /// is, why; limit_exceeded, io.
  Salvage (*salvage)(const ByteSourcePtr& source, const ReadContext& context) = nullptr;
  /// Takes the checkpoint's graph, tensors and storages out of it as it no longer needs them. Null for a format that is
  /// only read, or a folder.
  WriteReceipt (*write)(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options) = nullptr;
  /// What the format cannot say and write() leaves out, as SaveReport::left_out. Null: it can say everything.
  std::vector<std::string> (*losses)(const Checkpoint& checkpoint) = nullptr;
  /// For a checkpoint of several files: the source by which the folder that holds these names (sorted) is read, such as
  /// its index; null where it is none of this format's. Throws Error: io; corrupt, invalid_argument (it is one, without
  /// what it is read by or with two of it).
  ByteSourcePtr (*enter)(const std::string& folder, std::span<const std::string> names) = nullptr;
  /// In place of write(), where what is written is a folder.
  WriteReceipt (*write_folder)(const Checkpoint& checkpoint, FolderSink& sink, const WriteOptions& options) = nullptr;
};

/// What Format::probe says; no, where the content cannot be read as far as that asks for: reading it will say why.
/// Throws only Error that is of the machine.
bool recognises(const Format& format, const ByteSource& source);

/// Every format, in the order in which they are asked.
std::span<const Format* const> format_table();
/// The format of that name, or null.
const Format* find_format(std::string_view name);

}  // namespace ckpt
