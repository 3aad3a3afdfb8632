#include <algorithm>
#include <array>
#include <string>

#include "ckpt/error.h"
#include "dcp/dcp.h"
#include "io/bytes.h"
#include "io/file_source.h"

namespace ckpt::dcp {
namespace {

constexpr std::string_view metadata_name = ".metadata";

/// The class comes first: after PROTO and a FRAME, or what calls it in protocols 0 and 1.
std::string head_of(const ByteSource& source) {
  std::array<std::byte, 128> head{};
  return std::string(as_text(std::span(head).first(source.read_at(0, head))));
}

bool is_metadata(std::string_view text) {
  const std::size_t module = text.find("torch.distributed.");
  return module != std::string_view::npos && text.find("checkpoint.metadata", module) != std::string_view::npos &&
         text.find("Metadata", module) != std::string_view::npos &&
         (text.starts_with('\x80') || text.starts_with("ccopy_reg\n") || text.starts_with("ccopyreg\n"));
}

}  // namespace

bool probe(const ByteSource& source) { return is_metadata(head_of(source)) || is_shard_list(source); }

Checkpoint read(const ByteSourcePtr& source, const ReadContext& context) {
  return is_shard_list(*source) ? read_shards(source, context) : read_items(source, context);
}

ByteSourcePtr enter(const std::string& folder, std::span<const std::string> names) {
  if (std::binary_search(names.begin(), names.end(), metadata_name)) {
    ByteSourcePtr metadata = open_regular_file(folder + "/" + std::string(metadata_name));
    const std::string head = head_of(*metadata);
    // Of a class that is derived from torch's, such as Megatron's, and holds more.
    if (!is_metadata(head) && head.find("Metadata") != std::string::npos)
      throw Error(ErrorCode::unsupported, "its .metadata is of another class than torch.distributed.checkpoint's")
          .expected("torch.distributed.checkpoint.metadata.Metadata")
          .in(folder)
          .hint("in Python: load it as it was saved, and save the state dict by torch.distributed.checkpoint.save()");
    return metadata;
  }
  // Ranks that saved without each other: "__0.metadata".
  const auto of_a_rank = [](const std::string& name) {
    return name.starts_with("__") && name.ends_with(metadata_name);
  };
  const auto rank = std::find_if(names.begin(), names.end(), of_a_rank);
  if (rank != names.end() && std::count_if(names.begin(), names.end(), of_a_rank) > 1)
    throw Error(ErrorCode::invalid_argument, "is a folder of checkpoints that ranks saved without each other")
        .expected("one that is meant")
        .in(folder)
        .hint("name it: " + shell_word(folder + "/" + *rank));
  if (rank != names.end()) return open_regular_file(folder + "/" + *rank);
  if (std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".distcp"); }))
    throw Error(ErrorCode::corrupt, "is a distributed checkpoint without its .metadata")
        .expected(".metadata beside the .distcp files")
        .in(folder)
        .hint("copy it too (a pattern like * passes over hidden files), or save again: it is written last");
  return list_shards(folder, names);
}

const Format dcp_format{
    .name = "dcp",
    .description = "PyTorch distributed checkpoint, a folder (torch.distributed.checkpoint)",
    .suffixes = {},
    .loader = "torch.distributed.checkpoint.load",
    .has_checksums = true,
    .probe = probe,
    .read = read,
    .losses = losses,
    .enter = enter,
    .write_folder = write_folder,
};

}  // namespace ckpt::dcp
