#pragma once

#include "ckpt/error.h"

namespace ckpt {

/// That a read fails or memory runs out is no fault of the file.
inline bool is_of_the_machine(const Error& error) {
  return error.code() == ErrorCode::io || error.code() == ErrorCode::out_of_memory;
}

}  // namespace ckpt
