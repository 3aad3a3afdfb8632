#include "console/command.h"
#include "prefix_edit.h"

namespace ckpt::tools {
namespace {

Runner define(Arguments& arguments) {
  return define_prefix_edit(arguments, "strip-prefix", strip_prefixes,
                            "the prefix to take, instead of module.; several are taken in turn");
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
