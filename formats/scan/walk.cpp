#include "scan/walk.h"

#include <algorithm>
#include <array>

#include "ckpt/gzip.h"
#include "container/tar_header.h"
#include "container/tar_reader.h"
#include "container/zip_end.h"
#include "container/zip_reader.h"
#include "foreign.h"
#include "io/bytes.h"
#include "io/gzip_header.h"
#include "pickle/call_policy.h"
#include "pickle/machine.h"
#include "pickle/opcodes.h"
#include "pickle/policy.h"
#include "scan/archives.h"
#include "scan/salvage.h"

namespace ckpt::scanning {
namespace {

constexpr std::string_view numpy_magic = "\x93NUMPY";
constexpr std::uint64_t pickle_window = 64 * limits::kib;

/// Whether an archive that begins with something else ends in this file, and says so of itself.
bool ends_as_zip(const ByteSource& source) {
  try {
    zip::find_end(source);
    return true;
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return false;
  }
}

bool past_a_cap(const pickle::Trace& trace) {
  return trace.broken && trace.broken->code() == ErrorCode::limit_exceeded;
}

bool is_extension(const pickle::TracedName& name) { return name.module == extension_module; }

bool names_something(const pickle::Trace& trace) {
  const auto names = [](const auto& name) { return !name.is_odd && !is_extension(name); };
  return std::any_of(trace.names.begin(), trace.names.end(), names);
}

bool calls_an_extension(const pickle::Trace& trace) {
  const auto calls = [](const auto& name) { return is_extension(name) && pickle::is_called(name); };
  return std::any_of(trace.names.begin(), trace.names.end(), calls);
}

/// Whether the names are no chance. One in ninety random storages begins as an import by number does, and one in 20,000
/// ends right behind it; the length of a legacy file's storage may be spelt so too. Where numbers are expected, such an
/// import counts only behind what says that this is a pickle: by chance, not once in 10^8 storages.
bool is_believed(const Part& part, const pickle::Trace& trace, bool first) {
  if (names_something(trace)) return true;
  if (std::none_of(trace.names.begin(), trace.names.end(), is_extension)) return false;
  if (trace.announced || part.role == Role::pickle) return true;
  return part.role != Role::storage && (calls_an_extension(trace) || (first && !trace.broken));
}

}  // namespace

Walk::Walk(const ByteSourcePtr& source, ScanResult& result)
    : source_(source), result_(result), innermost_(source), context_(ReadContext::of(*source)) {}

void Walk::run() {
  Part file;
  file.bytes = source_;
  visit(file);
  while (!open_.empty()) {
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

/// Thousands of headers that no directory lists may lead to the same compressed bytes. To look into each takes as long
/// as to inflate so much.
void Walk::count_unlisted() {
  constexpr std::uint64_t bytes_a_member = limits::copy_chunk;
  inflated_ += bytes_a_member;
  if (inflated_ > limits::inflated_cap(source_->size()))
    throw Error(ErrorCode::limit_exceeded, "more headers of compressed members than are looked into")
        .expected("at most " + std::to_string(inflated_ / bytes_a_member - 1));
}

void Walk::look_at(const Part& part) {
  if (part.is_unlisted) count_unlisted();
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
    ask_formats(part);
  }
  // To a pickle, that is a persistent id, and no program that reads pickles alone has a use for one.
  if (!as_text(head).starts_with("PK\3\4")) follow_pickles(part, is_archive);
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
  const std::uint64_t most = part.gzip_layers > 0 ? context_.inflated_cap : UINT64_MAX;
  Part inside = part_apart(part, salvage(gunzip(part.bytes, most)), part.role, "gzip");
  ++inside.gzip_layers;
  visit(inside);
  static_cast<void>(inside.bytes->size());  // reads to the end, which may be missing
}

void Walk::open_zip(const Part& part) {
  each_zip_part(
      part, context_, [&](const Part& inside) { visit(inside); },
      [&](const Error& error) {
        result_.recognised = true;
        note(error, part);
      });
}

void Walk::open_tar(const Part& part) {
  doubt(part);
  each_tar_part(
      part, [&](const Part& inside) { visit(inside); },
      [&](const Error& error) {
        result_.recognised = true;
        note(error, part);
      });
  read_records(part);
}

/// PyTorch 0.1 kept pickles among the numbers: where they begin, only its reader can tell. Where that refuses, whatever
/// announces itself as one is followed. torch loads a member of the first name before it asks for any other; where one
/// is a link, it loads what that leads to.
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
  try {
    for (const GlobalUse& use : format.read(tar.bytes, context_).globals) add_use(tar, use);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    note(error, tar);
    search_pickles(tar);
  }
}

void Walk::search_pickles(const Part& part) {
  std::array<std::byte, 64 * limits::kib> window;
  std::uint64_t next = 0;  // behind what was followed
  for (std::uint64_t at = 0;;) {
    const std::size_t got = part.bytes->read_at(at, window);
    for (std::size_t i = 0; i + 1 < got; ++i) {
      const bool announced = window[i] == std::byte{pickle::PROTO} && window[i + 1] <= std::byte{5};
      if (!announced || at + i < next) continue;
      if (followed_ >= limits::scan_cap(source_->size()))
        return note(Error(ErrorCode::limit_exceeded, "more places look like pickles than are followed")
                        .expected("at most " + std::to_string(followed_) + " bytes of them"),
                    part, at + i);
      const pickle::Trace trace = follow_pickle(part, at + i);
      followed_ += trace.read - (at + i);
      if (!names_something(trace) && !calls_an_extension(trace)) continue;
      add(part, trace, true);
      next = trace.end;
    }
    if (got < window.size()) return;
    at += got - 1;
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
  const std::string_view says = as_text(line);  // "|O", and numpy knows the name as well; escapes may spell either
  const bool has_objects =
      says.find_first_of("O\\") != std::string_view::npos || says.find("object") != std::string_view::npos;
  const std::uint64_t data = begin + length;
  const std::uint64_t size = part.bytes->size_is_known() ? part.bytes->size() : UINT64_MAX;
  if (data >= size) return;
  Part elements = part_in_place(part, slice(part.bytes, data, size - data, part.bytes->name()), data,
                                has_objects ? Role::pickle : Role::storage, has_objects ? "objects of an array" : "");
  elements.may_be_archive = false;
  visit(elements);
}

/// A format that holds no pickle is safe as far as its own readers go, and is recognised.
void Walk::ask_formats(const Part& part) {
  for (const Format* format : format_table())
    if (!format->pickled && recognises(*format, *part.bytes)) result_.recognised = true;
}

/// The pickle at `at`. Where none is expected, a mebibyte must show that there is one.
pickle::Trace Walk::follow_pickle(const Part& part, std::uint64_t at) {
  const std::uint64_t cap = limits::scan_cap(source_->size());
  pickle::TraceOptions options;
  options.cap = std::min(limits::pickle_bytes, cap - std::min(cap, followed_));
  options.continued = at != 0;
  if (part.role == Role::storage) {
    options.patience = limits::scan_patience;
    pickle::TraceOptions short_options = options;
    short_options.cap = std::min(options.cap, limits::scan_patience_bytes);
    pickle::Trace trace = pickle::trace(part.bytes, at, short_options);
    if (!names_something(trace) || !past_a_cap(trace)) return trace;
  }
  return pickle::trace(part.bytes, at, options);
}

void Walk::follow_pickles(const Part& part, bool is_archive) {
  std::array<std::byte, 1> next{};
  bool is_archive_behind = false;
  // In front of the storages of a file before PyTorch 1.6.
  constexpr std::size_t legacy_pickles = 5;
  const bool is_legacy = part.role == Role::file && recognises(*find_format("torch-legacy"), *part.bytes);
  std::size_t met = 0;
  std::optional<Neighbours> neighbours;
  for (std::uint64_t at = 0; part.bytes->read_at(at, next) != 0;) {
    const auto code = std::to_integer<std::uint8_t>(next[0]);
    if (pickle::opcode_table[code].name.empty()) break;
    const bool expected = !is_archive && (part.role == Role::file || part.role == Role::pickle);
    const pickle::Trace trace = follow_pickle(part, at);
    // A window is read to begin one; most are short.
    followed_ += std::max(trace.end - at, trace.read - at > pickle_window ? trace.read - at : 0);
    if (neighbours) {
      neighbours->fetch = neighbours->fetch || trace.fetches;
      neighbours->lack = neighbours->lack || trace.lacks;
      neighbours->until = trace.broken && trace.fetches ? UINT64_MAX : at + 1;
    }
    const bool believed = is_believed(part, trace, at == 0);
    const bool is_of_legacy = is_legacy && met++ < legacy_pickles;  // each of which has an unpickler of its own
    const bool is_in_place =
        is_of_legacy || (part.role == Role::pickle && !is_archive && at == 0 && trace.instructions > 1);  // else a text
    if (is_in_place || is_pickle(part, trace, believed, expected && at == 0)) {
      if (is_archive_behind && trace.broken && !believed) break;  // an archive's bytes, to a pickle
      // Two bytes that may be a pickle are one number of many.
      if (part.role != Role::storage || trace.announced || believed) {
        ++result_.pickles;
        result_.recognised = true;
      }
      // What prose or numbers say by chance is spelt as no name is.
      const bool for_certain = part.role == Role::pickle || (trace.announced && (expected || !trace.broken));
      if (!neighbours) neighbours = Neighbours{.begin = at, .until = at + 1, .is_legacy = is_of_legacy};
      if (trace.lacks) {
        add_up_to_lack(part, at, for_certain || believed);
      } else {
        add(part, trace, for_certain || believed);
        judge_values(part, trace, at, trace.end);
        if (trace.broken) note(*trace.broken, part, trace.end);
      }
      if (trace.broken) break;
    } else if (!expected || trace.broken) {
      break;
    }  // else its names are none, so that no loader gets any further; one that reads others than this may
    at = trace.end;
    // What begins as an archive may be none, and be the next pickle.
    is_archive_behind = is_archive_behind || (part.may_be_archive && open_behind(part, at));
  }
  if (neighbours && neighbours->fetch) follow_as_one(part, *neighbours);
}

/// An unpickler of its own gets no further than to what another one would have to have stored.
void Walk::add_up_to_lack(const Part& part, std::uint64_t at, bool odd_too) {
  pickle::TraceOptions options;
  options.cap = limits::scan_cap(source_->size());
  pickle::Trace trace = pickle::trace(part.bytes, at, options);
  trace.broken.reset();
  add(part, trace, odd_too);
}

/// Pickles that stand one behind the other, as an unpickler reads them that is told to load again and again: what the
/// first put into its memo, the next may fetch. Where each has all that it fetches, it was written with a memo of its
/// own, and read as one they name what nobody meant: only what is dangerous by its name counts as such then.
void Walk::follow_as_one(const Part& part, const Neighbours& neighbours) {
  pickle::TraceOptions options;
  options.cap = limits::scan_cap(source_->size());
  options.continued = neighbours.begin != 0;
  options.until = neighbours.until;
  pickle::Trace trace = pickle::trace(part.bytes, neighbours.begin, options);
  if (trace.broken && (neighbours.lack || past_a_cap(trace))) note(*trace.broken, part, trace.end);
  trace.broken.reset();
  for (pickle::TracedName& name : trace.names) {
    const bool by_name = !name.is_odd && name.module.find('(') == std::string::npos &&
                         judge_global(name.module, name.name) == Verdict::dangerous;
    if (!neighbours.lack && !by_name && name.verdict == Verdict::dangerous) name.verdict = Verdict::unknown;
    // torch reads those of a legacy file with one unpickler each.
    if (neighbours.is_legacy && !by_name) name.verdict = Verdict::known;
  }
  add(part, trace, part.role != Role::storage);
  if (!neighbours.is_legacy)
    judge_values(part, trace, neighbours.begin, neighbours.until,
                 neighbours.lack ? Verdict::dangerous : Verdict::unknown);
}

/// Arrays and dtypes of numpy's are harmless or not by what they are made of, which only the values tell.
void Walk::judge_values(const Part& part, const pickle::Trace& trace, std::uint64_t begin, std::uint64_t until,
                        Verdict most) {
  if (!trace.needs_values) return;
  const auto is_of_numpys = [](CallRisk risk) {
    return risk == CallRisk::believes_state || risk == CallRisk::makes_array;
  };
  try {
    ValueGraph values;
    const std::uint64_t cap = std::min(limits::pickle_bytes, limits::scan_cap(source_->size()));
    for (const GlobalUse& use : pickle::run_as_one(part.bytes, begin, until, values, cap).globals)
      if (is_of_numpys(call_risk(use.module, use.name)))
        add_use(part, {use.module, use.name, std::min(use.verdict, most), use.offset});
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    if (most != Verdict::dangerous) return;
    // It reads less than a trace follows.
    for (const pickle::TracedName& name : trace.names)
      if (is_of_numpys(name.risk)) add_use(part, {name.module, name.name, Verdict::unknown, name.offset});
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

bool Walk::is_pickle(const Part& part, const pickle::Trace& trace, bool believed, bool expected) {
  constexpr std::uint64_t least_instructions = 32;  // of a program that breaks off, and is no accident
  const bool says_something = trace.names.empty() || believed;
  if (!says_something && !trace.announced && part.role != Role::pickle) return false;
  if (part.role == Role::storage) return !trace.broken || (trace.announced && believed);
  if (believed || !trace.broken || past_a_cap(trace)) return true;
  return expected && (trace.announced || trace.instructions >= least_instructions);
}

}  // namespace ckpt::scanning
