#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "eval/datasets/dataset_testing.h"

namespace ckpt::eval {
namespace {

using eval_testing::counted;

Samples samples(std::uint64_t first, std::vector<std::int32_t> labels) {
  Samples made;
  made.first = first;
  made.count = labels.size();
  made.inputs = counted(labels.size() * 4);
  made.labels = std::move(labels);
  return made;
}

std::string digest(const Samples& of) {
  DataDigest made;
  made.add(of, 1);
  return made.text();
}

// hashlib.sha256(struct.pack("<Q", 5) + b"uint8" + bytes(range(4)) + struct.pack("<i", 7)).hexdigest()
TEST(DataDigest, OfOneSampleIsItsSha256) {
  EXPECT_EQ(digest(samples(5, {7})), "96039f16edd7460323996555916a78c85d04e80f37594c9a410a561920502947");
}

TEST(DataDigest, OfNothingIsNought) { EXPECT_EQ(DataDigest().text(), std::string(64, '0')); }

TEST(DataDigest, PartsAddUp) {
  const Samples all = samples(0, {1, 2, 3});
  Samples head = samples(0, {1}), tail = samples(1, {2, 3});
  tail.inputs = {all.inputs.begin() + 4, all.inputs.end()};
  DataDigest first, second;
  first.add(tail, 1);
  second.add(head, 1);
  first += second;
  EXPECT_EQ(first.text(), digest(all));
}

TEST(DataDigest, TellsOrderLabelsInputsAndDtypesApart) {
  const std::string one = digest(samples(0, {1, 2}));
  EXPECT_NE(one, digest(samples(0, {2, 1})));
  EXPECT_NE(one, digest(samples(1, {1, 2})));
  Samples changed = samples(0, {1, 2});
  changed.inputs[0] ^= std::byte{1};
  EXPECT_NE(one, digest(changed));
  changed = samples(0, {1, 2});
  changed.dtype = DType::float32;
  EXPECT_NE(one, digest(changed));
}

TEST(DataDigest, CarriesGoThroughAndFallOffTheEnd) {
  DataDigest sum = DataDigest::from_text(std::string(64, 'f'));
  sum += DataDigest::from_text(std::string(63, '0') + "1");
  EXPECT_EQ(sum.text(), std::string(64, '0'));
  sum = DataDigest::from_text(std::string(48, '0') + std::string(16, 'f'));
  sum += DataDigest::from_text(std::string(48, '0') + std::string(16, 'f'));
  EXPECT_EQ(sum.text(), std::string(47, '0') + "1" + std::string(15, 'f') + "e");
}

TEST(DataDigest, ItsTextIsRead) {
  const std::string text = digest(samples(0, {1, 2, 3}));
  EXPECT_EQ(DataDigest::from_text(text).text(), text);
}

TEST(DataDigest, OtherTextIsRefused) {
  EXPECT_THROW((void)DataDigest::from_text(""), Error);
  EXPECT_THROW((void)DataDigest::from_text(std::string(63, '0')), Error);
  EXPECT_THROW((void)DataDigest::from_text(std::string(63, '0') + "g"), Error);
  EXPECT_THROW((void)DataDigest::from_text(std::string(63, '0') + "A"), Error);
}

}  // namespace
}  // namespace ckpt::eval
