#include "gguf/gguf.h"

#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

/// Numbers made of blocks are as many as the shapes say, and the same whether they are read whole or in pieces.
/// Those of an unknown kind of block are refused when they are asked for.
void check_numbers(const ByteSourcePtr& source) {
  Checkpoint checkpoint;
  const std::uint64_t cap = limits::pickle_cap(source->size());
  if (error_of([&] { checkpoint = gguf::read(source, {.pickle_cap = cap, .options = {.dequantize = true}}); })) return;
  if (logical_bytes(checkpoint) > worth_hashing) return;
  for (const Storage& storage : checkpoint.storages) {
    std::vector<std::byte> whole;
    if (error_of([&] { whole = read_all(*storage.bytes, storage.nbytes); })) continue;
    require(whole.size() == storage.nbytes, "a storage has other bytes than it says");
    std::vector<std::byte> piece(whole.size() - whole.size() / 3);
    storage.bytes->read_exactly(whole.size() / 3, piece);
    require(std::equal(piece.begin(), piece.end(), whole.end() - static_cast<std::ptrdiff_t>(piece.size())),
            "a part of a storage reads otherwise than the whole");
  }
}

}  // namespace

int fuzz_gguf(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr source = source_of(data, size);
  exercise(gguf::gguf_format, source);
  if (recognises(gguf::gguf_format, *source)) check_numbers(source);
  return 0;
}

}  // namespace ckpt::fuzz
