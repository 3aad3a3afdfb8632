#include "ops/cast_elements.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace ckpt {
namespace {

constexpr DType floating[] = {DType::float64,     DType::float32,         DType::float16,
                              DType::bfloat16,    DType::float8_e4m3fn,   DType::float8_e4m3fnuz,
                              DType::float8_e5m2, DType::float8_e5m2fnuz, DType::float8_e8m0fnu};
constexpr DType targets[] = {DType::float64,  DType::float32,       DType::float16,
                             DType::bfloat16, DType::float8_e4m3fn, DType::float8_e5m2};

/// The bits of one element as another dtype's.
std::uint64_t cast(DType from, DType to, std::uint64_t bits, const CastKernels& kernels = portable_casts) {
  std::uint64_t result = 0;
  cast_elements(from, to, std::as_bytes(std::span(&bits, 1)).first(dtype_size(from)),
                std::as_writable_bytes(std::span(&result, 1)), kernels);
  return result;
}

std::uint64_t cast(float value, DType to) { return cast(DType::float32, to, std::bit_cast<std::uint32_t>(value)); }
std::uint64_t cast(double value, DType to) { return cast(DType::float64, to, std::bit_cast<std::uint64_t>(value)); }
float to_float(DType from, std::uint64_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(cast(from, DType::float32, bits)));
}

constexpr float infinity = std::numeric_limits<float>::infinity();

TEST(CastElements, SixDtypesAreTargets) {
  for (const DType dtype : targets) EXPECT_TRUE(is_cast_target(dtype)) << dtype_name(dtype);
  for (const DType dtype : {DType::float8_e4m3fnuz, DType::float8_e8m0fnu, DType::int8, DType::complex64})
    EXPECT_FALSE(is_cast_target(dtype)) << dtype_name(dtype);
}

TEST(CastElements, FloatingDtypesAreNeitherComplexNorPacked) {
  for (const DType dtype : floating) EXPECT_TRUE(is_floating(dtype)) << dtype_name(dtype);
  for (const DType dtype : {DType::complex64, DType::float4_e2m1fn_x2, DType::int64, DType::qint8, DType::boolean})
    EXPECT_FALSE(is_floating(dtype)) << dtype_name(dtype);
}

TEST(CastElements, Float16RoundsToNearestEven) {
  EXPECT_EQ(cast(1.0F, DType::float16), 0x3C00);
  EXPECT_EQ(cast(1 + 0x1p-11F, DType::float16), 0x3C00);      // halfway, even below
  EXPECT_EQ(cast(1 + 3 * 0x1p-11F, DType::float16), 0x3C02);  // halfway, even above
  EXPECT_EQ(cast(1 + 0x1p-11F + 0x1p-23F, DType::float16), 0x3C01);
  EXPECT_EQ(cast(-0.0F, DType::float16), 0x8000);
}

TEST(CastElements, Float16HasSubnormalNumbersAndInfinities) {
  EXPECT_EQ(cast(0x1p-24F, DType::float16), 0x0001);
  EXPECT_EQ(cast(0x1p-25F, DType::float16), 0x0000);  // halfway to the smallest
  EXPECT_EQ(cast(std::nextafter(0x1p-25F, 1.0F), DType::float16), 0x0001);
  EXPECT_EQ(cast(0x1p-14F - 0x1p-25F, DType::float16), 0x0400);  // rounds up to the smallest normal number
  EXPECT_EQ(cast(std::numeric_limits<float>::denorm_min(), DType::float16), 0x0000);
  EXPECT_EQ(cast(65504.0F, DType::float16), 0x7BFF);
  EXPECT_EQ(cast(std::nextafter(65520.0F, 0.0F), DType::float16), 0x7BFF);
  EXPECT_EQ(cast(65520.0F, DType::float16), 0x7C00);
  EXPECT_EQ(cast(-1e30F, DType::float16), 0xFC00);
  EXPECT_EQ(cast(infinity, DType::float16), 0x7C00);
}

TEST(CastElements, Float16KeepsTheUpperPayloadOfANaNAndMakesItQuiet) {
  EXPECT_EQ(cast(DType::float32, DType::float16, 0x7F800001), 0x7E00);
  EXPECT_EQ(cast(DType::float32, DType::float16, 0xFFA00000), 0xFF00);
  EXPECT_EQ(cast(DType::float32, DType::float16, 0x7FC12345), 0x7E09);
  EXPECT_EQ(cast(DType::float16, DType::float32, 0xFC01), 0xFFC02000);
}

