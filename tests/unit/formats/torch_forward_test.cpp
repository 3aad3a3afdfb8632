#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "ckpt/error.h"
#include "container/zip_builder.h"
#include "formats/torch_files.h"
#include "io/checksum.h"

/// Torch zips inside gzip, which are read from their first byte on: what is found must be what the directory of the
/// same file, bare, would have said.
namespace ckpt {
namespace {

using io_testing::gzipped;
using torch_testing::Bytes;
using torch_testing::ZipFile;
using zip_testing::ZipPart;
using Names = std::vector<std::string>;

Bytes built(const std::vector<ZipPart>& parts) { return io_testing::bytes_of(zip_testing::build_zip(parts)); }

/// What opening, reading every storage and coming to the end says; "read" where nothing is wrong.
std::string verdict(const Bytes& bytes) {
  const auto error = io_testing::error_of([&] {
    const Checkpoint checkpoint = torch_testing::read_bytes(bytes);
    torch_testing::read_storages(checkpoint);
    static_cast<void>(finish_reading(checkpoint));
  });
  return error ? error->what() : "read";
}

const py::Code object = py::dict({{py::str("w"), torch_testing::weight()}});
const std::string data(as_text(torch_testing::floats({0, 1, 2, 3})));

/// As torch writes them: sizes and checksums follow each member's bytes.
std::vector<ZipPart> parts() {
  std::vector<ZipPart> parts{{.name = "r/data.pkl", .data = py::pickle(object)},
                             {.name = "r/byteorder", .data = "little"},
                             {.name = "r/data/0", .data = data},
                             {.name = "r/version", .data = "3\n"}};
  for (ZipPart& part : parts) part.descriptor = true;
  return parts;
}

/// A dict of tensors of 256 KiB of noise, in storages whose keys come in `order` in the file.
ZipFile large(const std::vector<std::string>& order) {
  std::vector<std::pair<py::Code, py::Code>> items;
  ZipFile file;
  file.data.clear();
  constexpr std::int64_t elements = 65536;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const std::string key = std::to_string(i);
    items.emplace_back(
        py::str("w" + key),
        torch_testing::tensor(torch_testing::storage({.key = key, .elements = elements}), {elements}, {1}));
  }
  std::uint32_t state = 1;
  for (const std::string& key : order) {
    std::vector<float> noise(elements);
    for (float& value : noise) value = static_cast<float>(state = state * 1664525 + 1013904223);
    file.data.push_back({"data/" + key, torch_testing::floats(noise)});
  }
  file.object = py::dict(items);
  return file;
}

Names keys(std::size_t count) {
  Names keys;
  for (std::size_t i = 0; i < count; ++i) keys.push_back(std::to_string(i));
  return keys;
}

TEST(TorchForward, OnePassOverTheStreamConverts) {
  for (const bool by_appearance : {false, true}) {
    Names order = keys(12);
    ZipFile file = large(order);
    if (by_appearance) {
      file.data.insert(file.data.begin(), {".format_version", io_testing::bytes_of("1")});
    } else {
      std::sort(order.begin(), order.end());
      file = large(order);
    }
    const Bytes bare = bytes_of(file);
    const Bytes compressed = gzipped(bare);
    const auto source = std::make_shared<io_testing::CountingSource>(compressed);
    EXPECT_EQ(as_text(torch_testing::written(read(source))), as_text(bare));
    EXPECT_LT(source->read, compressed.size() * 5 / 4) << by_appearance;
    source->read = 0;
    torch_testing::read_storages(read(source));
    EXPECT_LT(source->read, compressed.size() * 5 / 4) << by_appearance;
  }
}

TEST(TorchForward, ComesBackByteForByteWhateverTheOrderOfStorages) {
  const Bytes bare = bytes_of(large({"3", "0", "2", "11", "1", "4", "10", "5", "9", "6", "8", "7"}));
  EXPECT_EQ(as_text(torch_testing::written(torch_testing::read_bytes(gzipped(bare)))), as_text(bare));
}

TEST(TorchForward, StoragesMayBeReadInAnyOrderAndAgain) {
  const Checkpoint checkpoint = torch_testing::read_bytes(gzipped(bytes_of(large(keys(3)))));
  const Checkpoint bare = torch_testing::read_bytes(bytes_of(large(keys(3))));
  for (const std::size_t tensor : {2U, 0U, 1U, 0U})
    EXPECT_EQ(torch_testing::values(checkpoint, tensor), torch_testing::values(bare, tensor)) << tensor;
  EXPECT_TRUE(finish_reading(checkpoint).empty());
}

TEST(TorchForward, TellsTheByteOrder) {
  ZipFile file{.object = object};
  file.byteorder = "big";
  const Checkpoint checkpoint = torch_testing::read_bytes(gzipped(bytes_of(file)));
  EXPECT_EQ(checkpoint.storages.at(0).byte_order, ByteOrder::big);
}

TEST(TorchForward, AByteOrderBehindTheStoragesIsNotOverlooked) {
  const auto behind = [](const std::string& order) {
    auto moved = parts();
    std::swap(moved[1], moved[2]);
    moved[2].data = order;
    return built(moved);
  };
  EXPECT_EQ(verdict(gzipped(behind("little"))), "read");
  EXPECT_EQ(verdict(gzipped(behind("medium"))), verdict(behind("medium")));
  EXPECT_EQ(verdict(behind("big")), "read");
  EXPECT_NE(verdict(gzipped(behind("big"))).find("stands behind the storages"), std::string::npos);
}

TEST(TorchForward, TheWayMembersAreStoredDoesNotMatter) {
  EXPECT_EQ(verdict(gzipped(built(parts()))), "read");
  auto told = parts();
  for (ZipPart& part : told) part.descriptor = false;
  EXPECT_EQ(verdict(gzipped(built(told))), "read");
  auto deflated = parts();
  deflated[2] = {.name = "r/data/0",
                 .data = zip_testing::deflate_stored(data),
                 .method = 8,
                 .inflated_size = data.size(),
                 .inflated_crc = crc32(0, as_bytes(data))};
  EXPECT_EQ(verdict(gzipped(built(deflated))), "read");
  auto late = parts();
  std::swap(late[0], late[2]);
  EXPECT_EQ(verdict(gzipped(built(late))), "read");
}

/// Each makes one thing wrong.
const std::vector<std::pair<const char*, std::function<void(std::vector<ZipPart>&)>>> faults{
    {"a storage is missing", [](auto& parts) { parts.erase(parts.begin() + 2); }},
    {"a storage is short", [](auto& parts) { parts[2].data.resize(12); }},
    {"a storage is long", [](auto& parts) { parts[2].data += "more"; }},
    {"the checksum of a storage is wrong", [](auto& parts) { parts[2].crc = 1; }},
    {"the checksum of the pickle is wrong", [](auto& parts) { parts[0].crc = 1; }},
    {"the version is missing", [](auto& parts) { parts.erase(parts.begin() + 3); }},
    {"there are two storages of one name", [](auto& parts) { parts.push_back(parts[2]); }},
    {"there are two pickles", [](auto& parts) { parts.push_back({.name = "r/x/data.pkl", .data = "N."}); }},
    {"a member lies outside", [](auto& parts) { parts.push_back({.name = "s/x", .data = "x"}); }},
    {"it holds constants", [](auto& parts) { parts.push_back({.name = "r/constants.pkl", .data = "x"}); }},
    {"a local header names another member", [](auto& parts) { parts[2].local_name = "r/data/1"; }},
    {"a local header has another method", [](auto& parts) { parts[2].local_method = 8; }},
    {"the directory has another size", [](auto& parts) { parts[3].size = 1; }},
    {"a gap lies before a member",
     [](auto& parts) {
       parts[2].gap = "gap";
       parts[2].offset = 0;
     }},
    {"the checksum of the byte order is wrong",
     [](auto& parts) {
       parts[1].crc = 1;
       parts[1].descriptor = false;
     }},
    {"the byte order is none", [](auto& parts) { parts[1].data = "medium"; }},
    {"a name is absolute", [](auto& parts) { parts.push_back({.name = "/etc/x", .data = "x"}); }},
};

TEST(TorchForward, RefusesWhatIsRefusedBare) {
  for (const auto& [what, make] : faults) {
    auto wrong = parts();
    make(wrong);
    const std::string bare = verdict(built(wrong));
    EXPECT_NE(bare, "read") << what;
    EXPECT_EQ(verdict(gzipped(built(wrong))), bare) << what;
  }
}

TEST(TorchForward, AHiddenMemberIsNotReadPast) {
  const std::string whole = zip_testing::build_zip(parts());
  // The same without the storage in its directory: its bytes are still there, between the others.
  auto fewer = parts();
  const std::string gap = whole.substr(whole.find("r/data/0") - 30, 30 + 8 + data.size() + 16);
  fewer.erase(fewer.begin() + 2);
  fewer[2].gap = gap;
  EXPECT_NE(verdict(gzipped(built(fewer))), "read");
}

TEST(TorchForward, WarnsAtTheEndThatThereAreNoChecksums) {
  auto unsummed = parts();
  for (ZipPart& part : unsummed) part.crc = 0;
  const Checkpoint checkpoint = torch_testing::read_bytes(gzipped(built(unsummed)));
  torch_testing::read_storages(checkpoint);
  Names warnings = checkpoint.warnings;
  for (const std::string& warning : finish_reading(checkpoint)) warnings.push_back(warning);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("no checksums"), std::string::npos);
}

