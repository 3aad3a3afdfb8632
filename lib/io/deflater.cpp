#include "io/deflater.h"

namespace ckpt {

void Deflater::make_room(std::vector<std::byte>& out, std::size_t at, std::size_t bytes) {
  constexpr std::size_t least = 1024;
  const std::size_t size = at + bytes + bytes / 16 + least;
  if (out.size() < size) out.resize(size);
}

std::unique_ptr<Deflater> make_deflater(int level) {
  constexpr int last_isal_level = 3;
  return level <= last_isal_level ? isal_deflater(level) : zlib_deflater(level);
}

}  // namespace ckpt
