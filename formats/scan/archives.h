#pragma once

#include "format.h"
#include "scan/part.h"

/// The parts of an archive. One that its reader takes has its members, in the order of the file. What is wrong with one
/// that it does not take is noted, and then everything in it that looks like a member is a part, by whatever header:
/// readers differ, and each of them may be right. Throw Error: io, out_of_memory.
namespace ckpt::scanning {

void each_zip_part(const Part& zip, const ReadContext& context, const Visit& visit, const Note& note);
void each_tar_part(const Part& tar, const Visit& visit, const Note& note);

}  // namespace ckpt::scanning
