#pragma once

#include <memory>

#include "devices/driver.h"
#include "devices/library.h"

namespace ckpt::eval {

/// `library`'s functions; null, with `missing` saying which, where one that is needed is not there.
std::unique_ptr<CudaDriver> open_cuda(const Library& library, std::string& missing);

}  // namespace ckpt::eval
