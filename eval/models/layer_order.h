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

struct LayerOrder {
  std::vector<LayerSize> layers;
  bool is_certain = true;  ///< false: as they were given, and they could follow each other in another order too
};

/// The layers in the order in which they can follow each other: by their numbers, where names differ in nothing else;
/// else the only one that sizes allow, with those numbers or against them; else as they are given. None where they
/// cannot follow each other as they are given either.
std::optional<LayerOrder> in_order(std::vector<LayerSize> layers);

}  // namespace ckpt::eval
