#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/error.h"
#include "container/zip_builder.h"
#include "formats/recover_testing.h"
#include "formats/tar_files.h"
#include "io/bytes.h"
#include "io/checksum.h"

namespace ckpt {
namespace {

using namespace recover_testing;
using io_testing::error_of;
using io_testing::gzipped;
using torch_testing::StorageSpec;

TEST(Recover, FindsAllOfASoundFile) {
  for (const Bytes& bytes : {zip_file(), legacy_file(), gzipped(zip_file()), gzipped(legacy_file())}) {
    const Recovery found = recovered(bytes);
    EXPECT_TRUE(found.is_complete());
    EXPECT_TRUE(found.findings.empty());
    EXPECT_EQ(names_saved(found), (Names{"a", "b"}));
  }
}

// It may be what the writer meant, or what is left of another.
TEST(Recover, BelievesAnIdThatNobodyKnowsWhereNothingIsWrong) {
  const py::Code object = py::dict({{py::str("a"), tensor(storage({}), {4}, {1})},
                                    {py::str("x"), py::list({py::persistent(py::tuple({py::str("mine")}))})}});
  const Bytes sound = bytes_of(ZipFile{.object = object, .data = {{"data/0", floats(first)}}});
  const auto keeps = [](const Recovery& found) {
    const ValueGraph& values = found.checkpoint.values;
    for (ValueId id = 0; id < values.size(); ++id)
      if (values.kind(id) == ValueKind::persistent && values.items(values.items(id)[0]).size() == 1) return true;
    return false;
  };
  const Recovery all = recovered(sound), part = recovered(damaged(sound, place(sound, io_testing::bytes_of("mine"))));
  EXPECT_TRUE(all.is_complete());
  EXPECT_TRUE(keeps(all));
  EXPECT_FALSE(part.is_complete());
  EXPECT_FALSE(keeps(part));
  EXPECT_EQ(names_saved(part), (Names{"a"}));
}

// All tensors are whole, and yet something is lost.
TEST(Recover, SaysThatAValueIsLostThatIsNoTensor) {
  const py::Code object = py::dict({{py::str("a"), tensor(legacy_storage({}), {4}, {1})},
                                    {py::str("x"), py::list({py::persistent(py::tuple({py::str("mine")}))})}});
  const Bytes file = bytes_of(LegacyFile{.object = object, .data = {{"0", 4, floats(first)}}});
  EXPECT_TRUE(recovered(file).is_complete());
  const Recovery found = recovered(damaged(file, 18));  // of the version
  EXPECT_EQ(survival_of(found, "a"), Survival::whole);
  EXPECT_FALSE(found.is_complete());
  EXPECT_TRUE(says(found, "a value that is no tensor is lost"));
  EXPECT_EQ(names_saved(found), (Names{"a"}));
}

TEST(Recover, SaysThatAStorageByItselfIsLost) {
  const py::Code object =
      py::dict({{py::str("a"), tensor(storage({}), {4}, {1})}, {py::str("s"), storage({.key = "1"})}});
  const Bytes file =
      bytes_of(ZipFile{.object = object, .data = {{"data/0", floats(first)}, {"data/1", floats(second)}}});
  EXPECT_TRUE(recovered(file).is_complete());
  const Recovery found = recovered(damaged(file, place(file, floats(second))));
  EXPECT_EQ(survival_of(found, "a"), Survival::whole);
  EXPECT_FALSE(found.is_complete());
  EXPECT_TRUE(says(found, "a value that is no tensor is lost"));
  EXPECT_EQ(names_saved(found), (Names{"a"}));
}

TEST(Recover, FindsAllWhereDescriptorsHaveNoSignature) {
  const py::Code object = py::dict({{py::str("a"), tensor(storage({}), {4}, {1})}});
  for (const bool is_wide : {false, true}) {
    std::vector<zip_testing::ZipPart> parts{{.name = "r/data.pkl", .data = py::pickle(object)},
                                            {.name = "r/data/0", .data = std::string(as_text(floats(first)))},
                                            {.name = "r/version", .data = "3\n"}};
    for (zip_testing::ZipPart& part : parts) {
      part.descriptor = true;
      part.descriptor_bytes = zip_testing::descriptor_of({.crc = crc32(0, as_bytes(part.data)),
                                                          .compressed_size = part.data.size(),
                                                          .size = part.data.size(),
                                                          .has_signature = false,
                                                          .is_wide = is_wide});
    }
    const Bytes file = io_testing::bytes_of(zip_testing::build_zip(parts));
    for (const Bytes& bytes : {file, gzipped(file)}) {
      const Recovery found = recovered(bytes);
      EXPECT_TRUE(found.is_complete());
      EXPECT_TRUE(found.findings.empty());
      EXPECT_EQ(names_saved(found), (Names{"a"}));
    }
  }
}

// No tensor is there to be whole: only what is found wrong can say that something is lost.
TEST(Recover, TakesBytesBetweenMembersForNoDamage) {
  std::vector<zip_testing::ZipPart> parts{{.name = "r/data.pkl", .data = py::pickle(py::dict({}))},
                                          {.name = "r/version", .data = "3\n"}};
  parts[0].descriptor = true;
  parts[0].descriptor_bytes = zip_testing::descriptor_of({.crc = crc32(0, as_bytes(parts[0].data)),
                                                          .compressed_size = parts[0].data.size(),
                                                          .size = parts[0].data.size()}) +
                              "none";
  const Recovery found = recovered(io_testing::bytes_of(zip_testing::build_zip(parts)));
  EXPECT_TRUE(found.is_complete());
  EXPECT_TRUE(says(found, "4 bytes behind a member belong to none"));
  parts[0].descriptor = false;
  parts[1].gap = std::string(27, '\0');  // more than a descriptor has
  const Recovery with_gap = recovered(io_testing::bytes_of(zip_testing::build_zip(parts)));
  EXPECT_TRUE(with_gap.is_complete());
  EXPECT_TRUE(says(with_gap, "27 bytes behind a member belong to none"));
}

/// {"a": `numbers`}
std::vector<zip_testing::ZipPart> parts_of(const std::vector<float>& numbers) {
  const py::Code object = py::dict({{py::str("a"), tensor(storage({}), {4}, {1})}});
  return {{.name = "r/data.pkl", .data = py::pickle(object)},
          {.name = "r/data/0", .data = std::string(as_text(floats(numbers)))},
          {.name = "r/version", .data = "3\n"}};
}

TEST(Recover, TakesTheMemberThatTheDirectoryLists) {
  std::string unlisted = zip_testing::build_zip(parts_of(second));
  unlisted.resize(unlisted.find("PK\1\2"));
  std::vector<zip_testing::ZipPart> between = parts_of(first);
  between[1].gap = unlisted;
  std::vector<zip_testing::ZipPart> last = parts_of(first);
  last[2].descriptor = true;
  last[2].descriptor_bytes =
      zip_testing::descriptor_of({.crc = crc32(0, as_bytes(last[2].data)), .compressed_size = 2, .size = 2}) + unlisted;
  for (const auto& parts : {between, last}) {
    const Recovery found = recovered(io_testing::bytes_of(zip_testing::build_zip(parts)));
    EXPECT_TRUE(found.is_complete());
    EXPECT_TRUE(says(found, std::to_string(unlisted.size()) + " bytes behind a member belong to none"));
    const auto after = torch_testing::read_bytes(torch_testing::written(found.checkpoint));
    EXPECT_EQ(torch_testing::values(after, 0), first);
  }
  const Bytes file = io_testing::bytes_of(zip_testing::build_zip(between));
  const Recovery found = recovered(damaged(file, place(file, floats(first)) - 30 - std::string("r/data/0").size()));
  EXPECT_TRUE(says(found, "the local header of member 'r/data/0' is damaged"));
  EXPECT_EQ(torch_testing::values(found.checkpoint, 0), first);
  // Where the directory is wrong, nothing tells which of the two it is.
  between[1].offset = 7;
  EXPECT_EQ(survival_of(recovered(io_testing::bytes_of(zip_testing::build_zip(between))), "a"), Survival::lost);
}

TEST(Recover, TakesAnyNameThatTheDirectoryLists) {
  std::vector<zip_testing::ZipPart> parts = parts_of(first);
  for (zip_testing::ZipPart& part : parts) part.name.replace(0, 1, "\x1b[31mr\a");
  const Recovery found = recovered(io_testing::bytes_of(zip_testing::build_zip(parts)));
  EXPECT_TRUE(found.is_complete());
  EXPECT_EQ(names_saved(found), (Names{"a"}));
}

TEST(Recover, KnowsAScriptByItsDirectoryRatherThanItsPickle) {
  std::vector<zip_testing::ZipPart> parts{{.name = "r/data.pkl", .data = std::string("\x80\2c__torch__\nM\n.", 16)},
                                          {.name = "r/version", .data = "3\n"}};
  const Bytes file = io_testing::bytes_of(zip_testing::build_zip(parts));
  EXPECT_TRUE(recovered(file).is_complete());
  parts.push_back({.name = "r/constants.pkl", .data = "\x80\2)."});
  const Bytes script = io_testing::bytes_of(zip_testing::build_zip(parts));
  for (const Bytes& bytes : {script, cut(file, file.size() - 10)}) {
    const auto error = error_of([&] { recovered(bytes); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::unsupported);
  }
}

TEST(Recover, TellsWhichChecksumsVouchForATensor) {
  EXPECT_EQ(recovered(zip_file()).unchecked, 0U);
  EXPECT_EQ(recovered(legacy_file()).unchecked, 2U);
}

TEST(Recover, TakesWhatStandsBeforeACut) {
  for (const Bytes& bytes : {zip_file(), legacy_file()}) {
    const Recovery found = recovered(cut(bytes, place(bytes, floats(second)) + 7));
    EXPECT_EQ(survival_of(found, "a"), Survival::whole);
    EXPECT_EQ(survival_of(found, "b"), Survival::partial);
    EXPECT_EQ(found.tensors[1].present, 7U);
    EXPECT_EQ(found.tensors[1].nbytes, 16U);
    EXPECT_EQ(names_saved(found), (Names{"a"}));
    EXPECT_FALSE(found.is_complete());
  }
}

TEST(Recover, TakesATensorThatEndsWhereTheFileDoes) {
  for (const Bytes& bytes : {zip_file(), legacy_file()}) {
    const Recovery found = recovered(cut(bytes, place(bytes, floats(second)) + 16));
    EXPECT_TRUE(found.is_complete());
    EXPECT_FALSE(found.tensors[1].is_checked);
  }
}

TEST(Recover, LeavesOutWhatItsChecksumDisowns) {
  const Bytes bytes = zip_file();
  const Recovery found = recovered(damaged(bytes, place(bytes, floats(first)) + 3));
  EXPECT_EQ(survival_of(found, "a"), Survival::damaged);
  EXPECT_EQ(names_saved(found), (Names{"b"}));
}

/// As torch.save writes a storage of untyped bytes, and torch.load refuses it.
TEST(Recover, TakesTheElementsOfAStorageThatHasSomeBytesMore) {
  Bytes data = floats(first);
  data.resize(data.size() + 3, std::byte{9});
  const Bytes bytes = bytes_of(ZipFile{.object = tensor(storage({}), {4}, {1}), .data = {{"data/0", data}}});
  const Recovery found = recovered(bytes);
  EXPECT_EQ(survival_of(found, ""), Survival::whole);
  EXPECT_TRUE(found.tensors[0].is_checked);
  EXPECT_TRUE(says(found, "holds 19 bytes"));
  EXPECT_EQ(survival_of(recovered(damaged(bytes, place(bytes, data) + 17)), ""), Survival::lost);
  data.resize(data.size() + 1);
  const ZipFile more{.object = tensor(storage({}), {4}, {1}), .data = {{"data/0", data}}};
  EXPECT_EQ(survival_of(recovered(bytes_of(more)), ""), Survival::lost);
}

TEST(Recover, GoesOnBehindADamagedHeader) {
  const Bytes bytes = zip_file();
  const std::size_t header = place(bytes, floats(first));
  std::size_t signature = header;
  while (load_le<std::uint32_t>(bytes.data() + signature) != 0x04034b50) --signature;
  EXPECT_TRUE(recovered(damaged(bytes, signature)).is_complete());
  // Without the directory, too: its name is still there.
  const Recovery found = recovered(cut(damaged(bytes, signature), place(bytes, floats(second)) + 16));
  EXPECT_TRUE(found.is_complete());
  EXPECT_TRUE(says(found, "the local header of member 'archive/data/0' is damaged"));
}

TEST(Recover, DoesNotTakeAMemberWithoutRoomForItsDescriptor) {
  std::vector<zip_testing::ZipPart> parts{
      {.name = "r/data.pkl",
       .data = py::pickle(py::dict(
           {{py::str("a"), tensor(storage({}), {4}, {1})}, {py::str("b"), tensor(storage({.key = "1"}), {4}, {1})}}))},
      {.name = "r/data/0", .data = std::string(as_text(floats(first)))},
      {.name = "r/data/1", .data = std::string(as_text(floats(second)))}};
  for (zip_testing::ZipPart& part : parts) part.descriptor = true;
  Bytes bytes = io_testing::bytes_of(zip_testing::build_zip(parts));
  bytes.resize(place(bytes, floats(second)) + 16);  // without a directory
  const auto hole = bytes.begin() + static_cast<std::ptrdiff_t>(place(bytes, floats(first)) + 4);
  bytes.erase(hole, hole + 16);  // as long as the descriptor
  EXPECT_EQ(survival_of(recovered(bytes), "a"), Survival::lost);
}

TEST(Recover, ReadsGzipUpToTheDamage) {
  const Bytes packed = gzipped(legacy_file());
  const Recovery found = recovered(cut(packed, packed.size() - 3));
  EXPECT_EQ(names_saved(found), (Names{"a", "b"}));
  EXPECT_FALSE(found.is_certain);  // who knows where the stream should have ended
  EXPECT_TRUE(says(found, "the trailer is cut off"));
  EXPECT_TRUE(recovered(cut(gzipped(zip_file()), gzipped(zip_file()).size() - 3)).is_complete());
}

TEST(Recover, IsNotCertainWhereOnlyGzipHadAChecksum) {
  Bytes packed = gzipped(legacy_file());
  const Recovery found = recovered(damaged(packed, packed.size() - 6));
  EXPECT_EQ(survival_of(found, "a"), Survival::whole);
  EXPECT_FALSE(found.is_certain);
  packed = gzipped(zip_file());
  EXPECT_TRUE(recovered(damaged(packed, packed.size() - 6)).is_complete());
}

TEST(Recover, HasNoCheckpointWhereNoTensorIsWhole) {
  const Bytes bytes = zip_file();
  const Recovery found = recovered(cut(bytes, place(bytes, floats(first))));
  EXPECT_FALSE(found.has_checkpoint());
  EXPECT_EQ(found.tensors.size(), 2U);
}

TEST(Recover, TakesAnEmptyTensorWhoseStorageIsLost) {
  const auto of = [](const std::string& key, std::int64_t size) {
    return tensor(storage({.key = key, .elements = size}), {size}, {1});
  };
  const Bytes bytes = bytes_of(ZipFile{.object = py::dict({{py::str("a"), of("0", 4)}, {py::str("none"), of("1", 0)}}),
                                       .data = {{"data/0", floats(first)}, {"data/1", {}}}});
  const Recovery found = recovered(cut(bytes, place(bytes, floats(first)) + 16));
  EXPECT_EQ(names_saved(found), (Names{"a", "none"}));
}

TEST(Recover, SaysThatThePickleIsLost) {
  const Bytes bytes = zip_file();
  const std::size_t from = place(bytes, floats(first)) - 200;
  const auto error = error_of([&] { recovered({bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end()}); });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("data.pkl is lost"), std::string::npos) << error->what();
}

TEST(Recover, DoubtsATensorThatDoesNotFitItsStorage) {
  const auto wrong = tensor(storage(), {5}, {1});
  const auto right = tensor(storage(), {4}, {1});
  const Recovery found =
      recovered(bytes_of(ZipFile{.object = py::dict({{py::str("a"), wrong}, {py::str("b"), right}})}));
  EXPECT_EQ(survival_of(found, "a"), Survival::lost);
  EXPECT_EQ(names_saved(found), (Names{"b"}));
}

TEST(Recover, SavesASharedTensorUnderTheNamesThatAreLeft) {
  const py::Code lost = tensor(storage(), {5}, {1});
  const py::Code object =
      py::build(py::call(py::global("zoo", "Holder"), {lost}), py::dict({{py::str("w"), py::get(200)}}));
  const Recovery found = recovered(bytes_of(ZipFile{
      .object = py::dict({{py::str("a"), py::put(tensor(storage(), {4}, {1}), 200)}, {py::str("b"), object}})}));
  ASSERT_EQ(found.tensors.size(), 3U);
  EXPECT_EQ(std::count_if(found.tensors.begin(), found.tensors.end(),
                          [](const RecoveredTensor& tensor) { return tensor.survival == Survival::whole; }),
            1);
  EXPECT_EQ(survival_of(found, "a"), Survival::whole);
  EXPECT_EQ(names_saved(found), (Names{"a"}));
}

TEST(Recover, SavesATensorUnderTheNameThatALostOneHad) {
  const py::Code lost = tensor(storage(), {5}, {1}), whole = tensor(storage(), {4}, {1});
  const Recovery found = recovered(bytes_of(
      ZipFile{.object = py::dict({{py::str("a"), py::dict({{py::str("b"), lost}})}, {py::str("a.b"), whole}})}));
  ASSERT_EQ(found.tensors.size(), 2U);
  EXPECT_EQ(found.tensors[0].survival, Survival::lost);
  EXPECT_EQ(found.tensors[1].survival, Survival::whole);
  EXPECT_EQ(names_saved(found), (Names{"a.b"}));
}

TEST(Recover, OpensATarAroundACheckpoint) {
  const auto packed = [](const Bytes& member) {
    return io_testing::bytes_of(tar_testing::tar_of({{"notes.txt", "text"}, {"w.pt", std::string(as_text(member))}}));
  };
  for (const Bytes& member : {zip_file(), gzipped(legacy_file())})
    for (const Bytes& bytes : {packed(member), gzipped(packed(member))}) {
      const Recovery found = recovered(bytes);
      EXPECT_TRUE(found.is_complete());
      EXPECT_EQ(names_saved(found), (Names{"a", "b"}));
      EXPECT_TRUE(says(found, "member 'w.pt' of a tar archive")) << found.findings.size();
    }
  const Bytes zip = zip_file();
  const Recovery found = recovered(packed(damaged(zip, place(zip, floats(first)))));
  EXPECT_EQ(survival_of(found, "a"), Survival::damaged);
  EXPECT_EQ(names_saved(found), (Names{"b"}));
}

TEST(Recover, SaysWhyATarIsNotOpened) {
  const std::string zip(as_text(zip_file()));
  const Bytes tar = io_testing::bytes_of(tar_testing::tar_of({{"a.pt", zip}, {"b.pt", zip}}));
  const auto error = error_of([&] { recovered(tar); });
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("at least 2 checkpoints: 'a.pt', 'b.pt'"), std::string::npos);
  const auto broken = error_of([&] { recovered(cut(tar, zip.size())); });
  ASSERT_TRUE(broken);
  EXPECT_NE(broken->hint().find("tar xf test.pt unpacks what it can"), std::string::npos) << broken->hint();
}

TEST(Recover, RefusesOtherFormatsByName) {
  const auto error = error_of([] { recovered(io_testing::bytes_of("GGUF\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0")); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
}

}  // namespace
}  // namespace ckpt
