#include "ckpt/gzip.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "targets/input.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

constexpr std::size_t most = 512 << 10;  // of inflated bytes, some windows; a few kilobytes may stand for more

/// Numbers that depend on the input alone.
class Numbers {
 public:
  Numbers(const std::uint8_t* data, std::size_t size) {
    for (std::size_t i = 0; i < size; ++i) state_ = (state_ ^ data[i]) * 0x100000001b3;
  }
  std::size_t below(std::size_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return bound == 0 ? 0 : state_ % bound;
  }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325;
};

/// Everything that comes before the end or an error, in pieces of `step`.
std::vector<std::byte> read_forward(const ByteSource& source, std::size_t step, bool& complete) {
  std::vector<std::byte> all;
  complete = !error_of([&] {
    std::vector<std::byte> piece(step);
    while (all.size() < most) {
      const std::size_t got = source.read_at(all.size(), piece);
      all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
      if (got < piece.size()) break;
    }
  });
  return all;
}

/// As one comparison: of a loop over bytes, each would be watched for its coverage.
bool are_equal(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

}  // namespace

int fuzz_gzip(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr compressed = source_of(data, size);
  Numbers numbers(data, size);
  bool complete = false, complete_again = false;
  const ByteSourcePtr forward = gunzip(compressed);
  const auto all = read_forward(*forward, 512 + numbers.below(70'000), complete);

  // Pieces of another size; an error may come earlier or later, the bytes are the same.
  const auto again = read_forward(*gunzip(compressed), 512 + numbers.below(5'000) * 64, complete_again);
  const std::size_t common = std::min(all.size(), again.size());
  require(are_equal(std::span(all).first(common), std::span(again).first(common)),
          "another size of pieces gives other bytes");
  require(complete == complete_again || all.size() >= most || again.size() >= most,
          "whether it reads to its end depends on the size of the pieces");
  require(!complete || all.size() >= most || all.size() == again.size(), "it ends elsewhere");

  // By an index that holds to the end, where there is one, they are the same.
  const ByteSourcePtr indexed = gunzip_by_index(compressed);
  if (indexed->size_is_known() && indexed->size() < most) {
    bool complete_by_index = false;
    const auto by_index = read_forward(*indexed, 512 + numbers.below(70'000), complete_by_index);
    require(!complete_by_index || (complete && are_equal(by_index, all)), "the index gives other bytes");
  }

  const ByteSourcePtr random = gunzip(compressed);
  for (int i = 0; i < 6; ++i) {
    const std::size_t offset = numbers.below(all.size() + 10);
    std::vector<std::byte> piece(1 + numbers.below(i % 3 == 0 ? 100'000 : 300));
    std::size_t got = 0;
    const auto error = error_of([&] { got = random->read_at(offset, piece); });
    if (error) {
      require(!complete || all.size() >= most, std::string("reading here and there fails: ") + error->what());
      continue;
    }
    const std::size_t begin = std::min(offset, all.size()), count = std::min(got, all.size() - begin);
    require(are_equal(std::span(piece).first(count), std::span(all).subspan(begin, count)),
            "reading here and there gives other bytes");
    const bool known = complete && all.size() < most;
    if (known) require(got == std::min(piece.size(), all.size() - begin), "a read is short");
  }
  if (complete && all.size() < most) {
    const auto error = error_of([&] { require(random->size() == all.size(), "its size is another"); });
    require(!error, "its size cannot be told");
    require(gzip_trailing_bytes(*random) <= size, "more bytes follow it than there are");
  }
  return 0;
}

}  // namespace ckpt::fuzz
