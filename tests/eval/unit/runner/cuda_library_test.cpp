#include "runner/cuda_library.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "ckpt/error.h"
#include "runner/made_up.h"

namespace ckpt::eval {
namespace {

TEST(CudaLibrary, says_what_is_lacking_or_how_many_gpus_there_are) {
  const CudaLibrary& library = load_cuda();
  EXPECT_EQ(library.missing.empty(), library.gpus > 0);
  ASSERT_FALSE(library.looked_for.empty());
  EXPECT_EQ(library.looked_for.front(), "libcuda.so.1");
}

TEST(CudaLibrary, is_loaded_once_whoever_asks) {
  std::vector<const CudaLibrary*> seen(4);
  std::vector<std::thread> threads;
  for (auto& it : seen) threads.emplace_back([&it] { it = &load_cuda(); });
  for (auto& thread : threads) thread.join();
  for (const auto* it : seen) EXPECT_EQ(it, &load_cuda());
}

TEST(CudaEngine, refuses_a_gpu_that_is_not_there) {
  const test::MadeUp model(test::digits);
  for (const int gpu : {-1, load_cuda().gpus}) {
    try {
      static_cast<void>(cuda_engine(model, {gpu}, {}));
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::unavailable);
      EXPECT_NE(std::string(error.what()).find("there is no cuda:" + std::to_string(gpu)), std::string::npos);
      EXPECT_NE(error.hint(), "");
    }
  }
}

}  // namespace
}  // namespace ckpt::eval
