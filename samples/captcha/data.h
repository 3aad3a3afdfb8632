#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "files.h"

namespace captcha {

/// All files NAME_set.N.pt of the folder, in no order.
std::vector<std::filesystem::path> numbered_files(const std::string& folder, const std::string& name);

/// FOLDER/NAME_set.0.pt, NAME_set.1.pt …, all of them. Throws ckpt::Error (invalid_argument) where there is none, or a
/// gap.
std::vector<std::string> batch_files(const std::string& folder, const std::string& name);

/// Pictures as floats in [0, 1] and one-hot targets (N, 144), also of a file that holds bytes and classes (N, 4).
/// Throws ckpt::Error (unsupported) where the shapes are others.
training::Batch load_captchas(const std::string& path);

}  // namespace captcha
