#pragma once

#include <string>
#include <string_view>

#include "container/zip_reader.h"
#include "format.h"

/// Where torch.jit.save puts what in an archive: docs/formats/torchscript.md.
namespace ckpt::torchscript {

inline constexpr std::string_view constants_name = "constants.pkl";
inline constexpr std::string_view bytecode_name = "bytecode.pkl";
inline constexpr std::string_view model_name = "model.json";
inline constexpr std::string_view code_folder = "code/";

/// The folder that holds the model; every member lies in it. Throws Error (corrupt) where there are several, or no
/// data.pkl beside code.
std::string find_root(const ZipReader& zip, const ByteSource& source);

/// The folder whose members a pickle's storage ids name: its own, but mobile files keep those of bytecode.pkl among the
/// constants since torch 1.8.
std::string storage_folder_of(const ZipReader& zip, const std::string& root, std::string_view pickle);

/// Reads a member that is held in memory as a whole. Throws Error: limit_exceeded, corrupt, truncated.
ByteSourcePtr in_memory(const ZipReader& zip, const ZipMember& member, std::uint64_t cap);

}  // namespace ckpt::torchscript
