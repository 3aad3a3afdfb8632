#include "ckpt/merge.h"

#include <algorithm>
#include <memory>

#include "console/command.h"
#include "console/messages.h"
#include "console/render.h"
#include "loading.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

/// What a format of several files is as one.
std::string as_one_file(const std::string& format) {
  if (format == "safetensors-index") return "safetensors";
  return format == "torch-index" || format == "dcp" ? "torch" : format;
}

int run(const WritingOptions& writing, bool quiet) {
  std::vector<std::string> inputs;
  const Job job = plan_many(writing, "merge", inputs);
  std::vector<Checkpoint> checkpoints;
  for (const std::string& input : inputs) checkpoints.push_back(load_with_warnings(input));
  std::size_t files = 0;
  for (const Checkpoint& checkpoint : checkpoints) files += std::max<std::size_t>(checkpoint.beside.size(), 1);
  const bool one = inputs.size() == 1;
  Checkpoint merged = one ? std::move(checkpoints.front()) : Checkpoint();
  if (!one) {
    std::vector<std::string> told;
    for (const Checkpoint& checkpoint : checkpoints)
      told.insert(told.end(), checkpoint.warnings.begin(), checkpoint.warnings.end());
    with_part_hint([&] { merged = merge(std::move(checkpoints)); });
    for (const std::string& warning : merged.warnings)
      if (std::find(told.begin(), told.end(), warning) == told.end()) print_warning(warning);
  }
  merged.format = as_one_file(merged.format);
  write_output(std::move(merged), job, {"joined from " + count_text(files, "file")}, quiet);
  return exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<WritingOptions>();
  define_writing_options(arguments, *options, {.in_place = false, .several = true});
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command merge_command;
const Command merge_command{
    "merge",
    "IN... OUT [options]",
    "one file of shards, of a distributed checkpoint, or of several files",
    "Of one IN, a folder of shards or a distributed checkpoint (or its index), makes one file that holds all of\n"
    "it. Of several makes one state dict of the state dict of each; a name that two of them have is an error.\n",
    "ckpt merge model-sharded/ model.safetensors",
    "ckpt merge encoder.pt decoder.pt model.pt",
    define,
};

}  // namespace ckpt::tools
