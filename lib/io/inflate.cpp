#include "io/inflate.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "io/inflating_source.h"

namespace ckpt {
namespace {

class RawDecoder final : public Decoder {
 public:
  RawDecoder(ByteSourcePtr compressed, std::uint64_t size) : Decoder(std::move(compressed)), size_(size) {
    at_.phase = Phase::body;
  }

  std::size_t produce(std::span<std::byte> out) override {
    if (at_.phase == Phase::body) {
      const std::uint64_t left = size_ - at_.output;
      const std::size_t count = left == 0 ? 0 : inflate(out.first(std::min<std::uint64_t>(out.size(), left)));
      if (count != 0) return count;
      at_.phase = Phase::trailer;
    }
    if (at_.phase == Phase::trailer) {
      check_end();
      at_.phase = Phase::ended;
    }
    return 0;
  }

 private:
  std::size_t inflate(std::span<std::byte> out) {
    const std::size_t count = at_.inflater.finished() ? 0 : at_.inflater.inflate(input_, out);
    at_.output += count;
    return count;
  }

  void check_end() {
    if (size_ == unknown_size) return;
    std::byte more{};
    const bool exceeds = inflate({&more, 1}) != 0;
    if (!exceeds && at_.output == size_) return;
    const std::string found = exceeds ? "more than " + std::to_string(size_) : std::to_string(at_.output);
    throw Error(ErrorCode::corrupt, "inflates to " + found + " bytes").expected(std::to_string(size_));
  }

  std::uint64_t size_;
};

class RawSource final : public InflatingSource {
 public:
  RawSource(ByteSourcePtr compressed, std::uint64_t size, std::string name, std::optional<std::uint32_t> crc,
            const Faults& faults, std::shared_ptr<InflatingShare> shared)
      : InflatingSource(std::move(name), AtEnd::release, faults, std::move(shared)),
        compressed_(std::move(compressed)),
        size_(size),
        crc_(crc),
        as_claimed_(faults == nullptr && size != unknown_size) {}

  [[nodiscard]] std::uint64_t size() const override { return as_claimed_ ? size_ : measure(); }
  [[nodiscard]] bool size_is_known() const override { return as_claimed_ || measured().has_value(); }
  [[nodiscard]] std::optional<std::uint32_t> recorded_crc32() const override { return crc_; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    try {
      return InflatingSource::read_at(offset, out);
    } catch (Error& error) {
      throw error.in(name());
    }
  }

 private:
  [[nodiscard]] std::unique_ptr<Decoder> start() const override {
    return std::make_unique<RawDecoder>(compressed_, size_);
  }

  ByteSourcePtr compressed_;
  std::uint64_t size_;
  std::optional<std::uint32_t> crc_;
  bool as_claimed_;  ///< it has `size_` bytes, or is an error
};

}  // namespace

ByteSourcePtr inflate_raw(ByteSourcePtr compressed, std::uint64_t size, std::string name,
                          std::optional<std::uint32_t> crc, const Faults& faults,
                          std::shared_ptr<InflatingShare> shared) {
  // No stream at all for no bytes at all is no stream of deflate's, but what some writers make and all readers take.
  if (size == 0 && compressed->size() == 0) return slice(std::move(compressed), 0, 0, std::move(name), crc);
  return std::make_shared<RawSource>(std::move(compressed), size, std::move(name), crc, faults, std::move(shared));
}

}  // namespace ckpt
