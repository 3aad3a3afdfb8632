#include "ops/storage_window.h"

#include <algorithm>
#include <cstring>

#include "ckpt/error.h"

namespace ckpt {
namespace {

constexpr std::uint64_t alignment = storage_alignment;

void swap_in_place(std::span<std::byte> bytes, std::size_t unit) {
  for (std::size_t i = 0; i + unit <= bytes.size(); i += unit) std::reverse(&bytes[i], &bytes[i] + unit);
}

}  // namespace

void read_little_endian(const Storage& storage, std::uint64_t begin, std::span<std::byte> out) {
  if (!storage.bytes) {
    throw Error(ErrorCode::corrupt, "storage '" + storage.key + "' has no bytes")
        .expected("a byte at " + std::to_string(begin));
  }
  storage.bytes->read_exactly(begin, out);
  // torch swaps a typed storage as its dtype says when it loads it, and leaves an untyped one as it is.
  const std::size_t unit = storage.byte_order == ByteOrder::big && storage.typed ? dtype_swap_size(storage.dtype) : 1;
  if (unit > 1) swap_in_place(out, unit);
}

StorageWindow::StorageWindow(const Storage& storage, std::uint64_t end, std::size_t window)
    : storage_(storage), window_(std::max<std::size_t>(window / alignment * alignment, alignment)) {
  const std::uint64_t rest = end % alignment;
  end_ = rest == 0 ? end : std::min(storage.nbytes, end + (alignment - rest));
}

void StorageWindow::copy(std::uint64_t address, std::span<std::byte> out) {
  while (!out.empty()) {
    const auto bytes = from(address);
    const std::size_t size = std::min(bytes.size(), out.size());
    std::memcpy(out.data(), bytes.data(), size);
    out = out.subspan(size);
    address += size;
  }
}

void StorageWindow::load(std::uint64_t address) {
  if (address >= end_ || !storage_.bytes) {
    throw Error(ErrorCode::corrupt, "storage '" + storage_.key + "' ends at " + std::to_string(end_) + " bytes")
        .expected("a byte at " + std::to_string(address));
  }
  const std::uint64_t begin = address / alignment * alignment;
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(window_, end_ - begin));
  bytes_.resize(size);
  try {
    read_little_endian(storage_, begin, bytes_);
  } catch (...) {
    bytes_.clear();
    throw;
  }
  begin_ = begin;
}

}  // namespace ckpt
