#include <gtest/gtest.h>

#include <string>

#include "formats/recover_testing.h"
#include "formats/safetensors_files.h"

/// safetensors, whose header alone says where a tensor is, and nothing whether it is so.
namespace ckpt {
namespace {

using namespace recover_testing;
using io_testing::gzipped;
using safetensors_testing::entry;
using safetensors_testing::file;

const std::string data(as_text(floats(first)));

Recovery recovered_of(const std::string& bytes) { return recovered(io_testing::bytes_of(bytes)); }

/// The names of those that are whole, a blank behind each.
std::string whole(const Recovery& found) {
  std::string names;
  for (const RecoveredTensor& tensor : found.tensors)
    if (tensor.survival == Survival::whole) names += tensor.name + " ";
  return names;
}

TEST(RecoverSafetensors, IsCertainOnlyOfSoundFiles) {
  const std::string a = "\"a\":" + entry("F32", "[2]", 0, 8), b = "\"b\":" + entry("F32", "[2]", 8, 16);
  const Recovery sound = recovered_of(file("{" + a + "," + b + "}", data));
  EXPECT_TRUE(sound.is_certain);
  EXPECT_TRUE(sound.is_complete());
  for (const std::string& bytes : {
           file("{" + a + ",\"b\":{\"etype\":\"F32\"}}", data),                             // which is no tensor then
           file("{" + a + ",\"b\":" + entry("F32", "[3]", 8, 16) + "}", data),              // nor is this
           file("{" + a + ",\"b\":" + entry("F32", "[2]", 4, 12) + "}", data),              // in the place of others
           file("{" + a + "," + b + "}", data.substr(0, 4) + "doubled " + data.substr(4)),  // too many bytes, anywhere
           file("{" + a + "," + b + "}", data.substr(0, 4) + data.substr(8)),               // too few
           file("{\"__metadata__\":{\"ckpt.views\":\"{\\\"c\\\":{\\\"of\\\":\\\"q\\\"}}\"}," + a + "," + b + "}",
                data),                                                                   // a view of nothing
           file("{\"__metadata__\":{\"ckpt.views\":\"{\"}," + a + "," + b + "}", data),  // of nobody knows what
       }) {
    const Recovery found = recovered_of(bytes);
    EXPECT_FALSE(found.is_certain) << bytes;
    EXPECT_FALSE(found.is_complete()) << bytes;
  }
  // A stream that ends too soon may have been damaged where its end was said.
  const Bytes packed = gzipped(io_testing::bytes_of(file("{" + a + "," + b + "}", data)));
  EXPECT_TRUE(recovered(packed).is_complete());
  EXPECT_FALSE(recovered(cut(packed, packed.size() - 9)).is_certain);
}

/// Neither of two tensors of one name is known to be it.
TEST(RecoverSafetensors, LosesTensorsOfOneNameAlone) {
  const Recovery found =
      recovered_of(file("{\"a\":" + entry("F32", "[1]", 0, 4) + ",\"a\":" + entry("F32", "[1]", 4, 8) +
                            ",\"b\":" + entry("F32", "[2]", 8, 16) + "}",
                        data));
  EXPECT_EQ(whole(found), "b ");
  EXPECT_TRUE(says(found, "tensor 'a' comes twice"));
  EXPECT_FALSE(found.is_certain);
}

/// Bytes are one tensor's: many that claim the same ones would all be written.
TEST(RecoverSafetensors, TakesNoBytesTwice) {
  const Recovery found =
      recovered_of(file("{\"a\":" + entry("F32", "[4]", 0, 16) + ",\"b\":" + entry("F32", "[4]", 0, 16) +
                            ",\"c\":" + entry("F32", "[2]", 8, 16) + "}",
                        data));
  EXPECT_EQ(whole(found), "a ");
  EXPECT_FALSE(found.is_certain);
}

/// What an entry without sense says of its place keeps no other from it.
TEST(RecoverSafetensors, BelievesNoPlaceOfABrokenEntry) {
  const Recovery found = recovered_of(
      file("{\"a\":" + entry("F32", "[2]", 0, 1 << 20) + ",\"b\":" + entry("F32", "[2]", 8, 16) + "}", data));
  EXPECT_EQ(whole(found), "b ");
}

TEST(RecoverSafetensors, LosesViewsOfWhatIsLostAlone) {
  const std::string tensors = "\"a\":" + entry("F32", "[3]", 0, 8) + ",\"b\":" + entry("F32", "[2]", 8, 16);
  const auto with = [&](const std::string& views) {
    return recovered_of(file("{\"__metadata__\":{\"ckpt.views\":\"" + views + "\"}," + tensors + "}", data));
  };
  const std::string view_of_b = "\\\"d\\\":{\\\"of\\\":\\\"b\\\"}";
  EXPECT_EQ(whole(with("{\\\"c\\\":{\\\"of\\\":\\\"a\\\"}," + view_of_b + "}")), "b d ");
  EXPECT_EQ(whole(with("{" + view_of_b)), "b ");  // which is no map
}

/// add_views() says of whole views what save_model does, too.
TEST(RecoverSafetensors, FindsTiedNamesWhereTheMapOfViewsIsDamaged) {
  const std::string b = "\"b.weight\":" + entry("F32", "[4]", 0, 16);
  for (const std::string map : {"{", "{\\\"q\\\":{\\\"of\\\":\\\"r\\\"}}"}) {
    const Recovery found = recovered_of(
        file("{\"__metadata__\":{\"ckpt.views\":\"" + map + "\",\"a.weight\":\"b.weight\"}," + b + "}", data));
    EXPECT_EQ(whole(found), "b.weight a.weight ") << map;
    EXPECT_FALSE(found.is_certain) << map;
    const io_testing::TemporaryFolder folder;
    save(found.checkpoint, folder / "out.safetensors");
    EXPECT_EQ(torch_testing::names(load(folder / "out.safetensors")),
              (std::vector<std::string>{"a.weight", "b.weight"}));
  }
}

TEST(RecoverSafetensors, PassesOverWhatFollowsTheHeader) {
  const std::string a = "{\"a\":" + entry("F32", "[4]", 0, 16) + "}";
  const Recovery found = recovered_of(file(a + " \x30 ", data));
  EXPECT_EQ(whole(found), "a ");
  EXPECT_FALSE(found.is_certain);
}

}  // namespace
}  // namespace ckpt
