#include "ckpt/dtype.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace ckpt {
namespace {

constexpr int dtypes = static_cast<int>(DType::uint7) + 1;

TEST(DType, EveryNameFindsItsDtypeAgain) {
  for (int i = 0; i < dtypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(dtype_name(dtype)), dtype) << dtype_name(dtype);
  }
}

TEST(DType, NamesAreTorchsWithoutThePrefix) {
  EXPECT_EQ(dtype_name(DType::boolean), "bool");
  EXPECT_EQ(dtype_name(DType::float8_e4m3fn), "float8_e4m3fn");
  EXPECT_EQ(dtype_from_name("bfloat16"), DType::bfloat16);
}

TEST(DType, UnknownNameIsNone) {
  EXPECT_EQ(dtype_from_name("torch.float32"), std::nullopt);
  EXPECT_EQ(dtype_from_name("boolean"), std::nullopt);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
}

TEST(DType, SizesAreThoseOfTorchsItemsize) {
  EXPECT_EQ(dtype_size(DType::float64), 8u);
  EXPECT_EQ(dtype_size(DType::bfloat16), 2u);
  EXPECT_EQ(dtype_size(DType::complex32), 4u);
  EXPECT_EQ(dtype_size(DType::complex128), 16u);
  EXPECT_EQ(dtype_size(DType::qint32), 4u);
  EXPECT_EQ(dtype_size(DType::bits16), 2u);
}

TEST(DType, PackedTypesCountOneByte) {
  for (DType dtype :
       {DType::quint4x2, DType::quint2x4, DType::bits1x8, DType::float4_e2m1fn_x2, DType::int4, DType::uint1}) {
    EXPECT_EQ(dtype_size(dtype), 1u) << dtype_name(dtype);
  }
}

TEST(DType, ComplexNumbersSwapTheirHalvesApart) {
  EXPECT_EQ(dtype_swap_size(DType::complex32), 2u);
  EXPECT_EQ(dtype_swap_size(DType::complex64), 4u);
  EXPECT_EQ(dtype_swap_size(DType::complex128), 8u);
}

TEST(DType, OtherTypesSwapWhole) {
  for (int i = 0; i < dtypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype_name(dtype).starts_with("complex")) continue;
    EXPECT_EQ(dtype_swap_size(dtype), dtype_size(dtype)) << dtype_name(dtype);
  }
}

TEST(DType, OnlyQuantisedTypesAreQuantised) {
  EXPECT_TRUE(is_quantised(DType::qint8));
  EXPECT_TRUE(is_quantised(DType::quint2x4));
  EXPECT_FALSE(is_quantised(DType::int8));
  EXPECT_FALSE(is_quantised(DType::uint4));
}

TEST(DType, IntegersAreWholeNumbersOfWholeBytes) {
  const std::set<std::string_view> integers{"int8",   "int16",  "int32",  "int64", "uint8",
                                            "uint16", "uint32", "uint64", "bool"};
  for (int i = 0; i < dtypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(is_integer(dtype), integers.contains(dtype_name(dtype))) << dtype_name(dtype);
  }
}

TEST(DType, ComplexOnesAreThree) {
  for (int i = 0; i < dtypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    EXPECT_EQ(is_complex(dtype), dtype_name(dtype).starts_with("complex")) << dtype_name(dtype);
  }
}

}  // namespace
}  // namespace ckpt
