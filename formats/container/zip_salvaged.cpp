#include <algorithm>
#include <optional>
#include <string>

#include "container/quoted_name.h"
#include "container/zip_salvage.h"
#include "io/inflate.h"
#include "io/stream.h"

namespace ckpt::zip {

ByteSourcePtr read(const SalvagedMember& member, const ByteSourcePtr& source, const Faults& faults,
                   const ReadContext& context) {
  const std::string name = source->name() + ": member " + quoted_name(member.name);
  const std::uint64_t begin = std::min(member.data_offset, source->size());
  const std::uint64_t there = std::min(member.compressed_size, source->size() - begin);
  const auto bytes = [&](std::optional<std::uint32_t> crc) {
    return member.is_stored
               ? slice(source, begin, there, name, crc)
               : inflate_raw(slice(source, begin, there, name), member.size, name, crc, faults, context.inflating);
  };
  std::optional<std::uint32_t> crc;
  if (!member.checksums.empty()) crc = member.checksums.front();
  if (member.checksums.size() > 1) {
    const std::uint32_t has = check_all(*bytes(std::nullopt));
    const auto found = std::find(member.checksums.begin(), member.checksums.end(), has);
    if (found != member.checksums.end()) crc = *found;
  }
  return bytes(crc);
}

}  // namespace ckpt::zip
