// A table: one line a dtype, in the order of the enumeration.
#include "ckpt/dtype.h"

#include <algorithm>
#include <array>

namespace ckpt {
namespace {

/// What elements are to those who reckon with them.
enum class Kind : std::uint8_t {
  floating,  ///< a byte or more
  integer,   ///< a byte or more, bool among them
  complex,
  quantised,  ///< whole numbers that stand for floats
  bits,       ///< packed, or of less than a byte
};

struct Row {
  DType dtype;
  std::string_view name;
  std::uint8_t size;
  std::uint8_t swap_size;
  Kind kind;
};

constexpr std::array rows{
    Row{DType::float32, "float32", 4, 4, Kind::floating},
    Row{DType::float64, "float64", 8, 8, Kind::floating},
    Row{DType::float16, "float16", 2, 2, Kind::floating},
    Row{DType::bfloat16, "bfloat16", 2, 2, Kind::floating},
    Row{DType::int8, "int8", 1, 1, Kind::integer},
    Row{DType::int16, "int16", 2, 2, Kind::integer},
    Row{DType::int32, "int32", 4, 4, Kind::integer},
    Row{DType::int64, "int64", 8, 8, Kind::integer},
    Row{DType::uint8, "uint8", 1, 1, Kind::integer},
    Row{DType::uint16, "uint16", 2, 2, Kind::integer},
    Row{DType::uint32, "uint32", 4, 4, Kind::integer},
    Row{DType::uint64, "uint64", 8, 8, Kind::integer},
    Row{DType::boolean, "bool", 1, 1, Kind::integer},
    Row{DType::complex32, "complex32", 4, 2, Kind::complex},
    Row{DType::complex64, "complex64", 8, 4, Kind::complex},
    Row{DType::complex128, "complex128", 16, 8, Kind::complex},
    Row{DType::float8_e4m3fn, "float8_e4m3fn", 1, 1, Kind::floating},
    Row{DType::float8_e4m3fnuz, "float8_e4m3fnuz", 1, 1, Kind::floating},
    Row{DType::float8_e5m2, "float8_e5m2", 1, 1, Kind::floating},
    Row{DType::float8_e5m2fnuz, "float8_e5m2fnuz", 1, 1, Kind::floating},
    Row{DType::float8_e8m0fnu, "float8_e8m0fnu", 1, 1, Kind::floating},
    Row{DType::float4_e2m1fn_x2, "float4_e2m1fn_x2", 1, 1, Kind::bits},
    Row{DType::qint8, "qint8", 1, 1, Kind::quantised},
    Row{DType::quint8, "quint8", 1, 1, Kind::quantised},
    Row{DType::qint32, "qint32", 4, 4, Kind::quantised},
    Row{DType::quint4x2, "quint4x2", 1, 1, Kind::quantised},
    Row{DType::quint2x4, "quint2x4", 1, 1, Kind::quantised},
    Row{DType::bits1x8, "bits1x8", 1, 1, Kind::bits},
    Row{DType::bits2x4, "bits2x4", 1, 1, Kind::bits},
    Row{DType::bits4x2, "bits4x2", 1, 1, Kind::bits},
    Row{DType::bits8, "bits8", 1, 1, Kind::bits},
    Row{DType::bits16, "bits16", 2, 2, Kind::bits},
    Row{DType::int1, "int1", 1, 1, Kind::bits},
    Row{DType::int2, "int2", 1, 1, Kind::bits},
    Row{DType::int3, "int3", 1, 1, Kind::bits},
    Row{DType::int4, "int4", 1, 1, Kind::bits},
    Row{DType::int5, "int5", 1, 1, Kind::bits},
    Row{DType::int6, "int6", 1, 1, Kind::bits},
    Row{DType::int7, "int7", 1, 1, Kind::bits},
    Row{DType::uint1, "uint1", 1, 1, Kind::bits},
    Row{DType::uint2, "uint2", 1, 1, Kind::bits},
    Row{DType::uint3, "uint3", 1, 1, Kind::bits},
    Row{DType::uint4, "uint4", 1, 1, Kind::bits},
    Row{DType::uint5, "uint5", 1, 1, Kind::bits},
    Row{DType::uint6, "uint6", 1, 1, Kind::bits},
    Row{DType::uint7, "uint7", 1, 1, Kind::bits},
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

bool is_integer(DType dtype) { return row(dtype).kind == Kind::integer; }

bool is_quantised(DType dtype) { return row(dtype).kind == Kind::quantised; }

bool is_integral(DType dtype) { return is_integer(dtype) || is_quantised(dtype); }

bool is_complex(DType dtype) { return row(dtype).kind == Kind::complex; }

bool is_floating(DType dtype) { return row(dtype).kind == Kind::floating; }

}  // namespace ckpt
