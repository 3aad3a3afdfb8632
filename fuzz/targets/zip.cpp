#include "container/zip_reader.h"
#include "io/stream.h"
#include "targets/input.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

constexpr std::uint64_t most = 8 << 20;  // of one member's bytes; deflate may make them of a few kilobytes

void read_member(const ZipReader& zip, const ZipMember& member) {
  const ByteSourcePtr bytes = zip.read(member);
  require(zip.find(member.name) == &member, "a member is not found by its name");
  if (member.size > most) return;
  std::uint64_t size = 0;
  const auto error = error_of([&] { stream_all(*bytes, [&](auto piece) { size += piece.size(); }); });
  if (error) return;
  require(size == member.size, "a member's size is not that of its bytes");
  std::vector<std::byte> middle(7), whole;
  const auto failed = error_of([&] {
    whole = read_all(*bytes, most);
    for (const std::uint64_t offset : {size / 2, size / 3, size}) {
      const std::size_t got = bytes->read_at(offset, middle);
      require(got == std::min<std::uint64_t>(middle.size(), size - offset), "a read of a member is short");
      require(std::equal(middle.begin(), middle.begin() + static_cast<std::ptrdiff_t>(got),
                         whole.begin() + static_cast<std::ptrdiff_t>(offset)),
              "a member's bytes differ when they are read again");
    }
  });
  require(!failed, "a member reads once and not twice");
}

}  // namespace

int fuzz_zip(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr source = source_of(data, size);
  std::vector<Finding> findings;
  ReadContext lenient;
  lenient.findings = &findings;
  std::optional<ZipReader> strict;
  const auto refused = error_of([&] { strict.emplace(ZipReader::open(source)); });
  const auto failed = error_of([&] { ZipReader::open(source, lenient); });
  const bool has_fault = std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.fault; });
  require(refused.has_value() == (failed.has_value() || has_fault), "verify and read disagree about an archive");
  if (!strict) return 0;
  require(strict->trailing_bytes() <= size, "more bytes follow it than there are");
  std::uint64_t last = 0;
  for (const ZipMember& member : strict->members()) {
    require(member.data_offset >= last, "members are not in the order of the file");
    require(member.data_offset <= size && member.compressed_size <= size - member.data_offset,
            "a member lies outside the file");
    last = member.data_offset + member.compressed_size;
    read_member(*strict, member);
  }
  return 0;
}

}  // namespace ckpt::fuzz
