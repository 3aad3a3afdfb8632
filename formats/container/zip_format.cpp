#include "container/zip_format.h"

#include <utility>

namespace ckpt::zip {

std::string quoted(std::string_view name) {
  constexpr std::size_t longest = 120;
  return std::string("'").append(name.substr(0, longest)).append(name.size() > longest ? "…'" : "'");
}

Error corrupt(std::string found, std::uint64_t at) { return Error(ErrorCode::corrupt, std::move(found)).at(at); }

}  // namespace ckpt::zip
