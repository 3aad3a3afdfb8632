#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace ckpt::tools {

/// The byte at which brackets outside of strings nest deeper than `most`; none where they never do. Looked at before
/// parsing, which spends many times a bracket's byte on it.
std::optional<std::size_t> nested_deeper_at(std::string_view json, int most);

}  // namespace ckpt::tools
