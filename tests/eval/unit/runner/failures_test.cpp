#include "runner/failures.h"

#include <c10/util/Exception.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "ckpt/error.h"

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
  EXPECT_STREQ(error.what(), "the model failed on cuda:1: no");
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
