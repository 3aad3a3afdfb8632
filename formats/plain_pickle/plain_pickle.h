#pragma once

#include "ckpt/checkpoint.h"
#include "format.h"

/// What pickle.dump writes: a pickle and nothing around it; docs/formats/pickle.md.
namespace ckpt::plain_pickle {

extern const Format format;

/// Whether the first bytes are instructions that a pickle could begin with. Of protocols 0 and 1, which nothing
/// announces, all that is looked at must run.
bool probe(const ByteSource& source);
Checkpoint read(const ByteSourcePtr& source, const ReadContext& context);

}  // namespace ckpt::plain_pickle
