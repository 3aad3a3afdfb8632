#include "bridge/torch_errors.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <new>

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

TEST(MainLine, is_the_first_and_of_torchscript_the_last) {
  EXPECT_EQ(main_line("shapes differ\nmore of it"), "shapes differ");
  const std::string traceback = "The following operation failed in the TorchScript interpreter.\nTraceback\n";
  EXPECT_EQ(main_line(traceback + "RuntimeError: no\nexpected yes\n"), "no");
  EXPECT_EQ(main_line(traceback + "builtins.ValueError: never\n"), "builtins.ValueError: never");
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

}  // namespace
}  // namespace ckpt::eval
