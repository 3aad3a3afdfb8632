#pragma once

#include <span>
#include <string>

#include "format.h"

/// PyTorch's distributed checkpoints, folders that torch.distributed.checkpoint writes; docs/formats/dcp.md.
namespace ckpt::dcp {

extern const Format dcp_format;

/// The pickle of a Metadata, or what enter() makes of a folder without one.
bool probe(const ByteSource& source);
Checkpoint read(const ByteSourcePtr& source, const ReadContext& context);
ByteSourcePtr enter(const std::string& folder, std::span<const std::string> names);

WriteReceipt write_folder(const Checkpoint& checkpoint, FolderSink& sink, const WriteOptions& options);
std::vector<std::string> losses(const Checkpoint& checkpoint);

/// `.metadata` and the files of torch.save's that it names.
Checkpoint read_items(const ByteSourcePtr& source, const ReadContext& context);

/// Shards in safetensors (HuggingFaceStorageWriter), which have no index: a list of their names stands for them.
bool is_shard_list(const ByteSource& source);
ByteSourcePtr list_shards(const std::string& folder, std::span<const std::string> names);
Checkpoint read_shards(const ByteSourcePtr& source, const ReadContext& context);

}  // namespace ckpt::dcp
