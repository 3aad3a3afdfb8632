#pragma once

#include <cstdint>
#include <string>

#include "ckpt/checkpoint.h"
#include "ckpt/formats.h"
#include "console/arguments.h"

namespace ckpt::tools {

/// Reads a file, prints what its reader warns of, and names it in errors.
Checkpoint load_with_warnings(const std::string& file, const ReadOptions& options = {});

/// The bytes of the other files that it is made of.
std::uint64_t bytes_beside(const Checkpoint& checkpoint);

/// --dequantize.
void define_reading_options(Arguments& arguments, ReadOptions& options);

}  // namespace ckpt::tools
