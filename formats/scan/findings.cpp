#include <algorithm>
#include <optional>
#include <utility>

#include "pickle/name_lists.h"
#include "scan/walk.h"

namespace ckpt::scanning {
namespace {

/// What the error says of a part's bytes, with the place `at` in them counted as the part's own places are.
std::string message_of(const Error& error, const Part& part, const std::string& file, std::optional<std::uint64_t> at) {
  std::string text = error.what();
  if (text.starts_with(file + ": ")) text.erase(0, file.size() + 2);
  const std::string told = error.offset() ? " (at byte " + std::to_string(*error.offset()) + ")" : "";
  if (text.ends_with(told)) text.erase(text.size() - told.size());
  if (at)
    text += " (at byte " + std::to_string(part.base + *at) + (part.stream.empty() ? "" : " of " + part.stream) + ")";
  return part.where.empty() || text.starts_with(part.where) ? text : part.where + ": " + text;
}

}  // namespace

bool Walk::is_loader(const pickle::TracedName& name) {
  return name.module == "torch.storage" && name.name == "_load_from_bytes";
}

void Walk::note(const Error& error, const Part& part) { note(error, part, error.offset()); }

void Walk::note(const Error& error, const Part& part, std::optional<std::uint64_t> at) {
  raise(ScanVerdict::unreadable);
  // What is past a limit may be anything behind that.
  result_.recognised = result_.recognised || error.code() == ErrorCode::limit_exceeded;
  if (result_.error.empty()) result_.error = message_of(error, part, result_.file, at);
  doubt(part);
}

void Walk::doubt(const Part& part) {
  if (part.loader < loaders_.size()) loaders_[part.loader].doubt = true;
}

void Walk::add(ScanFinding finding) {
  const bool dangerous = finding.verdict == Verdict::dangerous;
  raise(dangerous ? ScanVerdict::dangerous : ScanVerdict::unknown);
  const auto listed = listed_.find({finding.module, finding.name, finding.where, finding.offset});
  if (listed != listed_.end() && listed->second >= finding.verdict) return;
  // Unknown names leave room for the others.
  const std::size_t most = dangerous ? limits::scan_findings : limits::scan_findings / 2;
  if (result_.findings.size() >= most) {
    ++result_.left_out;
    return;
  }
  listed_[{finding.module, finding.name, finding.where, finding.offset}] = finding.verdict;
  result_.findings.push_back(std::move(finding));
}

/// What a format's reader, or the machine, found and the trace did not.
void Walk::add_use(const Part& part, const GlobalUse& use, const pickle::Trace* trace) {
  if (use.verdict == Verdict::known) return;
  for (auto same = listed_.lower_bound({use.module, use.name, "", 0});
       same != listed_.end() && std::get<0>(same->first) == use.module && std::get<1>(same->first) == use.name; ++same)
    if (same->second >= use.verdict) return;
  ScanFinding finding{.verdict = use.verdict,
                      .module = use.module,
                      .name = use.name,
                      .called = false,
                      .how = "",
                      .where = part.where,
                      .offset = part.base + use.offset,
                      .stream = part.stream};
  if (trace != nullptr) {
    const auto name = std::find_if(trace->names.begin(), trace->names.end(), [&](const pickle::TracedName& one) {
      return one.name == use.name && one.module == use.module;
    });
    if (name != trace->names.end()) {
      finding.called = pickle::is_called(*name);
      finding.how = pickle::opcodes_of(*name);
    }
  }
  add(std::move(finding));
}

void Walk::add(const Part& part, const pickle::Trace& trace, bool odd_too) {
  std::vector<std::size_t> loaders(trace.names.size(), SIZE_MAX);
  for (std::size_t i = 0; i < trace.names.size(); ++i) {
    const pickle::TracedName& name = trace.names[i];
    if (name.is_odd && !odd_too) continue;
    if (name.verdict == Verdict::known) {
      known_.emplace(name.module, name.name);
      if (is_in(name.module, "torch")) of_torch_.insert(part.file);
      continue;
    }
    ScanFinding finding{.verdict = name.verdict,
                        .module = name.module,
                        .name = name.name,
                        .called = pickle::is_called(name),
                        .how = pickle::opcodes_of(name),
                        .where = part.where,
                        .offset = part.base + name.offset,
                        .stream = part.stream};
    // Where each use is a call with bytes, those bytes tell. Past a cap they may be those of the last use.
    const std::uint64_t open = trace.past_a_cap() ? 1 : 0;
    if (is_loader(name) && name.pushed - name.called_as_judged <= open && (!trace.broken || trace.past_a_cap())) {
      loaders[i] = loaders_.size();
      loaders_.push_back({std::move(finding), false});
      continue;
    }
    if (name.verdict == Verdict::dangerous) doubt(part);
    add(std::move(finding));
  }
  open_texts(part, trace, loaders);
}

void Walk::open_texts(const Part& part, const pickle::Trace& trace, const std::vector<std::size_t>& loaders) {
  for (const pickle::TracedBytes& given : trace.given) {
    const pickle::TracedName& to = trace.names[given.name];
    const bool judged = loaders[given.name] != SIZE_MAX;
    const std::string name = "bytes for " + to.module + "." + to.name;
    // Of what another function is given, only what it would run is of interest: that function is dangerous anyway.
    const Role role = judged ? Role::pickle : Role::member;
    Part inside = given.in_place ? part_in_place(part, given.bytes, given.at, role, name)
                                 : part_apart(part, given.bytes, role, name);
    if (judged) inside.loader = loaders[given.name];
    open_.push_back({std::move(inside), &Walk::open_text});
  }
}

/// torch.load begins to run whatever it is given before it finds that it cannot read that: a file that torch's own
/// readers here do not take is in doubt, whatever the walk makes of it.
void Walk::open_text(const Part& part) {
  if (part.depth > limits::nesting) throw too_deep();
  visit(part);
  if (part.loader >= loaders_.size() || part.role != Role::pickle || loaders_[part.loader].doubt) return;
  try {
    const Checkpoint file = context_.open(part.bytes, part.where);
    const bool is_of_torch = !file.gzip && !file.archive && (file.format == "torch" || file.format == "torch-legacy");
    // All that is ever written so. What else a file is, its name is not asked for what is done with it.
    if (is_of_torch && find_storage_use(file, file.root) != nullptr) return;
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
  }
  doubt(part);
}

}  // namespace ckpt::scanning
