#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/bytes.h"

/// npy files by hand, whose header says whatever a test wants.
namespace ckpt::numpy_testing {

/// `line` is the header as it stands, without padding.
inline std::string npy(std::string_view line, std::string_view data = {}, int major = 1) {
  std::string file("\x93NUMPY");
  file += {static_cast<char>(major), '\0'};
  if (major == 1)
    append_le(file, static_cast<std::uint16_t>(line.size()));
  else
    append_le(file, static_cast<std::uint32_t>(line.size()));
  return file.append(line).append(data);
}

inline std::string line(std::string_view descr, std::string_view shape, std::string_view fortran = "False") {
  return std::string("{'descr': '") + std::string(descr) + "', 'fortran_order': " + std::string(fortran) +
         ", 'shape': " + std::string(shape) + ", }\n";
}

}  // namespace ckpt::numpy_testing
