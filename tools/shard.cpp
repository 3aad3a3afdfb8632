#include <memory>

#include "byte_count.h"
#include "console/command.h"
#include "console/messages.h"
#include "loading.h"
#include "selection.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

struct ShardArguments {
  WritingOptions writing;
  SelectionOptions selection;
  std::optional<std::string> max_size, format;
};

int run(const ShardArguments& arguments, bool quiet) {
  if (arguments.writing.files.size() < 2)
    throw usage_error("shard needs IN and DIR", "ckpt shard model.pt shards --max-size 2GB");
  Job job = plan(arguments.writing, "shard");
  const std::string format = arguments.format.value_or("");
  if (!format.empty() && format != "safetensors-index" && format != "torch-index")
    throw usage_error("shard writes no '" + format + "'", "--format takes safetensors-index, torch-index");
  job.save.shard_bytes = arguments.max_size ? number_of_bytes("--max-size", *arguments.max_size) : default_shard_bytes;
  job.save.protocol = protocol_of(arguments.selection);
  std::vector<std::string> done;
  Checkpoint checkpoint = load_input(job);
  const bool pickled = checkpoint.pickled || checkpoint.format == "torch-index";
  job.save.format = !format.empty() ? format : pickled ? "torch-index" : "safetensors-index";
  checkpoint = take_part(std::move(checkpoint), arguments.selection, done);
  write_output(std::move(checkpoint), job, done, quiet);
  return exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<ShardArguments>();
  arguments.value("--max-size", "BYTES", options->max_size, "of tensors in a file: 500MB, 2GiB; default 5GB");
  arguments.value("--format", "NAME", options->format,
                  "safetensors-index or torch-index; else the first, of a pickle the second");
  define_selection_options(arguments, options->selection);
  define_writing_options(arguments, options->writing, {.in_place = false, .gzip = false});
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command shard_command;
const Command shard_command{
    "shard",
    "IN DIR [options]",
    "split into files of a size, with an index",
    "Writes tensors into several files and an index, as transformers does and reads. DIR is new or empty.\n"
    "ckpt merge makes one file of it again.\n",
    "ckpt shard model.pt shards --max-size 2GB",
    "ckpt shard trainer.pt shards --weights-only --format safetensors-index",
    define,
};

}  // namespace ckpt::tools
