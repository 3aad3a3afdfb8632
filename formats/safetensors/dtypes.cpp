#include "safetensors/dtypes.h"

#include <algorithm>
#include <iterator>

namespace ckpt::safetensors {
namespace {

// In the order of the library's enum, which writers sort by.
constexpr ElementType types[] = {
    {"BOOL", DType::boolean, 8},
    {"F4", DType::float4_e2m1fn_x2, 4},
    {"F6_E2M3", {}, 6, false},
    {"F6_E3M2", {}, 6, false},
    {"U8", DType::uint8, 8},
    {"I8", DType::int8, 8},
    {"F8_E5M2", DType::float8_e5m2, 8},
    {"F8_E4M3", DType::float8_e4m3fn, 8},
    {"F8_E8M0", DType::float8_e8m0fnu, 8},
    {"F8_E4M3FNUZ", DType::float8_e4m3fnuz, 8},
    {"F8_E5M2FNUZ", DType::float8_e5m2fnuz, 8},
    {"I16", DType::int16, 16},
    {"U16", DType::uint16, 16},
    {"F16", DType::float16, 16},
    {"BF16", DType::bfloat16, 16},
    {"I32", DType::int32, 32},
    {"U32", DType::uint32, 32},
    {"F32", DType::float32, 32},
    {"C64", DType::complex64, 64},
    {"F64", DType::float64, 64},
    {"I64", DType::int64, 64},
    {"U64", DType::uint64, 64},
};

const ElementType* found_or_null(const ElementType* found) { return found == std::end(types) ? nullptr : found; }

}  // namespace

const ElementType* find_type(std::string_view name) {
  return found_or_null(std::find_if(std::begin(types), std::end(types), [&](const auto& t) { return t.name == name; }));
}

const ElementType* find_type(DType dtype) {
  return found_or_null(
      std::find_if(std::begin(types), std::end(types), [&](const auto& t) { return t.in_torch && t.dtype == dtype; }));
}

std::size_t rank_of(const ElementType& type) { return static_cast<std::size_t>(&type - std::begin(types)); }

}  // namespace ckpt::safetensors
