#include "console/command.h"
#include "prefix_edit.h"

namespace ckpt::tools {
namespace {

Runner define(Arguments& arguments) {
  return define_prefix_edit(arguments, "add-prefix", add_prefixes,
                            "the prefix to put, instead of module.; several are put in turn, the last outermost");
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
