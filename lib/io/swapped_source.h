#pragma once

#include <cstddef>

#include "ckpt/byte_source.h"

namespace ckpt {

/// The same bytes with each element's order reversed; `element_size` 1 gives `source` itself. A tail shorter than an
/// element stays as it is.
ByteSourcePtr swapped(ByteSourcePtr source, std::size_t element_size);

}  // namespace ckpt
