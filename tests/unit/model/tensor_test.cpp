#include "ckpt/tensor.h"

#include <gtest/gtest.h>

namespace ckpt {
namespace {

TensorInfo strided(std::vector<std::int64_t> shape, std::vector<std::int64_t> stride) {
  TensorInfo info;
  info.shape = std::move(shape);
  info.stride = std::move(stride);
  return info;
}

TEST(Tensor, ElementCountIsTheProductOfTheShape) { EXPECT_EQ(element_count(strided({2, 3, 4}, {12, 4, 1})), 24u); }

TEST(Tensor, ZeroDimensionalTensorHasOneElement) { EXPECT_EQ(element_count(strided({}, {})), 1u); }

TEST(Tensor, EmptyTensorHasNoElements) { EXPECT_EQ(element_count(strided({3, 0}, {1, 1})), 0u); }

TEST(Tensor, RowMajorIsContiguous) { EXPECT_TRUE(is_contiguous(strided({2, 3}, {3, 1}))); }

TEST(Tensor, TransposeIsNotContiguous) { EXPECT_FALSE(is_contiguous(strided({3, 2}, {1, 3}))); }

TEST(Tensor, ExpandedIsNotContiguous) { EXPECT_FALSE(is_contiguous(strided({4, 2}, {0, 1}))); }

TEST(Tensor, DimensionOfOneElementMayHaveAnyStride) { EXPECT_TRUE(is_contiguous(strided({2, 1, 3}, {3, 77, 1}))); }

TEST(Tensor, EmptyIsContiguousWhateverItsStrides) { EXPECT_TRUE(is_contiguous(strided({0, 5}, {1, 9}))); }

TEST(Tensor, SparseIsNotContiguous) {
  TensorInfo info = strided({2}, {});
  info.layout = Layout::sparse_coo;
  EXPECT_FALSE(is_contiguous(info));
}

TEST(Tensor, LayoutsHaveTorchsNames) {
  EXPECT_EQ(layout_name(Layout::strided), "strided");
  EXPECT_EQ(layout_name(Layout::sparse_csr), "sparse_csr");
}

TEST(Tensor, StridesPastWhatANumberHoldsAreMinusOne) {
  EXPECT_EQ(contiguous_stride({3, 5, INT64_MAX, 4}), (std::vector<std::int64_t>{-1, -1, 4, 1}));
}

}  // namespace
}  // namespace ckpt
