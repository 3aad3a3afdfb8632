#include "ckpt/byte_sink.h"

#include <utility>

namespace ckpt {

ByteSink::ByteSink(std::string name) : name_(std::move(name)) {}
ByteSink::~ByteSink() = default;

void ByteSink::write(std::span<const std::byte> bytes) {
  append(bytes);
  offset_ += bytes.size();
}

}  // namespace ckpt
