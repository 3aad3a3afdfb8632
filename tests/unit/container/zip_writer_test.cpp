#include "container/zip_writer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "ckpt/error.h"
#include "container/zip_reader.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/io_testing.h"
#include "zip_builder.h"

namespace ckpt {
namespace {

using zip_testing::source_of;
using zip_testing::text_of;

class MemorySink final : public ByteSink {
 public:
  MemorySink() : ByteSink("out.zip") {}
  void commit() override {}
  std::string bytes;

 protected:
  void append(std::span<const std::byte> more) override { bytes += as_text(more); }
};

// Keeps what is short, and of long runs (zeros, in these tests) only where they are.
class SparseSink final : public ByteSink {
 public:
  SparseSink() : ByteSink("out.zip") {}
  void commit() override {}
  std::map<std::uint64_t, std::string> pieces;

 protected:
  void append(std::span<const std::byte> more) override {
    if (more.size() < 16384) pieces[position_] = as_text(more);
    position_ += more.size();
  }

 private:
  std::uint64_t position_ = 0;
};

class SparseSource final : public ByteSource {
 public:
  SparseSource(std::uint64_t size, std::map<std::uint64_t, std::string> pieces)
      : ByteSource("sparse.zip"), size_(size), pieces_(std::move(pieces)) {}
  [[nodiscard]] std::uint64_t size() const override { return size_; }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size_) return 0;
    out = out.first(std::min<std::uint64_t>(out.size(), size_ - offset));
    std::memset(out.data(), 0, out.size());
    for (const auto& [at, piece] : pieces_) {
      const std::uint64_t from = std::max(at, offset), to = std::min(at + piece.size(), offset + out.size());
      if (from < to) std::memcpy(out.data() + (from - offset), piece.data() + (from - at), to - from);
    }
    return out.size();
  }

 private:
  std::uint64_t size_;
  std::map<std::uint64_t, std::string> pieces_;
};

std::string hex(std::string_view bytes) {
  std::string out;
  for (char c : bytes) {
    constexpr char digits[] = "0123456789abcdef";
    out += digits[static_cast<unsigned char>(c) >> 4];
    out += digits[c & 15];
  }
  return out;
}

TEST(ZipWriter, WritesTheBytesThatTorchWrites) {
  MemorySink sink;
  ZipWriter zip(sink);
  zip.add("archive/data.pkl", as_bytes("hello"));
  zip.finish();
  // PyTorch 2.11: torch._C.PyTorchFileWriter(f).write_record("data.pkl", b"hello", 5), its first member and end
  // records.
  EXPECT_EQ(hex(sink.bytes.substr(0, 85)),
            "504b03040000080800000000000000000000000000000000000010001200"
            "617263686976652f646174612e706b6c"
            "46420e005a5a5a5a5a5a5a5a5a5a5a5a5a5a"
            "68656c6c6f"
            "504b070886a610360500000005000000");
  EXPECT_EQ(hex(sink.bytes.substr(85)),
            "504b010200000000080800000000000086a6103605000000050000001000000000000000000000000000"
            "00000000617263686976652f646174612e706b6c"
            "504b06062c000000000000001e032d000000000000000000010000000000000001000000000000003e00000000000000"
            "5500000000000000"
            "504b0607000000009300000000000000010000"
            "00504b050600000000010001003e000000550000000000");
}

TEST(ZipWriter, GivesAnEmptyMemberNoDescriptor) {
  MemorySink sink;
  ZipWriter zip(sink);
  zip.add("e", as_bytes(""));
  zip.finish();
  EXPECT_EQ(load_le<std::uint16_t>(as_bytes(sink.bytes).data() + 6), 0x0800);
  EXPECT_EQ(sink.bytes.substr(64, 4), "PK\1\2");
}

TEST(ZipWriter, WhatItWritesReadsBackEqual) {
  MemorySink sink;
  ZipWriter zip(sink);
  std::map<std::string, std::string> written;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "root/" + std::string(static_cast<std::size_t>(i), 'n') + std::to_string(i);
    written[name] = std::string(static_cast<std::size_t>(i * 37 % 211), static_cast<char>(i));
    EXPECT_EQ(zip.add(name, as_bytes(written[name])), crc32(0, as_bytes(written[name])));
  }
  zip.finish();
  const ZipReader reader = ZipReader::open(source_of(sink.bytes));
  EXPECT_TRUE(reader.has_checksums());
  std::map<std::string, std::string> read;
  for (const ZipMember& member : reader.members()) {
    read[member.name] = text_of(*reader.read(member));
    EXPECT_EQ(member.data_offset % 64, 0U) << member.name;
  }
  EXPECT_EQ(read, written);
}

TEST(ZipWriter, AlignsToOtherMultiples) {
  for (std::uint32_t alignment : {1U, 16U, 4096U, 32768U, 49999U, 65536U}) {
    MemorySink sink;
    ZipWriter zip(sink, alignment);
    zip.add("a", as_bytes("1"));
    zip.add("b", as_bytes("2"));
    zip.finish();
    const ZipReader reader = ZipReader::open(source_of(sink.bytes));
    for (const ZipMember& member : reader.members()) EXPECT_EQ(member.data_offset % alignment, 0U);
  }
}

