#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "ckpt/export.h"

namespace ckpt {

/// Element types, with torch's names (torch/csrc/utils/tensor_dtypes.cpp, c10/core/ScalarType.h of 2.11).
enum class DType : std::uint8_t {
  float32,
  float64,
  float16,
  bfloat16,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
  complex32,
  complex64,
  complex128,
  float8_e4m3fn,
  float8_e4m3fnuz,
  float8_e5m2,
  float8_e5m2fnuz,
  float8_e8m0fnu,
  float4_e2m1fn_x2,
  qint8,
  quint8,
  qint32,
  quint4x2,
  quint2x4,
  bits1x8,
  bits2x4,
  bits4x2,
  bits8,
  bits16,
  int1,
  int2,
  int3,
  int4,
  int5,
  int6,
  int7,
  uint1,
  uint2,
  uint3,
  uint4,
  uint5,
  uint6,
  uint7,
};

/// "float32", "bool", "float8_e4m3fn" …: torch's name without "torch.".
CKPT_API std::string_view dtype_name(DType dtype);
/// The dtype of that name; none where there is none.
CKPT_API std::optional<DType> dtype_from_name(std::string_view name);

/// Bytes of one element as storages count them (packed types: of one packed byte).
CKPT_API std::size_t dtype_size(DType dtype);

/// Bytes that change places when byte order changes: a complex number swaps its two halves separately.
CKPT_API std::size_t dtype_swap_size(DType dtype);

/// Elements that share one byte: 2 of quint4x2, 4 of quint2x4; 1 of every other type.
CKPT_API std::size_t dtype_per_byte(DType dtype);

/// int8 to int64, uint8 to uint64, and bool: whole numbers of a byte or more. Not quantised ones, which stand for
/// floats.
CKPT_API bool is_integer(DType dtype);
/// qint8, quint8, qint32, quint4x2 and quint2x4.
CKPT_API bool is_quantised(DType dtype);
/// Either: what is stored in whole numbers, compared exactly and shown as such.
CKPT_API bool is_integral(DType dtype);
/// complex32, complex64 and complex128.
CKPT_API bool is_complex(DType dtype);
/// True for real floats of a byte or more: float64 to float16, bfloat16 and the five float8. Not for packed ones.
CKPT_API bool is_floating(DType dtype);

}  // namespace ckpt