TEST(CastElements, BFloat16IsARoundedUpperHalf) {
  EXPECT_EQ(cast(DType::float32, DType::bfloat16, 0x3F808000), 0x3F80);
  EXPECT_EQ(cast(DType::float32, DType::bfloat16, 0x3F818000), 0x3F82);
  EXPECT_EQ(cast(DType::float32, DType::bfloat16, 0x3F808001), 0x3F81);
  EXPECT_EQ(cast(DType::float32, DType::bfloat16, 0x00000001), 0x0000);
  EXPECT_EQ(cast(std::numeric_limits<float>::max(), DType::bfloat16), 0x7F80);
  EXPECT_EQ(cast(-infinity, DType::bfloat16), 0xFF80);
  EXPECT_EQ(cast(DType::bfloat16, DType::float32, 0x8001), 0x80010000);
}

TEST(CastElements, BFloat16HasOneNaN) {
  for (const std::uint64_t nan : {0x7F800001U, 0x7FFFFFFFU, 0xFF800001U, 0xFFFFFFFFU})
    EXPECT_EQ(cast(DType::float32, DType::bfloat16, nan), 0x7FC0);
  EXPECT_EQ(cast(DType::bfloat16, DType::bfloat16, 0xFF81), 0xFF81);  // nothing to cast
}

TEST(CastElements, Float8E4M3OverflowsToNaN) {
  EXPECT_EQ(cast(448.0F, DType::float8_e4m3fn), 0x7E);
  EXPECT_EQ(cast(464.0F, DType::float8_e4m3fn), 0x7E);  // halfway, to the even one
  EXPECT_EQ(cast(std::nextafter(464.0F, 500.0F), DType::float8_e4m3fn), 0x7F);
  EXPECT_EQ(cast(480.0F, DType::float8_e4m3fn), 0x7F);
  EXPECT_EQ(cast(-infinity, DType::float8_e4m3fn), 0xFF);
  EXPECT_EQ(cast(DType::float32, DType::float8_e4m3fn, 0xFF800001), 0xFF);
}

TEST(CastElements, Float8E4M3RoundsSubnormalNumbers) {
  EXPECT_EQ(cast(0x1p-6F, DType::float8_e4m3fn), 0x08);
  EXPECT_EQ(cast(0x1p-9F, DType::float8_e4m3fn), 0x01);
  EXPECT_EQ(cast(0x1p-10F, DType::float8_e4m3fn), 0x00);
  EXPECT_EQ(cast(-3 * 0x1p-10F, DType::float8_e4m3fn), 0x82);
}

TEST(CastElements, Float8E5M2OverflowsToInfinity) {
  EXPECT_EQ(cast(57344.0F, DType::float8_e5m2), 0x7B);
  EXPECT_EQ(cast(std::nextafter(61440.0F, 0.0F), DType::float8_e5m2), 0x7B);
  EXPECT_EQ(cast(61440.0F, DType::float8_e5m2), 0x7C);
  EXPECT_EQ(cast(-1e30F, DType::float8_e5m2), 0xFC);
  EXPECT_EQ(cast(DType::float32, DType::float8_e5m2, 0xFF800001), 0xFF);
  EXPECT_EQ(cast(0x1p-16F, DType::float8_e5m2), 0x01);
  EXPECT_EQ(cast(0x1p-17F, DType::float8_e5m2), 0x00);
}

TEST(CastElements, Float8ValuesAreThoseOfTheirFormats) {
  EXPECT_EQ(to_float(DType::float8_e4m3fn, 0x7E), 448);
  EXPECT_EQ(to_float(DType::float8_e4m3fn, 0x81), -0x1p-9F);
  EXPECT_EQ(to_float(DType::float8_e4m3fnuz, 0x7F), 240);
  EXPECT_EQ(to_float(DType::float8_e4m3fnuz, 0x01), 0x1p-10F);
  EXPECT_EQ(to_float(DType::float8_e5m2, 0x7B), 57344);
  EXPECT_EQ(to_float(DType::float8_e5m2, 0xFC), -infinity);
  EXPECT_EQ(to_float(DType::float8_e5m2fnuz, 0x7F), 57344);
  EXPECT_EQ(to_float(DType::float8_e5m2fnuz, 0x01), 0x1p-17F);
  EXPECT_EQ(to_float(DType::float8_e8m0fnu, 0), 0x1p-127F);
  EXPECT_EQ(to_float(DType::float8_e8m0fnu, 254), 0x1p127F);
}

TEST(CastElements, Float8NaNsAreC10s) {
  EXPECT_EQ(cast(DType::float8_e4m3fn, DType::float32, 0xFF), 0xFFF00000);
  EXPECT_EQ(cast(DType::float8_e5m2, DType::float32, 0x7D), 0x7FE00000);
  EXPECT_EQ(cast(DType::float8_e4m3fnuz, DType::float32, 0x80), 0x7F800001);
  EXPECT_EQ(cast(DType::float8_e5m2fnuz, DType::float64, 0x80), 0x7FF8000020000000);
  EXPECT_EQ(cast(DType::float8_e8m0fnu, DType::float16, 0xFF), 0x7E00);
}

