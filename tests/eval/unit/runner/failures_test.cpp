#include "runner/failures.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace ckpt::eval {
namespace {

template <typename Throws>
std::exception_ptr thrown_by(Throws throws) {
  try {
    throws();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

Error translation_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(translated(error, "cuda:1"));
  } catch (const Error& ours) {
    return ours;
  }
}

TEST(AllocationIn, reads_what_libtorch_writes) {
  EXPECT_EQ(allocation_in("CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has"), 2684354560);
  EXPECT_EQ(allocation_in("CUDA out of memory. Tried to allocate 20.00 MiB."), 20971520);
  EXPECT_EQ(allocation_in("DefaultCPUAllocator: can't allocate memory: you tried to allocate 128 bytes. Error"), 128);
}

TEST(AllocationIn, is_none_where_there_is_no_number) {
  EXPECT_EQ(allocation_in("CUDA out of memory. Tried to allocate more than 1EB memory."), std::nullopt);
  EXPECT_EQ(allocation_in("out of memory"), std::nullopt);
}

TEST(Shortage, is_what_libtorch_throws_on_the_cpu) {
  const auto error = thrown_by([] { static_cast<void>(at::empty({std::int64_t{1} << 52}, at::kByte)); });
  ASSERT_TRUE(error);
  const auto shortage = as_shortage(error);
  ASSERT_TRUE(shortage);
  EXPECT_EQ(shortage->needed, std::uint64_t{1} << 52);
}

TEST(Shortage, is_what_libtorch_throws_on_a_gpu) {
  const auto error = thrown_by(
      [] { TORCH_CHECK_WITH(OutOfMemoryError, false, "CUDA out of memory. Tried to allocate 1.00 KiB. GPU 0 has …"); });
  ASSERT_TRUE(as_shortage(error));
  EXPECT_EQ(as_shortage(error)->needed, 1024);
}

TEST(Shortage, is_what_the_libraries_below_say) {
  EXPECT_TRUE(
      as_shortage(thrown_by([] { TORCH_CHECK(false, "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling"); })));
  EXPECT_TRUE(as_shortage(thrown_by([] { throw std::bad_alloc(); })));
  EXPECT_TRUE(as_shortage(thrown_by([] { throw Error(ErrorCode::out_of_memory, "no room for the weights"); })));
}

TEST(Shortage, is_nothing_else) {
  EXPECT_FALSE(as_shortage(thrown_by([] { TORCH_CHECK(false, "mat1 and mat2 shapes cannot be multiplied"); })));
  EXPECT_FALSE(as_shortage(thrown_by([] { throw Error(ErrorCode::corrupt, "out of memory, it says"); })));
}

TEST(Translated, keeps_errors_of_ours) {
  const Error error = translation_of(thrown_by([] { throw Error(ErrorCode::corrupt, "as it is"); }));
  EXPECT_EQ(error.code(), ErrorCode::corrupt);
  EXPECT_STREQ(error.what(), "as it is");
}

TEST(Translated, says_what_libtorch_said_first) {
  const Error error = translation_of(thrown_by([] { TORCH_CHECK(false, "shapes differ\nmore of it"); }));
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_STREQ(error.what(), "the model failed on cuda:1: shapes differ");
}

TEST(Translated, says_what_torchscript_said_last) {
  const Error error = translation_of(thrown_by([] {
    throw std::runtime_error(
        "The following operation failed in the TorchScript interpreter.\nTraceback\nRuntimeError: no\n");
  }));
  EXPECT_STREQ(error.what(), "the model failed on cuda:1: RuntimeError: no");
}

TEST(Translated, tells_a_broken_device_from_a_model) {
  const Error error = translation_of(thrown_by([] {
    throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 700, "CUDA error: an illegal memory access");
  }));
  EXPECT_EQ(error.code(), ErrorCode::unavailable);
}

TEST(Translated, names_the_bytes_that_were_refused) {
  const Error error =
      translation_of(thrown_by([] { TORCH_CHECK(false, "out of memory: you tried to allocate 5 bytes."); }));
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_STREQ(error.what(), "cuda:1 ran out of memory: 5 bytes were needed");
  EXPECT_EQ(error.hint(), "--device cpu");
}

}  // namespace
}  // namespace ckpt::eval
