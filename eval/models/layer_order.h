#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ckpt::eval {

/// A Linear layer by name and sizes.
struct LayerSize {
  std::string name;
  std::int64_t in = 0, out = 0;
};

/// The layers in the order in which they can follow each other: by their numbers, where names differ in nothing else;
/// else as they are given; else as their sizes say, where only one order fits. None where no order is certain.
std::optional<std::vector<LayerSize>> in_order(std::vector<LayerSize> layers);

}  // namespace ckpt::eval
