#include "io/inflater.h"

#include <algorithm>
#include <string>

#include "ckpt/error.h"

namespace ckpt {
namespace {

std::string words(int code) {
  switch (code) {
    case ISAL_INVALID_BLOCK:
      return "a deflate block has an invalid header";
    case ISAL_INVALID_SYMBOL:
      return "a deflate block holds an invalid symbol";
    case ISAL_INVALID_LOOKBACK:
      return "a deflate block refers to bytes before the stream";
    default:
      return "the deflate stream is damaged";
  }
}

std::size_t passed(const std::uint8_t* at, const std::byte* begin) {
  return static_cast<std::size_t>(at - reinterpret_cast<const std::uint8_t*>(begin));
}

}  // namespace

void Inflater::begin() {
  isal_inflate_init(&engine_);
  engine_.crc_flag = ISAL_DEFLATE;
  fault_ = 0;
}

std::size_t Inflater::inflate(CompressedInput& input, std::span<std::byte> out) {
  engine_.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  engine_.avail_out = static_cast<std::uint32_t>(out.size());
  while (fault_ == 0) {
    const std::span<const std::byte> bytes = input.available();
    const std::uint8_t* const out_before = engine_.next_out;
    // ISA-L's pointer is not const, but it does not write there.
    engine_.next_in = const_cast<std::uint8_t*>(reinterpret_cast<const std::uint8_t*>(bytes.data()));
    engine_.avail_in = static_cast<std::uint32_t>(bytes.size());
    fault_ = std::min(isal_inflate(&engine_), 0);
    // By its pointers: where it finds a fault, it says less room and fewer bytes to be left than are, even less than
    // none.
    const std::size_t taken = std::min(passed(engine_.next_in, bytes.data()), bytes.size());
    input.consume(taken);
    if (fault_ == 0 && finished()) {
      // Whole bytes that the bit buffer took and the stream did not need belong to what follows it.
      input.seek(input.position() - static_cast<std::uint64_t>(engine_.read_in_length / 8));
      engine_.read_in = 0;
      engine_.read_in_length = 0;
      break;
    }
    if (engine_.avail_out == 0) break;
    if (engine_.next_out != out_before || taken != 0) continue;
    if (passed(engine_.next_out, out.data()) != 0) break;
    if (bytes.empty()) throw Error(ErrorCode::truncated, "the deflate stream is cut off").at(input.position());
    fault_ = ISAL_INVALID_BLOCK;
  }
  std::size_t count = passed(engine_.next_out, out.data());
  if (fault_ != 0) count += give_rest(out.subspan(count));
  if (fault_ != 0 && count == 0) throw Error(ErrorCode::corrupt, words(fault_)).at(input.position());
  return count;
}

/// What it had inflated before it met a fault, and had no room for, ISA-L itself gives to nobody any more.
std::size_t Inflater::give_rest(std::span<std::byte> out) {
  const std::span<const std::byte> kept = std::as_bytes(std::span(engine_.tmp_out_buffer));
  const auto begin = static_cast<std::size_t>(engine_.tmp_out_processed);
  const std::size_t count = std::min(out.size(), static_cast<std::size_t>(engine_.tmp_out_valid) - begin);
  std::copy_n(kept.begin() + static_cast<std::ptrdiff_t>(begin), count, out.begin());
  engine_.tmp_out_processed += static_cast<std::int32_t>(count);
  return count;
}

}  // namespace ckpt
