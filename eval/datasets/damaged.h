#pragma once

#include <string>

#include "ckpt/error.h"

namespace ckpt::eval {

/// Says of an error that it lies in `file`, which is no checkpoint. Where that is damaged, other hints would name `ckpt
/// verify` and `recover`, which know checkpoints alone.
inline Error& in_data(Error& error, const std::string& file) {
  const bool is_damage = error.code() == ErrorCode::corrupt || error.code() == ErrorCode::truncated;
  if (is_damage && error.hint().empty()) error.hint("fetch the file again, or make it anew");
  return error.in(file);
}

}  // namespace ckpt::eval
