#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt {

/// Sorts the storages by `keys`, one for each, and renumbers their uses; equal ones stay in the order in which they
/// were. Returns the place of each, for the tensors where there are any.
template <class Key>
std::vector<std::uint32_t> order_storages(Checkpoint& checkpoint, const std::vector<Key>& keys) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  if (std::is_sorted(keys.begin(), keys.end())) return order;
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return keys[a] < keys[b]; });
  std::vector<std::uint32_t> place(order.size());
  std::vector<Storage> ordered;
  ordered.reserve(order.size());
  for (const std::uint32_t storage : order) {
    place[storage] = static_cast<std::uint32_t>(ordered.size());
    ordered.push_back(std::move(checkpoint.storages[storage]));
  }
  checkpoint.storages = std::move(ordered);
  for (auto& [id, use] : checkpoint.storage_uses) use.storage = place[use.storage];
  return place;
}

}  // namespace ckpt
