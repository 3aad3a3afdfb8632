#include "ckpt/byte_sink.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "ckpt/limits.h"

namespace ckpt {

ByteSink::ByteSink(std::string name) : name_(std::move(name)) {}
ByteSink::~ByteSink() = default;

void ByteSink::write(std::span<const std::byte> bytes) {
  append(bytes);
  offset_ += bytes.size();
}

std::span<std::byte> ByteSink::room() { return prepare(); }

void ByteSink::advance(std::size_t count) {
  append_prepared(count);
  offset_ += count;
}

void ByteSink::announce(std::uint64_t /*size*/) {}

std::optional<std::uint32_t> ByteSink::take(const ByteSource& source, std::uint64_t begin, std::uint64_t size) {
  const auto crc = append_part(source, begin, size);
  if (crc) offset_ += size;
  return crc;
}

std::optional<std::uint32_t> ByteSink::append_part(const ByteSource&, std::uint64_t, std::uint64_t) {
  return std::nullopt;
}

void ByteSink::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<std::byte> free = prepare();
    const std::size_t count = std::min(free.size(), bytes.size());
    std::memcpy(free.data(), bytes.data(), count);
    append_prepared(count);
    bytes = bytes.subspan(count);
  }
}

std::span<std::byte> ByteSink::prepare() {
  if (!prepared_) prepared_ = std::make_unique_for_overwrite<std::byte[]>(limits::copy_chunk);
  return {prepared_.get(), limits::copy_chunk};
}

void ByteSink::append_prepared(std::size_t count) { append({prepared_.get(), count}); }

}  // namespace ckpt
