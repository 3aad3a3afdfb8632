#include <memory>

#include "ckpt/eval.h"
#include "console/command.h"
#include "console/messages.h"

namespace ckpt::eval {
namespace {

struct Settings {
  std::vector<std::string> files;
  std::optional<std::string> arch, data;
};

tools::Runner define(tools::Arguments& arguments) {
  const auto settings = std::make_shared<Settings>();
  arguments.files(settings->files);
  arguments.value("--data", "PATH", settings->data, "the test set");
  return [settings](bool) { return tools::exit_done; };
}

}  // namespace

extern const tools::Command eval_command;
const tools::Command eval_command{
    "eval",
    "MODEL [--data PATH] [options]",
    "load it into its reference model and run the test set",
    "Loads a checkpoint into the model it was trained as, runs a test set, and says how good it is.\n",
    "ckpt eval model.pt.gz --data data/MNIST/raw",
    "ckpt eval model.pt --min-accuracy 97% --json",
    define,
};

}  // namespace ckpt::eval
