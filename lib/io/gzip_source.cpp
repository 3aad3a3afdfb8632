#include <algorithm>
#include <array>
#include <atomic>
#include <numeric>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/gunzip_damaged.h"
#include "io/gzip_header.h"
#include "io/indexed_gzip_source.h"
#include "io/inflating_source.h"

namespace ckpt {
namespace {

class GzipDecoder final : public Decoder {
 public:
  GzipDecoder(ByteSourcePtr compressed, std::uint64_t most, Faults faults)
      : Decoder(std::move(compressed)), most_(most), faults_(std::move(faults)) {}

  std::size_t produce(std::span<std::byte> out) override {
    try {
      return next(out);
    } catch (Error& error) {
      throw error.in(input_.source().name());
    }
  }

 private:
  std::size_t next(std::span<std::byte> out) {
    while (at_.phase != Phase::ended) {
      if (at_.phase == Phase::header) {
        begin_member();
      } else if (at_.phase == Phase::body) {
        const std::size_t count = inflate(out);
        if (count != 0) return count;
      } else {
        check_member();
      }
    }
    return 0;
  }

  void begin_member() {
    if (at_.member != 0) skip_padding();
    const std::span<const std::byte> bytes = input_.require(2);
    // A lone 1f at the very end is more likely a copy that stopped there than a byte that somebody appended.
    const bool begins = has_gzip_magic(bytes) || (bytes.size() == 1 && bytes[0] == std::byte{0x1f});
    if (!begins && at_.member != 0) {
      at_.phase = Phase::ended;
      return;
    }
    if (bytes.empty()) throw Error(ErrorCode::truncated, "the file is empty").expected("a gzip member").at(0);
    if (!begins) throw Error(ErrorCode::corrupt, "does not begin with 1f 8b").expected("a gzip member").at(0);
    ++at_.member;
    in_member([&] { skip_gzip_header(input_); });
    at_.inflater.begin();
    at_.crc = 0;
    at_.member_output = 0;
    at_.phase = Phase::body;
  }

  void skip_padding() {
    for (auto bytes = input_.available(); !bytes.empty(); bytes = input_.available()) {
      const auto end = std::find_if(bytes.begin(), bytes.end(), [](std::byte b) { return b != std::byte{0}; });
      input_.consume(static_cast<std::size_t>(end - bytes.begin()));
      if (end != bytes.end()) return;
    }
  }

  std::size_t inflate(std::span<std::byte> out) {
    std::size_t count = 0;
    if (!at_.inflater.finished()) in_member([&] { count = at_.inflater.inflate(input_, out); });
    at_.crc = crc32(at_.crc, out.first(count));
    at_.member_output += count;
    at_.output += count;
    if (at_.output > most_) throw inflates_past(most_);
    if (at_.inflater.finished()) at_.phase = Phase::trailer;
    return count;
  }

  void check_member() {
    const std::uint64_t begin = input_.position();
    const std::span<const std::byte> trailer = input_.require(gzip_trailer_bytes);
    const std::string member = "gzip member " + std::to_string(at_.member);
    if (trailer.size() < gzip_trailer_bytes) {
      throw Error(ErrorCode::truncated, member + ": the trailer is cut off").at(begin + trailer.size());
    }
    const auto crc = load_le<std::uint32_t>(trailer.data());
    const auto size = load_le<std::uint32_t>(trailer.data() + 4);
    if (crc != at_.crc)
      fail(Error(ErrorCode::corrupt, member + ": its bytes have CRC-32 " + hexadecimal(at_.crc))
               .expected(hexadecimal(crc) + " as recorded")
               .at(begin));
    if (size != static_cast<std::uint32_t>(at_.member_output))
      fail(Error(ErrorCode::corrupt, member + ": it inflates to " + std::to_string(at_.member_output) + " bytes")
               .expected(std::to_string(size) + " (modulo 2^32) as recorded")
               .at(begin + 4));
    input_.consume(gzip_trailer_bytes);
    at_.phase = Phase::header;
  }

  /// A sum that does not match keeps nothing from being read.
  void fail(Error error) const {
    if (faults_ == nullptr) throw error;
    faults_->note(error.in(input_.source().name()));
  }

  std::uint64_t most_;
  Faults faults_;

  template <class Do>
  void in_member(Do what) {
    try {
      what();
    } catch (Error& error) {
      // What reading the compressed bytes throws already names its file, and is no fault of the member.
      if (!error.file().empty()) throw;
      throw error.within("gzip member " + std::to_string(at_.member));
    }
  }
};

class GzipSource final : public InflatingSource {
 public:
  GzipSource(ByteSourcePtr compressed, std::uint64_t most, const Faults& faults = nullptr)
      : InflatingSource(compressed->name(), AtEnd::keep, faults),
        compressed_(std::move(compressed)),
        most_(most),
        faults_(faults) {}

  [[nodiscard]] std::uint64_t size() const override { return measure(); }
  [[nodiscard]] bool size_is_known() const override { return measured().has_value(); }

  [[nodiscard]] std::uint64_t trailing_bytes() const {
    const std::uint64_t end = end_;
    return end == unmet ? 0 : compressed_->size() - end;
  }

 private:
  [[nodiscard]] std::unique_ptr<Decoder> start() const override {
    return std::make_unique<GzipDecoder>(compressed_, most_, faults_);
  }
  void ended(std::uint64_t position) const override { end_ = position; }

  ByteSourcePtr compressed_;
  std::uint64_t most_;
  Faults faults_;
  static constexpr std::uint64_t unmet = UINT64_MAX;
  mutable std::atomic<std::uint64_t> end_ = unmet;  // of what was understood, in the compressed bytes
};

}  // namespace

bool is_gzip(const ByteSource& source) {
  std::array<std::byte, 4> bytes{};
  try {
    if (source.read_at(0, bytes) < bytes.size()) return false;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return false;
  }
  return has_gzip_magic(bytes) && bytes[2] == std::byte{8} && (bytes[3] & std::byte{gzip_reserved}) == std::byte{0};
}

ByteSourcePtr gunzip(ByteSourcePtr compressed, std::uint64_t most) {
  return std::make_shared<GzipSource>(std::move(compressed), most);
}

ByteSourcePtr gunzip_damaged(ByteSourcePtr compressed, const Faults& faults, std::uint64_t most) {
  auto index = index_to_read_by(*compressed, true);
  if (!index) return std::make_shared<GzipSource>(std::move(compressed), most, faults);
  const auto found = std::make_shared<FaultList>();
  auto stream = std::make_shared<GzipSource>(compressed, most, found);
  const auto add = [](std::uint64_t sum, const GzipMember& member) { return sum + member.inflated; };
  // A member that is nothing but zeros passes for padding.
  const bool is_sound =
      stream->size() == std::accumulate(index->members.begin(), index->members.end(), std::uint64_t{0}, add) &&
      found->faults().empty() && stream->trailing_bytes() == 0;
  if (is_sound) return stream;
  return gunzip_damaged_by(std::move(*index), std::move(compressed), faults, most);
}

std::uint64_t gzip_trailing_bytes(const ByteSource& source) {
  const auto* gzip = dynamic_cast<const GzipSource*>(&source);
  return gzip == nullptr ? 0 : gzip->trailing_bytes();
}

}  // namespace ckpt
