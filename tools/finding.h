#pragma once

#include <string>

#include "ckpt/formats.h"
#include "console/render.h"

namespace ckpt::tools {

/// The words without the "NAME: " that they may begin with: an error says of itself which file and member it is about,
/// and a line names each once.
std::string without_name(std::string words, const std::string& name);

/// "FILE: fault: WHERE: WHAT", with its end of line.
std::string finding_line(const std::string& file, const Finding& finding, const Colours& colours);

}  // namespace ckpt::tools
