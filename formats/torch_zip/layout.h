#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/storage.h"
#include "container/zip_reader.h"
#include "format.h"
#include "torch_zip/details.h"

/// Where torch.save puts what in an archive: docs/formats/torch.md.
namespace ckpt::torch {

inline constexpr std::string_view pickle_name = "data.pkl";
inline constexpr std::string_view storage_folder = "data/";
inline constexpr std::string_view byte_order_name = "byteorder";
inline constexpr std::string_view alignment_name = ".storage_alignment";

/// The folder that holds data.pkl and a version; every member lies in it. Throws Error: corrupt, unsupported (a
/// TorchScript archive, a zip of something else).
std::string find_root(const ZipReader& zip, const ByteSource& source);

/// The bytes of a storage; empty ones, and a finding, where findings are collected and the archive lacks them.
/// `begin` is set to where they start in the file. Throws Error: corrupt (no such member, or one of another size).
ByteSourcePtr find_storage(const ZipReader& zip, const std::string& root, const Storage& storage,
                           const ByteSource& source, const ReadContext& context, std::uint64_t& begin);

/// Throws Error (corrupt) where the pickle names views of storages, which no zip holds.
void refuse_views(const Checkpoint& checkpoint);

/// A member within the root folder: the pickle, a storage, or a record, whose bytes `read` gives.
ZipDetails::Member describe_member(std::string_view name, bool is_storage, const std::function<ByteSourcePtr()>& read);

/// What a record that holds a line of text says.
std::string read_text(const ByteSource& record);
/// Throws Error (corrupt) for what is neither "little" nor "big".
ByteOrder parse_byte_order(const std::string& text, std::uint64_t offset, const ByteSource& source);
/// None for what cannot be an alignment.
std::optional<std::uint32_t> parse_alignment(const std::string& text);

}  // namespace ckpt::torch
