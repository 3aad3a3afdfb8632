#include "ops/numbers.h"

#include <array>
#include <bit>
#include <cstdint>

#include "io/bytes.h"
#include "model/python_str.h"
#include "ops/float_formats.h"

namespace ckpt {
namespace {

float as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

/// `out`, one number a `Stored`; where `spread`, every second place is set to 0.
template <class Stored, class T, class Convert>
void convert(std::span<const std::byte> elements, bool spread, T* out, Convert&& to_number) {
  const std::size_t count = elements.size() / sizeof(Stored);
  for (std::size_t i = 0; i < count; ++i) {
    *out++ = static_cast<T>(to_number(load_le<Stored>(elements.data() + i * sizeof(Stored))));
    if (spread) *out++ = 0;
  }
}

}  // namespace

bool is_numeric(DType dtype) { return is_floating(dtype) || is_integral(dtype) || is_complex(dtype); }

bool needs_long_double(DType dtype) { return dtype == DType::int64 || dtype == DType::uint64; }

template <class T>
void to_numbers(DType dtype, std::span<const std::byte> elements, bool complex, T* out) {
  const auto as_it_is = [](auto value) { return value; };
  const bool spread = complex && !is_complex(dtype);
  switch (dtype) {
    case DType::float32:
    case DType::complex64:
      return convert<float>(elements, spread, out, as_it_is);
    case DType::float64:
    case DType::complex128:
      return convert<double>(elements, spread, out, as_it_is);
    case DType::float16:
    case DType::complex32:
      return convert<std::uint16_t>(elements, spread, out,
                                    [](std::uint16_t bits) { return as_float(float32_of_float16(bits)); });
    case DType::bfloat16:
      return convert<std::uint16_t>(elements, spread, out,
                                    [](std::uint16_t bits) { return as_float(float32_of_bfloat16(bits)); });
    case DType::int8:
    case DType::qint8:
      return convert<std::int8_t>(elements, spread, out, as_it_is);
    case DType::int16:
      return convert<std::int16_t>(elements, spread, out, as_it_is);
    case DType::int32:
    case DType::qint32:
      return convert<std::int32_t>(elements, spread, out, as_it_is);
    case DType::int64:
      return convert<std::int64_t>(elements, spread, out, as_it_is);
    case DType::uint16:
      return convert<std::uint16_t>(elements, spread, out, as_it_is);
    case DType::uint32:
      return convert<std::uint32_t>(elements, spread, out, as_it_is);
    case DType::uint64:
      return convert<std::uint64_t>(elements, spread, out, as_it_is);
    case DType::boolean:
      return convert<std::uint8_t>(elements, spread, out, [](std::uint8_t value) { return value != 0 ? 1 : 0; });
    case DType::float8_e4m3fn:
    case DType::float8_e4m3fnuz:
    case DType::float8_e5m2:
    case DType::float8_e5m2fnuz:
    case DType::float8_e8m0fnu: {
      const Float8Table& values = float32_of_float8(dtype);
      return convert<std::uint8_t>(elements, spread, out, [&](std::uint8_t bits) { return as_float(values[bits]); });
    }
    default:
      return convert<std::uint8_t>(elements, spread, out, as_it_is);
  }
}

template void to_numbers<double>(DType, std::span<const std::byte>, bool, double*);
template void to_numbers<long double>(DType, std::span<const std::byte>, bool, long double*);

std::byte unpack(DType dtype, std::byte packed, std::size_t index) {
  // c10/util/quint4x2.h and quint2x4.h: the first element in the lowest bits.
  const std::size_t bits = 8 / dtype_per_byte(dtype);
  return packed >> (index * bits) & std::byte((1U << bits) - 1);
}

std::string bits_text(std::span<const std::byte> element) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text = "0x";
  for (std::size_t i = element.size(); i-- > 0;) {
    const auto byte = std::to_integer<unsigned>(element[i]);
    text += digits[byte >> 4];
    text += digits[byte & 15];
  }
  return text;
}

std::string element_text(DType dtype, std::span<const std::byte> element) {
  if (!is_numeric(dtype)) return bits_text(element);
  if (dtype == DType::float32) return float32_repr(load_le<float>(element.data()));
  if (dtype == DType::boolean) {
    const auto byte = std::to_integer<unsigned>(element[0]);
    return byte > 1 ? bits_text(element) : byte == 1 ? "True" : "False";
  }
  if (dtype == DType::int64) return std::to_string(load_le<std::int64_t>(element.data()));
  if (dtype == DType::uint64) return std::to_string(load_le<std::uint64_t>(element.data()));
  std::array<double, 2> parts{};
  to_numbers(dtype, element, is_complex(dtype), parts.data());
  if (is_integral(dtype)) return std::to_string(static_cast<std::int64_t>(parts[0]));
  const auto text = [&](double part) {
    return dtype == DType::complex64 ? float32_repr(static_cast<float>(part)) : float_repr(part);
  };
  if (!is_complex(dtype)) return text(parts[0]);
  const std::string imaginary = text(parts[1]);
  return "(" + text(parts[0]) + (imaginary.front() == '-' ? "" : "+") + imaginary + "j)";
}

std::string exact_text(DType dtype, std::span<const std::byte> element) {
  std::array<double, 2> parts{};
  to_numbers(dtype, element, is_complex(dtype), parts.data());
  return float_repr(parts[0]);
}

}  // namespace ckpt
