#include "read_back.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "ckpt/ops.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using torch_testing::Bytes;
using torch_testing::floats;
using torch_testing::ZipFile;

constexpr const char* writers[] = {"torch", "torch-legacy", "npz"};

/// What a writer has made of a checkpoint.
struct Written {
  Checkpoint checkpoint;
  const Format* format;
  Bytes bytes;
  WriteReceipt receipt;
};

/// Two tensors in two storages, 1 2 3 4 and 5 6 7 8.
Written written_in(const std::string& format) {
  const auto second = torch_testing::tensor(torch_testing::storage({.key = "1"}), {4}, {1});
  Written out;
  out.checkpoint = torch_testing::read_bytes(
      bytes_of(ZipFile{.object = py::dict({{py::str("a"), torch_testing::weight()}, {py::str("b"), second}}),
                       .data = {{"data/0", floats({1, 2, 3, 4})}, {"data/1", floats({5, 6, 7, 8})}}}));
  out.format = find_format(format);
  io_testing::MemorySink sink;
  Checkpoint taken = out.checkpoint;
  out.receipt = out.format->write(taken, sink, {});
  out.bytes = sink.bytes();
  return out;
}

/// What reading `bytes` back says; empty where nothing differs.
std::string complaint(const Written& out, const Bytes& bytes, ReadBack how = ReadBack::full, bool gzip = false) {
  const ByteSourcePtr source = torch_testing::source_of(bytes, "out.pt");
  const auto error = io_testing::error_of([&] {
    check_read_back(
        *out.format, Expected(*out.format, out.checkpoint, how), [&] { return source; }, gzip, out.receipt);
  });
  if (!error) return "";
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_TRUE(error->is_output());
  EXPECT_EQ(error->file(), "out.pt");
  return error->what();
}

/// Where the four floats from `first` on stand in `bytes`.
std::size_t place_of(const Bytes& bytes, float first) {
  const Bytes wanted = floats({first, first + 1, first + 2, first + 3});
  const auto at = std::search(bytes.begin(), bytes.end(), wanted.begin(), wanted.end());
  EXPECT_NE(at, bytes.end());
  return static_cast<std::size_t>(at - bytes.begin());
}

TEST(ReadBack, FindsNothingWrongWithWhatWasWritten) {
  for (const char* format : writers)
    for (const ReadBack how : {ReadBack::quick, ReadBack::full}) {
      const Written out = written_in(format);
      EXPECT_EQ(complaint(out, out.bytes, how), "") << format;
      EXPECT_EQ(complaint(out, io_testing::gzipped(out.bytes), how, true), "") << format;
    }
}

TEST(ReadBack, TakesTheChecksumOfEveryStorage) {
  for (const char* format : writers) EXPECT_EQ(written_in(format).receipt.size(), 2U) << format;
}

TEST(ReadBack, FullyFindsAnyBitOfAStorage) {
  for (const char* format : writers) {
    const Written out = written_in(format);
    for (const float first : {1.0F, 5.0F})
      for (std::size_t i = 0; i < 16; ++i) {
        Bytes altered = out.bytes;
        altered[place_of(altered, first) + i] ^= std::byte{0x10};
        EXPECT_NE(complaint(out, altered), "") << format;
        EXPECT_NE(complaint(out, io_testing::gzipped(altered), ReadBack::full, true), "") << format;
      }
  }
}

TEST(ReadBack, FullyFindsAByteBesideTheStorages) {
  const Written out = written_in("torch");
  Bytes altered = out.bytes;
  const std::string_view version = "3\n";
  const auto text = as_text(altered);
  altered[text.rfind(version, text.rfind("PK\x01\x02"))] ^= std::byte{1};
  EXPECT_NE(complaint(out, altered), "");
}

TEST(ReadBack, FindsWhatEndsTooSoon) {
  for (const char* format : writers) {
    const Written out = written_in(format);
    const Bytes cut(out.bytes.begin(), out.bytes.end() - 5);
    EXPECT_NE(complaint(out, cut), "") << format;
  }
}

TEST(ReadBack, FindsAGzipStreamWithAnotherChecksum) {
  for (const char* format : writers) {
    const Written out = written_in(format);
    Bytes packed = io_testing::gzipped(out.bytes);
    packed[packed.size() - 6] ^= std::byte{1};
    EXPECT_NE(complaint(out, packed, ReadBack::full, true), "") << format;
  }
}

TEST(ReadBack, QuicklyComparesRecordedChecksums) {
  Written out = written_in("torch");
  out.receipt["1"] ^= 1;
  EXPECT_NE(complaint(out, out.bytes, ReadBack::quick).find("storage '1' has another CRC"), std::string::npos);
}

TEST(ReadBack, QuicklyFindsAnotherNumberOfTensorsOrStorages) {
  for (const char* format : writers) {
    Written out = written_in(format);
    out.receipt.erase("1");
    EXPECT_NE(complaint(out, out.bytes, ReadBack::quick), "") << format;
    out = written_in(format);
    out.checkpoint.tensors.pop_back();
    EXPECT_NE(complaint(out, out.bytes, ReadBack::quick), "") << format;
  }
}

TEST(ReadBack, FullyComparesNamesDtypesAndShapes) {
  for (const char* format : writers) {
    Written out = written_in(format);
    out.checkpoint.tensors[1].info.shape = {2, 2};
    EXPECT_NE(complaint(out, out.bytes).find("tensor 'b' has another"), std::string::npos) << format;
    out = written_in(format);
    out.checkpoint.tensors[0].info.dtype = DType::int32;
    EXPECT_NE(complaint(out, out.bytes).find("tensor 'a' has another"), std::string::npos) << format;
    out = written_in(format);
    out.checkpoint = add_prefix(std::move(out.checkpoint), "x.").first;
    EXPECT_NE(complaint(out, out.bytes).find("named 'a' and not 'x.a'"), std::string::npos) << format;
  }
}

}  // namespace
}  // namespace ckpt
