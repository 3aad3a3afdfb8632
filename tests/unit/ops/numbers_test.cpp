#include "ops/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

namespace ckpt {
namespace {

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto raw = std::as_bytes(std::span(values));
  return {raw.begin(), raw.end()};
}

template <class T>
std::vector<double> numbers(DType dtype, const std::vector<T>& stored, bool complex = false) {
  const auto bytes = bytes_of(stored);
  std::vector<double> out(bytes.size() / dtype_size(dtype) * (complex ? 2 : 1));
  to_numbers(dtype, bytes, complex, out.data());
  return out;
}

using Bits8 = std::vector<std::uint8_t>;
using Bits16 = std::vector<std::uint16_t>;
using Doubles = std::vector<double>;

TEST(Numbers, Float16KnowsSubnormalAndInfiniteNumbers) {
  const auto found = numbers(DType::float16, Bits16{0x3C00, 0x0001, 0x8400, 0x7BFF, 0xFC00, 0x8000});
  EXPECT_EQ(found, (Doubles{1, 0x1p-24, -0x1p-14, 65504, -INFINITY, -0.0}));
  EXPECT_TRUE(std::signbit(found.back()));
  EXPECT_TRUE(std::isnan(numbers(DType::float16, Bits16{0x7C01})[0]));
}

TEST(Numbers, BFloat16IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(numbers(DType::bfloat16, Bits16{0x3F80, 0xC040, 0x7F80}), (Doubles{1, -3, INFINITY}));
}

TEST(Numbers, Float8FormatsDifferInBiasAndSpecialBits) {
  EXPECT_EQ(numbers(DType::float8_e4m3fn, Bits8{0x38, 0x01, 0x7E, 0x80}), (Doubles{1, 0x1p-9, 448, 0}));
  EXPECT_EQ(numbers(DType::float8_e4m3fnuz, Bits8{0x40, 0x01, 0x7F}), (Doubles{1, 0x1p-10, 240}));
  EXPECT_EQ(numbers(DType::float8_e5m2, Bits8{0x3C, 0x01, 0x7B, 0xFC}), (Doubles{1, 0x1p-16, 57344, -INFINITY}));
  EXPECT_EQ(numbers(DType::float8_e5m2fnuz, Bits8{0x40, 0x01, 0x7F}), (Doubles{1, 0x1p-17, 57344}));
  EXPECT_EQ(numbers(DType::float8_e8m0fnu, Bits8{127, 0, 254}), (Doubles{1, 0x1p-127, 0x1p127}));
}

TEST(Numbers, Float8HasItsNaNs) {
  const std::vector<std::pair<DType, std::uint8_t>> nans{{DType::float8_e4m3fn, 0x7F},   {DType::float8_e4m3fn, 0xFF},
                                                         {DType::float8_e4m3fnuz, 0x80}, {DType::float8_e5m2, 0x7D},
                                                         {DType::float8_e5m2fnuz, 0x80}, {DType::float8_e8m0fnu, 0xFF}};
  for (const auto& [dtype, bits] : nans)
    EXPECT_TRUE(std::isnan(numbers(dtype, Bits8{bits})[0])) << dtype_name(dtype) << " " << int{bits};
}

TEST(Numbers, LongDoubleHoldsEveryInteger) {
  const auto bytes = bytes_of(std::vector<std::uint64_t>{UINT64_MAX, UINT64_MAX - 1});
  long double out[2];
  to_numbers(DType::uint64, bytes, false, out);
  EXPECT_EQ(out[0] - out[1], 1);
}

TEST(Numbers, RealElementsBesideComplexOnesHaveNoImaginaryPart) {
  EXPECT_EQ(numbers(DType::int16, std::vector<std::int16_t>{-2, 3}, true), (Doubles{-2, 0, 3, 0}));
  EXPECT_EQ(numbers(DType::complex64, std::vector<float>{1, 2, 3, 4}, true), (Doubles{1, 2, 3, 4}));
}

TEST(Numbers, PackedElementsComeLowBitsFirst) {
  EXPECT_EQ(unpack(DType::quint4x2, std::byte{0xA3}, 0), std::byte{3});
  EXPECT_EQ(unpack(DType::quint4x2, std::byte{0xA3}, 1), std::byte{10});
  EXPECT_EQ(unpack(DType::quint2x4, std::byte{0xE4}, 3), std::byte{3});
}

template <class T>
std::string text(DType dtype, const std::vector<T>& element) {
  return element_text(dtype, bytes_of(element));
}

TEST(Numbers, TextIsPythons) {
  EXPECT_EQ(text(DType::float32, std::vector<float>{0.1F}), "0.1");
  EXPECT_EQ(text(DType::float64, std::vector<double>{1e16}), "1e+16");
  EXPECT_EQ(text(DType::complex64, std::vector<float>{1, -2}), "(1.0-2.0j)");
  EXPECT_EQ(text(DType::boolean, Bits8{1}), "True");
  EXPECT_EQ(text(DType::boolean, Bits8{2}), "0x02");
  EXPECT_EQ(text(DType::int64, std::vector<std::int64_t>{INT64_MIN}), "-9223372036854775808");
  EXPECT_EQ(text(DType::bits16, Bits16{0x1F}), "0x001f");
}

}  // namespace
}  // namespace ckpt
