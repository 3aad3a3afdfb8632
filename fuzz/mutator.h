#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

/// Changes zip, gzip and tar files and pickles so that most of them stay well-formed: checksums, sizes and instructions
/// would else keep nearly every change from reaching what lies behind them.
namespace ckpt::fuzz {

using Bytes = std::vector<std::uint8_t>;
/// Changes bytes in place, up to max_size of them; returns how many there are then. libFuzzer's own.
using Mutate = std::size_t (*)(std::uint8_t* data, std::size_t size, std::size_t max_size);

/// Of a gzip file, mostly what is inside it; of a zip or tar, mostly one member, with sizes, offsets and checksums made
/// to fit; of a pickle, there or in these, every other time its instructions (pickle_mutator.h). Else, and now and then
/// of these too, the bytes as they lie, mended or not.
Bytes mutated(Bytes bytes, unsigned seed, Mutate mutate);

}  // namespace ckpt::fuzz
