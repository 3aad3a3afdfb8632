#include <memory>

#include "ckpt/ops.h"
#include "commands.h"
#include "messages.h"
#include "prefix_edit.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

struct AddOptions {
  WritingOptions writing;
  std::vector<std::string> prefixes;
};

int run(const AddOptions& options, bool quiet) {
  const Job job = plan(options.writing, "add-prefix");
  const std::vector<std::string> standard{std::string(data_parallel_prefix)};
  const std::vector<std::string>& prefixes = options.prefixes.empty() ? standard : options.prefixes;
  check_prefixes(prefixes, "--prefix");
  std::vector<std::string> done;
  const Checkpoint edited = add_prefixes(load_input(job), prefixes, done, quiet);
  write_output(edited, job, done, quiet);
  return exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<AddOptions>();
  arguments.values("--prefix", "P", options->prefixes,
                   "the prefix to put, instead of module.; several are put in turn, the last outermost");
  define_writing_options(arguments, options->writing);
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command add_prefix_command;
const Command add_prefix_command{
    "add-prefix",
    "IN OUT [options]",
    "puts \"module.\" (or --prefix) before the keys",
    "Puts a prefix before every key of every state dict of the file, and in its _metadata, as loading bare\n"
    "weights into a DataParallel model needs. Nothing else in the file changes.\n",
    "ckpt add-prefix model.pt model.parallel.pt",
    "ckpt add-prefix encoder.pt part.pt --prefix encoder.",
    define,
};

}  // namespace ckpt::tools
