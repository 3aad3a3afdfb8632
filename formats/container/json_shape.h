#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace ckpt {

/// A place in a JSON text.
struct JsonPlace {
  std::size_t depth = 0;  ///< lists and objects around it
  bool in_list = false;   ///< the innermost of them is a list
  std::size_t count = 0;  ///< values of that list, or keys of that object, so far
};

/// Looks at a text before a tree is made of it, in time linear in its length. `check` is called for each value of a
/// list, each key, and where a list or an object begins; it throws what it does not like. From where a text is no JSON
/// on, it is passed over.
using JsonCheck = std::function<void(const JsonPlace&)>;
void check_json_shape(std::string_view text, const JsonCheck& check);

}  // namespace ckpt
