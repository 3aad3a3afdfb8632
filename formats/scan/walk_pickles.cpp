#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "io/bytes.h"
#include "pickle/machine.h"
#include "pickle/opcodes.h"
#include "pickle/policy.h"
#include "pickled_tensors/legacy_magic.h"
#include "scan/walk.h"
#include "suffix.h"

/// Where pickles stand in a part, and which of what they name is believed.
namespace ckpt::scanning {
namespace {

constexpr std::uint64_t pickle_window = 64 * limits::kib;

bool is_extension(const pickle::TracedName& name) { return name.module == extension_module; }

bool names_something(const pickle::Trace& trace) {
  const auto names = [](const auto& name) { return !name.is_odd && !is_extension(name); };
  return std::any_of(trace.names.begin(), trace.names.end(), names);
}

/// Whether there is nothing but what no pickler writes, and a loader reads on behind.
bool is_merely_suspect(const pickle::Trace& trace) {
  return std::all_of(trace.names.begin(), trace.names.end(), [](const auto& name) { return name.is_suspicion(); });
}

/// However it is spelt.
bool imports_something(const pickle::Trace& trace) {
  return !std::all_of(trace.names.begin(), trace.names.end(), is_extension);
}

/// Prose that runs to a STOP as a program has names with blanks in them.
bool may_be_prose(const pickle::Trace& trace) {
  const auto has_blank = [](const auto& name) {
    return name.module.find(' ') != std::string::npos || name.name.find(' ') != std::string::npos;
  };
  return std::any_of(trace.names.begin(), trace.names.end(), has_blank);
}

bool calls_something(const pickle::Trace& trace) {
  return std::any_of(trace.names.begin(), trace.names.end(), [](const auto& name) { return pickle::is_called(name); });
}

/// Whether it begins with lines of a text: lists of words, which break off before they call anything.
bool is_of_lines(const ByteSource& bytes) {
  std::array<std::byte, 512> begin{};
  const std::string_view text = as_text(std::span(begin).first(bytes.read_at(0, begin)));
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return (c >= ' ' && c != 0x7f) || c == '\n' || c == '\r' || c == '\t'; });
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
      if (!names_something(trace) && !calls_an_extension(trace) && !trace.odd_frame) continue;
      add(part, trace, true);
      next = trace.end;
    }
    if (got < window.size()) return;
    at += got - 1;
  }
}

/// A pickle that torch would load, and what it names.
void Walk::follow_record(const Part& tar, std::uint64_t at) {
  const pickle::Trace trace = follow_pickle(tar, at);
  followed_ += trace.end - at;
  add(tar, trace, true);
  judge_values(tar, trace, at, trace.end);
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
    if (!names_something(trace) || !trace.past_a_cap()) return trace;
  }
  return pickle::trace(part.bytes, at, options);
}

bool Walk::is_named_as_pickle(const Part& part) const {
  if (part.role != Role::file) return part.role == Role::pickle;
  return role_of_member(without_gz(source_->name())) == Role::pickle;
}

