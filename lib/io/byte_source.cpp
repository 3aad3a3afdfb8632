#include "ckpt/byte_source.h"

#include <algorithm>
#include <new>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/checksum.h"

namespace ckpt {

namespace {

class OneName final : public SourceNames {
 public:
  explicit OneName(std::string name) : name_(std::move(name)) {}
  [[nodiscard]] std::string name(std::uint32_t) const override { return name_; }

 private:
  std::string name_;
};

}  // namespace

SourceNames::~SourceNames() = default;
SourceName::SourceName(std::string name) : SourceName(std::make_shared<OneName>(std::move(name)), 0) {}

ByteSource::ByteSource(SourceName name) : name_(std::move(name)) {}
ByteSource::~ByteSource() = default;

bool ByteSource::size_is_known() const { return true; }
bool ByteSource::is_concurrent() const { return false; }

std::string ByteSource::folder() const { return {}; }

std::optional<std::uint32_t> ByteSource::recorded_crc32() const { return std::nullopt; }

void ByteSource::expect(std::uint64_t, std::uint64_t) const {}

void ByteSource::read_exactly(std::uint64_t offset, std::span<std::byte> out) const {
  const std::size_t got = read_at(offset, out);
  if (got == out.size()) return;
  throw Error(ErrorCode::truncated, "the bytes end here")
      .expected(std::to_string(out.size() - got) + " more")
      .at(offset + got)
      .in(name());
}

std::vector<std::byte> read_all(const ByteSource& source, std::uint64_t limit) {
  const auto refuse = [&](std::uint64_t size) {
    return Error(ErrorCode::limit_exceeded, "holds " + std::to_string(size) + " bytes or more")
        .expected("at most " + std::to_string(limit))
        .in(source.name());
  };
  const bool known = source.size_is_known();
  const std::uint64_t size = known ? source.size() : UINT64_MAX;
  if (known && size > limit) throw refuse(size);

  std::vector<std::byte> bytes;
  try {
    // A size may be no more than a claim (a deflated member's): room grows only as bytes come to fill it.
    std::uint64_t have = 0;
    while (have < size) {
      const std::uint64_t room =
          std::min({size, limit + (limit < UINT64_MAX ? 1 : 0), std::max<std::uint64_t>(limits::copy_chunk, have * 2)});
      bytes.resize(room);
      const std::span<std::byte> free = std::span(bytes).subspan(have);
      if (known) source.read_exactly(have, free);
      const std::size_t got = known ? free.size() : source.read_at(have, free);
      have += got;
      bytes.resize(have);
      if (have > limit) throw refuse(have);
      if (got < free.size()) break;
    }
  } catch (const std::bad_alloc&) {
    throw Error(ErrorCode::out_of_memory, "no memory for " + std::to_string(bytes.size()) + " bytes and more")
        .in(source.name());
  }
  if (source.recorded_crc32()) check_recorded_crc32(source, crc32(0, bytes));
  return bytes;
}

}  // namespace ckpt
