#include "gguf/fields.h"

#include <algorithm>

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt::gguf {

constexpr std::uint32_t newest_version = 3;

Fields::Fields(const ByteSource& source, std::uint64_t limit) : cursor_(source, 4, limit, "the header") {
  const std::byte* const at = cursor_.take(4).data();
  version_ = load_le<std::uint32_t>(at);
  // A version is a small number: where it is a large one, the file is of the other byte order.
  if ((version_ & 0xFFFF) == 0) {
    version_ = load_be<std::uint32_t>(at);
    order_ = ByteOrder::big;
  }
  if (version_ == 0 || version_ > newest_version)
    throw Error(ErrorCode::unsupported, "GGUF of version " + std::to_string(version_))
        .expected("1 to " + std::to_string(newest_version))
        .at(4);
}

std::string Fields::text() {
  const std::uint64_t length = size();
  return std::string(as_text(cursor_.take(length)));
}

void Fields::skip(std::uint64_t bytes) {
  while (bytes > 0) bytes -= cursor_.take(std::min<std::uint64_t>(bytes, limits::copy_chunk)).size();
}

}  // namespace ckpt::gguf
