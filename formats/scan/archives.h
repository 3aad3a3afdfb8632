#pragma once

#include "format.h"
#include "scan/part.h"

/// The parts of an archive. One that its reader takes has its members, in the order of the file. What is wrong with one
/// that it does not take is noted, and then everything in it that looks like a member is a part, by whatever header:
/// readers differ, and each of them may be right. Throw Error: io, out_of_memory.
namespace ckpt::scanning {

/// Is told what it takes to look into a header that no directory lists, in bytes that are read as fast, and throws
/// where that is too much in all.
using Count = std::function<void(std::uint64_t bytes)>;

void each_zip_part(const Part& zip, const ReadContext& context, const Visit& visit, const Note& note,
                   const Count& count);
/// Whether its reader takes it.
bool is_one_zip(const Part& zip, const ReadContext& context);
void each_tar_part(const Part& tar, const Visit& visit, const Note& note, const Count& count);

}  // namespace ckpt::scanning
