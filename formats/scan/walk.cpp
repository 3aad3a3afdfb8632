#include "scan/walk.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ckpt/gzip.h"
#include "container/tar_header.h"
#include "container/tar_reader.h"
#include "container/zip_end.h"
#include "container/zip_reader.h"
#include "foreign.h"
#include "io/bytes.h"
#include "io/gzip_header.h"
#include "pickle/name_lists.h"
#include "scan/archives.h"
#include "scan/salvage.h"

namespace ckpt::scanning {
namespace {

/// Formats whose readers find pickles in other files than the one that is named, and how their loaders find that.
struct OfSeveralFiles {
  std::string_view format, suffix;
};
constexpr std::array of_several_files{OfSeveralFiles{"dcp", ".metadata"}, OfSeveralFiles{"torch-index", ".index.json"}};

bool is_of_several_files(const Format& format) {
  return std::ranges::any_of(of_several_files, [&](const OfSeveralFiles& one) { return one.format == format.name; });
}

/// "T" by itself, which is a dtype of texts that are objects: "<T", "i4,T".
bool says_texts(std::string_view text) {
  const auto is_part_of_name = [&](std::size_t i) {
    const char c = i < text.size() ? static_cast<char>(text[i] | 0x20) : ' ';
    return (c >= 'a' && c <= 'z') || (i < text.size() && text[i] == '_');
  };
  for (std::size_t i = text.find('T'); i != std::string_view::npos; i = text.find('T', i + 1))
    if (!is_part_of_name(i - 1) && !is_part_of_name(i + 1)) return true;
  return false;
}

/// Whether the line that says what an array is may mean objects: "|O", and numpy knows the name as well; or texts of
/// any length. Escapes may spell each, and so may texts that Python joins, or that numpy takes apart: where it has a
/// tuple of name and dtype, it takes "aT" as well. numpy writes none of those.
bool may_say_objects(std::string_view line) {
  struct Open {
    char bracket;
    bool has_text = false, has_comma = false;
  };
  std::vector<Open> open;
  if (line.find_first_of("O\\#") != std::string_view::npos || line.find("object") != std::string_view::npos)
    return true;
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; };
  char last = ' ';  // that is no space
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\'' || c == '"') {
      if (std::string_view("{[(,:").find(last) == std::string_view::npos) return true;  // behind a text, or a prefix
      const std::size_t end = std::min(line.find(c, i + 1), line.size());
      if (says_texts(line.substr(i + 1, end - (i + 1)))) return true;
      i = end;
      const bool stands_where_written =
          !open.empty() && (open.back().bracket == '(' || (open.back().bracket == '{' && open.size() == 1));
      if (!stands_where_written) return true;
      open.back().has_text = true;
    } else if (c == '(' || c == '[' || c == '{') {
      open.push_back({c});
    } else if (!open.empty() && c == ',') {
      open.back().has_comma = true;
    } else if (!open.empty() && (c == ')' || c == ']' || c == '}')) {
      if (c == ')' && open.back().has_text && !open.back().has_comma) return true;  // no tuple
      open.pop_back();
    }
    if (!is_space(c)) last = c;
  }
  return false;
}

/// Where the first array of numpy's begins; past the end where there is none.
std::uint64_t find_array(const ByteSource& source) {
  std::array<std::byte, 64 * limits::kib> window;
  std::size_t wanted = 256;  // there may be thousands, one behind the other
  for (std::uint64_t at = 0;;) {
    const std::size_t got = source.read_at(at, std::span(window).first(wanted));
    const std::size_t found = as_text(std::span(window).first(got)).find(numpy_magic);
    if (found != std::string_view::npos) return at + found;
    if (got < wanted) return UINT64_MAX;
    at += got - numpy_magic.size();
    wanted = window.size();
  }
}

/// Whether an archive that begins with something else ends in this file. Readers differ in what they bear with.
bool ends_as_zip(const ByteSource& source) {
  try {
    return zip::has_directory(source);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return false;
  }
}

}  // namespace

Walk::Walk(const ByteSourcePtr& source, ScanResult& result)
    : source_(source),
      result_(result),
      innermost_(source),
      context_(ReadContext::of(*source)),
      inflatable_(context_.inflated_cap) {}

