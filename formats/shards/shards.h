#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format.h"

/// Checkpoints in several files, with an index that says which tensor is in which (docs/formats/shards.md).
namespace ckpt::shards {

extern const Format safetensors_index_format;
extern const Format torch_index_format;

/// What differs between the two.
struct Flavour {
  std::string_view format;        ///< "safetensors-index"
  std::string_view shard_format;  ///< that each shard is written in
  std::string_view stem;          ///< "model", of model-00001-of-00002.safetensors
  std::string_view suffix;        ///< ".safetensors"
};

inline constexpr Flavour safetensors_flavour{"safetensors-index", "safetensors", "model", ".safetensors"};
inline constexpr Flavour torch_flavour{"torch-index", "torch", "pytorch_model", ".bin"};

/// A JSON object with a weight_map to files of this flavour.
bool probe(const ByteSource& source, const Flavour& flavour);
Checkpoint read(const ByteSourcePtr& source, const ReadContext& context, const Flavour& flavour);
WriteReceipt write_folder(const Checkpoint& checkpoint, FolderSink& sink, const WriteOptions& options,
                          const Flavour& flavour);
std::vector<std::string> losses(const Checkpoint& checkpoint, const Flavour& flavour);

/// The index among these names; where there is none, one of the shards that they are; null where they are none.
ByteSourcePtr enter(const std::string& folder, std::span<const std::string> names, const Flavour& flavour);

}  // namespace ckpt::shards
