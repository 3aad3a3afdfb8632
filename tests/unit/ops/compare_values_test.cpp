#include "ops/compare_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

namespace ckpt {
namespace {

template <class T>
struct Elements {
  TensorInfo info;
  std::vector<std::byte> bytes;

  Elements(DType dtype, const std::vector<T>& values, std::vector<std::int64_t> shape = {}) {
    info.dtype = dtype;
    info.shape = shape.empty() ? std::vector<std::int64_t>{static_cast<std::int64_t>(values.size())} : std::move(shape);
    const auto raw = std::as_bytes(std::span(values));
    bytes.assign(raw.begin(), raw.end());
  }
};

using Floats = Elements<float>;
const ValueRules by_bits;

template <class A, class B>
std::optional<ValueDifference> compare(const Elements<A>& a, const Elements<B>& b, const ValueRules& rules = by_bits) {
  ValueComparison comparison(a.info, b.info, rules);
  comparison.add(a.bytes, b.bytes);
  return comparison.result();
}

ValueRules within(double rtol, double atol) { return {false, rtol, atol}; }

TEST(CompareValues, EqualBitsAreEqual) {
  const Floats a(DType::float32, {1, NAN, INFINITY});
  EXPECT_FALSE(compare(a, a));
  EXPECT_FALSE(compare(a, a, within(0, 0)));
}

TEST(CompareValues, CountsMeasuresAndPointsAtTheFirst) {
  const Floats a(DType::float32, {0, 1, 2, 3, 4, 5}, {2, 3}), b(DType::float32, {0, 1, 2, 3, 4.5, 4}, {2, 3});
  const auto found = compare(a, b);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->different, 2U);
  EXPECT_EQ(found->elements, 6U);
  EXPECT_EQ(found->largest_error, 1);
  EXPECT_EQ(found->mean_error, 0.25);
  EXPECT_EQ(found->first, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(found->first_a, "4.0");
  EXPECT_EQ(found->first_b, "4.5");
}

TEST(CompareValues, PiecesMayBeCutAnywhereBetweenElements) {
  std::vector<float> values(5000, 1), other(values);
  other[4999] = 2;
  const Floats a(DType::float32, values), b(DType::float32, other);
  ValueComparison comparison(a.info, b.info, by_bits);
  for (std::size_t i = 0; i < values.size(); i += 40)
    comparison.add(std::span(a.bytes).subspan(4 * i, 160), std::span(b.bytes).subspan(4 * i, 160));
  EXPECT_EQ(comparison.result()->first, (std::vector<std::int64_t>{4999}));
}

TEST(CompareValues, PartsComeToTheSameAsAllAtOnce) {
  std::vector<float> values(10'000), other(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    other[i] = i < 3000 ? values[i] : values[i] + static_cast<float>(i % 7) * 1e-3F;
  }
  const Floats a(DType::float32, values), b(DType::float32, other);
  const auto whole = compare(a, b);
  ValueComparison joined(a.info, b.info, by_bits);
  for (std::size_t first = 0; first < values.size(); first += 2048) {
    const std::size_t count = std::min<std::size_t>(2048, values.size() - first);
    ValueComparison part(a.info, b.info, by_bits, first);
    part.add(std::span(a.bytes).subspan(first * 4, count * 4), std::span(b.bytes).subspan(first * 4, count * 4));
    joined.join(part);
  }
  const auto found = joined.result();
  ASSERT_TRUE(whole && found);
  EXPECT_EQ(found->different, whole->different);
  EXPECT_EQ(found->first, whole->first);
  EXPECT_EQ(found->first_b, whole->first_b);
  EXPECT_EQ(found->largest_error, whole->largest_error);
  EXPECT_EQ(found->mean_error, whole->mean_error);
}

TEST(CompareValues, NaNAndInfinityAreSaidApart) {
  const Floats a(DType::float32, {NAN, 1, INFINITY, 0}), b(DType::float32, {1, 1, -INFINITY, 2});
  const auto found = compare(a, b);
  EXPECT_EQ(found->different, 3U);
  EXPECT_EQ(found->not_finite, 2U);
  EXPECT_EQ(found->largest_error, 2);
  EXPECT_EQ(found->mean_error, 1);
}

TEST(CompareValues, NegativeZeroDiffersInBitsOnly) {
  const Floats a(DType::float32, {0.0F}), b(DType::float32, {-0.0F});
  EXPECT_EQ(compare(a, b)->different, 1U);
  EXPECT_EQ(compare(a, b)->largest_error, 0);
  EXPECT_FALSE(compare(a, b, within(0, 0)));
}

TEST(CompareValues, NaNsOfOtherBitsAreToldApartByThem) {
  const Elements<std::uint32_t> a(DType::float32, {0x7FC00000}), b(DType::float32, {0x7FC00001});
  EXPECT_EQ(compare(a, b)->first_a, "nan (0x7fc00000)");
  EXPECT_FALSE(compare(a, b, within(0, 0)));
}

TEST(CompareValues, ToleranceIsRelativeToTheSecond) {
  const Floats a(DType::float32, {100}), b(DType::float32, {110});
  EXPECT_FALSE(compare(a, b, within(0.0925, 0)));
  EXPECT_TRUE(compare(b, a, within(0.0925, 0)));
  EXPECT_FALSE(compare(b, a, within(0, 10)));
}

TEST(CompareValues, IntegersHaveNoTolerance) {
  const Elements<std::int64_t> a(DType::int64, {INT64_MAX}), b(DType::int64, {INT64_MAX - 1});
  const auto found = compare(a, b, within(1, 1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->largest_error, 1);
}

TEST(CompareValues, DTypesAreComparedAsNumbers) {
  const Elements<std::int64_t> a(DType::int64, {1, 1LL << 53 | 1});
  const Elements<double> b(DType::float64, {1, 0x1p53});
  EXPECT_EQ(compare(a, b)->different, 1U);
  const Elements<std::uint8_t> bools(DType::boolean, {1, 0});
  EXPECT_FALSE(compare(bools, Floats(DType::float32, {1, 0})));
}

TEST(CompareValues, ComplexErrorIsTheModulus) {
  const Floats a(DType::complex64, {0, 0, 1, 1}, {2}), b(DType::complex64, {3, 4, 1, 1}, {2});
  EXPECT_EQ(compare(a, b)->largest_error, 5);
  EXPECT_EQ(compare(a, b)->different, 1U);
  EXPECT_FALSE(compare(a, b, within(0, 5)));
}

TEST(CompareValues, PackedElementsCountOneByOneWithoutTheirPadding) {
  // Two rows of three elements of four bits have two bytes each, and fill three of them.
  const Elements<std::uint8_t> a(DType::quint4x2, {0x21, 0x43, 0x65, 0x00}, {2, 3});
  const Elements<std::uint8_t> b(DType::quint4x2, {0x21, 0x43, 0x69, 0xFF}, {2, 3});
  const auto found = compare(a, b);
  EXPECT_EQ(found->different, 1U);
  EXPECT_EQ(found->elements, 6U);
  EXPECT_EQ(found->first, (std::vector<std::int64_t>{1, 1}));
  EXPECT_EQ(found->largest_error, 4);
}

TEST(CompareValues, BitsHaveNoErrors) {
  const Elements<std::uint8_t> a(DType::bits8, {1, 2}), b(DType::bits8, {1, 3});
  EXPECT_EQ(compare(a, b)->different, 1U);
  EXPECT_FALSE(compare(a, b)->largest_error);
  EXPECT_EQ(compare(a, b)->first_b, "0x03");
}

TEST(CompareValues, KindsThatCannotBeComparedAreNamed) {
  EXPECT_EQ(incomparable(DType::float32, DType::bfloat16), "");
  EXPECT_EQ(incomparable(DType::bits8, DType::bits8), "");
  EXPECT_NE(incomparable(DType::bits8, DType::uint8), "");
  EXPECT_NE(incomparable(DType::qint8, DType::int8), "");
  EXPECT_NE(incomparable(DType::quint4x2, DType::quint8), "");
}

}  // namespace
}  // namespace ckpt
