#include <gtest/gtest.h>

#include "formats/recover_testing.h"

/// Legacy files: storages that a list of keys, their counts and their sizes tell apart.
namespace ckpt {
namespace {

using namespace recover_testing;

TEST(Recover, NeedsTheKeysOfALegacyFileNoMore) {
  const Bytes bytes = legacy_file();
  const std::size_t counts = place(bytes, floats(first)) - 8;
  const Recovery found = recovered(damaged(bytes, counts - 3));
  EXPECT_TRUE(found.is_complete());
}

/// {"a", "b" …}: so many floats in each, in storages "0", "1" …; `order`: that of the list and of the file.
Bytes legacy_of(const std::vector<std::vector<float>>& numbers, const std::vector<std::size_t>& order) {
  LegacyFile file;
  py::Pairs pairs;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto count = static_cast<std::int64_t>(numbers[i].size());
    pairs.emplace_back(py::str(std::string(1, static_cast<char>('a' + i))),
                       tensor(legacy_storage({.key = std::to_string(i), .elements = count}), {count}, {1}));
  }
  file.object = py::dict(pairs);
  file.data.clear();
  for (const std::size_t i : order) file.data.push_back({std::to_string(i), numbers[i].size(), floats(numbers[i])});
  return bytes_of(file);
}

/// Each byte of the list of keys damaged in turn: how many files are all there.
std::size_t complete_without_list(const Bytes& bytes, const std::vector<std::vector<float>>& numbers,
                                  std::size_t first_in_file) {
  const std::size_t end = place(bytes, floats(numbers[first_in_file])) - 8;
  std::size_t complete = 0;
  for (std::size_t at = end - 8 * numbers.size(); at < end; ++at) {
    const Recovery found = recovered(damaged(bytes, at));
    if (!found.is_complete()) continue;
    ++complete;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      EXPECT_EQ(torch_testing::values(found.checkpoint, i), numbers[i]) << "byte " << at;
  }
  return complete;
}

TEST(Recover, GuessesNoOrderOfStorages) {
  const std::vector<std::vector<float>> alike{first, second, {9, 10, 11, 12}}, apart{{1}, second, {2, 3}};
  EXPECT_LT(complete_without_list(legacy_of(alike, {2, 0, 1}), alike, 2), 24U);
  EXPECT_EQ(complete_without_list(legacy_of(apart, {0, 1, 2}), apart, 0), 24U);  // sizes tell it
}

TEST(Recover, LeavesOutTheStorageInWhichBytesAreMissing) {
  std::vector<std::vector<float>> numbers;
  for (int i = 0; i < 4; ++i) numbers.emplace_back(300, static_cast<float>(i + 1));
  Bytes bytes = legacy_of(numbers, {0, 1, 2, 3});
  const auto hole = bytes.begin() + static_cast<std::ptrdiff_t>(place(bytes, floats(numbers[1])) + 400);
  bytes.erase(hole, hole + 4);
  const Recovery found = recovered(bytes);
  EXPECT_FALSE(found.is_complete());
  EXPECT_TRUE(says(found, "storages do not stand where those before them end"));
  EXPECT_EQ(names_saved(found), (Names{"a", "c", "d"}));
  for (const std::size_t i : {0U, 1U, 2U})
    EXPECT_EQ(torch_testing::values(found.checkpoint, i), numbers[i == 0 ? 0 : i + 1]);
}

TEST(Recover, BelievesTheFileRatherThanADamagedCount) {
  const Bytes bytes = legacy_file();
  const Recovery found = recovered(damaged(bytes, place(bytes, floats(first)) - 8));
  EXPECT_EQ(names_saved(found).size(), names_saved(recovered(bytes)).size());
  EXPECT_TRUE(says(found, "the count of storage '0' is damaged"));
  EXPECT_FALSE(found.is_certain);  // the numbers beside it may be damaged, too
}

/// Of two storages one is named twice, the other never: which of the names is wrong, nothing tells.
TEST(RecoverLegacy, DoubtsALegacyFileWithAStorageThatNothingNames) {
  LegacyFile file;
  const auto of = [](const std::string& key) { return tensor(legacy_storage({.key = key}), {4}, {1}); };
  file.object = py::dict({{py::str("a"), of("0")}, {py::str("b"), of("0")}, {py::str("c"), of("2")}});
  file.data = {{"0", 4, floats(first)}, {"1", 4, floats(second)}, {"2", 4, floats(first)}};
  const Recovery found = recovered(bytes_of(file));
  EXPECT_EQ(survivals(found), "a whole; b whole; c whole; ");
  EXPECT_TRUE(says(found, "the list of storage keys has '1'"));
  EXPECT_FALSE(found.is_certain);
  ASSERT_EQ(found.findings.size(), 1U);
  EXPECT_TRUE(found.findings[0].fault);
}

/// Storages of tensors that are none any more, in a file without checksums.
TEST(RecoverLegacy, DoubtsAFileWhoseTensorsHaveLostTheirName) {
  const Bytes file = legacy_file();
  Bytes other_call = file;
  other_call[place(file, io_testing::bytes_of("ctorch._utils")) + 1] = std::byte{'T'};
  EXPECT_TRUE(says(recovered(other_call), "1 storage that no tensor lies in"));
  EXPECT_FALSE(recovered(other_call).is_complete());
  LegacyFile empty;
  empty.object = py::dict({});
  empty.data = {{"0", 4, floats(first)}};
  EXPECT_TRUE(says(recovered(bytes_of(empty)), "more follows an object that names no storage"));
  empty.data = {};
  EXPECT_TRUE(recovered(bytes_of(empty)).is_complete());
}

/// A view's key that stands for two ranges: both are doubted, and all else is saved.
TEST(RecoverLegacy, DoubtsViewsThatContradictEachOther) {
  const auto of = [](const std::string& key, std::int64_t offset) {
    return tensor(legacy_storage({.key = "0"}, torch_testing::view(key, offset, 2)), {2}, {1});
  };
  LegacyFile file;
  file.object = py::dict({{py::str("a"), of("v", 0)}, {py::str("b"), of("v", 1)}, {py::str("c"), of("w", 2)}});
  const Recovery found = recovered(bytes_of(file));
  EXPECT_EQ(survivals(found), "a lost; b lost; c whole; ");
}

}  // namespace
}  // namespace ckpt
