#include "bridge/dtypes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ckpt::eval {
namespace {

using c10::ScalarType;

// A table: c10 calls them by other names than torch's Python does.
constexpr std::pair<DType, ScalarType> types[] = {
    {DType::float32, ScalarType::Float},
    {DType::float64, ScalarType::Double},
    {DType::float16, ScalarType::Half},
    {DType::bfloat16, ScalarType::BFloat16},
    {DType::int8, ScalarType::Char},
    {DType::int16, ScalarType::Short},
    {DType::int32, ScalarType::Int},
    {DType::int64, ScalarType::Long},
    {DType::uint8, ScalarType::Byte},
    {DType::uint16, ScalarType::UInt16},
    {DType::uint32, ScalarType::UInt32},
    {DType::uint64, ScalarType::UInt64},
    {DType::boolean, ScalarType::Bool},
    {DType::complex32, ScalarType::ComplexHalf},
    {DType::complex64, ScalarType::ComplexFloat},
    {DType::complex128, ScalarType::ComplexDouble},
    {DType::float8_e4m3fn, ScalarType::Float8_e4m3fn},
    {DType::float8_e4m3fnuz, ScalarType::Float8_e4m3fnuz},
    {DType::float8_e5m2, ScalarType::Float8_e5m2},
    {DType::float8_e5m2fnuz, ScalarType::Float8_e5m2fnuz},
    {DType::float8_e8m0fnu, ScalarType::Float8_e8m0fnu},
    {DType::float4_e2m1fn_x2, ScalarType::Float4_e2m1fn_x2},
    {DType::qint8, ScalarType::QInt8},
    {DType::quint8, ScalarType::QUInt8},
    {DType::qint32, ScalarType::QInt32},
    {DType::quint4x2, ScalarType::QUInt4x2},
    {DType::quint2x4, ScalarType::QUInt2x4},
    {DType::bits1x8, ScalarType::Bits1x8},
    {DType::bits2x4, ScalarType::Bits2x4},
    {DType::bits4x2, ScalarType::Bits4x2},
    {DType::bits8, ScalarType::Bits8},
    {DType::bits16, ScalarType::Bits16},
    {DType::int1, ScalarType::Int1},
    {DType::int2, ScalarType::Int2},
    {DType::int3, ScalarType::Int3},
    {DType::int4, ScalarType::Int4},
    {DType::int5, ScalarType::Int5},
    {DType::int6, ScalarType::Int6},
    {DType::int7, ScalarType::Int7},
    {DType::uint1, ScalarType::UInt1},
    {DType::uint2, ScalarType::UInt2},
    {DType::uint3, ScalarType::UInt3},
    {DType::uint4, ScalarType::UInt4},
    {DType::uint5, ScalarType::UInt5},
    {DType::uint6, ScalarType::UInt6},
    {DType::uint7, ScalarType::UInt7},
};

}  // namespace

std::optional<ScalarType> scalar_type(DType dtype) {
  const auto* const found =
      std::find_if(std::begin(types), std::end(types), [&](const auto& pair) { return pair.first == dtype; });
  return found == std::end(types) ? std::nullopt : std::optional(found->second);
}

std::optional<DType> dtype_of(ScalarType type) {
  const auto* const found =
      std::find_if(std::begin(types), std::end(types), [&](const auto& pair) { return pair.second == type; });
  return found == std::end(types) ? std::nullopt : std::optional(found->first);
}

}  // namespace ckpt::eval
