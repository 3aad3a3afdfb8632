#include "idx.h"

#include <ckpt/byte_source.h>
#include <ckpt/error.h>
#include <ckpt/file_sink.h>
#include <ckpt/gzip.h>

#include <span>

namespace mnist {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 30;

std::uint32_t big_endian(const std::byte* at) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | std::to_integer<std::uint32_t>(at[i]);
  return value;
}

}  // namespace

Idx read_idx(const std::string& path) {
  ckpt::ByteSourcePtr source = ckpt::open_file(path);
  if (ckpt::is_gzip(*source)) source = ckpt::gunzip(source, most_bytes);
  const std::vector<std::byte> file = ckpt::read_all(*source, most_bytes);
  const std::uint32_t magic = file.size() < 4 ? 0 : big_endian(file.data());
  const std::size_t dimensions = magic & 0xFF;
  if (magic >> 8 != 8 || dimensions == 0 || dimensions > 4)
    throw ckpt::Error(ckpt::ErrorCode::unsupported, "no IDX file of bytes").in(path);
  const std::size_t header = 4 + 4 * dimensions;
  if (file.size() < header) throw ckpt::Error(ckpt::ErrorCode::truncated, "it ends in its header").in(path);
  Idx idx;
  std::uint64_t elements = 1;
  for (std::size_t i = 0; i < dimensions; ++i) {
    idx.shape.push_back(big_endian(file.data() + 4 + 4 * i));
    if (idx.shape[i] != 0 && elements > most_bytes / idx.shape[i])
      throw ckpt::Error(ckpt::ErrorCode::limit_exceeded, "more elements than a data set of digits has").in(path);
    elements *= idx.shape[i];
  }
  if (file.size() - header != elements)
    throw ckpt::Error(ckpt::ErrorCode::corrupt, std::to_string(file.size() - header) + " bytes of elements")
        .in(path)
        .expected(std::to_string(elements));
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(file.data());
  idx.bytes.assign(bytes + header, bytes + file.size());
  return idx;
}

void write_idx(const Idx& idx, const std::string& path) {
  std::vector<std::uint8_t> header{0, 0, 8, static_cast<std::uint8_t>(idx.shape.size())};
  for (const std::uint32_t size : idx.shape)
    for (int shift = 24; shift >= 0; shift -= 8) header.push_back(static_cast<std::uint8_t>(size >> shift));
  ckpt::FileSink sink(path);
  sink.write(std::as_bytes(std::span(header)));
  sink.write(std::as_bytes(std::span(idx.bytes)));
  sink.commit();
}

std::string images_name(const std::string& set) { return set + "-images-idx3-ubyte"; }
std::string labels_name(const std::string& set) { return set + "-labels-idx1-ubyte"; }

}  // namespace mnist
