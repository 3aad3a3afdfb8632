#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "ckpt/formats.h"
#include "ckpt/limits.h"

namespace ckpt {

/// What a reader is given beside the bytes: how deep it is in files within files, and where to put diagnostics.
struct ReadContext {
  /// Bytes that a pickle of this file may have, or an archive's directory: what is held in memory as a whole.
  std::uint64_t pickle_cap = limits::pickle_bytes;
  /// Bytes that everything compressed in this file may come to.
  std::uint64_t inflated_cap = UINT64_MAX;
  /// Set by verify(): the reader then reads every byte, and faults that do not keep the rest from being read go here
  /// instead of being thrown.
  std::vector<Finding>* findings = nullptr;

  /// Throws the error, or notes it where findings are collected.
  void report(const Error& error, const std::string& where) const;
  /// Where findings are collected: notes what is no fault.
  void remark(std::string what, const std::string& where = {}) const;
  /// Where findings are collected: reads all of `bytes` and reports what is wrong with them.
  void check_bytes(const ByteSource& bytes, const std::string& where) const;
};

/// The CRC-32 of each storage as it was written, by its key in the file.
using WriteReceipt = std::map<std::string, std::uint32_t>;

/// A file format: the whole of what the rest of ckpt knows about it. Adding one is a folder and a line in registry.cpp.
struct Format {
  std::string_view name;
  std::string_view description;
  std::span<const std::string_view> suffixes;
  std::string_view loader;
  bool has_checksums = false;
  bool pickled = true;  ///< what it writes holds the object's pickle, and the globals that it calls for
  /// Whether the content is this format's. Throws only Error (io), where the content cannot be read.
  bool (*probe)(const ByteSource& source);
  /// Null for a format that is recognised only to be named.
  Checkpoint (*read)(const ByteSourcePtr& source, const ReadContext& context);
  /// Null for a format that is only read.
  WriteReceipt (*write)(const Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options);
  /// What the format cannot say and write() leaves out, as SaveReport::left_out. Null: it can say everything.
  std::vector<std::string> (*losses)(const Checkpoint& checkpoint) = nullptr;
};

/// Every format, in the order in which they are asked.
std::span<const Format* const> format_table();
/// The format of that name, or null.
const Format* find_format(std::string_view name);

}  // namespace ckpt
