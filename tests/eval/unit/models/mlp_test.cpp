#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "models/architecture.h"

namespace ckpt::eval {
namespace {

std::string refusal(int layers) {
  std::vector<ModelTensor> found;
  for (int layer = 0; layer < layers; ++layer) found.push_back({"fc" + std::to_string(layer) + ".weight", {3, 5}});
  try {
    static_cast<void>(mlp.tensors(found));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Mlp, without_a_chain_names_its_layers) {
  EXPECT_EQ(refusal(2), "its Linear layers form no chain: fc0 5 to 3, fc1 5 to 3");
}

TEST(Mlp, without_a_chain_names_the_first_of_many_layers) {
  EXPECT_EQ(refusal(1000),
            "its Linear layers form no chain: fc0 5 to 3, fc1 5 to 3, fc2 5 to 3, fc3 5 to 3, fc4 5 to 3, fc5 5 to 3, "
            "fc6 5 to 3, fc7 5 to 3 and 992 more");
}

}  // namespace
}  // namespace ckpt::eval
