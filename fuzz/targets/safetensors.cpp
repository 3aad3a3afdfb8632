#include "safetensors/safetensors.h"

#include <algorithm>
#include <array>
#include <span>

#include "io/bytes.h"
#include "shards/index.h"
#include "shards/shards.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

/// Those that hold anything: what is empty shares nothing when it is written again.
std::ptrdiff_t shared_storages(const Checkpoint& checkpoint) {
  return std::count_if(checkpoint.storages.begin(), checkpoint.storages.end(),
                       [](const Storage& storage) { return storage.nbytes > 0; });
}

/// Written again, it has the same tensors, and what shared storage does.
void check_written(const Checkpoint& before) {
  const auto after = rewritten_tensors(before, "safetensors");
  if (!after) return;
  require(shared_storages(after->checkpoint) == shared_storages(before), "storages are shared otherwise");
  const auto again = rewritten(after->checkpoint, {.format = "safetensors"});
  require(again && again->bytes == after->bytes, "written twice, it is another file");
}

void check(const ByteSourcePtr& source) {
  exercise(safetensors::safetensors_format, source);
  if (!recognises(safetensors::safetensors_format, *source)) return;
  Checkpoint checkpoint;
  if (error_of([&] { checkpoint = safetensors::read(source, {}); })) return;
  if (logical_bytes(checkpoint) > worth_hashing) return;
  check_written(checkpoint);
  rewritten_tensors(checkpoint, "torch");
}

/// What is read of an index is the same when it is read of what is written of it.
void check_index(const ByteSourcePtr& source) {
  shards::Index index;
  const bool named =
      recognises(shards::safetensors_index_format, *source) || recognises(shards::torch_index_format, *source);
  if (error_of([&] { index = shards::read_index(*source); })) return;
  if (!index.weight_map) return;
  std::array<std::byte, 64> head{};  // behind as many blanks, nobody looks for an index
  const auto begin = as_text(std::span(head).first(source->read_at(0, head)));
  require(named || begin.find('{') == std::string_view::npos, "an index that is not known for one");
  const std::string text = shards::make_index(index);
  const shards::Index again =
      shards::read_index(*source_of(reinterpret_cast<const std::uint8_t*>(text.data()), text.size()));
  require(again.weight_map && again.weight_map->size() == index.weight_map->size(), "an index has other tensors");
  require(again.shards == index.shards, "an index has other shards");
}

}  // namespace

int fuzz_safetensors(const std::uint8_t* data, std::size_t size) {
  check(source_of(data, size));
  check_index(source_of(data, size));
  // As the header of a file, whose length chance would hardly give.
  std::vector<std::uint8_t> file(8 + size + 64);
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<std::uint8_t>(size >> 8 * i);
  std::copy(data, data + size, file.begin() + 8);
  for (const std::size_t tensors : {std::size_t{0}, std::size_t{4}, std::size_t{16}, std::size_t{64}})
    check(source_of(file.data(), 8 + size + tensors));
  return 0;
}

}  // namespace ckpt::fuzz
