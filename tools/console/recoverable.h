#pragma once

#include <string>

namespace ckpt::tools {

/// Whether `ckpt recover` knows files of that format (ckpt/formats.h).
bool recovers(const std::string& format);

/// Whether `ckpt recover` may get something out of that file: not where it is whole enough to be recognised as one of a
/// format that is not recovered.
bool may_be_recovered(const std::string& file);

}  // namespace ckpt::tools
