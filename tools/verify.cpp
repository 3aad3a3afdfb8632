#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "ckpt/formats.h"
#include "commands.h"
#include "messages.h"
#include "render.h"
#include "text.h"

namespace ckpt::tools {
namespace {

struct VerifyOptions {
  std::vector<std::string> files;
  bool json = false;
};

struct Result {
  std::string file;
  std::uint64_t bytes = 0;
  Detection detection;
  std::vector<Finding> findings;
  std::size_t faults = 0;
};

// A finding that was an error says of itself which file and member it is about; a line names each once.
void drop_prefix(std::string& what, const std::string& prefix) {
  if (!prefix.empty() && what.compare(0, prefix.size() + 2, prefix + ": ") == 0) what.erase(0, prefix.size() + 2);
}

Result examine(const std::string& file) {
  const ByteSourcePtr source = open_file(file);
  Result result{file, 0, detect(source), verify(source), 0};
  result.bytes = source->size();
  for (Finding& finding : result.findings) {
    drop_prefix(finding.what, source->name());
    drop_prefix(finding.what, finding.where);
  }
  const auto& all = result.findings;
  result.faults =
      static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [](const Finding& f) { return f.fault; }));
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
  for (const Finding& finding : result.findings) {
    out["findings"].push_back(
        {{"fault", finding.fault}, {"where", valid_utf8(finding.where)}, {"what", valid_utf8(finding.what)}});
  }
  return visible_json(out.dump()) + "\n";
}

std::string finding_line(const std::string& file, const Finding& finding, const Colours& colours) {
  const std::string where = finding.where.empty() ? "" : printable(finding.where) + ": ";
  const std::string what = where + printable(finding.what) + "\n";
  return file + ": " + (finding.fault ? colours.red("fault: ") : "remark: ") + what;
}

std::string result_text(const Result& result, bool quiet) {
  const Colours colours;
  const std::string file = printable(result.file);
  std::string out;
  for (const Finding& finding : result.findings) {
    if (finding.fault || !quiet) out += finding_line(file, finding, colours);
  }
  if (result.faults > 0) return out + file + ": " + count_text(result.faults, "fault") + "\n";
  if (quiet) return out;
  return out + file + ": ok (" + result.detection.format + (result.detection.gzip_layers > 0 ? ", gzip, " : ", ") +
         size_text(result.bytes) + ": every byte read, every size, checksum and reference checked)\n";
}

int verify_file(const VerifyOptions& options, const std::string& file, bool quiet) {
  const Result result = examine(file);
  print(options.json ? result_json(result) : result_text(result, quiet));
  return result.faults > 0 ? exit_no : exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<VerifyOptions>();
  arguments.files(options->files);
  arguments.flag("--json", options->json, "one JSON object a file, on one line");
  return [options](bool quiet) {
    if (options->files.empty()) throw usage_error("verify needs a FILE", "ckpt verify model.pt");
    return for_each_file(options->files, [&](const std::string& file) { return verify_file(*options, file, quiet); });
  };
}

}  // namespace

extern const Command verify_command;
const Command verify_command{
    "verify",
    "FILE... [options]",
    "reads every byte and checks every size, checksum and reference",
    "Checks files to the last byte: offsets, sizes, CRCs, references between the pickle and its storages.\n"
    "All that is wrong is listed, not the first of it. Exit status 1 where a fault was found, 3 where a\n"
    "file is not recognised or cannot be read. Remarks (no checksum covers a member) are no faults.\n",
    "ckpt verify model.pt",
    "ckpt verify --json checkpoints/*.pt.gz",
    define,
};

}  // namespace ckpt::tools
