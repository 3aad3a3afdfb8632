#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "container/zip_reader.h"
#include "format.h"

/// What torch.save and torch.jit.save have in common: caffe2/serialize/inline_container.cc wrote both archives.
namespace ckpt::torch {

inline constexpr std::string_view pickle_name = "data.pkl";
inline constexpr std::string_view storage_folder = "data/";
inline constexpr std::string_view byte_order_name = "byteorder";
/// Promises where storages stand: see stand_as_asked_for() in torch_zip/writer.cpp.
inline constexpr std::string_view format_version_name = ".format_version";
inline constexpr std::string_view alignment_name = ".storage_alignment";

/// Throws Error: corrupt, unsupported, where a member lies outside the folder `root`, or that holds no version which
/// PyTorch reads.
void check_root(const ZipReader& zip, const std::string& root, const ByteSource& source);

/// Whether the member called `name` within the root folder tells the archive's version.
bool is_version(std::string_view name);
/// `text` is what that member says; PyTorch passes over blanks before a number, and over whatever follows it. Throws
/// Error: corrupt, unsupported (a version that PyTorch does not read).
void check_version(std::string_view text, std::uint64_t offset, const ByteSource& source);

/// The member called `name`, which holds the bytes of a storage; null, and a finding, where findings are collected and
/// the archive lacks it. `likely`: see ZipReader::find. Throws Error: corrupt (no such member, or one of another size).
const ZipMember* find_storage(const ZipReader& zip, const std::string& name, const Storage& storage,
                              const ByteSource& source, const ReadContext& context, const ZipMember* likely);

/// Gives each storage the member that `name_of` names (an empty name: none), in the order of the file, and renumbers
/// the uses accordingly. Returns which of the archive's members those are. Throws as find_storage() does.
std::vector<bool> attach_storages(Checkpoint& checkpoint, const ZipReader& zip, ByteOrder order,
                                  const ByteSource& source, const ReadContext& context,
                                  const std::function<std::string(const Storage&)>& name_of);

/// Of the member `byteorder`; little where there is none, as before torch 2.1.
ByteOrder read_byte_order(const ZipReader& zip, const std::string& root, const ByteSource& source);

/// What a record that holds a line of text says.
std::string read_text(const ByteSource& record);
/// Throws Error (corrupt) for what is neither "little" nor "big".
ByteOrder parse_byte_order(const std::string& text, std::uint64_t offset, const ByteSource& source);
/// None for what cannot be an alignment.
std::optional<std::uint32_t> parse_alignment(std::string_view text);

}  // namespace ckpt::torch