/// As torch.serialization.skip_data() leaves storages, to be filled later.
TEST(TorchForward, AChecksumOfZeroAmongOthersIsNoneAndIsTold) {
  auto one = parts();
  one[2].crc = 0;
  const Checkpoint checkpoint = torch_testing::read_bytes(gzipped(built(one)));
  torch_testing::read_storages(checkpoint);
  const Names warnings = finish_reading(checkpoint);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("1 member has no checksum"), std::string::npos) << warnings[0];
}

TEST(TorchForward, ADescriptorWithoutSignatureIsNoWayAroundTheChecksum) {
  for (const std::uint32_t crc : {crc32(0, as_bytes(data)), 1U})
    for (const bool is_wide : {false, true}) {
      auto unsigned_parts = parts();
      unsigned_parts[2].crc = crc;
      unsigned_parts[2].descriptor_bytes = zip_testing::descriptor_of(
          {.crc = crc, .compressed_size = 16, .size = 16, .has_signature = false, .is_wide = is_wide});
      const std::string bare = verdict(built(unsigned_parts));
      EXPECT_EQ(bare == "read", crc != 1U) << bare;
      EXPECT_EQ(verdict(gzipped(built(unsigned_parts))), bare);
    }
}

TEST(TorchForward, ADescriptorThatContradictsTheDirectoryIsRefusedBareToo) {
  auto lying = parts();
  lying[2].descriptor_bytes = zip_testing::descriptor_of({.crc = 1, .compressed_size = 16, .size = 16});
  EXPECT_NE(verdict(built(lying)), "read");
  EXPECT_NE(verdict(gzipped(built(lying))), "read");
}

TEST(TorchForward, AStreamThatIsCutIsNoticed) {
  Bytes bytes = gzipped(built(parts()));
  for (std::size_t size = 20; size < bytes.size(); ++size)
    EXPECT_NE(verdict(Bytes(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size))), "read") << size;
}

}  // namespace
}  // namespace ckpt
