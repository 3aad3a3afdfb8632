#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Pickles written as Python would say them: each function returns the instructions that push one value, in the
/// opcodes of protocol 2. `py::pickle(py::dict({{py::str("lr"), py::real(0.1)}}))`.
namespace ckpt::py {

using Code = std::string;
using Pairs = std::vector<std::pair<Code, Code>>;

Code none();
Code boolean(bool value);
Code integer(std::int64_t value);
Code real(double value);
Code str(std::string_view utf8);
Code py2_str(std::string_view bytes);
Code bytes(std::string_view bytes);
Code list(const std::vector<Code>& items);
Code tuple(const std::vector<Code>& items);
Code dict(const Pairs& pairs);
Code ordered_dict(const Pairs& pairs);
/// SETITEMS on the value before it.
Code set_items(const Pairs& pairs);
Code global(std::string_view module, std::string_view name);
/// callable(*arguments)
Code call(const Code& callable, const std::vector<Code>& arguments);
/// object.__setstate__(state)
Code build(const Code& object, const Code& state);
Code persistent(const Code& id);
/// Pushes a value and keeps it under `index`, for get(index).
Code put(const Code& value, std::uint8_t index);
Code get(std::uint8_t index);

/// A whole pickle of one value.
Code pickle(const Code& value, std::uint8_t protocol = 2);

}  // namespace ckpt::py
