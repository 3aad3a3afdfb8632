#include "commands.h"

#include "console/command.h"

namespace ckpt::eval {

extern const tools::Command eval_command, merge_command;

int run(const std::vector<std::string>& words) {
  if (words.empty() || words.front() != "--merge") return tools::run(eval_command, words, tools::Sandbox::off);
  return tools::run(merge_command, {words.begin() + 1, words.end()}, tools::Sandbox::off);
}

}  // namespace ckpt::eval
