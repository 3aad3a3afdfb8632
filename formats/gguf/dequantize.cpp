#include "gguf/dequantize.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "ckpt/limits.h"
#include "io/bytes.h"
#include "ops/float_formats.h"

namespace ckpt::gguf {
namespace {

constexpr std::size_t block_elements = 32, block_floats = block_elements * sizeof(float), scale_bytes = 2;

using Block = std::array<float, block_elements>;

/// A byte a number, to be multiplied with the scale.
void from_q8_0(const std::byte* numbers, float scale, Block& out) {
  for (std::size_t i = 0; i < block_elements; ++i)
    out[i] = static_cast<float>(std::to_integer<std::int8_t>(numbers[i])) * scale;
}

/// Four bits a number, less 8: the first half of the numbers in the low ones.
void from_q4_0(const std::byte* numbers, float scale, Block& out) {
  constexpr std::size_t half = block_elements / 2;
  for (std::size_t i = 0; i < half; ++i) {
    const int bits = std::to_integer<int>(numbers[i]);
    out[i] = scale * static_cast<float>((bits & 15) - 8);
    out[i + half] = scale * static_cast<float>((bits >> 4) - 8);
  }
}

class DequantizedSource final : public ByteSource {
 public:
  DequantizedSource(ByteSourcePtr blocks, const TensorType& type, ByteOrder order)
      : ByteSource(blocks->source_name()),
        blocks_(std::move(blocks)),
        block_bytes_(type.bytes),
        convert_(type.name == "Q8_0" ? from_q8_0 : from_q4_0),
        order_(order) {}

  [[nodiscard]] std::uint64_t size() const override { return blocks_->size() / block_bytes_ * block_floats; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::lock_guard lock(mutex_);
    std::size_t done = 0;
    while (done < out.size()) {
      const std::uint64_t at = offset + done;
      const std::size_t lead = at % block_floats;
      const std::size_t wanted = std::min((lead + out.size() - done + block_floats - 1) / block_floats, most_blocks);
      packed_.resize(wanted * block_bytes_);
      const std::size_t got = blocks_->read_at(at / block_floats * block_bytes_, packed_) / block_bytes_;
      if (got == 0) break;
      done += convert(got, lead, out.subspan(done));
    }
    return done;
  }

 private:
  static constexpr std::size_t most_blocks = limits::copy_chunk / block_floats;

  /// `count` blocks of packed_, but for the first `lead` bytes of what they become.
  std::size_t convert(std::size_t count, std::size_t lead, std::span<std::byte> out) const {
    std::size_t done = 0;
    Block numbers;
    for (std::size_t i = 0; i < count && done < out.size(); ++i, lead = 0) {
      const std::byte* const block = packed_.data() + i * block_bytes_;
      const auto scale = order_ == ByteOrder::big ? load_be<std::uint16_t>(block) : load_le<std::uint16_t>(block);
      convert_(block + scale_bytes, std::bit_cast<float>(float32_of_float16(scale)), numbers);
      const std::size_t size = std::min(block_floats - lead, out.size() - done);
      std::memcpy(out.data() + done, reinterpret_cast<const std::byte*>(numbers.data()) + lead, size);
      done += size;
    }
    return done;
  }

  ByteSourcePtr blocks_;
  std::size_t block_bytes_;
  void (*convert_)(const std::byte* numbers, float scale, Block& out);
  ByteOrder order_;
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::vector<std::byte> packed_;
};

}  // namespace

bool can_dequantize(const TensorType& type) { return type.name == "Q8_0" || type.name == "Q4_0"; }

ByteSourcePtr dequantized(ByteSourcePtr blocks, const TensorType& type, ByteOrder order) {
  return std::make_shared<DequantizedSource>(std::move(blocks), type, order);
}

}  // namespace ckpt::gguf
