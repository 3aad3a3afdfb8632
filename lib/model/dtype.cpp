// A table: one line a dtype, in the order of the enumeration.
#include "ckpt/dtype.h"

#include <algorithm>
#include <array>

namespace ckpt {
namespace {

struct Row {
  DType dtype;
  std::string_view name;
  std::uint8_t size;
  std::uint8_t swap_size;
  bool quantised;
};

constexpr std::array rows{
    Row{DType::float32, "float32", 4, 4, false},
    Row{DType::float64, "float64", 8, 8, false},
    Row{DType::float16, "float16", 2, 2, false},
    Row{DType::bfloat16, "bfloat16", 2, 2, false},
    Row{DType::int8, "int8", 1, 1, false},
    Row{DType::int16, "int16", 2, 2, false},
    Row{DType::int32, "int32", 4, 4, false},
    Row{DType::int64, "int64", 8, 8, false},
    Row{DType::uint8, "uint8", 1, 1, false},
    Row{DType::uint16, "uint16", 2, 2, false},
    Row{DType::uint32, "uint32", 4, 4, false},
    Row{DType::uint64, "uint64", 8, 8, false},
    Row{DType::boolean, "bool", 1, 1, false},
    Row{DType::complex32, "complex32", 4, 2, false},
    Row{DType::complex64, "complex64", 8, 4, false},
    Row{DType::complex128, "complex128", 16, 8, false},
    Row{DType::float8_e4m3fn, "float8_e4m3fn", 1, 1, false},
    Row{DType::float8_e4m3fnuz, "float8_e4m3fnuz", 1, 1, false},
    Row{DType::float8_e5m2, "float8_e5m2", 1, 1, false},
    Row{DType::float8_e5m2fnuz, "float8_e5m2fnuz", 1, 1, false},
    Row{DType::float8_e8m0fnu, "float8_e8m0fnu", 1, 1, false},
    Row{DType::float4_e2m1fn_x2, "float4_e2m1fn_x2", 1, 1, false},
    Row{DType::qint8, "qint8", 1, 1, true},
    Row{DType::quint8, "quint8", 1, 1, true},
    Row{DType::qint32, "qint32", 4, 4, true},
    Row{DType::quint4x2, "quint4x2", 1, 1, true},
    Row{DType::quint2x4, "quint2x4", 1, 1, true},
    Row{DType::bits1x8, "bits1x8", 1, 1, false},
    Row{DType::bits2x4, "bits2x4", 1, 1, false},
    Row{DType::bits4x2, "bits4x2", 1, 1, false},
    Row{DType::bits8, "bits8", 1, 1, false},
    Row{DType::bits16, "bits16", 2, 2, false},
    Row{DType::int1, "int1", 1, 1, false},
    Row{DType::int2, "int2", 1, 1, false},
    Row{DType::int3, "int3", 1, 1, false},
    Row{DType::int4, "int4", 1, 1, false},
    Row{DType::int5, "int5", 1, 1, false},
    Row{DType::int6, "int6", 1, 1, false},
    Row{DType::int7, "int7", 1, 1, false},
    Row{DType::uint1, "uint1", 1, 1, false},
    Row{DType::uint2, "uint2", 1, 1, false},
    Row{DType::uint3, "uint3", 1, 1, false},
    Row{DType::uint4, "uint4", 1, 1, false},
    Row{DType::uint5, "uint5", 1, 1, false},
    Row{DType::uint6, "uint6", 1, 1, false},
    Row{DType::uint7, "uint7", 1, 1, false},
};

constexpr bool in_order() {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(rows[i].dtype) != i) return false;
  }
  return true;
}
static_assert(in_order() && static_cast<std::size_t>(DType::uint7) + 1 == rows.size());

const Row& row(DType dtype) { return rows[static_cast<std::size_t>(dtype)]; }

}  // namespace

std::string_view dtype_name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_name(std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
  if (found == rows.end()) return std::nullopt;
  return found->dtype;
}

std::size_t dtype_size(DType dtype) { return row(dtype).size; }

std::size_t dtype_swap_size(DType dtype) { return row(dtype).swap_size; }

std::size_t dtype_per_byte(DType dtype) { return dtype == DType::quint4x2 ? 2 : dtype == DType::quint2x4 ? 4 : 1; }

bool is_integer(DType dtype) {
  switch (dtype) {
    case DType::int8:
    case DType::int16:
    case DType::int32:
    case DType::int64:
    case DType::uint8:
    case DType::uint16:
    case DType::uint32:
    case DType::uint64:
    case DType::boolean:
      return true;
    default:
      return false;
  }
}

bool is_quantised(DType dtype) { return row(dtype).quantised; }

bool is_complex(DType dtype) { return dtype_swap_size(dtype) != dtype_size(dtype); }

bool is_floating(DType dtype) {
  switch (dtype) {
    case DType::float64:
    case DType::float32:
    case DType::float16:
    case DType::bfloat16:
    case DType::float8_e4m3fn:
    case DType::float8_e4m3fnuz:
    case DType::float8_e5m2:
    case DType::float8_e5m2fnuz:
    case DType::float8_e8m0fnu:
      return true;
    default:
      return false;
  }
}

}  // namespace ckpt
