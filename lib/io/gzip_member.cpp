#include "io/gzip_member.h"

#include <isa-l.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/compressed_input.h"
#include "io/gzip_header.h"
#include "io/inflater.h"

namespace ckpt {
namespace {

// RFC 1952: deflate, no optional fields, mtime 0, no extra flags, unknown operating system.
constexpr std::array<unsigned char, gzip_header_bytes> header{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff};

}  // namespace

GzipMember write_gzip_member(std::span<const std::byte> bytes, Deflater& deflater, std::vector<std::byte>& out) {
  if (out.size() < header.size()) out.resize(header.size());
  std::memcpy(out.data(), header.data(), header.size());
  const std::size_t end = deflater.deflate(bytes, out, header.size());
  const std::size_t size = end + gzip_trailer_bytes;
  if (out.size() < size) out.resize(size);
  store_le(out.data() + end, crc32(0, bytes));
  store_le(out.data() + end + 4, static_cast<std::uint32_t>(bytes.size()));
  return {static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(bytes.size()),
          crc32(0, std::span(out).first(size))};
}

void inflate_gzip_member(std::span<const std::byte> member, std::span<std::byte> out, std::uint64_t begin) {
  const std::size_t least = gzip_header_bytes + gzip_trailer_bytes;
  if (member.size() <= least || std::memcmp(member.data(), header.data(), header.size()) != 0)
    throw Error(ErrorCode::corrupt, "is no gzip member as ckpt writes them")
        .expected("1f 8b 08, zeros and ff")
        .at(begin);
  const auto body = member.subspan(gzip_header_bytes, member.size() - least);
  inflate_state engine;
  isal_inflate_init(&engine);
  engine.crc_flag = ISAL_DEFLATE;
  // ISA-L's pointer is not const, but it does not write there.
  engine.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(body.data()));
  engine.avail_in = static_cast<std::uint32_t>(body.size());
  engine.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  engine.avail_out = static_cast<std::uint32_t>(out.size());
  const int result = isal_inflate_stateless(&engine);
  // By its pointer: where it finds a fault, it says another number of bytes to be left.
  const auto passed = static_cast<std::size_t>(engine.next_in - reinterpret_cast<const std::uint8_t*>(body.data()));
  const std::size_t left =
      body.size() - std::min(passed, body.size()) + static_cast<std::size_t>(engine.read_in_length / 8);
  if (result != ISAL_DECOMP_OK || engine.block_state != ISAL_BLOCK_FINISH || engine.avail_out != 0 || left != 0)
    throw Error(ErrorCode::corrupt, "does not inflate to " + std::to_string(out.size()) + " bytes, and to its end")
        .expected("what the file's index says")
        .at(begin + gzip_header_bytes + body.size() - std::min(left, body.size()));
  const GzipTrailer trailer = gzip_trailer(member);
  const std::uint32_t crc = crc32(0, out);
  if (crc != trailer.crc32)
    throw Error(ErrorCode::corrupt, "its bytes have CRC-32 " + hexadecimal(crc))
        .expected(hexadecimal(trailer.crc32) + " as recorded")
        .at(begin + member.size() - gzip_trailer_bytes);
  if (trailer.inflated != out.size())
    throw Error(ErrorCode::corrupt, "it inflates to " + std::to_string(out.size()) + " bytes")
        .expected(std::to_string(trailer.inflated) + " as recorded")
        .at(begin + member.size() - 4);
}

bool salvage_gzip_member(std::span<const std::byte> member, std::span<std::byte> out) {
  const std::size_t least = gzip_header_bytes + gzip_trailer_bytes;
  const auto body = member.subspan(gzip_header_bytes, member.size() - least);
  CompressedInput input(memory_source({body.begin(), body.end()}, ""));
  Inflater inflater;
  std::size_t have = 0;
  try {
    while (have < out.size() && !inflater.finished()) have += inflater.inflate(input, out.subspan(have));
  } catch (const Error&) {
    // What came before it is there.
  }
  std::ranges::fill(out.subspan(have), std::byte{0});
  const GzipTrailer trailer = gzip_trailer(member);
  return have == out.size() && trailer.inflated == have && trailer.crc32 == crc32(0, out);
}

bool is_plain_gzip_member(std::span<const std::byte> member) {
  if (member.size() < header.size() || std::memcmp(member.data(), header.data(), header.size()) != 0) return false;
  constexpr std::size_t magic = 3;  // and the method: of the flags that RFC 1952 reserves, Python takes any
  std::span<const std::byte> rest = member.subspan(1);
  while (rest.size() >= magic) {
    const void* const found = std::memchr(rest.data(), header[0], rest.size() - magic + 1);
    if (found == nullptr) return true;
    rest = rest.subspan(static_cast<std::size_t>(static_cast<const std::byte*>(found) - rest.data()));
    if (std::memcmp(rest.data(), header.data(), magic) == 0) return false;
    rest = rest.subspan(1);
  }
  return true;
}

GzipTrailer gzip_trailer(std::span<const std::byte> member) {
  const std::byte* const at = member.data() + member.size() - gzip_trailer_bytes;
  return {load_le<std::uint32_t>(at), load_le<std::uint32_t>(at + 4)};
}

}  // namespace ckpt
