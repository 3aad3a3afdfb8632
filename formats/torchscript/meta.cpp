#include "torchscript/meta.h"

#include <string_view>
#include <utility>
#include <vector>

namespace ckpt::torchscript {

constexpr std::string_view meta = "meta";

bool is_meta(const Storage& storage) { return storage.location == meta; }

void drop_meta_storages(Checkpoint& checkpoint) {
  std::vector<std::uint32_t> place(checkpoint.storages.size());
  std::vector<bool> drops(place.size());
  std::vector<Storage> kept;
  for (std::size_t i = 0; i < place.size(); ++i) {
    place[i] = static_cast<std::uint32_t>(kept.size());
    drops[i] = is_meta(checkpoint.storages[i]);
    if (!drops[i]) kept.push_back(checkpoint.storages[i]);
  }
  if (kept.size() == place.size()) return;
  checkpoint.storages = std::move(kept);
  std::erase_if(checkpoint.storage_uses, [&](const auto& use) { return drops[use.second.storage]; });
  for (auto& [id, use] : checkpoint.storage_uses) use.storage = place[use.storage];
  const auto move = [&](Tensor& tensor) {
    if (!tensor.storage) return;
    if (drops[*tensor.storage]) tensor.device = meta;
    tensor.storage = drops[*tensor.storage] ? std::nullopt : std::optional(place[*tensor.storage]);
  };
  for (Tensor& tensor : checkpoint.tensors) {
    move(tensor);
    for (Tensor::Part& part : tensor.parts) move(part.tensor);  // no part has parts
  }
}

}  // namespace ckpt::torchscript