void Walk::run() {
  Part file;
  file.bytes = source_;
  visit(file);
  while (!open_.empty() && parts_ <= limits::scan_parts) {
    const Open next = std::move(open_.front());
    open_.pop_front();
    try {
      (this->*next.as)(next.part);
    } catch (const Error& error) {
      if (is_of_the_machine(error)) throw;
      note(error, next.part);
    }
  }
  for (Loader& loader : loaders_)
    if (loader.doubt) add(std::move(loader.finding));
  for (std::size_t i = 0; i < files_.size() && result_.verdict <= ScanVerdict::unknown; ++i) read_tensors(files_[i]);
  result_.known = known_.size();
}

void Walk::visit(const Part& part) {
  if (++parts_ > limits::scan_parts) {
    if (parts_ == limits::scan_parts + 1)
      note(Error(ErrorCode::limit_exceeded, "more than " + std::to_string(limits::scan_parts) + " parts"), part);
    return;
  }
  try {
    look_at(part);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    note(error, part);
  }
}

/// Eight megabytes may hold two million headers, each with a name of 64 KiB, and all may lead to the same compressed
/// bytes; in a tar all may claim what follows, and within each of these again.
void Walk::count_headers(std::uint64_t bytes) {
  headers_ += bytes;
  if (headers_ > limits::scan_floor + source_->size())
    throw Error(ErrorCode::limit_exceeded, "more headers that no directory lists than are looked into");
}

void Walk::look_at(const Part& part) {
  tar::Block block;
  const auto head = std::span<const std::byte>(block).first(part.bytes->read_at(0, block));
  if (head.empty()) return;
  if (part.role == Role::code) {
    result_.recognised = true;
    add({.verdict = Verdict::unknown,
         .module = "(TorchScript)",
         .name = "(code)",
         .called = false,
         .how = "",
         .where = part.where,
         .offset = part.base,
         .stream = part.stream});
  }
  const std::size_t before = result_.pickles;
  const bool is_archive = part.may_be_archive && open_archive(part, head);
  if (as_text(head).starts_with(numpy_magic)) return open_array(part);
  if (part.role == Role::file) {
    innermost_ = part.bytes;
    files_.push_back(part);
    ask_formats(part);
  }
  // To a pickle, that is a persistent id, and no program that reads pickles alone has a use for one. A reader of what
  // is a pickle by its name may go on behind it.
  const bool begins_as_archive = as_text(head).starts_with("PK\3\4");
  if (!begins_as_archive || (part.role == Role::pickle && !is_one_zip(part, context_)))
    follow_pickles(part, is_archive);
  if (!is_archive && result_.pickles == before) refuse_packed(part, as_text(head));
}

/// Refuses what may hide anything, and is not opened.
void Walk::refuse_packed(const Part& part, std::string_view head) {
  const std::string_view packed = packed_kind(head);
  // A zlib stream begins with two bytes that much else begins with.
  const bool by_chance = part.role == Role::storage || (part.role == Role::member && head[0] == 'x');
  if (packed.empty() || by_chance) return;
  result_.recognised = true;
  throw Error(ErrorCode::unsupported, "this is " + std::string(packed) + ", and was not looked into");
}

/// Whether it is an archive or compressed; notes that it is to be opened.
bool Walk::open_archive(const Part& part, std::span<const std::byte> head) {
  const std::size_t before = open_.size();
  if (has_gzip_magic(head) && is_gzip(*part.bytes)) open_.push_back({part, &Walk::open_gzip});
  const bool begins_as_zip = as_text(head).starts_with("PK") && is_zip(*part.bytes);
  if (begins_as_zip || (part.depth == 0 && ends_as_zip(*part.bytes))) open_.push_back({part, &Walk::open_zip});
  tar::Block block;
  std::copy(head.begin(), head.end(), block.begin());
  if (head.size() == block.size() && !tar::is_zero(block) && tar::parse_header(block))
    open_.push_back({part, &Walk::open_tar});
  if (open_.size() == before) return false;
  if (part.depth < limits::nesting) return true;
  open_.resize(before);
  throw too_deep();
}

