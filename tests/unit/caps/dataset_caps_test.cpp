#include "caps/caps_testing.h"
#include "ckpt/limits.h"
#include "datasets/shape.h"
#include "datasets/targets.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using caps_testing::expect_past;
using caps_testing::expect_within;

TEST(Cap, sample_elements) {
  constexpr auto most = static_cast<std::int64_t>(limits::sample_elements);
  expect_within([] { eval::sample_elements({2, most / 2}); });
  expect_past([] { eval::sample_elements({most + 1}); });
}

/// One byte that stands for so many labels.
void read_labels(std::uint64_t count) {
  const auto storage = torch_testing::storage({.type = "ByteStorage", .elements = 1});
  const Checkpoint checkpoint = torch_testing::read_bytes(torch_testing::bytes_of(
      torch_testing::ZipFile{.object = torch_testing::tensor(storage, {static_cast<std::int64_t>(count)}, {0}),
                             .data = {{"data/0", {std::byte{0}}}}}));
  const TensorReader reader(checkpoint, tensor_names(checkpoint).at(0));
  EXPECT_EQ(eval::read_targets(reader, DType::uint8, {1}, {}, 0).size(), count);
}

TEST(Cap, dataset_labels) {
  expect_within([] { read_labels(limits::dataset_labels); });
  expect_past([] { read_labels(limits::dataset_labels + 1); });
}

}  // namespace
}  // namespace ckpt
