// The program ckpt-eval, which `ckpt eval` and `ckpt eval-merge` become.
#include <cstdlib>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "commands.h"
#include "console/program.h"

int main(int count, char** words) {
#ifdef __GLIBC__
  mallopt(M_ARENA_MAX, 1);  // workers take little but large buffers; an arena for each would keep 100 MB
#endif
  // Nothing is left to do, and libtorch's destructors would take 0.08 s for it.
  std::_Exit(ckpt::tools::run_program(count, words, ckpt::eval::run));
}
