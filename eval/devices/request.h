#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt::eval {

/// What `--device` asks for.
///
///     parse_device("cuda:0,2")  ->  {gpus, {0, 2}}
struct DeviceRequest {
  enum class Kind {
    automatic,  ///< "auto": cuda, else mps, else cpu
    cpu,
    cuda,      ///< one GPU, whichever suits best
    gpus,      ///< those of `indices`: "cuda:1", "cuda:0,2"
    all_gpus,  ///< "cuda:all"
    mps,
  };

  Kind kind = Kind::automatic;
  std::vector<int> indices;   ///< logical, in the order given, none twice
  std::string word = "auto";  ///< as it was given, for messages
};

/// Throws Error (invalid_argument) with the nearest word that would do, and all that there are.
DeviceRequest parse_device(std::string_view word);

}  // namespace ckpt::eval
