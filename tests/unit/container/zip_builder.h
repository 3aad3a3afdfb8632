#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_source.h"

/// Zip archives made by hand, each field of which can be told to lie.
namespace ckpt::zip_testing {

struct ZipPart {
  std::string name = {}, data = {};
  std::uint16_t method = 0, flags = 0;
  std::uint32_t attributes = 0;
  bool descriptor = false;                           ///< flag 3; local values are left open and a descriptor follows
  std::uint32_t placeholder = 0;                     ///< what the local sizes are then
  std::optional<std::string> descriptor_bytes = {};  ///< else a signature, and what the directory says in 32 bits
  std::string local_extra = {}, central_extra = {};
  std::string gap = {};  ///< bytes in front of the local header
  std::optional<std::string> local_name = {};
  std::optional<std::uint16_t> local_method = {}, local_flags = {};
  std::optional<std::uint32_t> crc = {}, local_crc = {}, size = {}, local_size = {};
  std::optional<std::uint32_t> compressed_size = {}, local_compressed_size = {}, offset = {};
  std::uint16_t disk = 0;
  std::optional<std::uint64_t> inflated_size = {};  ///< of a deflated part whose `data` is the stream
  std::optional<std::uint32_t> inflated_crc = {};
};

struct ZipShape {
  bool zip64 = false;
  std::string comment = {}, after = {};
  std::uint16_t disk = 0;
  std::optional<std::uint16_t> count = {}, count_here = {}, comment_size = {};
  std::optional<std::uint32_t> directory_offset = {}, directory_size = {};
  std::optional<std::uint64_t> count64 = {}, offset64 = {}, size64 = {}, record64_offset = {}, record64_size = {};
  std::uint32_t disks64 = 1;
};

std::string build_zip(const std::vector<ZipPart>& parts, const ZipShape& shape = {});

/// "\1\0\x10\0" and the values: a ZIP64 extra field.
std::string zip64_field(std::span<const std::uint64_t> values);

struct DescriptorShape {
  std::uint32_t crc = 0;
  std::uint64_t compressed_size = 0, size = 0;
  bool has_signature = true, is_wide = false;
};

/// What stands behind a member's bytes where its local header leaves them open.
std::string descriptor_of(const DescriptorShape& shape);

/// A raw deflate stream of one stored block.
std::string deflate_stored(std::string_view data);

ByteSourcePtr source_of(std::string_view bytes);
std::string text_of(const ByteSource& source);

}  // namespace ckpt::zip_testing