TEST(CastElements, Float64BecomesFloat32First) {
  EXPECT_EQ(cast(0.1, DType::float32), 0x3DCCCCCD);
  EXPECT_EQ(cast(1e300, DType::float32), 0x7F800000);
  EXPECT_EQ(cast(0x1p-149, DType::float32), 1);
  EXPECT_EQ(cast(0x1p-150, DType::float32), 0);
  // Just above halfway between two of float16; as a float32 it is halfway, and goes to the even one.
  EXPECT_EQ(cast(1 + 0x1p-11 + 0x1p-40, DType::float16), 0x3C00);
  EXPECT_EQ(cast(1 + 0x1p-8 + 0x1p-40, DType::bfloat16), 0x3F80);
}

TEST(CastElements, NaNsOfFloat64AndFloat32KeepWhatFits) {
  EXPECT_EQ(cast(DType::float64, DType::float32, 0xFFF0000000000001), 0xFFC00000);
  EXPECT_EQ(cast(DType::float64, DType::float32, 0x7FF4567890ABCDEF), 0x7FE2B3C4);
  EXPECT_EQ(cast(DType::float32, DType::float64, 0xFF800001), 0xFFF8000020000000);
  EXPECT_EQ(cast(DType::float32, DType::float32, 0x7F800001), 0x7F800001);
}

TEST(CastElements, WhatEachFormatHoldsSurvivesAnotherThatHoldsMore) {
  for (const DType small : {DType::float16, DType::bfloat16, DType::float8_e4m3fn, DType::float8_e5m2})
    for (const DType large : {DType::float32, DType::float64})
      for (std::uint64_t bits = 0; bits < 1U << (8 * dtype_size(small)); ++bits)
        if (!std::isnan(to_float(small, bits))) {
          ASSERT_EQ(cast(large, small, cast(small, large, bits)), bits) << dtype_name(small) << " " << bits;
        }
}

/// What the two sets of kernels make of the same elements.
void expect_agreement(DType from, const std::vector<std::byte>& in) {
  if (avx2_casts() == nullptr) GTEST_SKIP() << "no AVX2 here";
  const std::size_t count = in.size() / dtype_size(from);
  for (const DType to : targets) {
    std::vector<std::byte> plain(count * dtype_size(to)), vectors(plain.size());
    cast_elements(from, to, in, plain, portable_casts);
    cast_elements(from, to, in, vectors, *avx2_casts());
    const auto differ = std::mismatch(plain.begin(), plain.end(), vectors.begin()).first;
    EXPECT_EQ(differ - plain.begin(), static_cast<std::ptrdiff_t>(plain.size()))
        << dtype_name(from) << " to " << dtype_name(to) << ": the byte that differs";
  }
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  const auto raw = std::as_bytes(std::span(values));
  return {raw.begin(), raw.end()};
}

TEST(CastElements, VectorsAgreeOnEveryElementOfTwoBytesAndOfOne) {
  std::vector<std::uint16_t> halves(65536);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  for (const DType dtype : floating)
    if (dtype_size(dtype) <= 2) expect_agreement(dtype, bytes_of(halves));
}

/// Bits that lie beside every boundary of every format: those of its elements, and halfway between two.
TEST(CastElements, VectorsAgreeOnFloatsBesideEveryBoundary) {
  std::vector<std::uint32_t> floats;
  for (std::uint32_t upper = 0; upper < 65536 * 16; ++upper)
    for (const std::uint32_t lower : {0x000U, 0x001U, 0x7FFU, 0x800U, 0x801U, 0xFFFU})
      floats.push_back(upper << 12 | lower);
  expect_agreement(DType::float32, bytes_of(floats));
}

TEST(CastElements, VectorsAgreeOnRandomBits) {
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> words(500'000);
  for (auto& word : words) word = random();
  expect_agreement(DType::float32, bytes_of(words));
  for (std::size_t i = 0; i < words.size(); ++i) {
    // Exponents near those that smaller formats have; else nearly all would be infinite, or zero.
    if (i % 2 == 0) words[i] = (words[i] & 0x807FFFFFFFFFFFFF) + (std::uint64_t{0x340} << 52);
    if (i % 16 == 1) words[i] |= std::uint64_t{0x7FF} << 52;
  }
  expect_agreement(DType::float64, bytes_of(words));
}

TEST(CastElements, AnyCountIsCastAndNothingBeyond) {
  for (const CastKernels* kernels : {&portable_casts, avx2_casts()}) {
    if (kernels == nullptr) continue;
    for (std::size_t count = 0; count < 40; ++count) {
      const std::vector<float> in(count, 1.5F);
      std::vector<std::uint16_t> out(count + 8, 0xAAAA);
      cast_elements(DType::float32, DType::float16, std::as_bytes(std::span(in)),
                    std::as_writable_bytes(std::span(out)).first(count * 2), *kernels);
      for (std::size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], i < count ? 0x3E00 : 0xAAAA) << count;
    }
  }
}

}  // namespace
}  // namespace ckpt
