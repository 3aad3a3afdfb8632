#include "container/zip_writer.h"

#include <algorithm>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/zip_format.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/stream.h"

namespace ckpt {
namespace {

using namespace zip;
using Buffer = std::vector<std::byte>;

/// torch writes with any; past this one its extra fields are longer than their 16-bit length tells.
constexpr std::uint32_t alignment_maximum = 65536;
/// What an extra field begins with: its kind and its length.
constexpr std::size_t field_head = 4;

std::uint32_t narrow32(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, ones32));
}

bool is_wide(std::uint64_t value) { return value >= ones32; }

/// Bytes from `data` to a multiple of `alignment`; to one of its half, where more than `most` would be needed.
std::size_t padding_to(std::uint64_t data, std::uint32_t alignment, std::size_t most) {
  const auto padding = static_cast<std::size_t>((alignment - data % alignment) % alignment);
  return padding <= most ? padding : padding_to(data, alignment / 2, most);
}

void append_text(Buffer& to, std::string_view text) {
  const std::span<const std::byte> bytes = as_bytes(text);
  to.insert(to.end(), bytes.begin(), bytes.end());
}

// What torch puts into a local header (`compressed_size` 0: it does not know it yet) and into the directory: both sizes
// where the size is wide, then the offset where that is.
Buffer zip64_extra(std::uint64_t size, std::uint64_t compressed_size, std::uint64_t offset) {
  Buffer values;
  if (is_wide(size)) {
    append_le(values, size);
    append_le(values, compressed_size);
  }
  if (is_wide(offset)) append_le(values, offset);
  Buffer extra;
  if (values.empty()) return extra;
  append_le(extra, extra_zip64);
  append_le(extra, static_cast<std::uint16_t>(values.size()));
  extra.insert(extra.end(), values.begin(), values.end());
  return extra;
}

// An empty member has no descriptor.
std::uint16_t flags_of(std::uint64_t size) { return size == 0 ? flag_utf8 : flag_utf8 | flag_descriptor; }

}  // namespace

ZipWriter::ZipWriter(ByteSink& sink, std::uint32_t alignment)
    : sink_(sink), start_(sink.offset()), alignment_(std::max<std::uint32_t>(alignment, 1)) {
  if (alignment > alignment_maximum)
    throw Error(ErrorCode::invalid_argument, "an alignment of " + std::to_string(alignment) + " bytes")
        .expected("at most " + std::to_string(alignment_maximum));
}

void ZipWriter::begin(std::string_view name, std::uint64_t size) {
  if (name.empty() || name.size() > ones16)
    throw Error(ErrorCode::invalid_argument, "a member name of " + std::to_string(name.size()) + " bytes")
        .expected("1 to 65535");
  const std::uint64_t offset = sink_.offset() - start_;
  const Buffer wide = zip64_extra(size, 0, offset);
  const std::size_t extra = wide.size() + field_head;
  const std::size_t padding = padding_to(offset + local_size + name.size() + extra, alignment_, ones16 - extra);

  Buffer header;
  header.reserve(local_size + name.size() + extra + padding);
  append_le(header, local_signature);
  append_le(header, std::uint16_t{0});  // version needed: torch leaves it 0
  append_le(header, flags_of(size));
  append_le(header, method_stored);
  append_le(header, std::uint32_t{0});  // time and date
  header.resize(header.size() + 12);    // CRC-32 and sizes: the descriptor has them
  append_le(header, static_cast<std::uint16_t>(name.size()));
  append_le(header, static_cast<std::uint16_t>(extra + padding));
  append_text(header, name);
  header.insert(header.end(), wide.begin(), wide.end());
  append_le(header, extra_padding);
  append_le(header, static_cast<std::uint16_t>(padding));
  header.resize(header.size() + padding, std::byte{'Z'});
  sink_.write(header);
  entries_.push_back({std::string(name), offset, size, 0});
}