void Walk::open_gzip(const Part& part) {
  doubt(part);  // torch.load opens no such file, and what runs before it finds out has not been looked at
  if (part.gzip_layers >= limits::gzip_depth) {
    result_.recognised = true;
    throw Error(ErrorCode::limit_exceeded, "gzip within gzip within gzip");
  }
  const bool is_within = part.depth > 0;
  const std::uint64_t most = is_within ? inflatable_ : UINT64_MAX;
  Part inside = part_apart(part, salvage(gunzip(part.bytes, most)), part.role, "gzip");
  ++inside.gzip_layers;
  // Of many, all together may be no larger. Where an error ends it, nobody knows how far it was read.
  const bool is_member = part.bytes->size_is_known();
  if (is_within) inflatable_ -= std::min(most, is_member ? limits::most_inflated(part.bytes->size()) : most);
  visit(inside);
  const std::uint64_t size = inside.bytes->size();  // reads to the end, which may be missing
  if (is_within) inflatable_ = most - std::min(most, size);
}

void Walk::open_zip(const Part& part) {
  each_zip_part(
      part, context_, [&](const Part& inside) { visit(inside); },
      [&](const Error& error) {
        result_.recognised = true;
        note(error, part);
      },
      [&](std::uint64_t bytes) { count_headers(bytes); });
}

void Walk::open_tar(const Part& part) {
  doubt(part);
  each_tar_part(
      part, [&](const Part& inside) { visit(inside); },
      [&](const Error& error) {
        result_.recognised = true;
        note(error, part);
      },
      [&](std::uint64_t bytes) { count_headers(bytes); });
  read_records(part);
}

/// PyTorch 0.1 kept pickles among the numbers: where they begin, only its reader can tell. Where that refuses one,
/// it is followed, and whatever else announces itself as a pickle. torch loads a member of the first name before it
/// asks for any other; where one is a link, it loads what that leads to.
void Walk::read_records(const Part& tar) {
  constexpr std::array<std::string_view, 3> loaded{"storages", "tensors", "pickle"};
  std::vector<TarMember> members;
  try {
    members = read_tar(*tar.bytes);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return;  // which has been noted
  }
  for (const TarMember& member : members)
    if (member.kind == TarMember::Kind::other && std::ranges::find(loaded, member.name) != loaded.end())
      add_use(tar, {"(tar)", member.name, Verdict::dangerous, member.offset - std::min(member.offset, tar::block)});
  const auto is_first = [&](const TarMember& member) {
    return member.kind == TarMember::Kind::file && member.name == loaded.front();
  };
  if (std::none_of(members.begin(), members.end(), is_first)) return;
  const Format& format = *find_format("torch-tar");
  result_.recognised = true;
  if (const auto met = read_uses(tar, format)) {
    if (met->last != 0) follow_record(tar, met->last);
    search_pickles(tar);
  }
}

/// Adds what a format's reader names. Where that refuses, what it had met by then.
std::optional<ReadContext::Met> Walk::read_uses(const Part& part, const Format& format) {
  ReadContext context = context_;
  ReadContext::Met met;
  context.met = &met;
  try {
    for (const GlobalUse& use : format.read(part.bytes, context).globals) add_use(part, use);
    return std::nullopt;
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    note(error, part);
    for (const GlobalUse& use : met.globals) add_use(part, use);
    return met;
  }
}

