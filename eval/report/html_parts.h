#pragma once

#include <string>
#include <string_view>

#include "ckpt/eval.h"
#include "report/words.h"

/// The parts of the page.
namespace ckpt::eval {

[[nodiscard]] std::string_view html_style();

/// The confusion matrix as a heat map: rows are labels, columns what was read. Of more than 100 classes: nothing, the
/// list of what is confused most says it.
[[nodiscard]] std::string html_confusion(const Result& result);

/// What is confused most often, at most ten pairs; empty where nothing is.
[[nodiscard]] std::string html_confused(const Result& result);

/// A bar a position; empty where there is but one.
[[nodiscard]] std::string html_position_bars(const Result& result);

/// A bar a class; of more than 100, the lowest 20 as a table.
[[nodiscard]] std::string html_class_bars(const Result& result);

/// Result::worst as pictures.
[[nodiscard]] std::string html_worst(const Result& result);

}  // namespace ckpt::eval
