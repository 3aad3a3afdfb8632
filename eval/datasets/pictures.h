#pragma once

#include <functional>
#include <istream>
#include <memory>
#include <string>
#include <vector>

#include "datasets/dataset.h"

namespace ckpt::eval {

/// Pictures as a test set, each labelled by its name (ckpt/pictures.h), in the order given. `path`: what messages
/// call it. They are read when their samples are. bind() throws Error (unsupported) where a name has no label of as
/// many characters as the model reads, or one that it does not know.
std::unique_ptr<Dataset> open_pictures(const std::string& path, const std::vector<std::string>& files);

/// One picture made to a model's measure: {C, W, H} for a model that reads text, else grey rows; without a label (-1).
/// Throws Error: unsupported (a model that reads no pictures, a file that is none), corrupt, truncated, io.
Samples read_sample(const std::string& path, const Signature& signature);

/// Calls use() with the path of every picture that is meant: a file by itself, whatever its name; of a folder all
/// pictures in it and below; of "-" each line of `lines`. Throws Error: io (a folder that cannot be read),
/// invalid_argument (one that holds no picture).
void each_picture(const std::string& word, std::istream& lines, const std::function<void(const std::string&)>& use);

}  // namespace ckpt::eval
