#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "container/zip_builder.h"
#include "formats/python.h"
#include "formats/recover_testing.h"
#include "io/bytes.h"
#include "io/io_testing.h"

/// Files in which two checkpoints met, or in which damage makes one thing look like another: what is written is right,
/// or said to be in doubt.
namespace ckpt {
namespace {

using recover_testing::Bytes;
using recover_testing::recovered;
using recover_testing::says;
using recover_testing::survivals;
using torch_testing::floats;
using torch_testing::legacy_storage;
using torch_testing::LegacyFile;
using torch_testing::storage;
using torch_testing::tensor;
using torch_testing::ZipFile;
using zip_testing::build_zip;

Bytes zip_of(const Bytes& a, const Bytes& b, const std::string& more = "") {
  const auto of = [](const std::string& key) { return tensor(storage({.key = key}), {4}, {1}); };
  return bytes_of(
      ZipFile{.object = py::dict({{py::str("a"), of("0")}, {py::str("b"), of("1")}, {py::str("c"), py::str(more)}}),
              .data = {{"data/0", a}, {"data/1", b}}});
}

Bytes joined(Bytes first, const Bytes& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

std::size_t place(const Bytes& bytes, const std::string& text, std::size_t from = 0) {
  const std::size_t found = as_text(bytes).find(text, from);
  EXPECT_NE(found, std::string::npos) << text;
  return found;
}

/// Of the local header of a member of that name.
std::size_t header_of(const Bytes& bytes, const std::string& name) { return place(bytes, "archive/" + name) - 30; }

Bytes begin_of(const Bytes& bytes, std::size_t size) {
  return {bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)};
}
Bytes rest_of(const Bytes& bytes, std::size_t from) {
  return {bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end()};
}
Bytes without_directory(const Bytes& bytes) { return begin_of(bytes, place(bytes, "PK\1\2")); }

/// What the storage that the tensor lies in begins with.
float first_of(const Recovery& found, std::size_t tensor) {
  float value = 0;
  const Tensor& it = found.checkpoint.tensors[tensor];
  found.checkpoint.storages[*it.storage].bytes->read_at(0, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

const Bytes a1 = floats({1, 1, 1, 1}), b1 = floats({2, 2, 2, 2}), a2 = floats({3, 3, 3, 3}), b2 = floats({4, 4, 4, 4});

TEST(RecoverDoubt, TakesNothingFromAnArchiveThatBeginsBehindACutOne) {
  const Bytes one = zip_of(a1, b1);
  const Recovery found = recovered(joined(begin_of(one, header_of(one, "data/1")), zip_of(a2, b2)));
  EXPECT_EQ(survivals(found), "a whole; b lost; ");
  EXPECT_TRUE(says(found, "another archive begins"));
  EXPECT_FALSE(found.is_certain);
  EXPECT_EQ(first_of(found, 0), 1.0F);
}

TEST(RecoverDoubt, TakesTheRestFromTheSameArchiveBegunAgain) {
  const Bytes one = zip_of(a1, b1);
  for (const std::size_t more : {0U, 6U, 70U}) {
    const Recovery found = recovered(joined(begin_of(one, header_of(one, "data/1") + more), one));
    EXPECT_EQ(survivals(found), "a whole; b whole; ") << more;
    EXPECT_TRUE(found.is_complete()) << more;
  }
}

TEST(RecoverDoubt, TellsOfAnArchiveBehindAWholeOne) {
  const Bytes one = zip_of(a1, b1), two = joined(one, zip_of(a2, b2));
  const Recovery found = recovered(two);
  EXPECT_EQ(survivals(found), "a whole; b whole; ");
  EXPECT_FALSE(found.is_complete());
}

TEST(RecoverDoubt, SaysThatAFileWasWrittenOverAnother) {
  const Bytes newer = zip_of(a2, b2, "new"), older = zip_of(a1, b1, "old");
  ASSERT_EQ(newer.size(), older.size());
  const std::size_t at = header_of(older, "data/1");
  const Recovery found = recovered(joined(begin_of(newer, at), rest_of(older, at)));
  EXPECT_TRUE(says(found, "is recorded as"));
  EXPECT_FALSE(found.is_complete());
}

TEST(RecoverDoubt, TakesNeitherOfTwoMembersOfAName) {
  Bytes file = without_directory(zip_of(a1, b1));
  file[place(file, "archive/data/0") + 13] = std::byte{'1'};
  const Recovery found = recovered(file);
  EXPECT_EQ(survivals(found), "a lost; b lost; ");
}

TEST(RecoverDoubt, BelievesTheDirectoryWhereItsNamesAreAllUnlike) {
  Bytes file = zip_of(a1, b1);
  file[place(file, "archive/data/0") + 13] = std::byte{'1'};
  file[place(file, "archive/data/1", place(file, "archive/data/1") + 1) + 13] = std::byte{'0'};
  const Recovery found = recovered(file);
  EXPECT_EQ(survivals(found), "a whole; b whole; ");
  EXPECT_EQ(first_of(found, 0), 1.0F);
}

TEST(RecoverDoubt, LooksForNoMembersInATensorThatIsAnArchive) {
  const Bytes inner = zip_of(a2, b2);
  const auto numbers = static_cast<std::int64_t>(inner.size());
  const py::Code blob = tensor(storage({.key = "0", .type = "ByteStorage", .elements = numbers}), {numbers}, {1});
  const Bytes file = bytes_of(
      ZipFile{.object = py::dict({{py::str("blob"), blob}, {py::str("b"), tensor(storage({.key = "1"}), {4}, {1})}}),
              .data = {{"data/0", inner}, {"data/1", b1}}});
  const std::size_t next = as_text(file).rfind("archive/data/1", as_text(file).rfind("archive/data/0") - 1) - 30;
  for (const bool is_listed : {true, false}) {
    Bytes broken = is_listed ? file : begin_of(file, as_text(file).rfind("PK\1\2", file.size()));
    const std::size_t descriptor = as_text(broken).rfind("PK\7\x8", next);
    if (descriptor != std::string::npos && next - descriptor <= 24) broken[descriptor] = std::byte{0};
    const Recovery found = recovered(broken);
    EXPECT_EQ(survivals(found), "blob whole; b whole; ") << is_listed;
    EXPECT_EQ(first_of(found, 1), 2.0F) << is_listed;
  }
}

TEST(RecoverDoubt, SaysThatTheByteOrderIsLost) {
  Bytes file = without_directory(zip_of(a1, b1));
  file[place(file, "archive/byteorder") + 10] = std::byte{'x'};
  const Recovery found = recovered(file);
  EXPECT_TRUE(says(found, "no byte order"));
  EXPECT_FALSE(found.is_complete());
  const Bytes old = bytes_of(ZipFile{.object = tensor(storage({}), {4}, {1}), .byteorder = std::nullopt});
  EXPECT_TRUE(recovered(without_directory(old)).is_certain);
}

TEST(RecoverDoubt, TakesACutForNoPlaceOfTheByteOrder) {
  const Bytes old = bytes_of(ZipFile{.object = tensor(storage({}), {4}, {1}), .byteorder = std::nullopt});
  const Recovery found = recovered(begin_of(old, header_of(old, "version") + 20));
  EXPECT_EQ(survivals(found), " whole; ");
  EXPECT_TRUE(found.is_certain);
}

/// "lit" is as long as "big".
TEST(RecoverDoubt, BelievesTheChecksumOfAByteOrderThatIsCut) {
  Bytes file = zip_of(a1, b1);
  const auto order = file.begin() + static_cast<std::ptrdiff_t>(place(file, "little"));
  file.erase(order + 3, order + 6);
  const Recovery found = recovered(file);
  ASSERT_EQ(survivals(found), "a whole; b whole; ");
  EXPECT_EQ(found.checkpoint.storages[0].byte_order, ByteOrder::little);
}

/// Another member's bytes, with the checksum that stands beside them.
TEST(RecoverDoubt, BelievesNoBytesThatTheDirectoryDisowns) {
  Bytes file = zip_of(a1, b1);
  const std::size_t to = place(file, std::string(as_text(a1))), from = place(file, std::string(as_text(b1)));
  ASSERT_EQ(as_text(file).substr(from + b1.size(), 4), "PK\7\x8") << "their CRC-32 stands behind them";
  std::copy_n(file.begin() + static_cast<std::ptrdiff_t>(from), b1.size() + 8,
              file.begin() + static_cast<std::ptrdiff_t>(to));
  const Recovery found = recovered(file);
  EXPECT_TRUE(says(found, "is recorded as"));
  EXPECT_EQ(found.unchecked, 1U);
  EXPECT_FALSE(found.is_certain);
}

TEST(RecoverDoubt, SaysThatStoragesStandBeforeThePickle) {
  const Bytes one = zip_of(a1, b1), two = zip_of(a2, b2);
  Bytes first = begin_of(one, header_of(one, "version"));
  std::fill_n(first.begin(), 60, std::byte{0});  // its pickle is not found
  const Recovery found = recovered(joined(first, begin_of(two, header_of(two, "data/0"))));
  EXPECT_TRUE(says(found, "the pickle stands behind storages"));
  EXPECT_FALSE(found.is_certain);
}

TEST(RecoverDoubt, FindsThePickleOfAFolderThatIsNotTheFirstMembers) {
  const std::string file = build_zip({{.name = "foo"},
                                      {.name = "a/data.pkl", .data = "\x80\x02N."},
                                      {.name = "b/data.pkl", .data = "x"},
                                      {.name = "b/data.pkl", .data = "x"}});
  const Recovery found = recover(zip_testing::source_of(file.substr(0, file.find("PK\1\2"))));
  EXPECT_TRUE(says(found, "a second member named"));
}

/// A header each 31 bytes, whose extra field would be as long as all of the file.
TEST(RecoverDoubt, ReadsNoFieldsOfHeadersThatAreNone) {
  std::string file = build_zip({{.name = "r/data.pkl", .descriptor = true, .descriptor_bytes = ""}});
  file.resize(file.find("PK\1\2"));
  std::string other = build_zip({{.name = "a", .local_extra = std::string(65535, 'x')}});
  other.resize(31);
  for (int i = 0; i < 4000; ++i) file += other;
  const auto source = std::make_shared<io_testing::CountingSource>(io_testing::bytes_of(file));
  EXPECT_THROW(recover(source), Error);
  EXPECT_LT(source->read, 100 * file.size());
}

TEST(RecoverDoubt, FindsThePickleByItsNameWhereTheFirstBytesAreDamaged) {
  Bytes file = without_directory(zip_of(a1, b1));
  file[0] ^= std::byte{1};
  EXPECT_TRUE(recovered(file).is_complete());
}

TEST(RecoverDoubt, PutsALegacyKeyWhereTheOrderHasIt) {
  const auto of = [](const std::string& key) { return tensor(legacy_storage({.key = key}), {4}, {1}); };
  LegacyFile file{.object = py::dict({{py::str("a"), of("0")}, {py::str("b"), of("1")}}),
                  .data = {{"0", 4, a1}, {"1", 4, b1}},
                  .keys = py::list({py::str("1"), py::str("1")})};
  const Recovery found = recovered(bytes_of(file));
  EXPECT_TRUE(found.is_complete());
  EXPECT_EQ(first_of(found, 0), 1.0F);
  EXPECT_EQ(first_of(found, 1), 2.0F);
  const auto c = [&](const std::string& key) { return std::pair(py::str("t" + key), of(key)); };
  file.object = py::dict({c("0"), c("1"), c("2")});
  file.data = {{"2", 4, a1}, {"0", 4, b1}, {"1", 4, a2}};
  file.keys = py::list({py::str("0"), py::str("0"), py::str("1")});
  EXPECT_FALSE(recovered(bytes_of(file)).is_certain);
}

// As torch writes them, members of one size have descriptors of one size.
TEST(RecoverDoubt, TakesNoOtherMembersBytesForThoseThatAreGone) {
  const Bytes whole = torch_testing::written(torch_testing::read_bytes(zip_of(a1, b1)));
  const std::size_t second = place(whole, "/data/1");
  for (const bool has_directory : {true, false}) {
    std::size_t harmed = 0;
    for (std::size_t from = place(whole, std::string(as_text(a1))); from < second - 24; ++from) {
      Bytes bytes = whole;
      bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                  bytes.begin() + static_cast<std::ptrdiff_t>(second) - 24);
      const Recovery found = recovered(has_directory ? bytes : without_directory(bytes));
      for (const RecoveredTensor& tensor : found.tensors) {
        if (tensor.survival != Survival::whole || !found.is_certain) continue;
        const auto names = tensor_names(found.checkpoint);
        const auto it =
            std::find_if(names.begin(), names.end(), [&](auto& named) { return named.name == tensor.name; });
        ASSERT_NE(it, names.end());
        const auto place = static_cast<std::size_t>(it->tensor - found.checkpoint.tensors.data());
        EXPECT_EQ(first_of(found, place), tensor.name == "a" ? 1 : 2) << tensor.name << " " << from;
      }
      harmed += survivals(found).find("lost") != std::string::npos ? 1 : 0;
    }
    EXPECT_GT(harmed, 0U);
  }
}

TEST(RecoverDoubt, AStorageWhoseOnlyChecksumIsDamagedMayBeSo) {
  Bytes bytes = without_directory(torch_testing::written(torch_testing::read_bytes(zip_of(a1, b1))));
  const std::size_t at = place(bytes, std::string(as_text(a1)));
  EXPECT_TRUE(recovered(bytes).is_certain);
  for (std::size_t i = 12; i < 24; ++i) bytes[at + i] ^= std::byte{0x55};  // its end, and what follows
  const Recovery found = recovered(bytes);
  EXPECT_EQ(survivals(found), "a whole; b whole; ");
  EXPECT_FALSE(found.is_certain);
}

/// Where a pickle breaks off, the names before that are judged by their uses as those of a whole one.
TEST(RecoverDoubt, JudgesWhatABrokenPickleDoesWithNames) {
  const py::Code called = py::call(py::global("numpy", "ndarray"), {py::list({py::integer(3)})});
  Bytes bytes =
      bytes_of(ZipFile{.object = py::dict({{py::str("w"), torch_testing::weight()}, {py::str("x"), called}})});
  const auto dangerous = [&](const Bytes& file) {
    const Recovery found = recovered(file);
    EXPECT_EQ(survivals(found), "w whole; ");
    const auto& globals = found.checkpoint.globals;
    return std::any_of(globals.begin(), globals.end(), [](const GlobalUse& global) {
      return global.name == "ndarray" && global.verdict == Verdict::dangerous;
    });
  };
  EXPECT_TRUE(dangerous(bytes));
  bytes[place(bytes, "u.PK") + 1] = std::byte{0xff};
  EXPECT_TRUE(dangerous(bytes));
}

/// One bit of the directory makes it say that a member's header stands within the one before it, which is longer then.
TEST(RecoverDoubt, FindsAMemberWhoseEntryPointsBeforeIt) {
  const Bytes one = zip_of(a1, b1);
  const std::size_t at = header_of(one, "data/1"), entry = place(one, "archive/data/1", place(one, "PK\1\2")) - 4;
  for (std::uint32_t bit = 1; bit <= 64; bit *= 2) {
    if ((at & bit) == 0) continue;
    Bytes bytes = one;
    store_le(bytes.data() + entry, static_cast<std::uint32_t>(at - bit));
    EXPECT_EQ(survivals(recovered(bytes)), "a whole; b whole; ") << bit;
  }
}

/// All offsets of the directory are wrong then, and what is damaged is the header of the pickle.
TEST(RecoverDoubt, FindsThePickleInWhoseHeaderBytesAreMissingOrTooMany) {
  const Bytes sound = zip_of(a1, b1);
  const std::size_t end = place(sound, "archive/data.pkl") + std::string("archive/data.pkl").size();
  for (std::size_t at = 0; at < end; ++at) {
    SCOPED_TRACE(at);
    Bytes less = sound, more = sound;
    less.erase(less.begin() + static_cast<std::ptrdiff_t>(at));
    more.insert(more.begin() + static_cast<std::ptrdiff_t>(at), std::byte{7});
    for (const Bytes& bytes : {less, more, rest_of(sound, end)}) {
      const Recovery found = recovered(bytes);
      ASSERT_EQ(survivals(found), "a whole; b whole; ");
      EXPECT_EQ(first_of(found, 0), 1.0F);
    }
  }
}

/// Only the directory has the checksum of a tensor whose end is not where it should be.
/// Between a byte that is gone and one that is too many, what the directory lists stands one byte before its place.
TEST(RecoverDoubt, TakesNoTensorThatTheDirectoryDisownsByName) {
  Bytes file = zip_of(a1, b1);
  const auto at = [&](const Bytes& data) {
    return file.begin() + static_cast<std::ptrdiff_t>(place(file, std::string(as_text(data)))) + 4;
  };
  file.erase(at(a1));
  file.insert(at(b1), std::byte{7});
  for (const RecoveredTensor& tensor : recovered(file).tensors) EXPECT_NE(tensor.survival, Survival::whole);
}

TEST(RecoverDoubt, TakesNoTensorThatTheMovedDirectoryDisowns) {
  const Bytes sound = recover_testing::zip_file();
  const std::size_t end = place(sound, "PK\1\2");
  const auto is_right = [](const Recovery& found, const std::string& name) {
    const auto& tensors = found.checkpoint.tensors;
    return std::any_of(tensors.begin(), tensors.end(), [&](const Tensor& tensor) {
      std::vector<float> there(4);
      found.checkpoint.storages[*tensor.storage].bytes->read_at(0, std::as_writable_bytes(std::span(there)));
      return there == (name == "a" ? recover_testing::first : recover_testing::second);
    });
  };
  std::size_t wrong = 0, whole = 0;
  const auto count = [&](const Bytes& bytes) {
    const Recovery found = recovered(bytes);
    for (const RecoveredTensor& tensor : found.tensors)
      if (tensor.survival == Survival::whole) ++(is_right(found, tensor.name) ? whole : wrong);
  };
  for (std::size_t at = place(sound, "archive/byteorder"); at < end; ++at) {
    const std::size_t size = 1 + at % 49;
    const auto cut = sound.begin() + static_cast<std::ptrdiff_t>(at);
    Bytes more(sound.begin(), cut), less = more;
    more.resize(at + size, std::byte{7});
    more.insert(more.end(), cut, sound.end());
    less.insert(less.end(), cut + static_cast<std::ptrdiff_t>(size), sound.end());
    count(more);
    count(less);
  }
  EXPECT_EQ(wrong, 0U);
  EXPECT_GT(whole, 2 * (end - place(sound, "archive/byteorder")));  // half of them or more
}

}  // namespace
}  // namespace ckpt
