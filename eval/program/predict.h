#pragma once

#include "program/settings.h"

namespace ckpt::eval {

/// `ckpt eval MODEL --predict FILE|FOLDER|-…`: prints what the model reads in each picture, "PATH: q66z". One that
/// cannot be read is reported, and the rest go on. Returns the exit status: the highest.
int predict(const Settings& settings, bool quiet);

}  // namespace ckpt::eval