/// `is_numbers`: a format that holds no pickle knows it.
void Walk::follow_pickles(const Part& part, bool is_archive, bool is_numbers) {
  std::array<std::byte, numpy_magic.size()> next{};
  bool is_archive_here = false;
  // In front of the storages of a file before PyTorch 1.6.
  constexpr std::size_t legacy_pickles = 5;
  const bool is_legacy = part.role != Role::storage && recognises(*find_format("torch-legacy"), *part.bytes);
  std::size_t met = 0, whole = 0;
  bool persists = false;
  bool is_opened = false;  // a legacy file that begins further behind
  std::optional<Neighbours> neighbours;
  std::vector<pickle::Trace> passed_over;
  std::uint64_t at = 0;
  while (const std::size_t got = part.bytes->read_at(at, next)) {
    const auto code = std::to_integer<std::uint8_t>(next[0]);
    const std::string_view begin = as_text(std::span(next).first(got));
    if (at != 0 && begin == numpy_magic) open_rest(part, at);
    if (at == 0) is_archive_here = begin.starts_with("PK\3\4");
    if (pickle::opcode_table[code].name.empty()) break;
    if (++pickles_ > limits::scan_pickles)
      throw Error(ErrorCode::limit_exceeded, "more pickles than are followed")
          .expected("at most " + std::to_string(limits::scan_pickles));
    const bool expected = !is_archive && (part.role == Role::file || part.role == Role::pickle);
    pickle::Trace trace = follow_pickle(part, at);
    if (is_numbers && trace.names.empty())
      trace.announced = false;  // the length that safetensors begins with may be spelt as PROTO is
    if (!trace.broken) ++whole;
    persists = persists || trace.persists;
    if (!is_legacy && !is_opened && part.role != Role::storage && makes_legacy_magic(part, at, trace)) {
      is_opened = true;
      if (at != 0 && recognises(*find_format("torch-legacy"), *stretch(part, at, part.bytes->size()).bytes))
        open_rest(part, at);
      else
        note(Error(ErrorCode::corrupt, "what a file of PyTorch's before 1.6 begins with is not spelt as torch does"),
             part, at);
    }
    // A window is read to begin one; most are short.
    followed_ += std::max(trace.end - at, trace.read - at > pickle_window ? trace.read - at : 0);
    if (neighbours) {
      neighbours->fetch = neighbours->fetch || trace.fetches;
      neighbours->lack = neighbours->lack || trace.lacks;
      neighbours->until = trace.broken && trace.fetches ? UINT64_MAX : at + 1;
    }
    // No text is an archive, or has one behind it.
    const bool is_prose = at == 0 && !is_archive && trace.broken && !trace.announced && !trace.past_a_cap() &&
                          !calls_something(trace) && !trace.changes && !is_named_as_pickle(part) &&
                          is_of_lines(*part.bytes) && !begin_of_tail(part) &&
                          !recognises(*find_format("dcp"), *part.bytes);
    if (is_prose) break;
    const bool believed = is_believed(part, trace, at == 0);
    const bool is_of_legacy = is_legacy && met++ < legacy_pickles;  // each of which has an unpickler of its own
    // Python imports what it is told to, however it is spelt and whatever comes behind it.
    const bool imports = imports_something(trace);
    const bool begins = at == 0 && !is_archive;
    // No chance makes such a frame: its length would have to fit the bytes.
    const bool is_in_place = is_of_legacy || (trace.odd_frame && part.role != Role::storage) ||
                             (begins && part.role == Role::pickle && trace.instructions > 1) ||
                             (expected && imports && !is_legacy && is_named_as_pickle(part)) ||
                             (expected && imports && !trace.broken && !may_be_prose(trace));
    if (is_in_place || is_pickle(part, trace, believed, expected && at == 0)) {
      if (is_archive_here && trace.broken && !believed) break;  // an archive's bytes, to a pickle
      // Two bytes that may be a pickle are one number of many.
      if (part.role != Role::storage || trace.announced || believed) {
        ++result_.pickles;
        result_.recognised = true;
      }
      const bool for_certain =
          part.role == Role::pickle || is_in_place || (trace.announced && (expected || !trace.broken));
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
    } else if (imports) {  // prose, which a loader that goes on behind it has run by then
      passed_over.push_back(trace);
    }  // else it names extensions that there are not, and no loader gets any further; one that reads others may
    if (neighbours)
      for (const pickle::Trace& passed : std::exchange(passed_over, {})) add(part, passed, true);
    at = trace.end;
    // What begins as an archive may be none, and be the next pickle.
    is_archive_here = is_archive_here || (part.may_be_archive && open_behind(part, at));
  }
  // The number of a legacy file may be made by what is called; its storages stand behind its pickles, or are missing.
  if (!is_legacy && !is_opened && part.role != Role::storage && whole >= legacy_pickles &&
      (persists || part.bytes->read_at(at, std::span(next).first(1)) > 0))
    note(Error(ErrorCode::unsupported, "what stands behind " + std::to_string(whole) + " pickles was not looked into"),
         part, at);
  // torch reads those of a legacy file with one unpickler each.
  const bool is_read_apart = is_legacy && open_rest(part, "torch-legacy");
  if (neighbours && neighbours->fetch && (!is_read_apart || neighbours->lack)) follow_as_one(part, *neighbours);
}

