#include "models/layer_order.h"

#include <gtest/gtest.h>

namespace ckpt::eval {
namespace {

using Layers = std::vector<LayerSize>;

/// "fc1 fc2", with a question mark where another order would do; "none".
std::string order_of(const Layers& layers) {
  const auto order = in_order(layers);
  if (!order) return "none";
  std::string names;
  for (const LayerSize& layer : order->layers) names += (names.empty() ? "" : " ") + layer.name;
  return names + (order->is_certain ? "" : "?");
}

TEST(LayerOrder, is_that_of_numbers) {
  EXPECT_EQ(order_of({{"fc1", 5, 5}, {"fc10", 5, 5}, {"fc2", 5, 5}}), "fc1 fc2 fc10");
}

TEST(LayerOrder, is_that_of_numbers_before_a_layer_of_another_name) {
  EXPECT_EQ(order_of({{"fc1", 5, 5}, {"fc10", 5, 5}, {"fc2", 5, 5}, {"out", 5, 3}}), "fc1 fc2 fc10 out");
  EXPECT_EQ(order_of({{"a.0", 5, 9}, {"a.1", 5, 9}, {"b.0", 9, 5}, {"b.1", 9, 5}, {"out", 5, 3}}),
            "a.0 b.0 a.1 b.1 out");
}

TEST(LayerOrder, is_that_of_sizes_where_they_allow_no_other) {
  EXPECT_EQ(order_of({{"body", 9, 5}, {"head", 5, 2}, {"stem", 6, 9}}), "stem body head");
  EXPECT_EQ(order_of({{"end", 5, 3}, {"hidden", 5, 5}}), "hidden end");
  EXPECT_EQ(order_of({{"fc1", 5, 3}, {"fc2", 5, 5}}), "fc2 fc1");
}

TEST(LayerOrder, is_the_given_one_where_there_are_others) {
  EXPECT_EQ(order_of({{"stem", 5, 5}, {"body", 5, 5}, {"top", 5, 3}}), "stem body top?");
  EXPECT_EQ(order_of({{"decode", 3, 5}, {"encode", 5, 3}}), "decode encode?");
}

TEST(LayerOrder, is_none_where_the_given_one_is_no_chain) {
  EXPECT_EQ(order_of({{"a", 6, 5}, {"b", 4, 3}}), "none");
  EXPECT_EQ(order_of({{"z", 6, 5}, {"b", 5, 5}, {"a", 5, 5}, {"c", 4, 6}}), "none");
  EXPECT_EQ(order_of({{"z", 6, 5}, {"b", 5, 4}, {"a", 5, 4}}), "none");
}

TEST(LayerOrder, of_many_is_found_in_bounded_time) {
  Layers layers;
  for (char a = 'a'; a <= 'z'; ++a)
    for (char b = 'a'; b <= 'z'; ++b) layers.push_back({{a, b}, 5, 5});
  EXPECT_EQ(in_order(layers)->is_certain, false);
  layers.push_back({"end", 4, 5});  // which nothing leads to
  EXPECT_FALSE(in_order(layers));
}

}  // namespace
}  // namespace ckpt::eval