void ZipWriter::end(std::uint32_t crc32) {
  Entry& entry = entries_.back();
  entry.crc32 = crc32;
  if (entry.size == 0) return;
  Buffer descriptor;
  descriptor.reserve(8 + 2 * sizeof(std::uint64_t));
  append_le(descriptor, descriptor_signature);
  append_le(descriptor, crc32);
  if (is_wide(entry.size) || is_wide(entry.header_offset)) {
    append_le(descriptor, entry.size);
    append_le(descriptor, entry.size);
  } else {
    append_le(descriptor, narrow32(entry.size));
    append_le(descriptor, narrow32(entry.size));
  }
  sink_.write(descriptor);
}

std::uint32_t ZipWriter::add(std::string_view name, std::uint64_t size, const Produce& produce) {
  begin(name, size);
  const std::uint64_t from = sink_.offset();
  const std::uint32_t crc = produce(sink_);
  if (sink_.offset() - from != size)
    throw Error(ErrorCode::truncated, "the bytes end after " + std::to_string(sink_.offset() - from))
        .expected(std::to_string(size));
  end(crc);
  return crc;
}

std::uint32_t ZipWriter::add(std::string_view name, std::span<const std::byte> bytes) {
  return add(name, bytes.size(), [&](ByteSink& sink) {
    sink.write(bytes);
    return crc32(0, bytes);
  });
}

std::uint32_t ZipWriter::add(std::string_view name, const ByteSource& bytes) {
  try {
    return add(name, bytes.size(), [&](ByteSink& sink) { return copy_all(bytes, sink); });
  } catch (Error& error) {
    throw error.is_output() ? error : error.in(bytes.name());
  }
}

void ZipWriter::finish() { write_directory(); }

void ZipWriter::write_directory() {
  const std::uint64_t begin = sink_.offset() - start_;
  Buffer buffer;
  for (const Entry& entry : entries_) {
    const Buffer wide = zip64_extra(entry.size, entry.size, entry.header_offset);
    append_le(buffer, entry_signature);
    append_le(buffer, std::uint32_t{0});  // versions: torch leaves both 0
    append_le(buffer, flags_of(entry.size));
    append_le(buffer, method_stored);
    append_le(buffer, std::uint32_t{0});  // time and date
    append_le(buffer, entry.crc32);
    append_le(buffer, narrow32(entry.size));
    append_le(buffer, narrow32(entry.size));
    append_le(buffer, static_cast<std::uint16_t>(entry.name.size()));
    append_le(buffer, static_cast<std::uint16_t>(wide.size()));
    buffer.resize(buffer.size() + 10);  // comment, disk, attributes
    append_le(buffer, narrow32(entry.header_offset));
    append_text(buffer, entry.name);
    buffer.insert(buffer.end(), wide.begin(), wide.end());
    if (buffer.size() >= limits::copy_chunk) {
      sink_.write(buffer);
      buffer.clear();
    }
  }
  sink_.write(buffer);
  write_end(begin, sink_.offset() - start_ - begin);
}

// torch writes the ZIP64 records always, needed or not.
void ZipWriter::write_end(std::uint64_t directory_offset, std::uint64_t directory_size) {
  const std::uint64_t count = entries_.size();
  const auto narrow_count = static_cast<std::uint16_t>(std::min<std::uint64_t>(count, ones16));
  Buffer records;
  append_le(records, end64_signature);
  append_le(records, std::uint64_t{end64_size - 12});
  append_le(records, std::uint16_t{0x031e});  // made by: Unix, 3.0
  append_le(records, std::uint16_t{0x002d});  // version needed: 4.5, ZIP64
  append_le(records, std::uint64_t{0});       // this disk, the directory's disk
  append_le(records, count);
  append_le(records, count);
  append_le(records, directory_size);
  append_le(records, directory_offset);

  append_le(records, locator_signature);
  append_le(records, std::uint32_t{0});  // the record's disk
  append_le(records, directory_offset + directory_size);
  append_le(records, std::uint32_t{1});  // disks in all

  append_le(records, end_signature);
  append_le(records, std::uint32_t{0});  // disks
  append_le(records, narrow_count);
  append_le(records, narrow_count);
  append_le(records, narrow32(directory_size));
  append_le(records, narrow32(directory_offset));
  append_le(records, std::uint16_t{0});  // no comment
  sink_.write(records);
}

}  // namespace ckpt