/// "\x93NUMPY", a version, a length, a line of Python that says what follows: of objects, it is a pickle.
void Walk::open_array(const Part& part) {
  result_.recognised = true;
  if (part.depth >= limits::nesting) throw too_deep();
  std::array<std::byte, 12> fixed{};
  part.bytes->read_exactly(0, fixed);
  const bool is_first = fixed[6] == std::byte{1};
  const std::uint64_t begin = is_first ? 10 : 12;
  const std::uint64_t length = is_first ? load_le<std::uint16_t>(&fixed[8]) : load_le<std::uint32_t>(&fixed[8]);
  if (length > limits::numpy_header_bytes)
    throw Error(ErrorCode::limit_exceeded, "an array's header of " + std::to_string(length) + " bytes")
        .expected("at most " + std::to_string(limits::numpy_header_bytes));
  std::vector<std::byte> line(static_cast<std::size_t>(length));
  part.bytes->read_exactly(begin, line);
  const bool has_objects = may_say_objects(as_text(line));
  const std::uint64_t data = begin + length;
  const std::uint64_t size = part.bytes->size_is_known() ? part.bytes->size() : UINT64_MAX;
  if (data >= size) return;
  Part elements = part_in_place(part, slice(part.bytes, data, size - data, part.bytes->name()), data,
                                has_objects ? Role::pickle : Role::storage, has_objects ? "objects of an array" : "");
  elements.may_be_archive = false;
  if (has_objects) return visit(elements);
  follow_pickles(elements, false);
  if (open_rest(part, "npy")) return;
  // Where an array is none of a tensor's, its end is not known, and another one may follow.
  const std::uint64_t next = find_array(*elements.bytes);
  if (next < size - data) open_rest(part, data + next);
  elements.bytes = slice(elements.bytes, 0, std::min(next, size - data), elements.bytes->name());
  search_pickles(elements);
}

/// What stands behind the end of a file that says where it ends: whoever loads from one stream again and again gets
/// there. False where it cannot be told.
bool Walk::open_rest(const Part& part, std::string_view format) {
  try {
    const std::uint64_t end = find_format(format)->end(part.bytes, context_);
    if (part.bytes->size_is_known() && end < part.bytes->size()) open_rest(part, end);
    return true;
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return false;
  }
}

void Walk::open_rest(const Part& part, std::uint64_t at) {
  Part rest = part;
  rest.bytes = slice(part.bytes, at, part.bytes->size() - at, part.bytes->name());
  rest.base += at;
  rest.may_be_archive = false;
  open_.push_back({std::move(rest), &Walk::visit});
}

/// A format that holds no pickle is safe as far as its own readers go, and is recognised.
void Walk::ask_formats(const Part& part) {
  for (const Format* format : format_table())
    if (!format->pickled && recognises(*format, *part.bytes)) result_.recognised = true;
  for (const auto& [name, suffix] : of_several_files)
    if (part.bytes->name().ends_with(suffix) && recognises(*find_format(name), *part.bytes))
      open_.push_back({part, &Walk::read_others});
}

/// What is read of several files may be loaded otherwise than each of them: of a distributed checkpoint, an item begins
/// where its metadata says.
void Walk::read_others(const Part& part) {
  result_.recognised = true;
  for (const auto& [name, suffix] : of_several_files) {
    const Format& format = *find_format(name);
    if (!recognises(format, *part.bytes)) continue;
    if (const auto met = read_uses(part, format))
      for (const auto& [called, bytes] : met->beside) visit(part_apart(part, bytes, Role::pickle, called));
  }
}

/// Of numbers that a tensor says it has, and its storage has not, torch shows whatever stands in memory there, or
/// writes over it: whether they are there, the format's reader knows.
void Walk::read_tensors(const Part& file) {
  const auto& all = format_table();
  const auto format = std::find_if(all.begin(), all.end(), [&](const Format* one) {
    return one->pickled && !is_of_several_files(*one) && recognises(*one, *file.bytes);
  });
  if (format == all.end()) return;
  // A pickle by itself has no storages but in bytes: where others are asked for, loading it ends.
  const bool has_storages =
      (*format)->name == "pickle"
          ? !loaders_.empty()
          : std::any_of(known_.begin(), known_.end(), [](const auto& name) { return is_in(name.first, "torch"); });
  if (!has_storages) return;
  try {
    (*format)->read(file.bytes, context_);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    // What is wrong with an archive is noted; of several in a row, each is read.
    if (!is_zip(*file.bytes) || is_one_zip(file, context_)) note(error, file);
  }
}

/// Readers of archives find one behind anything.
bool Walk::open_behind(const Part& part, std::uint64_t at) {
  if (!part.bytes->size_is_known() || at >= part.bytes->size()) return false;
  const ByteSourcePtr rest = slice(part.bytes, at, part.bytes->size() - at, part.bytes->name());
  if (!is_zip(*rest)) return false;
  open_.push_back({part_in_place(part, rest, at, part.role, "archive at byte " + std::to_string(at)), &Walk::open_zip});
  return true;
}

}  // namespace ckpt::scanning
