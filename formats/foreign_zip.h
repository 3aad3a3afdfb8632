#pragma once

#include <string>
#include <utility>

#include "ckpt/byte_source.h"

namespace ckpt {

/// Of a zip archive that holds no checkpoint: what it is, where its members tell, and what reads it.
std::pair<std::string, std::string> foreign_zip(const ByteSource& source);

}  // namespace ckpt
