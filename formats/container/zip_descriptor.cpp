#include "container/zip_descriptor.h"

#include <array>
#include <string_view>

#include "container/zip_format.h"
#include "io/bytes.h"

namespace ckpt::zip {
namespace {

/// Whether a record, the end of the source, or as much of a record as there is stands here.
bool is_record(std::span<const std::byte> bytes) {
  if (bytes.size() < signature_size) return std::string_view("PK").starts_with(as_text(bytes).substr(0, 2));
  const auto value = load_le<std::uint32_t>(bytes.data());
  return value == local_signature || value == entry_signature || value == end_signature || value == end64_signature;
}

struct Form {
  std::size_t signature;  ///< bytes of it
  bool is_wide;           ///< sizes of 8 bytes
};
constexpr Form forms[] = {{signature_size, false}, {signature_size, true}, {0, false}, {0, true}};

/// What stands there, taken for one of the forms.
struct Reading {
  Descriptor descriptor;
  std::uint64_t compressed_size = 0;
};

std::optional<Reading> read_as(const Form& form, std::span<const std::byte> bytes) {
  const std::size_t length = form.signature + (form.is_wide ? 20 : 12);
  if (bytes.size() < length) return std::nullopt;
  if (form.signature != 0 && load_le<std::uint32_t>(bytes.data()) != descriptor_signature) return std::nullopt;
  const std::byte* const from = bytes.data() + form.signature;
  const auto crc = load_le<std::uint32_t>(from);
  if (form.is_wide) return Reading{{crc, load_le<std::uint64_t>(from + 12), length}, load_le<std::uint64_t>(from + 4)};
  return Reading{{crc, load_le<std::uint32_t>(from + 8), length}, load_le<std::uint32_t>(from + 4)};
}

}  // namespace

std::optional<Descriptor> parse_descriptor(std::span<const std::byte> bytes, std::uint64_t compressed_size,
                                           std::optional<std::uint64_t> size, bool followed) {
  for (const bool ends : {true, false}) {
    if (!ends && followed) break;
    for (const Form& form : forms) {
      const auto found = read_as(form, bytes);
      if (!found || found->compressed_size != compressed_size) continue;
      const Descriptor& descriptor = found->descriptor;
      if (size && descriptor.size != *size) continue;
      if (!ends || is_record(bytes.subspan(descriptor.length))) return descriptor;
    }
  }
  return std::nullopt;
}

std::optional<Descriptor> read_descriptor(const ByteSource& source, std::uint64_t offset, std::uint64_t compressed_size,
                                          std::optional<std::uint64_t> size, bool followed) {
  std::array<std::byte, wide_descriptor + signature_size> bytes{};
  const std::size_t got = source.read_at(offset, bytes);
  return parse_descriptor(std::span(bytes).first(got), compressed_size, size, followed);
}

}  // namespace ckpt::zip
