#pragma once

#include <memory>

#include "devices/driver.h"
#include "devices/library.h"

namespace ckpt::eval {

/// `library`'s functions, started; null, with `missing` saying why, where it cannot be used.
std::unique_ptr<Nvml> open_nvml(const Library& library, std::string& missing);

}  // namespace ckpt::eval
