#include <algorithm>

#include "dcp/dcp.h"
#include "format.h"
#include "gguf/gguf.h"
#include "numpy/numpy.h"
#include "plain_pickle/plain_pickle.h"
#include "safetensors/safetensors.h"
#include "shards/shards.h"
#include "torch_legacy/torch_legacy.h"
#include "torch_tar/torch_tar.h"
#include "torch_zip/torch_zip.h"
#include "torchscript/torchscript.h"

namespace ckpt {

std::span<const Format* const> format_table() {
  static constexpr const Format* table[] = {
      &gguf::gguf_format,
      &numpy::npy_format,
      &numpy::npz_format,
      &torch::zip_format,
      &torchscript::script_format,
      &torch::legacy_format,
      &dcp::dcp_format,
      &torch::tar_format,
      &safetensors::safetensors_format,
      &shards::safetensors_index_format,
      &shards::torch_index_format,
      &plain_pickle::format,  // last: what nothing announces
  };
  return table;
}

const Format* find_format(std::string_view name) {
  const auto table = format_table();
  const auto found =
      std::find_if(table.begin(), table.end(), [&](const Format* format) { return format->name == name; });
  return found == table.end() ? nullptr : *found;
}

std::vector<FormatInfo> formats() {
  std::vector<FormatInfo> infos;
  for (const Format* format : format_table())
    infos.push_back({std::string(format->name),
                     std::string(format->description),
                     {format->suffixes.begin(), format->suffixes.end()},
                     std::string(format->loader),
                     /*reads=*/true,
                     format->write != nullptr || format->write_folder != nullptr,
                     format->pickled,
                     format->salvage != nullptr});
  return infos;
}

}  // namespace ckpt
