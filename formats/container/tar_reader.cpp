#include "container/tar_reader.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/quoted_name.h"
#include "container/tar_header.h"
#include "io/bytes.h"

namespace ckpt {
namespace {

using tar::Block;
using tar::block;

class TarWalk {
 public:
  explicit TarWalk(const ByteSource& source) : source_(source) {}

  std::vector<TarMember> run() {
    std::vector<TarMember> members;
    while (const auto header = next_header()) {
      if (is_about_the_next(*header)) {
        read_about_the_next(*header);
        continue;
      }
      members.push_back(member(*header));
      if (members.size() > limits::tar_members)
        fail("more than " + std::to_string(limits::tar_members) + " members", "", ErrorCode::limit_exceeded);
    }
    if (pax_ || long_name_) fail("the archive ends after what is said of a member that does not come", "the member");
    return members;
  }

 private:
  [[noreturn]] void fail(std::string what, std::string expected, ErrorCode code = ErrorCode::corrupt) const {
    Error error(code, std::move(what));
    if (!expected.empty()) error.expected(std::move(expected));
    throw error.at(at_).in(source_.name());
  }

  /// None at the end: a block of zeros, or the end of the file where a header could begin.
  std::optional<tar::Header> next_header() {
    at_ = next_;
    Block bytes;
    const std::size_t got = source_.read_at(at_, bytes);
    if (got == 0 && at_ > 0) return std::nullopt;
    if (got < block) fail("the archive ends within a header", "512 bytes", ErrorCode::truncated);
    if (tar::is_zero(bytes)) return std::nullopt;
    auto header = tar::parse_header(bytes);
    if (!header) fail("a member's header has a wrong checksum", "the header of a member, or the end");
    if (!header->size) fail("a member's header has a size that is none", "a number below 2^63");
    if (!header->has_names) fail("a member's header has a name that is none", "text, and nothing behind it");
    next_ = at_ + block;
    return header;
  }

  static bool is_about_the_next(const tar::Header& header) {
    return header.type == 'L' || header.type == 'K' || header.type == 'x' || header.type == 'X' || header.type == 'g';
  }

  /// Steps over `size` bytes and their padding. Returns where they begin.
  std::uint64_t step_over(std::uint64_t size) {
    const std::uint64_t begin = next_;
    const auto end = checked_add(begin, size);
    const auto padded = end ? checked_add(*end, (block - size % block) % block) : std::nullopt;
    if (!padded) fail("a member of " + std::to_string(size) + " bytes", "less than 2^64");
    if (source_.size_is_known() && *end > source_.size())
      fail("a member of " + std::to_string(size) + " bytes, where " + std::to_string(source_.size() - begin) +
               " are left",
           "all of it", ErrorCode::truncated);
    next_ = *padded;
    return begin;
  }

  void read_about_the_next(const tar::Header& header) {
    if (*header.size > limits::tar_header_bytes)
      fail("a header of " + std::to_string(*header.size) + " bytes",
           "at most " + std::to_string(limits::tar_header_bytes), ErrorCode::limit_exceeded);
    std::vector<std::byte> bytes(static_cast<std::size_t>(*header.size));
    source_.read_exactly(step_over(*header.size), bytes);
    const std::string_view text = as_text(bytes);
    // Of two that name or measure a member, some readers take the first and some the last.
    const bool is_second =
        header.type == 'L' ? long_name_ || pax_ : header.type != 'g' && header.type != 'K' && (pax_ || long_name_);
    if (is_second) fail("two headers about one member", "one", ErrorCode::unsupported);
    if (header.type == 'L') long_name_ = text.substr(0, std::min(text.find('\0'), text.size()));
    if (header.type == 'L' || header.type == 'K') return;
    tar::Pax pax;
    if (!tar::parse_pax(text, pax)) fail("a pax header that is none", "LENGTH key=value, a line each");
    if (header.type != 'g')
      pax_ = std::move(pax);  // Solaris writes X
    else if (pax.path || pax.size || pax.is_sparse)
      fail("a pax header that names or measures all members behind it", "one for each member", ErrorCode::unsupported);
  }

  TarMember member(const tar::Header& header) {
    const bool is_file = header.type == '0' || header.type == '\0' || header.type == '7';
    TarMember member;
    member.kind = is_file              ? TarMember::Kind::file
                  : header.type == '5' ? TarMember::Kind::folder
                                       : TarMember::Kind::other;
    std::string name = std::exchange(long_name_, std::nullopt).value_or(header.name);
    member.size = *header.size;
    if (const auto pax = std::exchange(pax_, std::nullopt)) {
      name = pax->path.value_or(name);
      member.size = pax->size.value_or(member.size);
      if (pax->is_sparse) fail("a sparse file, " + quoted_name(name), "whole files", ErrorCode::unsupported);
    }
    if (header.type == 'S') fail("a sparse file, " + quoted_name(name), "whole files", ErrorCode::unsupported);
    // The tar of Unix V7 knows a folder by the slash; what has bytes some take for a file none the less.
    if (is_file && name.ends_with('/') && member.size == 0) member.kind = TarMember::Kind::folder;
    member.name = plain_name(std::move(name));
    // Links have a size in some archives, and never bytes.
    if (header.type >= '1' && header.type <= '6') member.size = 0;
    member.offset = step_over(member.size);
    return member;
  }

  std::string plain_name(std::string name) {
    const std::string shown = quoted_name(name);
    if (name.empty() || name.starts_with('/')) fail("a member named " + shown, "a path below the archive's folder");
    std::size_t begin = 0;
    while (name.compare(begin, 2, "./") == 0) begin += 2;
    name.erase(0, begin);
    while (name.ends_with('/')) name.pop_back();
    if (name == ".") name.clear();
    if (name == ".." || name.starts_with("../") || name.ends_with("/..") || name.find("/../") != std::string::npos)
      fail("a member named " + shown, "a path that stays in the archive's folder");
    name_bytes_ += name.size();
    if (name_bytes_ > limits::tar_name_bytes)
      fail("the members' names take more than " + std::to_string(limits::tar_name_bytes) + " bytes", "",
           ErrorCode::limit_exceeded);
    if (!name.empty() && !names_.insert(name).second)
      fail("two members named " + shown, "one: of two, some readers take the first and some the last");
    return name;
  }

  const ByteSource& source_;
  std::uint64_t at_ = 0, next_ = 0;
  std::optional<std::string> long_name_;
  std::optional<tar::Pax> pax_;
  std::set<std::string> names_;
  std::uint64_t name_bytes_ = 0;
};

}  // namespace

bool is_tar(const ByteSource& source) {
  Block bytes;
  try {
    if (source.read_at(0, bytes) < block || tar::is_zero(bytes)) return false;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    return false;
  }
  return tar::parse_header(bytes).has_value();
}

std::vector<TarMember> read_tar(const ByteSource& source) { return TarWalk(source).run(); }

std::uint64_t end_of_tar(const std::vector<TarMember>& members) {
  if (members.empty()) return 0;
  const TarMember& last = members.back();
  return last.offset + (last.size + tar::block - 1) / tar::block * tar::block;
}

ByteSourcePtr open_tar_member(const ByteSourcePtr& source, const TarMember& member) {
  return slice(source, member.offset, member.size, source->name() + ": member " + quoted_name(member.name));
}

}  // namespace ckpt
