#pragma once

#include "ckpt/eval.h"

/// Results as an evaluation would leave them, made up.
namespace ckpt::eval_testing {

/// 1,000 samples of ten classes, of which `correct` are right; the wrong ones were read as the next class. With
/// predictions: sample i has label i % 10, and the first samples are the wrong ones.
eval::Result digits(std::uint64_t correct = 970);

/// 200 codes of four of 36 characters: 198 right, in one the first character is wrong, in one it is the last.
eval::Result captchas();

/// The part `index` of `count` of a result that has predictions.
eval::Result part_of(const eval::Result& whole, std::uint64_t index, std::uint64_t count);

}  // namespace ckpt::eval_testing
