#include <memory>

#include "ckpt/ops.h"
#include "commands.h"
#include "messages.h"
#include "prefix_edit.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

struct StripOptions {
  WritingOptions writing;
  std::vector<std::string> prefixes;
};

int run(const StripOptions& options, bool quiet) {
  const Job job = plan(options.writing, "strip-prefix");
  const std::vector<std::string> standard{std::string(data_parallel_prefix)};
  const std::vector<std::string>& prefixes = options.prefixes.empty() ? standard : options.prefixes;
  check_prefixes(prefixes, "--prefix");
  std::vector<std::string> done;
  const Checkpoint edited = strip_prefixes(load_input(job), prefixes, done, quiet);
  write_output(edited, job, done, quiet);
  return exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<StripOptions>();
  arguments.values("--prefix", "P", options->prefixes,
                   "the prefix to take, instead of module.; several are taken in turn");
  define_writing_options(arguments, options->writing);
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command strip_prefix_command;
const Command strip_prefix_command{
    "strip-prefix",
    "IN OUT [options]",
    "takes DataParallel's \"module.\" (or --prefix) from the keys",
    "Takes a prefix once from every key that starts with it, in every state dict of the file and in its\n"
    "_metadata, as loading a DataParallel model's weights into the bare model needs. Other keys stay, and\n"
    "that is said. Nothing else in the file changes.\n",
    "ckpt strip-prefix model.pt model.bare.pt",
    "ckpt strip-prefix --in-place compiled.pt --prefix module. --prefix _orig_mod.",
    define,
};

}  // namespace ckpt::tools
