#pragma once

#include "ckpt/checkpoint.h"
#include "format.h"

/// numpy's files: an array (npy), and a zip of them by name (npz); docs/formats/npz.md.
namespace ckpt::numpy {

extern const Format npy_format;
extern const Format npz_format;

bool probe_npy(const ByteSource& source);
std::uint64_t end_of_npy(const ByteSourcePtr& source, const ReadContext& context);
Checkpoint read_npy(const ByteSourcePtr& source, const ReadContext& context);
WriteReceipt write_npy(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options);

/// A zip with a member that ends in .npy and none that ends in data.pkl.
bool probe_npz(const ByteSource& source);
Checkpoint read_npz(const ByteSourcePtr& source, const ReadContext& context);
WriteReceipt write_npz(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options);

}  // namespace ckpt::numpy
