#include <algorithm>
#include <optional>
#include <vector>

#include "ckpt/limits.h"
#include "container/quoted_name.h"
#include "container/tar_header.h"
#include "container/tar_reader.h"
#include "io/bytes.h"
#include "scan/archives.h"
#include "scan/code_members.h"

namespace ckpt::scanning {
namespace {

std::string member_name(const std::string& name) { return "member " + quoted_name(name); }

/// No reader of tars keeps numbers apart by such names, and PyTorch 0.1 called the object's pickle so.
Role role_in_tar(std::string_view name) {
  if (name == "pickle") return Role::pickle;
  const Role role = role_of_member(name);
  return role == Role::storage ? Role::member : role;
}

/// Every block from `at` on that is the header of a file, and what it says is the file's.
void visit_all_headers(const Part& tar, std::uint64_t at, const Visit& visit, const Count& count) {
  const std::uint64_t size = tar.bytes->size_is_known() ? tar.bytes->size() : UINT64_MAX;
  tar::Block block;
  for (; tar.bytes->read_at(at, block) == block.size(); at += block.size()) {
    const auto header = tar::parse_header(block);
    if (!header || !header->size || *header->size == 0) continue;
    const std::uint64_t begin = at + block.size();
    const std::uint64_t length = std::min(*header->size, size - begin);
    count(length);
    const std::string where = member_name(header->name);
    visit(part_in_place(tar, slice(tar.bytes, begin, length, tar.bytes->name() + ": " + where), begin,
                        role_in_tar(header->name), where));
  }
}

std::uint64_t size_from(const ByteSource& tar, std::uint64_t at) {
  return tar.size_is_known() ? tar.size() - at : UINT64_MAX - at;
}

/// The first one that is not zero.
std::optional<std::uint64_t> first_byte_from(const ByteSource& tar, std::uint64_t at) {
  std::vector<std::byte> window(limits::copy_chunk);
  for (std::size_t count = 0; (count = tar.read_at(at, window)) != 0; at += count) {
    const auto end = window.begin() + static_cast<std::ptrdiff_t>(count);
    const auto found = std::find_if(window.begin(), end, [](std::byte byte) { return byte != std::byte{0}; });
    if (found != end) return at + static_cast<std::uint64_t>(found - window.begin());
  }
  return std::nullopt;
}

/// What stands behind the end, where a reader that is told to ignore blocks of zeros goes on.
void visit_rest(const Part& tar, std::uint64_t end, const Visit& visit, const Count& count) {
  const auto begin = end == 0 ? std::nullopt : first_byte_from(*tar.bytes, end);
  if (!begin) return;
  const std::string where = "what follows the archive's end";
  const ByteSourcePtr rest = slice(tar.bytes, *begin, size_from(*tar.bytes, *begin), tar.bytes->name() + ": " + where);
  visit(part_in_place(tar, rest, *begin, Role::member, where));
  // Readers that go on take a block after the other.
  if (*begin % tar::block != 0 || !is_tar(*rest))
    visit_all_headers(tar, *begin / tar::block * tar::block, visit, count);
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
  if (!members) return visit_all_headers(tar, 0, visit, count);
  CodeMembers code;
  for (const TarMember& member : *members) code.meet(member.name);
  for (const TarMember& member : *members) {
    if (member.size == 0) continue;  // of a kind that a reader does not know, it is a file to Python's
    const Role role = members->size() == 1 ? Role::pickle : role_in_tar(member.name);  // pandas unpacks it
    Part part = part_in_place(tar, open_tar_member(tar.bytes, member), member.offset, role, member_name(member.name));
    part.code = code.find_unpacked(member.name);
    part.is_metadata = is_metadata_name(member.name);
    visit(part);
  }
  try {
    visit_rest(tar, end_of_tar(*members), visit, count);
  } catch (Error& error) {
    if (is_of_the_machine(error)) throw;
    note(error);
  }
}

}  // namespace ckpt::scanning
