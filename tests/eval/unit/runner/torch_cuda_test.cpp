#include "runner/torch_cuda.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace ckpt::eval {
namespace {

TEST(TorchCuda, says_what_is_lacking_or_how_many_gpus_there_are) {
  EXPECT_EQ(load_cuda().missing.empty(), load_cuda().gpus > 0);
}

TEST(TorchCuda, says_what_was_looked_for_where_it_is_lacking) {
  EXPECT_TRUE(load_cuda().gpus > 0 || load_cuda().missing.find("/libtorch_cuda.so") != std::string::npos);
}

TEST(TorchCuda, is_loaded_once_whoever_asks) {
  std::vector<const TorchCuda*> seen(4);
  std::vector<std::thread> threads;
  for (auto& it : seen) threads.emplace_back([&it] { it = &load_cuda(); });
  for (auto& thread : threads) thread.join();
  for (const auto* it : seen) EXPECT_EQ(it, &load_cuda());
}

}  // namespace
}  // namespace ckpt::eval
