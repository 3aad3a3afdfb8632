#include <array>
#include <memory>

#include "ckpt/scan.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/progress.h"
#include "console/render.h"
#include "scan_files.h"
#include "scan_report.h"

namespace ckpt::tools {
namespace {

struct ScanOptions {
  std::vector<std::string> paths, excluded;
  bool json = false, sarif = false;
};

/// How many files of each verdict, and how many that were none.
struct Tally {
  std::array<std::size_t, 4> of{};
  std::size_t files = 0, skipped = 0;

  void add(ScanVerdict verdict) {
    ++files;
    ++of[static_cast<std::size_t>(verdict)];
  }
  [[nodiscard]] std::size_t count(ScanVerdict verdict) const { return of[static_cast<std::size_t>(verdict)]; }
};

std::string summary(const Tally& tally) {
  std::string counts;
  for (const ScanVerdict verdict :
       {ScanVerdict::dangerous, ScanVerdict::unreadable, ScanVerdict::unknown, ScanVerdict::safe})
    if (tally.count(verdict) > 0)
      counts += (counts.empty() ? ": " : ", ") + count_text(tally.count(verdict)) + " " +
                std::string(scan_verdict_name(verdict));
  if (tally.skipped > 0) counts += "; " + count_text(tally.skipped) + " skipped, which hold no checkpoint";
  return count_text(tally.files, "file") + counts + "\n";
}

/// Danger is not hidden by what could not be read: it has a status of its own, and that counts first.
int status_of(const Tally& tally) {
  if (tally.count(ScanVerdict::dangerous) > 0) return exit_no;
  return tally.count(ScanVerdict::unreadable) > 0 ? exit_input : exit_done;
}

int run(const ScanOptions& options, bool quiet) {
  FileList list = list_files(options.paths, options.excluded);
  Progress progress("scanning", quiet);
  Tally tally;
  std::vector<ScanResult> results;  // for SARIF, which is one document
  const auto report = [&](ScanResult result) {
    tally.add(result.verdict);
    progress.clear();
    if (options.sarif) return results.push_back(std::move(result));
    print(options.json ? scan_json(result) : scan_text(result));
  };
  for (const std::string& link : list.links)
    print_warning(link + ": a link that leads out of the folder: not followed");
  for (const std::string& glob : list.idle)
    if (!quiet) print_note("--exclude " + shell_value(glob) + " leaves nothing out");
  for (ScanResult& folder : list.results) report(std::move(folder));
  for (std::size_t i = 0; i < list.files.size(); ++i) {
    const ScannedFile& file = list.files[i];
    ScanResult result = scan_file(file.path);
    if (result.recognised || result.verdict == ScanVerdict::dangerous || file.named)
      report(std::move(result));
    else
      ++tally.skipped;
    progress.update(i + 1, list.files.size());
  }
  progress.clear();
  if (options.sarif) print(scan_sarif(results));
  const bool several = tally.files != 1 || tally.skipped > 0;
  if (several && !quiet && !options.json && !options.sarif) print(summary(tally));
  return status_of(tally);
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<ScanOptions>();
  arguments.files(options->paths);
  arguments.values("--exclude", "GLOB", options->excluded,
                   "leave out files and folders in a folder whose path or name matches (may be repeated)");
  arguments.flag("--json", options->json, "one JSON object a file, on one line");
  arguments.flag("--sarif", options->sarif, "one SARIF 2.1.0 document for all, for code scanning");
  return [options](bool quiet) {
    if (options->paths.empty()) throw usage_error("scan needs a PATH", "ckpt scan models/");
    if (options->json && options->sarif)
      throw usage_error("--json and --sarif are two outputs", "ckpt scan models/ --sarif");
    return run(*options, quiet);
  };
}

}  // namespace

extern const Command scan_command;
const Command scan_command{
    "scan",
    "PATH... [options]",
    "is it safe to load? names what a pickle would import",
    "Looks through files, and folders with all that is below them, for pickles: in each member of each\n"
    "archive, in gzip, and in texts that a pickle loads. Nothing is run. Of each file it says: safe (only\n"
    "names that are known to be harmless), unknown (others' names), dangerous (names that can run code),\n"
    "unreadable (it could not be judged to its end). Each name comes with how it is reached and its byte.\n"
    "Exit status 1 where a file is dangerous; else 3 where one is unreadable; else 0.\n",
    "ckpt scan model.pt",
    "ckpt scan models/ --exclude '*.onnx' --sarif > ckpt.sarif",
    define,
};

}  // namespace ckpt::tools
