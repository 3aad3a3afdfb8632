#include "ckpt/recover.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "ckpt/ops.h"
#include "ckpt/shape.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/same_file.h"
#include "console/text.h"
#include "finding.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

using Json = nlohmann::ordered_json;

struct RecoverOptions {
  WritingOptions writing;
  std::optional<std::string> format;
  bool json = false;
};

constexpr Survival survivals[] = {Survival::whole, Survival::damaged, Survival::partial, Survival::lost};

std::size_t count(const Recovery& found, Survival survival) {
  return static_cast<std::size_t>(
      std::count_if(found.tensors.begin(), found.tensors.end(),
                    [&](const RecoveredTensor& tensor) { return tensor.survival == survival; }));
}

std::string tensor_line(const RecoveredTensor& tensor) {
  std::string line = std::string(survival_name(tensor.survival)) + ": " + printable(tensor.name);
  if (tensor.why.empty())
    line += "  " + std::string(dtype_name(tensor.info.dtype)) + " " + shape_text(tensor.info.shape) + "  " +
            (tensor.survival == Survival::damaged
                 ? "its checksum does not match"
                 : count_text(tensor.present) + " of " + count_text(tensor.nbytes) + " bytes");
  else
    line += "  " + printable(tensor.why);
  return line + (tensor.is_replaced ? "; None stands in its place" : "") + "\n";
}

std::string count_line(const Recovery& found) {
  std::string line =
      count_text(count(found, Survival::whole)) + " of " + count_text(found.tensors.size(), "tensor") + " whole";
  for (const Survival survival : survivals)
    if (const std::size_t number = count(found, survival); survival != Survival::whole && number > 0)
      line += ", " + count_text(number) + " " + std::string(survival_name(survival));
  if (found.unchecked > 0) line += "; no checksum vouches for " + count_text(found.unchecked) + " of the whole ones";
  if (!found.is_certain) line += "; names and other values may be wrong, or there was more";
  return line;
}

std::string report_text(const Recovery& found, const std::string& file, bool quiet) {
  const Colours colours;
  const std::string name = printable(file);
  std::string out;
  for (const Finding& finding : found.findings)
    if (finding.fault || !quiet) out += finding_line(file, finding, colours);
  for (const RecoveredTensor& tensor : found.tensors)
    if (tensor.survival != Survival::whole) out += tensor_line(tensor);
  return quiet ? out : out + name + ": " + count_line(found) + "\n";
}

/// A tensor at a time: of tens of thousands nlohmann/json would first build a tree, ten times their size.
template <class Items, class Describe>
std::string list_json(const Items& items, Describe describe) {
  std::string list;
  for (const auto& item : items) list += (list.empty() ? "[" : ",") + Json(describe(item)).dump();
  return list.empty() ? "[]" : list + "]";
}

std::string report_json(const Recovery& found, const std::string& file) {
  Json head = Json::object();
  head["file"] = valid_utf8(file);
  head["format"] = found.checkpoint.format;
  head["compression"] = compression_name(found.checkpoint.gzip);
  head["complete"] = found.is_complete();
  head["certain"] = found.is_certain;
  for (const Survival survival : survivals) head[std::string(survival_name(survival))] = count(found, survival);
  head["unchecked"] = found.unchecked;
  std::string text = head.dump();
  text.pop_back();
  text += ",\"tensors\":" + list_json(found.tensors, [](const RecoveredTensor& tensor) {
            return Json{{"name", valid_utf8(tensor.name)}, {"dtype", dtype_name(tensor.info.dtype)},
                        {"shape", tensor.info.shape},      {"survival", survival_name(tensor.survival)},
                        {"checked", tensor.is_checked},    {"nbytes", tensor.nbytes},
                        {"present", tensor.present},       {"replaced", tensor.is_replaced},
                        {"why", valid_utf8(tensor.why)}};
          });
  text +=
      ",\"findings\":" + list_json(found.findings, [](const Finding& finding) {
        return Json{{"fault", finding.fault}, {"where", valid_utf8(finding.where)}, {"what", valid_utf8(finding.what)}};
      });
  return visible_json(text) + "}\n";
}

/// The damaged file may have to be read again, by something better than this.
void keep_input(const Job& job, const std::string& file) {
  if (is_same_file(file, job.out))
    throw usage_error("recover does not replace the damaged file", "ckpt recover " + shell_word(job.in) + " OUT");
}

void print_report(const Recovery& found, const RecoverOptions& options, const Job& job, bool quiet) {
  const std::string text = options.json ? report_json(found, job.in) : report_text(found, job.in, quiet);
  if (job.out != "-") return print(text);
  print_error_text(text);
}

constexpr std::string_view nothing_left = "fetch or copy the file again; an earlier copy may be whole";

/// Its errors are told without the advice to recover the file.
Recovery recover_input(const Job& job) {
  const ByteSourcePtr source = open_checkpoint(job.in);
  keep_input(job, source->name());
  try {
    Recovery found = recover(source);
    for (Finding& finding : found.findings) finding.what = without_name(std::move(finding.what), found.checkpoint.file);
    return found;
  } catch (Error& error) {
    const bool is_damage = error.code() == ErrorCode::corrupt || error.code() == ErrorCode::truncated;
    if (is_damage && error.hint().empty()) error.hint(std::string(nothing_left));
    throw;
  }
}

int run(const RecoverOptions& options, bool quiet) {
  Job job = plan(options.writing, "recover");
  keep_input(job, job.in);
  if (options.json && job.out == "-")
    throw usage_error("--json and OUT '-' are both for standard output",
                      "ckpt recover " + shell_word(job.in) + " OUT --json");
  if (options.format) job.save.format = writable_format(*options.format);
  Recovery found = recover_input(job);
  print_report(found, options, job, quiet);
  if (!found.has_checkpoint())
    throw Error(ErrorCode::corrupt, "nothing of it can be saved")
        .expected("one whole tensor at least")
        .in(job.in)
        .hint(std::string(nothing_left));
  const bool complete = found.is_complete(), damaged = std::ranges::any_of(found.findings, &Finding::fault);
  const std::uint64_t unchecked = found.unchecked;
  std::vector<std::string> done;
  if (!complete) done.push_back("what is lost of " + job.in + " is left out");
  write_output(std::move(found.checkpoint), job, done, quiet || options.json);
  if (complete && !quiet)
    print_note(job.in + (unchecked == 0 ? ": every tensor and value in it is whole"
                         : damaged      ? ": no tensor or value is missing"
                                        : ": nothing is missing or contradicts itself"));
  return complete ? exit_done : exit_no;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<RecoverOptions>();
  arguments.value("--format", "NAME", options->format, "as convert's: else as OUT's suffix says, or as the input");
  arguments.flag("--json", options->json, "what is left of each tensor as one JSON object, on one line");
  define_writing_options(arguments, options->writing, {.in_place = false});
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command recover_command;
const Command recover_command{
    "recover",
    "IN OUT [options]",
    "what a cut or damaged file still holds whole; says what is lost",
    "Reads a file that is cut or damaged, in gzip or not, says of each tensor whether it is whole, damaged,\n"
    "partial or lost, and writes the whole ones. Entries of lost tensors go; in a list, a tuple or an object\n"
    "None takes their place. Exit status 0 where all is whole, 1 where something is lost or cannot be told for\n"
    "certain, 3 where nothing can be saved.\n",
    "ckpt recover cut.pt saved.pt",
    "ckpt recover damaged.pt.gz saved.pt --json --dry-run",
    define,
};

}  // namespace ckpt::tools
