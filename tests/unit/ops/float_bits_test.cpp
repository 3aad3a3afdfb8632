#include "ops/float_bits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace ckpt {
namespace {

constexpr std::size_t many = 5000;  // more than is looked at in one go

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// The codes of a dtype of one byte that are not finite, as "7c:+Inf fd:NaN …".
std::string codes_of(DType dtype) {
  const FloatBits bits = float_bits(dtype).value();
  std::string out;
  for (int code = 0; code < 256; ++code) {
    const auto byte = static_cast<std::byte>(code);
    const char* const name = finiteness(bits, &byte) == Finiteness::nan                 ? "NaN"
                             : finiteness(bits, &byte) == Finiteness::positive_infinity ? "+Inf"
                             : finiteness(bits, &byte) == Finiteness::negative_infinity ? "-Inf"
                                                                                        : nullptr;
    EXPECT_EQ(any_not_finite(bits, std::vector(many, byte)), name != nullptr);
    constexpr const char* digits = "0123456789abcdef";
    if (name != nullptr)
      out += (out.empty() ? "" : " ") + std::string{digits[code / 16], digits[code % 16]} + ":" + name;
  }
  return out;
}

TEST(FloatBits, KnowsEveryCodeOfTheFloat8Types) {
  EXPECT_EQ(codes_of(DType::float8_e4m3fn), "7f:NaN ff:NaN");
  EXPECT_EQ(codes_of(DType::float8_e4m3fnuz), "80:NaN");
  EXPECT_EQ(codes_of(DType::float8_e5m2), "7c:+Inf 7d:NaN 7e:NaN 7f:NaN fc:-Inf fd:NaN fe:NaN ff:NaN");
  EXPECT_EQ(codes_of(DType::float8_e5m2fnuz), "80:NaN");
  EXPECT_EQ(codes_of(DType::float8_e8m0fnu), "ff:NaN");
}

template <class T>
void expect_as_the_machine_says(DType dtype, const std::vector<T>& values) {
  const FloatBits bits = float_bits(dtype).value();
  for (const T value : values) {
    std::byte at[sizeof(T)];
    std::memcpy(at, &value, sizeof(T));
    const Finiteness expected = std::isnan(value) ? Finiteness::nan
                                : std::isinf(value)
                                    ? (value > 0 ? Finiteness::positive_infinity : Finiteness::negative_infinity)
                                    : Finiteness::finite;
    EXPECT_EQ(finiteness(bits, at), expected) << value;
    for (const std::size_t place : {std::size_t{0}, many / 2, many - 1}) {
      std::vector<T> all(many, std::numeric_limits<T>::max());
      all[place] = value;
      EXPECT_EQ(any_not_finite(bits, bytes_of(all)), expected != Finiteness::finite) << value << " at " << place;
    }
  }
}

TEST(FloatBits, AgreesWithTheMachineOnFloat32And64) {
  using F = std::numeric_limits<float>;
  using D = std::numeric_limits<double>;
  expect_as_the_machine_says<float>(DType::float32, {0, -0.0F, 1, F::max(), F::lowest(), F::denorm_min(), F::infinity(),
                                                     -F::infinity(), F::quiet_NaN(), -F::quiet_NaN()});
  expect_as_the_machine_says<double>(DType::float64, {0, -0.0, 1, D::max(), D::lowest(), D::denorm_min(), D::infinity(),
                                                      -D::infinity(), D::quiet_NaN(), -D::quiet_NaN()});
}

TEST(FloatBits, OfSixteenBitsFollowTheExponent) {
  const auto kind = [](DType dtype, std::uint16_t value) {
    std::byte at[2];
    std::memcpy(at, &value, 2);
    return finiteness(float_bits(dtype).value(), at);
  };
  EXPECT_EQ(kind(DType::float16, 0x7BFF), Finiteness::finite);
  EXPECT_EQ(kind(DType::float16, 0x7C00), Finiteness::positive_infinity);
  EXPECT_EQ(kind(DType::float16, 0xFC00), Finiteness::negative_infinity);
  EXPECT_EQ(kind(DType::float16, 0x7C01), Finiteness::nan);
  EXPECT_EQ(kind(DType::bfloat16, 0x7F7F), Finiteness::finite);
  EXPECT_EQ(kind(DType::bfloat16, 0x7F80), Finiteness::positive_infinity);
  EXPECT_EQ(kind(DType::bfloat16, 0xFF80), Finiteness::negative_infinity);
  EXPECT_EQ(kind(DType::bfloat16, 0xFF81), Finiteness::nan);
}

TEST(FloatBits, OfOtherDtypesAreNone) {
  for (const DType dtype : {DType::int64, DType::uint8, DType::boolean, DType::qint8, DType::float4_e2m1fn_x2})
    EXPECT_FALSE(float_bits(dtype));
}

TEST(FloatBits, LeaveARestThatIsNoWholeValue) {
  EXPECT_FALSE(any_not_finite(float_bits(DType::float32).value(), std::vector(3, std::byte{0xFF})));
}

}  // namespace
}  // namespace ckpt
