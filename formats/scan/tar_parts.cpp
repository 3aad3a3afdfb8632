#include <optional>
#include <vector>

#include "container/quoted_name.h"
#include "container/tar_header.h"
#include "container/tar_reader.h"
#include "io/bytes.h"
#include "scan/archives.h"

namespace ckpt::scanning {
namespace {

std::string member_name(const std::string& name) { return "member " + quoted_name(name); }

/// Every block that is the header of a file, and what it says is the file's.
void visit_all_headers(const Part& tar, const Visit& visit, const Count& count) {
  const std::uint64_t size = tar.bytes->size_is_known() ? tar.bytes->size() : UINT64_MAX;
  tar::Block block;
  for (std::uint64_t at = 0; tar.bytes->read_at(at, block) == block.size(); at += block.size()) {
    const auto header = tar::parse_header(block);
    if (!header || !header->size || *header->size == 0) continue;
    const std::uint64_t begin = at + block.size();
    const std::uint64_t length = std::min(*header->size, size - begin);
    count(length);
    const std::string where = member_name(header->name);
    visit(part_in_place(tar, slice(tar.bytes, begin, length, tar.bytes->name() + ": " + where), begin,
                        role_of_member(header->name), where));
  }
}

}  // namespace

void each_tar_part(const Part& tar, const Visit& visit, const Note& note, const Count& count) {
  std::optional<std::vector<TarMember>> members;
  try {
    members = read_tar(*tar.bytes);
  } catch (Error& error) {
    if (is_of_the_machine(error)) throw;
    note(error);
  }
  if (!members) return visit_all_headers(tar, visit, count);
  for (const TarMember& member : *members) {
    if (member.size == 0) continue;  // of a kind that a reader does not know, it is a file to Python's
    visit(part_in_place(tar, open_tar_member(tar.bytes, member), member.offset, role_of_member(member.name),
                        member_name(member.name)));
  }
}

}  // namespace ckpt::scanning
