#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "formats/recover_testing.h"
#include "io/gzip_index.h"

/// Damage within gzip that has an index: it tells where the next member begins.
namespace ckpt {
namespace {

using namespace recover_testing;

constexpr std::int64_t count = 150'000;  // floats of a tensor: two members hold them
const Names names{"t0", "t1", "t2"};

/// Of few letters, so that it is compressed.
Bytes data_of(std::size_t i) {
  Bytes bytes = io_testing::random_bytes(count * 4, static_cast<std::uint32_t>(i));
  for (std::byte& byte : bytes) byte &= std::byte{0x1f};
  return bytes;
}

/// As ckpt writes them: each storage in members of its own.
Bytes packed_as(const std::string& format) {
  py::Pairs entries;
  ZipFile file{.data = {}};
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string key = std::to_string(i);
    entries.emplace_back(py::str(names[i]), tensor(storage({.key = key, .elements = count}), {count}, {1}));
    file.data.push_back({"data/" + key, data_of(i)});
  }
  file.object = py::dict(entries);
  const io_testing::TemporaryFolder folder;
  SaveOptions options;
  options.format = format;
  options.gzip = true;
  save(torch_testing::read_bytes(bytes_of(file)), folder / "packed", options);
  return io_testing::bytes_of(io_testing::text_of(folder / "packed"));
}

void expect_data(const Checkpoint& checkpoint) {
  for (const NamedTensor& named : tensor_names(checkpoint)) {
    const auto number = std::ranges::find(names, named.name) - names.begin();
    const Storage& storage = checkpoint.storages[*named.tensor->storage];
    EXPECT_TRUE(read_all(*storage.bytes, storage.nbytes) == data_of(static_cast<std::size_t>(number))) << named.name;
  }
}

/// Of what is recovered, all but `hit` is whole. `fault`: what is told.
void expect_all_but(const Names& hit, const Recovery& found, const std::string& fault) {
  EXPECT_TRUE(says(found, fault));
  ASSERT_EQ(found.tensors.size(), names.size());
  for (const RecoveredTensor& tensor : found.tensors) {
    const bool is_hit = std::ranges::find(hit, tensor.name) != hit.end();
    EXPECT_EQ(tensor.survival, is_hit ? Survival::damaged : Survival::whole) << tensor.name;
    EXPECT_EQ(tensor.is_checked, !is_hit) << tensor.name;
  }
  EXPECT_EQ(found.unchecked, 0U);
  expect_data(found.checkpoint);
}

TEST(RecoverGzip, LosesOnlyWhatLiesInADamagedMember) {
  for (const std::string format : {"torch", "torch-legacy", "safetensors"}) {
    const Bytes packed = packed_as(format);
    const GzipIndex index = *read_gzip_index(*torch_testing::source_of(packed));
    std::size_t begin = 0, larger = 0;
    for (std::size_t member = 0; member < index.members.size(); ++member) {
      const std::size_t end = begin + index.members[member].compressed;
      if (index.members[member].inflated > 50'000) {  // two for each tensor
        SCOPED_TRACE(format + ", member " + std::to_string(member + 1));
        const std::string fault = "gzip member " + std::to_string(member + 1) + ": ";
        const Names hit{names[larger++ / 2]};
        expect_all_but(hit, recovered(damaged(packed, begin + 10)), fault);  // nothing of it can be inflated
        expect_all_but(hit, recovered(damaged(packed, (begin + end) / 2)), fault);
        Bytes zeros = packed;
        std::fill_n(zeros.begin() + static_cast<std::ptrdiff_t>(begin + 3000), 4096, std::byte{0});
        expect_all_but(hit, recovered(zeros), fault);
        std::fill_n(zeros.begin() + static_cast<std::ptrdiff_t>(begin), end - begin, std::byte{0});
        expect_all_but(hit, recovered(zeros), fault);  // as padding would be
        for (const std::size_t byte : {0, 1, 2, 3})    // what it begins with
          expect_all_but({}, recovered(damaged(packed, begin + byte)), fault);
        EXPECT_TRUE(recovered(damaged(packed, begin + 4)).is_complete());  // its date, which the index alone covers
      }
      begin = end;
    }
    EXPECT_EQ(larger, 2 * names.size());
  }
}

/// Bytes that are missing, or too many: all members behind them have moved, and so has the index.
TEST(RecoverGzip, FindsMembersThatHaveMoved) {
  for (const std::string format : {"torch", "torch-legacy", "safetensors"}) {
    SCOPED_TRACE(format);
    const Bytes packed = packed_as(format);
    const GzipIndex index = *read_gzip_index(*torch_testing::source_of(packed));
    std::ptrdiff_t at = 0;  // in the first large member
    for (const GzipMember& member : index.members) {
      if (member.inflated > 50'000) break;
      at += member.compressed;
    }
    at += 3000;
    Bytes longer = packed, shorter = packed, shortest = packed;
    longer.insert(longer.begin() + at, 100, std::byte{0xff});
    expect_all_but({names[0]}, recovered(longer), "100 bytes too many stand before the index");
    shorter.erase(shorter.begin() + at, shorter.begin() + at + 300);
    expect_all_but({names[0]}, recovered(shorter), "300 bytes are missing before the index");
    shortest.erase(shortest.begin() + at, shortest.begin() + at + 6000);  // more than the index takes
    expect_all_but({names[0]}, recovered(shortest), "6000 bytes are missing before the index");
  }
}

/// What tells gzip is then gone, but for the index at the other end.
TEST(RecoverGzip, ReadsAFileWhoseBeginningIsLost) {
  for (const std::string format : {"torch", "torch-legacy", "safetensors"}) {
    const Bytes packed = packed_as(format);
    for (const std::size_t byte : {0, 1, 2, 3}) {
      SCOPED_TRACE(format + ", byte " + std::to_string(byte));
      const Recovery found = recovered(damaged(packed, byte));
      expect_all_but({}, found, "gzip member 1: is no gzip member as ckpt writes them");
      EXPECT_TRUE(found.checkpoint.gzip);
    }
    Bytes zeros = packed;
    std::fill_n(zeros.begin(), 4096, std::byte{0});
    const auto error = io_testing::error_of([&] { recovered(zeros); });
    ASSERT_TRUE(error) << "the first member, which has the names, is lost";
    EXPECT_TRUE(io_testing::has(error->what(), "gzip member 1: ")) << format << ": " << error->what();
  }
}

/// Members are copied as they are where their file is sound; what this one's index says of them is not so.
TEST(RecoverGzip, WritesGzipAgain) {
  const io_testing::TemporaryFolder folder;
  for (const std::string format : {"torch", "torch-legacy", "safetensors"}) {
    const Bytes packed = packed_as(format);
    const std::size_t second = read_gzip_index(*torch_testing::source_of(packed))->members[0].compressed;
    Recovery found = recovered(damaged(packed, second + 1));
    const std::string path = folder / format;
    SaveOptions options;
    options.format = format;
    options.gzip = true;
    save(std::move(found.checkpoint), path, options);
    EXPECT_TRUE(verify(open_file(path)).empty()) << format;
    expect_data(load(path));
  }
}

/// What can be inflated of the member with the pickle, or the header, has the names.
TEST(RecoverGzip, ReadsNamesUpToTheDamage) {
  const Bytes packed = packed_as("torch");
  const GzipIndex index = *read_gzip_index(*torch_testing::source_of(packed));
  const Recovery found = recovered(damaged(packed, index.members[0].compressed - 20));
  EXPECT_TRUE(says(found, "gzip member 1: "));
  EXPECT_EQ(found.tensors.size(), names.size());
}

}  // namespace
}  // namespace ckpt
