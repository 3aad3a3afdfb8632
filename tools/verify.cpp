#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "ckpt/formats.h"
#include "ckpt/ops.h"
#include "ckpt/shape.h"
#include "ckpt/state_dict.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/recoverable.h"
#include "console/render.h"
#include "console/text.h"
#include "digest_list.h"
#include "finding.h"
#include "loading.h"
#include "stats_report.h"

namespace ckpt::tools {
namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  std::optional<std::string> digest, root;
  bool finite = false;
  bool json = false;
};

struct Result {
  std::string file;
  std::uint64_t bytes = 0;
  Detection detection;
  std::vector<Finding> findings;
  std::size_t faults = 0;
  bool is_damaged = false;  ///< it is no fault of the numbers that are in it
  bool is_finite = false;   ///< --finite: every tensor was looked at, and is
  bool is_beside = false;   ///< what is not finite is in no model: a trainer's best score so far, say
};

std::size_t count_faults(const std::vector<Finding>& findings) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [](const Finding& finding) { return finding.fault; }));
}

/// The machine's failure or the user's, and so no fault of the file.
bool is_no_finding(const Error& error) {
  return error.code() == ErrorCode::io || error.code() == ErrorCode::out_of_memory ||
         error.code() == ErrorCode::invalid_argument;
}

/// Whether there are models, and none of these tensors is in one.
bool are_beside_models(const Checkpoint& checkpoint, const std::vector<NonFinite>& tensors) {
  std::vector<StateDict> models = find_state_dicts(checkpoint);
  const std::unordered_set<ValueId> values = models_of(checkpoint.values, models);
  std::erase_if(models, [&](const StateDict& dict) { return !values.contains(dict.value); });
  const auto is_in = [](const std::string& name, const std::string& path) {
    return path.empty() || name.starts_with(path + ".");
  };
  return !models.empty() && std::ranges::none_of(tensors, [&](const NonFinite& tensor) {
    return std::ranges::any_of(models, [&](const StateDict& model) { return is_in(tensor.name, model.path); });
  });
}

void look_at_numbers(const Checkpoint& checkpoint, Result& result) {
  std::vector<Finding>& findings = result.findings;
  const bool damaged = count_faults(findings) > 0;
  std::vector<Error> unread;
  const std::vector<NonFinite> not_finite = find_non_finite(checkpoint, &unread);
  for (const NonFinite& found : not_finite)
    findings.push_back(
        {true, not_finite_text(found.nan, found.positive, found.negative) + "; the first at " + shape_text(found.first),
         "tensor '" + found.name + "'"});
  result.is_beside = !not_finite.empty() && are_beside_models(checkpoint, not_finite);
  const std::string not_looked_at = "not looked at for NaN and Inf: ";
  const Error* unsupported = nullptr;
  std::size_t count = 0;
  for (const Error& error : unread) {
    if (is_no_finding(error)) throw error;
    if (error.code() != ErrorCode::unsupported) {
      // What cannot be read has been said already, where the file is damaged.
      findings.push_back({!damaged, not_looked_at + without_name(error.what(), checkpoint.file), ""});
    } else if (count++ == 0) {
      unsupported = &error;
    }
  }
  if (count > 0)
    findings.push_back({false,
                        (count == 1 ? "" : count_text(count, "tensor") + " ") + not_looked_at +
                            without_name(unsupported->what(), checkpoint.file) + (count == 1 ? "" : ", and so on"),
                        ""});
  result.is_finite = unread.empty();
}

/// What --finite and --digest find in a file that verify() has been through.
void look_further(const ByteSourcePtr& source, const VerifyOptions& options, const DigestList* list, Result& result) {
  if (!options.finite && list == nullptr) return;
  std::vector<Finding>& findings = result.findings;
  try {
    Checkpoint checkpoint = read(source, {.dequantize = options.finite});
    if (options.finite) look_at_numbers(options.root ? take_root(checkpoint, *options.root) : checkpoint, result);
    if (list == nullptr) return;
    if (options.finite && checkpoint.format == "gguf") checkpoint = read(source);  // digests are of the blocks
    const auto differences = compare_digests(*list, digest(checkpoint, options.root.value_or("")));
    findings.insert(findings.end(), differences.begin(), differences.end());
    if (const std::size_t count = unnamed_tensors(checkpoint).size(); count > 0)
      findings.push_back(
          {false,
           count_text(count, "tensor") +
               " without a name (an attribute of another, say): no list has such; ckpt diff compares them",
           ""});
  } catch (const Error& error) {
    if (is_no_finding(error)) throw;
    findings.push_back(
        {count_faults(findings) == 0, "its tensors cannot be read: " + without_name(error.what(), source->name()), ""});
  }
}

