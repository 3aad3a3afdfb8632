// The program ckpt.
#include "commands.h"
#include "console/program.h"

int main(int count, char** words) { return ckpt::tools::run_program(count, words, ckpt::tools::run); }
