#include "io/stream.h"

#include <algorithm>
#include <exception>

#include "ckpt/limits.h"
#include "io/buffer_ring.h"
#include "io/checksum.h"
#include "io/companion.h"

namespace ckpt {
namespace {

/// Fewer bytes are read before a thread has begun to.
constexpr std::uint64_t least_ahead = 4 * limits::mib;

/// Reads forward, and takes the CRC-32 of what it reads.
class Reader {
 public:
  Reader(const ByteSource& source, std::uint64_t begin, std::uint64_t size)
      : source_(source), at_(begin), left_(size), known_(size != UINT64_MAX) {
    source.expect(begin, size);
  }

  /// The next bytes, all of `room` but at the end; none there.
  std::size_t read(std::span<std::byte> room) {
    room = room.first(static_cast<std::size_t>(std::min<std::uint64_t>(room.size(), left_)));
    std::size_t got = room.size();
    if (known_)
      source_.read_exactly(at_, room);
    else
      got = source_.read_at(at_, room);
    crc_ = crc32(crc_, room.first(got));
    at_ += got;
    left_ = got < room.size() ? 0 : left_ - got;
    return got;
  }

  [[nodiscard]] bool at_end() const { return left_ == 0; }
  [[nodiscard]] std::uint32_t crc() const { return crc_; }

 private:
  const ByteSource& source_;
  std::uint64_t at_;
  std::uint64_t left_;
  bool known_;
  std::uint32_t crc_ = 0;
};

void fill(Reader& reader, BufferRing& ring) {
  try {
    while (!reader.at_end()) {
      const std::span<std::byte> room = ring.room();
      if (room.empty()) return;
      if (const std::size_t got = reader.read(room); got > 0) ring.filled(got);
    }
    ring.end();
  } catch (...) {
    ring.end(std::current_exception());
  }
}

using Consume = std::function<void(std::span<const std::byte>)>;

void stream_here(Reader& reader, std::uint64_t size, const Consume& consume) {
  // Tens of thousands of tiny tensors are common: no more room than the source can fill, and none of it cleared.
  const auto room = static_cast<std::size_t>(std::min<std::uint64_t>(size, limits::copy_chunk));
  const auto buffer = std::make_unique_for_overwrite<std::byte[]>(room);
  while (!reader.at_end())
    if (const std::size_t got = reader.read({buffer.get(), room}); got > 0) consume({buffer.get(), got});
}

/// False where there is no thread to read on; then nothing has happened.
bool stream_ahead(Reader& reader, const Consume& consume) {
  BufferRing ring;
  const Companion filling([&] { fill(reader, ring); }, [&] { ring.stop(); });
  if (!filling) return false;
  for (auto bytes = ring.next(); !bytes.empty(); bytes = ring.next()) {
    consume(bytes);
    ring.emptied();
  }
  return true;
}

template <class Handle>
std::uint32_t all_of(const ByteSource& source, Handle handle) {
  const std::uint64_t size = source.size_is_known() ? source.size() : UINT64_MAX;
  const std::uint32_t crc = handle(size);
  // No bytes, but what stands for them is checked by a read all the same.
  if (std::byte none{}; size == 0) static_cast<void>(source.read_at(0, {&none, 1}));
  check_recorded_crc32(source, crc);
  return crc;
}

}  // namespace

std::uint32_t stream_range(const ByteSource& source, std::uint64_t begin, std::uint64_t size, const Consume& consume,
                           ReadAhead ahead) {
  Reader reader(source, begin, size);
  const bool done = ahead == ReadAhead::yes && size >= least_ahead && stream_ahead(reader, consume);
  if (!done) stream_here(reader, size, consume);
  return reader.crc();
}

std::uint32_t stream_all(const ByteSource& source, const Consume& consume, ReadAhead ahead) {
  return all_of(source, [&](std::uint64_t size) { return stream_range(source, 0, size, consume, ahead); });
}

std::uint32_t check_all(const ByteSource& source) {
  return stream_all(
      source, [](std::span<const std::byte>) {}, ReadAhead::no);
}

std::uint32_t copy_range(const ByteSource& source, std::uint64_t begin, std::uint64_t size, ByteSink& sink) {
  if (size != UINT64_MAX) {
    if (const auto crc = sink.take(source, begin, size)) return *crc;
    sink.announce(size);
  }
  Reader reader(source, begin, size);
  while (!reader.at_end()) sink.advance(reader.read(sink.room()));
  return reader.crc();
}

std::uint32_t copy_all(const ByteSource& source, ByteSink& sink) {
  return all_of(source, [&](std::uint64_t size) { return copy_range(source, 0, size, sink); });
}

}  // namespace ckpt
