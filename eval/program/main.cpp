// The program ckpt-eval, which `ckpt eval` and `ckpt eval-merge` become.
#include "commands.h"
#include "console/program.h"

int main(int count, char** words) { return ckpt::tools::run_program(count, words, ckpt::eval::run); }
