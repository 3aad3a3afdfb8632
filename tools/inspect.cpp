#include <memory>

#include "ckpt/byte_source.h"
#include "ckpt/formats.h"
#include "console/command.h"
#include "console/messages.h"
#include "inspection.h"
#include "loading.h"

namespace ckpt::tools {
namespace {

struct InspectOptions {
  std::vector<std::string> files;
  std::vector<std::string> keys;
  bool json = false;
  bool stats = false;
  ReadOptions reading;
};

int inspect(const InspectOptions& options, const std::string& file, bool quiet) {
  const ByteSourcePtr source = open_checkpoint(file);
  Checkpoint checkpoint = read(source, options.reading);
  for (std::string& warning : finish_reading(checkpoint)) checkpoint.warnings.push_back(std::move(warning));
  Inspection inspection = inspect_checkpoint(checkpoint, file, source->size() + bytes_beside(checkpoint), options.keys);
  if (options.stats) add_figures(inspection, options.keys);
  if (options.json) {
    print_inspection_json(inspection);
    return exit_done;
  }
  if (file != options.files.front()) print("\n");
  print_inspection(inspection);
  if (!quiet && !options.keys.empty() && inspection.rows.empty())
    print_note(file + ": no tensor's name matches --keys");
  return exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<InspectOptions>();
  arguments.files(options->files);
  arguments.flag("--json", options->json, "one JSON object a file, on one line");
  arguments.values("--keys", "GLOB", options->keys, "only tensors whose name matches; * crosses dots; may be repeated");
  arguments.flag("--stats", options->stats, "with the figures of ckpt stats, for which all tensors are read");
  define_reading_options(arguments, options->reading);
  return [options](bool quiet) {
    if (options->files.empty()) throw usage_error("inspect needs a FILE", "ckpt inspect model.pt");
    return for_each_file(options->files, [&](const std::string& file) { return inspect(*options, file, quiet); });
  };
}

}  // namespace

extern const Command inspect_command;
const Command inspect_command{
    "inspect",
    "FILE... [options]",
    "what a checkpoint holds: tensors, devices, prefixes, globals",
    "Lists a checkpoint's tensors (name, dtype, shape, device, bytes), its totals, its state dicts,\n"
    "and every global that loading it with Python would import. Nothing in the file is run.\n",
    "ckpt inspect model.pt",
    "ckpt inspect model.pt.gz --keys '*.weight' --json",
    define,
};

}  // namespace ckpt::tools