/// All files that are read; of several, the one by which they are read where the others cannot be told.
std::uint64_t bytes_on_disk(const std::string& file, const ByteSource& source, const Result& result) {
  const std::string_view format = result.detection.format;
  const bool is_of_several = format == "dcp" || format.ends_with("-index");
  if (!is_of_several || file == "-" || count_faults(result.findings) > 0) return source.size();
  return source.size() + bytes_beside(load(file));
}

Result examine(const std::string& file, const VerifyOptions& options, const DigestList* list) {
  const ByteSourcePtr source = open_checkpoint(file);
  Result result{.file = file, .detection = detect(source), .findings = verify(source)};
  result.is_damaged = count_faults(result.findings) > 0;
  look_further(source, options, list, result);
  result.bytes = bytes_on_disk(file, *source, result);
  for (Finding& finding : result.findings)
    finding.what = without_name(without_name(std::move(finding.what), source->name()), finding.where);
  result.faults = count_faults(result.findings);
  return result;
}

std::string result_json(const Result& result) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  out["file"] = valid_utf8(result.file);
  out["format"] = result.detection.format;
  out["compression"] = compression_name(result.detection.gzip_layers > 0);
  out["bytes"] = result.bytes;
  out["ok"] = result.faults == 0;
  out["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : result.findings)
    out["findings"].push_back(
        {{"fault", finding.fault}, {"where", valid_utf8(finding.where)}, {"what", valid_utf8(finding.what)}});
  return visible_json(out.dump()) + "\n";
}

std::string result_text(const Result& result, const VerifyOptions& options, bool quiet) {
  const Colours colours;
  const std::string file = printable(result.file);
  std::string out;
  for (const Finding& finding : result.findings) {
    if (finding.fault || !quiet) out += finding_line(result.file, finding, colours);
  }
  if (result.faults > 0) return out + file + ": " + count_text(result.faults, "fault") + "\n";
  if (quiet) return out;
  return out + file + ": ok (" + result.detection.format + (result.detection.gzip_layers > 0 ? ", gzip, " : ", ") +
         size_text(result.bytes) + ": every byte read, every size, checksum and reference checked" +
         (result.is_finite
              ? (options.root ? ", the tensors at '" + printable(*options.root) + "'" : ", its tensors") + " finite"
              : "") +
         (options.digest ? ", every tensor as listed" : "") + ")\n";
}

int verify_file(const VerifyOptions& options, const DigestList* list, const std::string& file, bool quiet) {
  const Result result = examine(file, options, list);
  print(options.json ? result_json(result) : result_text(result, options, quiet));
  if (result.is_damaged && !options.json && !quiet && is_piece(file))
    print_hint(piece_hint("verify", file));
  else if (result.is_damaged && !options.json && !quiet && recovers(result.detection.format))
    print_hint("ckpt recover " + shell_word(file) + " OUT saves what is whole");
  else if (result.is_beside && !options.root && !options.json && !quiet)
    print_hint("ckpt verify " + shell_word(file) + " --finite --root auto looks at the model's tensors alone");
  return result.faults > 0 ? exit_no : exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<VerifyOptions>();
  arguments.files(options->files);
  arguments.flag("--finite", options->finite, "NaN and Inf in a tensor are faults, too");
  arguments.value("--digest", "FILE", options->digest,
                  "compare with what ckpt digest printed (text or --json): a tensor that differs is a fault");
  arguments.value("--root", "PATH", options->root,
                  "with --digest, as digest --root; with --finite, only the tensors there");
  arguments.flag("--json", options->json, "one JSON object a file, on one line");
  return [options](bool quiet) {
    if (options->files.empty()) throw usage_error("verify needs a FILE", "ckpt verify model.pt");
    if (options->root && !options->digest && !options->finite)
      throw usage_error("--root belongs to --finite and --digest", "ckpt verify model.pt --finite --root PATH");
    const auto& files = options->files;
    if (options->digest == "-" && std::find(files.begin(), files.end(), "-") != files.end())
      throw usage_error("standard input is one file", "ckpt verify model.pt --digest -");
    std::optional<DigestList> list;
    if (options->digest) list = read_digest_list(*options->digest, options->files.front());
    const DigestList* const digests = list ? &*list : nullptr;
    return for_each_file(options->files,
                         [&](const std::string& file) { return verify_file(*options, digests, file, quiet); });
  };
}

}  // namespace

extern const Command verify_command;
const Command verify_command{
    "verify",
    "FILE... [options]",
    "every byte, size, checksum and reference; NaN and digests if asked",
    "Checks files to the last byte: offsets, sizes, CRCs, references between the pickle and its storages.\n"
    "All that is wrong is listed, not the first of it. Exit status 1 where a fault was found, 3 where a\n"
    "file is not recognised or cannot be read. Remarks (no checksum covers a member) are no faults.\n",
    "ckpt verify model.pt --finite",
    "ckpt verify copy.pt --digest model.digest",
    define,
};

}  // namespace ckpt::tools