/// Whether the value of a pickle is the number that a file of PyTorch's before 1.6 begins with, however it is spelt.
bool Walk::makes_legacy_magic(const Part& part, std::uint64_t at, const pickle::Trace& trace) const {
  constexpr std::uint64_t most = 4 * limits::kib;
  if (trace.broken || !trace.makes_plain || trace.end - at > most) return false;
  try {
    ValueGraph values;
    const pickle::Program program = pickle::run(*part.bytes, at, values, most);
    return values.kind(program.root) == ValueKind::big_integer &&
           values.text(program.root).starts_with(torch::legacy_magic);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return false;
  }
}

/// An unpickler of its own gets no further than to what another one would have to have stored.
void Walk::add_up_to_lack(const Part& part, std::uint64_t at, bool odd_too) {
  pickle::TraceOptions options;
  options.cap = limits::scan_cap(source_->size());
  pickle::Trace trace = pickle::trace(part.bytes, at, options);
  trace.broken.reset();
  add(part, trace, odd_too);
  judge_values(part, trace, at, trace.end);
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
  if (trace.broken && (neighbours.lack || trace.past_a_cap())) note(*trace.broken, part, trace.end);
  trace.broken.reset();
  for (pickle::TracedName& name : trace.names) {
    const bool by_name = !name.is_odd && name.module.find('(') == std::string::npos &&
                         judge_global(name.module, name.name) == Verdict::dangerous;
    if (!neighbours.lack && !by_name && name.verdict == Verdict::dangerous) name.verdict = Verdict::unknown;
    if (neighbours.is_legacy && !neighbours.lack && !by_name) name.verdict = Verdict::known;
  }
  add(part, trace, part.role != Role::storage);
  if (!neighbours.is_legacy || neighbours.lack)
    judge_values(part, trace, neighbours.begin, neighbours.until,
                 neighbours.lack ? Verdict::dangerous : Verdict::unknown);
}

/// What a known name makes is harmless or not by what it is given, and a storage's id by what it holds, which only the
/// values tell.
void Walk::judge_values(const Part& part, const pickle::Trace& trace, std::uint64_t begin, std::uint64_t until,
                        Verdict most) {
  if (trace.past_a_cap() || trace.names.empty()) return;
  if (most == Verdict::dangerous) keep_pickle(part, trace, begin);
  const std::uint64_t cap = std::min(limits::pickle_bytes, limits::scan_cap(source_->size()));
  const pickle::JudgedNames judged = pickle::judge_as_one(part.bytes, begin, until, cap);
  for (const GlobalUse& use : judged.globals)
    if (use.verdict != judge_global(use.module, use.name))
      add_use(part, {use.module, use.name, std::min(use.verdict, most), use.offset}, &trace);
  if (judged.whole || judged.end == trace.end || most != Verdict::dangerous) return;
  // It reads less than a trace follows.
  bool is_any = false;
  for (const pickle::TracedName& name : trace.names) {
    if (!pickle::is_called(name) || name.verdict != Verdict::known) continue;
    is_any = true;
    add_use(part, {name.module, name.name, Verdict::unknown, name.offset}, &trace);
  }
  if (is_any) note(Error(ErrorCode::unsupported, "what names are given is not followed any further"), part, judged.end);
}

bool Walk::is_pickle(const Part& part, const pickle::Trace& trace, bool believed, bool expected) {
  constexpr std::uint64_t least_instructions = 32;  // of a program that breaks off, and is no accident
  const bool says_something = is_merely_suspect(trace) || believed;
  if (!says_something && !trace.announced && part.role != Role::pickle) return false;
  if (part.role == Role::storage) return !trace.broken || (trace.announced && believed);
  if (believed || !trace.broken || trace.past_a_cap()) return true;
  return expected && (trace.announced || trace.instructions >= least_instructions);
}

}  // namespace ckpt::scanning
