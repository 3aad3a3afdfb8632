#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ckpt::tools {

/// A command that is a program of its own, beside ckpt, as git has them: what it needs, ckpt does not load.
struct Component {
  std::string_view name;
  std::string_view summary;
  std::string_view program;
  std::string_view first_word;  ///< put before the user's; may be empty
};

/// Becomes that program, with `words`. Returns only by throwing Error: unavailable where it is not there.
[[noreturn]] void run_component(const Component& component, const std::vector<std::string>& words);

}  // namespace ckpt::tools
