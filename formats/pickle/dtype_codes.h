#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ckpt::pickle {

/// "f8", "O8", "U3": of the letter `kind` and `size`, in bytes but of 'U'; whatever 'O' says, it is a pointer.
struct DtypeCode {
  char kind = 0;
  std::uint64_t size = 0;
};

/// What numpy pickles a dtype by; none where the text is anything else.
std::optional<DtypeCode> dtype_code(std::string_view text);

/// Whether it is one type: "float32", "M8[ns]", ">U3". numpy reads "2f8" and "f8,f8" as several, and pickles those by a
/// state.
bool is_one_type(std::string_view text);

/// Whether that one is Python's objects: "O", "object_".
bool is_of_objects(std::string_view text);

/// Of a dtype's flags, 63 of objects. Which of the others are set goes by numpy's version.
inline constexpr std::int64_t flags_of_object = 63;
/// That elements are no objects, no pointers, and need no functions of their own.
bool are_without_objects(std::int64_t flags);
/// That they hold objects, of which the references are counted and the memory is zeroed; fields are no pointers.
bool owns_up_to_objects(std::int64_t flags, bool has_fields);
/// As all with fields are, with Python's lock: else numpy sorts them without it.
bool are_read_by_themselves(std::int64_t flags);

}  // namespace ckpt::pickle
