#include "shards/shards.h"

namespace ckpt::shards {
namespace {

template <const Flavour& flavour>
constexpr Format format_of(std::string_view description, std::string_view loader) {
  constexpr bool is_torch = &flavour == &torch_flavour;  // else safetensors, which have metadata and no checksums
  return {
      .name = flavour.format,
      .description = description,
      .suffixes = {},
      .loader = loader,
      .has_checksums = is_torch,
      .pickled = false,
      .keeps_metadata = !is_torch,
      .probe = [](const ByteSource& source) { return probe(source, flavour); },
      .read = [](const ByteSourcePtr& source, const ReadContext& context) { return read(source, context, flavour); },
      .losses = [](const Checkpoint& checkpoint) { return losses(checkpoint, flavour); },
      .enter = [](const std::string& folder,
                  std::span<const std::string> names) { return enter(folder, names, flavour); },
      .write_folder = [](const Checkpoint& checkpoint, FolderSink& sink,
                         const WriteOptions& options) { return write_folder(checkpoint, sink, options, flavour); },
  };
}

}  // namespace

const Format safetensors_index_format =
    format_of<safetensors_flavour>("folder of safetensors files with an index (transformers, diffusers)",
                                   "transformers, or safetensors.torch.load_file of each");
const Format torch_index_format =
    format_of<torch_flavour>("folder of torch files with an index (transformers' pytorch_model.bin.index.json)",
                             "transformers, or torch.load of each");

}  // namespace ckpt::shards
