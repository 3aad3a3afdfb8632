#include "ops/gather.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "ckpt/limits.h"

namespace ckpt {
namespace {

constexpr std::size_t cache_line = 64;
/// Bytes of the lines of a matrix that are turned together, so that whole cache lines are written. Lines are apart by a
/// cache line more than they are long: those of a power of 2 would all fall into one set of the cache.
constexpr std::size_t tile_bytes = 256 * limits::kib;

template <class Item>
void turn(const std::byte* lines, std::size_t pitch, std::size_t count, std::size_t length, std::byte* out,
          std::size_t out_pitch) {
  for (std::size_t i = 0; i < length; ++i, out += out_pitch) {
    const std::byte* from = lines + i * sizeof(Item);
    for (std::size_t line = 0; line < count; ++line, from += pitch)
      std::memcpy(out + line * sizeof(Item), from, sizeof(Item));
  }
}

template <class Item>
void turn_tile(const std::byte* lines, std::size_t pitch, std::size_t count, std::size_t length, std::byte* out,
               std::size_t out_pitch) {
  constexpr std::size_t whole = cache_line / sizeof(Item);
  // A number that the compiler knows makes the inner loop straight.
  if (count == whole)
    turn<Item>(lines, pitch, whole, length, out, out_pitch);
  else
    turn<Item>(lines, pitch, count, length, out, out_pitch);
}

void turn_tile(std::uint64_t item, const std::byte* lines, std::size_t pitch, std::size_t count, std::size_t length,
               std::byte* out, std::size_t out_pitch) {
  switch (item) {
    case 1:
      return turn_tile<std::array<std::byte, 1>>(lines, pitch, count, length, out, out_pitch);
    case 2:
      return turn_tile<std::array<std::byte, 2>>(lines, pitch, count, length, out, out_pitch);
    case 4:
      return turn_tile<std::array<std::byte, 4>>(lines, pitch, count, length, out, out_pitch);
    case 8:
      return turn_tile<std::array<std::byte, 8>>(lines, pitch, count, length, out, out_pitch);
    default:
      return turn_tile<std::array<std::byte, 16>>(lines, pitch, count, length, out, out_pitch);
  }
}

/// `lines`: of the storage, each `line.size` elements that lie side by side there.
void gather_transposed(StorageWindow& window, std::uint64_t base, const GatherAxis& lines, const GatherAxis& line,
                       std::uint64_t item, std::vector<std::byte>& tile, std::byte* out) {
  const auto length = static_cast<std::size_t>(line.size * item), pitch = length + cache_line;
  const std::size_t most = std::clamp<std::size_t>(tile_bytes / pitch, 1, cache_line / item);
  tile.resize(most * pitch);
  for (std::uint64_t first = 0; first < lines.size; first += most) {
    const auto count = static_cast<std::size_t>(std::min<std::uint64_t>(most, lines.size - first));
    for (std::size_t i = 0; i < count; ++i)
      window.copy(base + (first + i) * lines.step, std::span(tile).subspan(i * pitch, length));
    turn_tile(item, tile.data(), pitch, count, static_cast<std::size_t>(line.size), out + first * item,
              static_cast<std::size_t>(line.place));
  }
}

}  // namespace

std::uint64_t sort_for_gathering(std::vector<GatherAxis>& axes, std::uint64_t item) {
  std::stable_sort(axes.begin(), axes.end(),
                   [](const GatherAxis& a, const GatherAxis& b) { return a.step - 1 > b.step - 1; });
  std::uint64_t run = item;
  while (!axes.empty() && axes.back().step == run && axes.back().place == run) {
    run *= axes.back().size;
    axes.pop_back();
  }
  return run;
}

bool is_transpose(const std::vector<GatherAxis>& axes, std::uint64_t run) {
  if (axes.size() < 2 || run > 16 || !std::has_single_bit(run)) return false;
  return axes.back().step == run && axes[axes.size() - 2].place == run;
}

void gather(StorageWindow& window, std::uint64_t base, const std::vector<GatherAxis>& axes, std::uint64_t run,
            std::span<std::byte> out) {
  const bool transposed = is_transpose(axes, run);
  const std::size_t outer = axes.size() - (transposed ? 2 : std::min<std::size_t>(axes.size(), 1));
  const GatherAxis inner = axes.empty() ? GatherAxis{} : axes.back();
  std::vector<std::uint64_t> index(outer, 0);
  std::vector<std::byte> tile;
  std::uint64_t place = 0;
  while (true) {
    if (transposed) {
      gather_transposed(window, base, axes[outer], inner, run, tile, out.data() + place);
    } else {
      for (std::uint64_t i = 0; i < inner.size; ++i) {
        window.copy(base + i * inner.step,
                    out.subspan(static_cast<std::size_t>(place + i * inner.place), static_cast<std::size_t>(run)));
      }
    }
    std::size_t axis = outer;
    while (axis > 0) {
      --axis;
      base += axes[axis].step, place += axes[axis].place;
      if (++index[axis] < axes[axis].size) break;
      base -= axes[axis].step * axes[axis].size, place -= axes[axis].place * axes[axis].size;
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (outer == 0) return;
  }
}

}  // namespace ckpt