TEST(ZipWriter, AlignsToTheHalfWhereTheWholeTakesMoreThanAnExtraFieldHolds) {
  constexpr std::size_t records = 16 + 30 + 1 + 4;  // a descriptor and a header without its padding
  for (std::size_t past = 0; past < 6; ++past) {
    MemorySink sink;
    ZipWriter zip(sink, 65536);
    zip.add("a", as_bytes(std::string(65536 - records + past, 'x')));
    zip.add("b", as_bytes("2"));
    zip.finish();
    const std::uint64_t begin = ZipReader::open(source_of(sink.bytes)).find("b")->data_offset;
    EXPECT_EQ(begin, past == 0 ? 2 * 65536U : past < 5 ? 2 * 65536U + 32768U : 3 * 65536U) << past;
  }
}

TEST(ZipWriter, RefusesAnAlignmentThatNoExtraFieldHolds) {
  MemorySink sink;
  EXPECT_THROW(ZipWriter(sink, 65537), Error);
}

TEST(ZipWriter, RefusesNamesThatNoHeaderHolds) {
  MemorySink sink;
  ZipWriter zip(sink);
  EXPECT_THROW(zip.add("", as_bytes("x")), Error);
  EXPECT_THROW(zip.add(std::string(65536, 'n'), as_bytes("x")), Error);
}

TEST(ZipWriter, CountsFromWhereTheSinkStood) {
  MemorySink sink;
  sink.write(as_bytes("prefix"));
  ZipWriter zip(sink);
  zip.add("a", as_bytes("1"));
  zip.finish();
  EXPECT_EQ(ZipReader::open(source_of(std::string_view(sink.bytes).substr(6))).members()[0].data_offset, 64U);
}

TEST(ZipWriter, ComparesTheRecordedCrcOfWhatItCopies) {
  MemorySink sink;
  ZipWriter zip(sink);
  const ByteSourcePtr wrong = slice(source_of("hello"), 0, 5, "weights", 1);
  try {
    zip.add("a", *wrong);
    FAIL() << "a wrong CRC was copied";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::corrupt);
  }
  EXPECT_EQ(zip.add("b", *slice(source_of("hello"), 0, 5, "weights", 0x3610a686)), 0x3610a686U);
}

TEST(ZipWriter, RefusesAnotherNumberOfBytesThanItWasTold) {
  MemorySink sink;
  ZipWriter zip(sink);
  const auto three = [](ByteSink& member) {
    member.write(as_bytes("abc"));
    return crc32(0, as_bytes("abc"));
  };
  EXPECT_EQ(zip.add("a", 3, three), crc32(0, as_bytes("abc")));
  for (const std::uint64_t told : {2, 4}) {
    const auto error = io_testing::error_of([&] { zip.add("b", told, three); });
    ASSERT_TRUE(error);
    EXPECT_EQ(error->code(), ErrorCode::truncated);
  }
}

TEST(ZipWriter, WritesAnEmptyArchive) {
  MemorySink sink;
  ZipWriter zip(sink);
  zip.finish();
  EXPECT_EQ(sink.bytes.size(), 98U);
  EXPECT_TRUE(ZipReader::open(source_of(sink.bytes)).members().empty());
}

TEST(ZipWriter, WritesMoreThan65535Members) {
  MemorySink sink;
  ZipWriter zip(sink);
  for (int i = 0; i < 65536; ++i) zip.add("r/" + std::to_string(i), as_bytes("x"));
  zip.finish();
  EXPECT_EQ(ZipReader::open(source_of(sink.bytes)).members().size(), 65536U);
}

TEST(ZipWriter, Writes64BitSizesAndOffsetsAsTorchDoes) {
  SparseSink sink;
  ZipWriter zip(sink);
  const std::uint64_t size = (1ULL << 32) + 5;
  zip.add("archive/data.pkl", as_bytes("hello"));
  zip.add("archive/data/0", SparseSource(size, {}));
  const std::string hundred(100, 'x');
  zip.add("archive/data/1", as_bytes(hundred));
  zip.add("archive/data/2", as_bytes(""));
  zip.finish();

  // As PyTorch 2.11 writes these records: offsets and bytes taken from its own writer.
  const auto starts = [&](std::uint64_t at, std::string_view wanted) {
    const auto piece = sink.pieces.find(at);
    ASSERT_NE(piece, sink.pieces.end()) << at;
    EXPECT_EQ(hex(piece->second).substr(0, wanted.size()), wanted) << at;
  };
  const std::string header = "504b030400000808000000000000000000000000000000000000";
  starts(85, header + "0e003f00" + hex("archive/data/0") +
                 "0100100005000000010000000000000000000000"
                 "46422700"
                 "5a");
  starts(4294967493, "504b0708a3a1c2b105000000010000000500000001000000");
  starts(4294967517, header + "0e003700" + hex("archive/data/1") +
                         "01000800dd00000001000000"
                         "46422700"
                         "5a");
  starts(4294967716, "504b07088f5d0e5e64000000000000006400000000000000");
  starts(4294967740,
         "504b03040000000800000000000000000000000000000000"
         "0000"
         "0e001800" +
             hex("archive/data/2") +
             "01000800bc01000001000000"
             "46420800"
             "5a5a5a5a5a5a5a5a");

  const ZipReader reader = ZipReader::open(std::make_shared<SparseSource>(sink.offset(), sink.pieces));
  ASSERT_EQ(reader.members().size(), 4U);
  EXPECT_EQ(reader.find("archive/data/0")->size, size);
  EXPECT_EQ(reader.find("archive/data/1")->header_offset, 4294967517U);
  EXPECT_EQ(text_of(*reader.read(*reader.find("archive/data/1"))), hundred);
}

}  // namespace
}  // namespace ckpt
