#include "ckpt/eval.h"

namespace ckpt::eval {}  // namespace ckpt::eval
