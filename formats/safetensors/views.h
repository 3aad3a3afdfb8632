#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format.h"
#include "named_tensors/sharing.h"
#include "safetensors/header.h"

/// Tensors that are views of others. The format has no place for them: their bytes are written once, and `__metadata__`
/// says the rest (docs/formats/safetensors.md, docs/adr/0010).
namespace ckpt::safetensors {

/// The key in `__metadata__` under which ckpt keeps views:
///     {"head.weight": {"of": "embed.weight"}, "t": {"of": "w", "shape": [3, 2], "stride": [1, 3], "offset": 0}}
inline constexpr std::string_view views_key = "ckpt.views";

using named_tensors::View;

/// Takes from the metadata what says that a name stands for a tensor of the file: ckpt's own map, and where there is
/// none what safetensors.torch.save_model leaves, {removed: kept}. That is nothing but text, and so is any other
/// metadata: it counts only where `kept` is in the file, `removed` is not, and both end in the same part
/// ("head.weight", "embed.weight"); `warnings` then gets a line.
/// Throws Error (corrupt, limit_exceeded): ckpt's map is no such map, names what is not in the file, or what is; where
/// `context` collects findings, such views are left out.
std::vector<View> take_views(Metadata& metadata, std::span<const Entry> entries, std::vector<std::string>& warnings,
                             const ReadContext& context);

/// Puts views into the metadata: ckpt's map, and those that are whole as save_model does, too.
void add_views(Metadata& metadata, std::span<const View> views);

}  // namespace ckpt::safetensors
