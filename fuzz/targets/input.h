#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/error.h"

/// What the targets share.
namespace ckpt::fuzz {

/// Ends the process, saying what did not hold.
[[noreturn]] void broken(const std::string& promise);
inline void require(bool holds, const std::string& promise) {
  if (!holds) broken(promise);
}
inline void require(bool holds, const char* promise) {  // a promise without details costs nothing to make
  if (!holds) broken(promise);
}

ByteSourcePtr source_of(const std::uint8_t* data, std::size_t size);

/// What `work` returns, or the Error it throws. Memory that runs out counts as an Error; all else is a finding.
template <class Work>
std::optional<Error> error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::out_of_memory, "memory ran out");
  }
  return std::nullopt;
}

/// Whether a file, written again and again, is soon the same: calls whose results are dropped may move, each behind
/// what it needs, and a pickle that does not say its protocol may seem of another.
template <class File, class Rewrite>
bool settles(File file, Rewrite rewrite) {
  constexpr int most_moves = 6;
  for (int i = 0; i < most_moves; ++i) {
    File next = rewrite(file);
    if (next == file) return true;
    file = std::move(next);
  }
  return false;
}

/// Keeps what is written. Throws Error (limit_exceeded) where it is more than a few inputs inflate to.
class MemorySink final : public ByteSink {
 public:
  MemorySink() : ByteSink("output") {}
  void commit() override {}
  [[nodiscard]] const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  static constexpr std::size_t most = 64 << 20;

  void append(std::span<const std::byte> bytes) override {
    if (bytes.size() > most - bytes_.size()) throw Error(ErrorCode::limit_exceeded, "more than is kept in memory");
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  std::vector<std::byte> bytes_;
};

/// Bytes that all tensors stand for: a small file may lawfully stand for gigabytes, which hashing would take minutes
/// for.
std::uint64_t logical_bytes(const Checkpoint& checkpoint);
inline constexpr std::uint64_t worth_hashing = 4 << 20;

}  // namespace ckpt::fuzz
