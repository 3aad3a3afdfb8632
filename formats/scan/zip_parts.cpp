#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "container/quoted_name.h"
#include "container/zip_directory.h"
#include "container/zip_format.h"
#include "container/zip_reader.h"
#include "io/bytes.h"
#include "io/inflate.h"
#include "scan/archives.h"
#include "scan/code_members.h"
#include "scan/salvage.h"
#include "scan/serialized_json.h"
#include "suffix.h"

namespace ckpt::scanning {
namespace {

constexpr std::uint64_t a_header = limits::kib, an_inflater = 64 * limits::kib;  // bytes that are read as fast
/// Of a header and what it leads to that are so far from each other, in gzip: who goes back for the next one inflates
/// what lies between, and before it.
constexpr std::uint64_t far = 32 * limits::kib, a_way_back = 4 * limits::mib;

std::string member_name(std::string_view name) { return "member " + quoted_name(name); }

/// Adds where `signature` stands in [from, to). Throws Error: what reading throws, with what came before it in `found`.
void find_signatures(std::string_view signature, const ByteSource& source, std::uint64_t from, std::uint64_t to,
                     std::vector<std::uint64_t>& found) {
  std::vector<std::byte> piece(limits::copy_chunk);
  for (std::uint64_t at = from; at < to && found.size() < limits::scan_parts;) {
    const std::size_t got = source.read_at(at, std::span(piece).first(std::min<std::uint64_t>(piece.size(), to - at)));
    const std::string_view text = as_text(std::span(piece).first(got));
    for (std::size_t i = text.find(signature); i != std::string_view::npos; i = text.find(signature, i + 1))
      found.push_back(at + i);
    if (got < signature.size()) break;
    at += got - (signature.size() - 1);
  }
}

/// What the directory says of a header, where it can be read.
struct Listed {
  std::string name;
  std::uint16_t method = 0;
};

std::map<std::uint64_t, Listed> read_listed(const ByteSource& source) {
  std::map<std::uint64_t, Listed> listed;
  try {
    for (zip::DirectoryEntry& entry : zip::read_directory(source, zip::find_end(source, limits::zip_small_member)))
      listed[entry.member.header_offset] = {std::move(entry.member.name), entry.member.method};
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
  }
  return listed;
}

/// A member that begins at a header, wherever it ends before `to`: as it stands, and inflated where anybody says so.
void visit_at(const Part& zip, std::uint64_t header, std::uint64_t to, const Listed* listed, const Visit& visit,
              const Count& count) {
  std::array<std::byte, zip::local_size> fixed{};
  if (zip.bytes->read_at(header, fixed) != fixed.size()) return;
  std::vector<std::byte> title(load_le<std::uint16_t>(fixed.data() + 26));
  title.resize(zip.bytes->read_at(header + fixed.size(), title));
  const std::string_view name = as_text(title);
  const std::uint64_t data = header + fixed.size() + title.size() + load_le<std::uint16_t>(fixed.data() + 28);
  count(a_header + title.size() + (data - header > far ? a_way_back : 0));
  if (data >= to) return;
  std::string where = member_name(name);
  Role role = role_of_member(name);
  if (listed != nullptr && listed->name != name) {
    where += " (" + quoted_name(listed->name) + " in the directory)";
    if (role_of_member(listed->name) == Role::pickle) role = Role::pickle;
  }
  const auto look = [&](Part part) {
    part.may_be_archive = false;
    part.may_hold_serialized = name == serialized_member || (listed != nullptr && listed->name == serialized_member);
    part.is_metadata = is_metadata_name(name) || (listed != nullptr && is_metadata_name(listed->name));
    visit(part);
  };
  const ByteSourcePtr rest = slice(zip.bytes, data, to - data, zip.bytes->name() + ": " + where);
  look(part_in_place(zip, rest, data, role, where));
  const bool stored = load_le<std::uint16_t>(fixed.data() + 8) == zip::method_stored &&
                      (listed == nullptr || listed->method == zip::method_stored);
  if (stored) return;
  count(an_inflater);
  look(part_apart(zip, salvage(inflate_raw(rest, unknown_size, rest->name(), std::nullopt)), role, where));
}

/// Members that the directory does not know, between those that it does.
void visit_gap(const Part& zip, std::uint64_t from, std::uint64_t to, const Visit& visit, const Count& count) {
  if (to <= from || to - from <= zip::wide_descriptor) return;
  std::vector<std::uint64_t> headers;
  find_signatures("PK\3\4", *zip.bytes, from, to, headers);
  for (const std::uint64_t header : headers) visit_at(zip, header, to, nullptr, visit, count);
}

/// Where torch keeps numbers, which it does not unpickle: beside one of these members.
std::set<std::string, std::less<>> roots_of_torch(const std::vector<ZipMember>& members) {
  constexpr std::array<std::string_view, 3> pickles{"data.pkl", "constants.pkl", "model.json"};
  std::set<std::string, std::less<>> roots;
  for (const ZipMember& member : members) {
    const std::string_view name = std::string_view(member.name).substr(member.name.rfind('/') + 1);
    if (std::ranges::any_of(pickles, [&](std::string_view pickle) { return equal_in_any_case(name, pickle); }))
      roots.emplace(member.name, 0, member.name.size() - name.size());
  }
  return roots;
}

/// Of "ROOT/data/0".
std::string_view root_of_storage(std::string_view name) {
  const std::string_view folder = name.substr(0, name.rfind('/'));
  return folder.substr(0, folder.rfind('/') + 1);
}

void visit_members(const Part& zip, const ZipReader& reader, const Visit& visit, const Count& count) {
  const zip::End end = zip::find_end(*zip.bytes);
  CodeMembers code;
  for (const ZipMember& member : reader.members()) code.meet(member.name);
  const auto roots = code.may_load_any() ? std::set<std::string, std::less<>>() : roots_of_torch(reader.members());
  std::uint64_t behind = 0;
  for (const ZipMember& member : reader.members()) {
    visit_gap(zip, behind, member.header_offset, visit, count);
    Role role = role_of_member(member.name);
    if (role == Role::storage && !roots.contains(root_of_storage(member.name))) role = Role::member;
    if (role == Role::member && reader.members().size() == 1) role = Role::pickle;  // torch.hub, and pandas, unpack it
    const std::string where = member_name(member.name);
    Part part = member.method == zip::method_stored
                    ? part_in_place(zip, reader.read(member), member.data_offset, role, where)
                    : part_apart(zip, salvage(reader.read(member)), role, where);
    part.code = code.find(member.name);
    part.may_hold_serialized = member.name == serialized_member;
    part.is_metadata = is_metadata_name(member.name);
    visit(part);
    behind = member.data_offset + member.compressed_size;
  }
  visit_gap(zip, behind, end.directory_offset, visit, count);
  const std::uint64_t rest = zip.bytes->size() - end.archive_end;
  if (rest == 0) return;
  Part trailing = part_in_place(zip, slice(zip.bytes, end.archive_end, rest, zip.bytes->name()), end.archive_end,
                                Role::member, "what follows the archive");
  trailing.may_be_archive = false;
  visit(trailing);
}

std::optional<ZipReader> open_zip(const ByteSourcePtr& bytes, const ReadContext& context, std::optional<Error>* why) {
  try {
    // Every member is looked at, so that names which are equal but for case do no harm.
    return ZipReader::open(bytes, context, nullptr, NameCase::exact);
  } catch (Error& error) {
    if (is_of_the_machine(error)) throw;
    if (why != nullptr) *why = std::move(error);
    return std::nullopt;
  }
}

/// The bytes of the directory that ends where the source does; none where there is none.
std::optional<std::uint64_t> directory_bytes(const ByteSource& source) {
  try {
    return zip::find_end(source).directory_size;
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return std::nullopt;
  }
}

/// Whether miniz, which torch reads archives with, finds a directory by the last end record that is neither that one's
/// nor the first archive's: it counts from the first byte of all.
bool has_other_directory(const Part& zip, const ByteSource& first) {
  std::array<std::byte, zip::locator_size + zip::end_size> records{};
  if (zip.bytes->read_at(zip.bytes->size() - records.size(), records) != records.size()) return false;
  const zip::End end = zip::find_end(first);
  const auto directory = load_le<std::uint32_t>(records.data() + zip::locator_size + 16);
  if (directory != end.directory_offset && zip::has_signature(*zip.bytes, directory, zip::entry_signature)) return true;
  if (load_le<std::uint32_t>(records.data()) != zip::locator_signature) return false;
  const auto wide = load_le<std::uint64_t>(records.data() + 8);
  return wide != end.directory_offset + end.directory_size &&
         zip::has_signature(*zip.bytes, wide, zip::end64_signature);
}

/// Archives one after the other, without a byte between them, as the files of a distributed checkpoint are; none where
/// the file is anything else.
std::vector<Part> split_sequence(const Part& zip, const ReadContext& context) {
  std::vector<Part> archives;
  if (!zip.bytes->size_is_known()) return archives;
  const std::uint64_t size = zip.bytes->size();
  std::vector<std::uint64_t> ends;
  find_signatures("PK\5\6", *zip.bytes, 0, size, ends);
  std::uint64_t begin = 0, read = 0;
  for (const std::uint64_t end : ends) {
    if (end < begin || size - end < zip::end_size) continue;
    const std::uint64_t length = end + zip::end_size - begin;
    const ByteSourcePtr bytes = slice(zip.bytes, begin, length, zip.bytes->name());
    const auto directory = directory_bytes(*bytes);
    // Ends that share a directory would have it read again and again.
    if (!directory || (read += *directory) > size || !open_zip(bytes, context, nullptr)) continue;
    archives.push_back(part_in_place(zip, bytes, begin, zip.role, "archive at byte " + std::to_string(begin)));
    begin += length;
  }
  if (begin != size || (archives.size() > 1 && has_other_directory(zip, *archives.front().bytes))) archives.clear();
  return archives;
}

void visit_all_headers(const Part& zip, Error& refusal, const Visit& visit, const Note& note, const Count& count) {
  const std::uint64_t size = zip.bytes->size_is_known() ? zip.bytes->size() : UINT64_MAX;
  std::vector<std::uint64_t> headers;
  try {
    find_signatures("PK\3\4", *zip.bytes, 0, size, headers);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
  }
  // What only ends as an archive does, may do so by accident.
  if (headers.empty() && !is_zip(*zip.bytes)) return;
  note(refusal);
  const std::map<std::uint64_t, Listed> listed = read_listed(*zip.bytes);
  for (const std::uint64_t header : headers) {
    const auto known = listed.find(header);
    visit_at(zip, header, size, known == listed.end() ? nullptr : &known->second, visit, count);
  }
}

}  // namespace

bool is_one_zip(const Part& zip, const ReadContext& context) {
  return open_zip(zip.bytes, context, nullptr).has_value();
}

void each_zip_part(const Part& zip, const ReadContext& context, const Visit& visit, const Note& note,
                   const Count& count) {
  std::optional<Error> refusal;
  if (const auto reader = open_zip(zip.bytes, context, &refusal)) return visit_members(zip, *reader, visit, count);
  const std::vector<Part> archives = split_sequence(zip, context);
  for (const Part& archive : archives) {
    Part whole = archive;
    whole.may_be_archive = false;  // its members follow
    visit(whole);
    if (const auto reader = open_zip(archive.bytes, context, nullptr)) visit_members(archive, *reader, visit, count);
  }
  if (archives.empty()) visit_all_headers(zip, *refusal, visit, note, count);
}

}  // namespace ckpt::scanning
