#include <algorithm>
#include <iterator>

#include "dcp/dcp.h"
#include "format.h"
#include "numpy/numpy.h"
#include "torch_legacy/torch_legacy.h"
#include "torch_zip/torch_zip.h"

namespace ckpt {

std::span<const Format* const> format_table() {
  static constexpr const Format* table[] = {
      &numpy::npy_format,
      &numpy::npz_format,  // before torch's, which takes every other zip for its own, to say what is wrong with it
      &torch::zip_format,
      &torch::legacy_format,
      &dcp::dcp_format,
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
                     format->read != nullptr,
                     format->write != nullptr || format->write_folder != nullptr});
  return infos;
}

}  // namespace ckpt
