#include "commands.h"

#include "console/command.h"

namespace ckpt::eval {

extern const tools::Command eval_command;

int run(const std::vector<std::string>& words) { return tools::run(eval_command, words); }

}  // namespace ckpt::eval
