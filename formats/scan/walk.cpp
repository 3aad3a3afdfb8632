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
#include "scan/code_members.h"
#include "scan/salvage.h"
#include "scan/serialized_json.h"

namespace ckpt::scanning {
namespace {

/// Formats whose readers find pickles in other files than the one that is named.
struct OfSeveralFiles {
  std::string_view format, suffix;
};
constexpr std::array of_several_files{OfSeveralFiles{"dcp", ".metadata"}, OfSeveralFiles{"torch-index", ".index.json"}};

/// Where an archive begins that ends in this file. Readers differ in what they bear with.
std::optional<std::uint64_t> begin_of_zip(const ByteSource& source) {
  try {
    return zip::find_begin(source);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return std::nullopt;
  }
}

/// Whether a tar's member begins there, or its end does: what is looked at anyway.
bool is_part_of_tar(const ByteSourcePtr& source, std::uint64_t begin) {
  try {
    const std::vector<TarMember> members = read_tar(*source);
    const auto is_that = [&](const TarMember& member) {
      return member.offset == begin && begin_of_zip(*open_tar_member(source, member)) == 0;
    };
    return (!members.empty() && begin >= end_of_tar(members)) || std::ranges::any_of(members, is_that);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return false;
  }
}

/// Whether a format that holds no pickle knows it, which is safe as far as that one's own readers go. Within another
/// file, no format of several finds the others.
bool is_of_numbers(const Part& part) {
  const auto knows = [&](const Format* format) {
    const bool is_asked = !format->pickled && (part.role == Role::file || format->enter == nullptr);
    return is_asked && recognises(*format, *part.bytes);
  };
  return std::ranges::any_of(format_table(), knows);
}

/// A TorchScript model as a flatbuffer, which torch.jit.load() knows by these bytes, whatever stands before them.
bool is_flatbuffer(std::string_view head) {
  return head.substr(std::min<std::size_t>(head.size(), 4)).starts_with("PTMF");
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
  read_tensors();
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

void Walk::look_at(Part part) {
  tar::Block block;
  const auto head = std::span<const std::byte>(block).first(part.bytes->read_at(0, block));
  if (head.empty()) return;
  keep_file(part);
  if (part.code != nullptr) {
    result_.recognised = true;
    add({.verdict = part.code->verdict,
         .module = "(" + std::string(part.code->of) + ")",
         .name = "(code)",
         .called = false,
         .how = "",
         .where = part.where,
         .offset = part.base,
         .stream = part.stream});
  }
  const bool is_archive = part.may_be_archive && open_archive(part, head);
  if (part.may_be_archive && !is_zip(*part.bytes)) open_tail(part, is_archive);
  if (is_flatbuffer(as_text(head)) && part.role != Role::storage) {
    result_.recognised = true;
    note(Error(ErrorCode::unsupported, "this is a TorchScript model as a flatbuffer, and was not looked into"), part);
  }
  if (as_text(head).starts_with(numpy_magic)) return open_array(part);
  // Archives within another are opened, and their directories not read for this as well.
  const bool may_be_numbers = part.role == Role::file || (part.role != Role::storage && !is_archive);
  const bool is_numbers = may_be_numbers && is_of_numbers(part);
  result_.recognised = result_.recognised || is_numbers;
  if (part.role == Role::file) {
    innermost_ = part.bytes;
    open_.push_back({part, &Walk::read_others});
  }
  // To a pickle, that is a persistent id, and no program that reads pickles alone has a use for one. A reader of what
  // is a pickle by its name may go on behind it.
  const bool begins_as_archive = as_text(head).starts_with("PK\3\4");
  const std::uint64_t before = result_.pickles;
  if (!begins_as_archive || (part.role == Role::pickle && !is_one_zip(part, context_)))
    follow_pickles(part, is_archive, is_numbers);
  if (part.is_metadata && result_.pickles > before)
    note(Error(ErrorCode::unsupported,
               "this says where pickles begin within others, which was not looked into: unpack the archive, and scan "
               "the folder"),
         part);
  // A tar's first name may be spelt so that its header begins a stream, too; the length of safetensors begins none.
  constexpr std::size_t before_ustar = 257;
  if (!is_numbers && !(is_archive && has_gzip_magic(head)))
    note_packed(part, as_text(head).substr(0, is_archive ? before_ustar : head.size()));
  if (part.may_hold_serialized) count_headers(each_serialized(part, [&](const Part& inside) { visit(inside); }));
}

/// What may hide anything, and is not opened. Its first bytes may be a pickle.
void Walk::note_packed(const Part& part, std::string_view head) {
  const std::string_view packed = packed_kind(head);
  // A zlib stream begins with two bytes that much else begins with.
  const bool by_chance = part.role == Role::storage || (part.role == Role::member && head[0] == 'x');
  if (packed.empty() || by_chance) return;
  result_.recognised = true;
  note(Error(ErrorCode::unsupported, "this is " + std::string(packed) + ", and was not looked into"), part);
}

/// Where an archive begins that something else may stand before. Of what is inflated, its end is not asked for, unless
/// all of it is.
std::optional<std::uint64_t> Walk::begin_of_tail(const Part& part) {
  const bool is_at_hand = part.stream.empty() || part.stream == "gzip";
  if (!part.may_be_archive || !is_at_hand || part.role == Role::storage) return std::nullopt;
  return begin_of_zip(*part.bytes);
}

/// What stands before it is looked at as well.
void Walk::open_tail(const Part& part, bool is_archive) {
  const auto begin = begin_of_tail(part);
  if (!begin) return;
  if (part.depth >= limits::nesting) return note(too_deep(), part);
  if (*begin == 0) return open_.push_back({part, &Walk::open_zip});
  if (is_archive && is_part_of_tar(part.bytes, *begin)) return;
  const ByteSourcePtr tail = slice(part.bytes, *begin, part.bytes->size() - *begin, part.bytes->name());
  const std::string where = "archive at byte " + std::to_string(*begin);
  open_.push_back({part_in_place(part, tail, *begin, part.role, where), &Walk::open_zip});
}

/// Whether it begins as an archive or what is compressed does; notes that it is to be opened.
bool Walk::open_archive(const Part& part, std::span<const std::byte> head) {
  const std::size_t before = open_.size();
  if (has_gzip_magic(head) && is_gzip(*part.bytes)) open_.push_back({part, &Walk::open_gzip});
  const bool begins_as_zip = as_text(head).starts_with("PK") && is_zip(*part.bytes);
  if (begins_as_zip) open_.push_back({part, &Walk::open_zip});
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
  try {
    std::byte first{};
    inside.bytes->read_at(0, std::span(&first, 1));
  } catch (const Error&) {  // others may read what nothing is known of here
    result_.recognised = true;
    throw;
  }
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
    if (member.kind == TarMember::Kind::other && std::ranges::find(loaded, member.name) != loaded.end()) {
      result_.recognised = true;
      add_use(tar, {"(tar)", member.name, Verdict::dangerous, member.offset - std::min(member.offset, tar::block)});
    }
  const auto is_first = [&](const TarMember& member) {
    return member.kind == TarMember::Kind::file && member.name == loaded.front();
  };
  if (std::none_of(members.begin(), members.end(), is_first)) return;
  const Format& format = *find_format("torch-tar");
  result_.recognised = true;
  ReadContext::Met met;
  if (read_uses(tar, format, met)) return;
  if (met.last != 0) follow_record(tar, met.last);
  search_pickles(tar);
}

/// Adds what a format's reader names. Where that refuses, what it had met by then, and is false.
bool Walk::read_uses(const Part& part, const Format& format, ReadContext::Met& met) {
  ReadContext context = context_;
  context.met = &met;
  try {
    for (const GlobalUse& use : format.read(part.bytes, context).globals) add_use(part, use);
    return true;
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    note(error, part);
    for (const GlobalUse& use : met.globals) add_use(part, use);
    return false;
  }
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
  Part rest = stretch(part, at, part.bytes->size());
  std::array<std::byte, 4> first{};
  rest.may_be_archive = as_text(std::span(first).first(rest.bytes->read_at(0, first))) == "PK\3\4";
  open_.push_back({std::move(rest), &Walk::visit});
}

/// What is read of several files may be loaded otherwise than each of them: of a distributed checkpoint, an item begins
/// where its metadata says; torch loads a shard unless its name says that it holds safetensors.
void Walk::read_others(const Part& part) {
  const std::string path = part.bytes->name();
  for (const OfSeveralFiles& one : of_several_files) {
    const Format& format = *find_format(one.format);
    const bool is_named = is_metadata_name(path) && result_.pickles > 0;
    if (!path.ends_with(one.suffix) || (!is_named && !recognises(format, *part.bytes))) continue;
    result_.recognised = true;
    ReadContext::Met met;
    read_uses(part, format, met);
    for (const auto& [called, bytes] : met.beside)
      visit(part_apart(part, bytes, bytes->name().ends_with(".safetensors") ? Role::member : Role::pickle, called));
  }
}

/// Readers of archives find one behind anything.
bool Walk::open_behind(const Part& part, std::uint64_t at) {
  if (!part.bytes->size_is_known() || at >= part.bytes->size()) return false;
  const ByteSourcePtr rest = slice(part.bytes, at, part.bytes->size() - at, part.bytes->name());
  if (!is_zip(*rest)) return false;
  if (part.depth >= limits::nesting) {
    note(too_deep(), part);
    return false;
  }
  open_.push_back({part_in_place(part, rest, at, part.role, "archive at byte " + std::to_string(at)), &Walk::open_zip});
  return true;
}

}  // namespace ckpt::scanning
