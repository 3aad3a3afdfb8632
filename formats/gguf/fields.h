#pragma once

#include <cstdint>
#include <string>

#include "ckpt/byte_source.h"
#include "ckpt/storage.h"
#include "io/byte_cursor.h"
#include "io/bytes.h"

namespace ckpt::gguf {

/// The numbers and texts of a header, one after the other, in the file's byte order.
class Fields {
 public:
  /// From behind the magic; at most `limit` bytes. Throws Error: unsupported (a version that is not known), truncated.
  Fields(const ByteSource& source, std::uint64_t limit);

  [[nodiscard]] std::uint32_t version() const { return version_; }
  [[nodiscard]] ByteOrder byte_order() const { return order_; }
  /// Of the next byte.
  [[nodiscard]] std::uint64_t offset() const { return cursor_.offset(); }

  template <class T>
  T number() {
    const std::byte* const at = cursor_.take(sizeof(T)).data();
    if constexpr (sizeof(T) == 1)
      return load_le<T>(at);
    else
      return order_ == ByteOrder::big ? load_be<T>(at) : load_le<T>(at);
  }
  /// A count or a length: of 32 bits in version 1, of 64 since.
  std::uint64_t size() { return version_ == 1 ? number<std::uint32_t>() : number<std::uint64_t>(); }
  std::string text();
  void skip(std::uint64_t bytes);

 private:
  ByteCursor cursor_;
  ByteOrder order_ = ByteOrder::little;
  std::uint32_t version_ = 0;
};

}  // namespace ckpt::gguf
