#include "container/quoted_name.h"

namespace ckpt {

std::string quoted_name(std::string_view name) {
  constexpr std::size_t longest = 120;
  return std::string("'").append(name.substr(0, longest)).append(name.size() > longest ? "…'" : "'");
}

}  // namespace ckpt
