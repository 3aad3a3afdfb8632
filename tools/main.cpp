// The program ckpt.
#include "commands.h"
#include "console/program.h"

namespace {

// Sanitizers start programs and look into their own process; coverage is written at the end, wherever the objects are.
#ifdef CKPT_UNCONFINED
constexpr auto sandbox = ckpt::tools::Sandbox::off;
#else
constexpr auto sandbox = ckpt::tools::Sandbox::on;
#endif

}  // namespace

int main(int count, char** words) {
  return ckpt::tools::run_program(count, words, [](const auto& all) { return ckpt::tools::run(all, sandbox); });
}
