#include "gguf/gguf.h"

#include <gtest/gtest.h>

#include "ckpt/limits.h"
#include "ckpt/ops.h"
#include "formats/gguf_files.h"
#include "formats/torch_files.h"
#include "gguf/types.h"
#include "io/stream.h"

namespace ckpt {
namespace {

using gguf_testing::entry;
using gguf_testing::File;
using gguf_testing::gguf;
using gguf_testing::number;
using gguf_testing::text;
using io_testing::error_of;
using io_testing::has;
using torch_testing::names;
using torch_testing::source_of;
using Shape = std::vector<std::int64_t>;

constexpr std::uint32_t f32 = 0, q4_0 = 2, q8_0 = 8, q4_k = 12;
constexpr std::uint32_t uint8_value = 0, uint32_value = 4, float_value = 6, string_value = 8, array_value = 9;

io_testing::Bytes raw(const std::string& bytes) { return io_testing::bytes_of(bytes); }
Checkpoint read_file(const File& file, const ReadOptions& options = {}) {
  return read(source_of(raw(gguf(file))), options);
}

Error refused(const std::string& bytes, const ReadOptions& options = {}) {
  const auto error = error_of([&] { read(source_of(raw(bytes)), options); });
  EXPECT_TRUE(error);
  return error.value_or(Error(ErrorCode::io, "nothing"));
}

std::string message(const File& file) { return refused(gguf(file)).what(); }
std::vector<float> floats_of(const Checkpoint& checkpoint, std::size_t index = 0) {
  const Storage& storage = checkpoint.storages.at(index);
  std::vector<float> numbers(storage.nbytes / sizeof(float));
  read_storage(storage, std::as_writable_bytes(std::span(numbers)));
  return numbers;
}

TEST(Gguf, HasItsShapeTheOtherWayRound) {
  const Checkpoint read = read_file({.tensors = {{"w", {3, 2}, f32, 0}}, .data = std::string(24, '\0')});
  EXPECT_EQ(read.format, "gguf");
  EXPECT_FALSE(read.pickled);
  EXPECT_EQ(names(read), (std::vector<std::string>{"w"}));
  EXPECT_EQ(read.tensors[0].info.shape, (Shape{2, 3}));
  EXPECT_EQ(read.tensors[0].info.dtype, DType::float32);
}

TEST(Gguf, MayHoldNoTensorAndEndWithItsHeader) {
  const std::string bytes = "GGUF" + number(std::uint32_t{3}) + number(std::uint64_t{0}) + number(std::uint64_t{0});
  EXPECT_TRUE(torch_testing::read_bytes(raw(bytes)).tensors.empty());
}

template <class T>
std::string big(T value) {
  std::string bytes = number(value);
  std::reverse(bytes.begin(), bytes.end());
  return bytes;
}

TEST(Gguf, OfTheOtherByteOrderIsKnownByItsVersion) {
  std::string bytes = "GGUF" + big(std::uint32_t{3}) + big(std::uint64_t{1}) + big(std::uint64_t{0});
  bytes +=
      big(std::uint64_t{1}) + "w" + big(std::uint32_t{1}) + big(std::uint64_t{1}) + big(f32) + big(std::uint64_t{0});
  bytes.resize(64);
  EXPECT_EQ(floats_of(torch_testing::read_bytes(raw(bytes + big(1.5F)))), (std::vector<float>{1.5F}));
}

TEST(Gguf, KeepsItsMetadata) {
  const Checkpoint read =
      read_file({.metadata = {entry("a", string_value, text("x\"y")),
                              entry("b", uint32_value, number(std::uint32_t{7})), entry("c", float_value, number(0.1F)),
                              entry("d", array_value, number(uint8_value) + number(std::uint64_t{3}) + "\1\2\3")}});
  const std::vector<std::pair<std::string, std::string>> expected{
      {"a", "x\"y"}, {"b", "7"}, {"c", "0.1"}, {"d", "[1, 2, 3]"}};
  EXPECT_EQ(read.metadata, expected);
}

TEST(Gguf, KeepsLongArraysInFullAndNestedOnes) {
  std::string words = number(string_value) + number(std::uint64_t{20}), kept;
  for (int i = 0; i < 20; ++i) {
    words += text("w");
    kept += i == 0 ? "\"w\"" : ", \"w\"";
  }
  const std::string inner = number(uint8_value) + number(std::uint64_t{2}) + "\1\2";
  const Checkpoint read = read_file(
      {.metadata = {entry("words", array_value, words),
                    entry("nested", array_value, number(array_value) + number(std::uint64_t{2}) + inner + inner)}});
  EXPECT_EQ(read.metadata[0].second, "[" + kept + "]");
  EXPECT_EQ(read.metadata[1].second, "[[1, 2], [1, 2]]");
}

TEST(Gguf, LeavesOutWholeWhatTakesTooMuchMetadataAndSaysSo) {
  constexpr std::uint64_t count = limits::gguf_metadata_bytes / 2;  // each is "5, "
  const std::string bytes = number(uint8_value) + number(count) + std::string(count, '\5');
  const std::string inner = number(array_value) + number(std::uint64_t{1}) + bytes;
  const Checkpoint read = read_file({.metadata = {entry("a", uint8_value, "\1"), entry("bytes", array_value, bytes),
                                                  entry("inner", array_value, inner), entry("z", uint8_value, "\2")}});
  EXPECT_EQ(read.metadata, (std::vector<std::pair<std::string, std::string>>{{"a", "1"}, {"z", "2"}}));
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_EQ(read.warnings[0], "the metadata takes more than 16 MiB as text: 'bytes' and 1 more are left out");
}

TEST(Gguf, AlignmentIsAsItsMetadataSays) {
  const auto aligned = [](std::uint32_t alignment) {
    return File{.tensors = {{"w", {4}, f32, alignment}},
                .metadata = {entry("general.alignment", uint32_value, number(alignment))},
                .data = std::string(2 * std::size_t{alignment} + 16, '\0'),
                .alignment = alignment};
  };
  EXPECT_EQ(read_file(aligned(8)).tensors.size(), 1U);
  EXPECT_EQ(read_file(aligned(256)).tensors.size(), 1U);
  File odd = aligned(32);
  odd.metadata = {entry("general.alignment", uint32_value, number(std::uint32_t{24}))};
  EXPECT_TRUE(has(message(odd), "general.alignment is 24"));
  odd.metadata = {entry("general.alignment", uint8_value, "\x20")};
  EXPECT_TRUE(has(message(odd), "expected a power of two"));
}

TEST(Gguf, QuantisedTensorsAreTheBytesOfTheirBlocks) {
  const Checkpoint read =
      read_file({.tensors = {{"q", {64, 2}, q8_0, 0}, {"k", {256}, q4_k, 160}}, .data = std::string(320, '\0')});
  EXPECT_EQ(read.tensors[0].info.dtype, DType::uint8);
  EXPECT_EQ(read.tensors[0].info.shape, (Shape{2, 68}));
  EXPECT_EQ(read.tensors[1].info.shape, (Shape{144}));
  ASSERT_EQ(read.warnings.size(), 1U);
  EXPECT_EQ(read.warnings[0],
            "2 tensors are quantised (1 Q4_K, 1 Q8_0) and shown as the bytes of their blocks; "
            "ckpt convert --dequantize makes float32 of Q8_0 and Q4_0");
}

/// Scale 0.5, and the numbers 0, 1, 2 …, of which the half precision float is exact.
TEST(Gguf, NumbersAreMadeOfQ8_0WhereThatIsAsked) {
  std::string block = number(std::uint16_t{0x3800});
  for (char i = 0; i < 32; ++i) block += static_cast<char>(i - 16);
  const Checkpoint read = read_file({.tensors = {{"q", {64}, q8_0, 0}}, .data = block + block}, {.dequantize = true});
  EXPECT_EQ(read.tensors[0].info.shape, (Shape{64}));
  EXPECT_TRUE(read.warnings.empty());
  const auto numbers = floats_of(read);
  ASSERT_EQ(numbers.size(), 64U);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(numbers[i], (static_cast<float>(i % 32) - 16) / 2);
}

TEST(Gguf, NumbersAreMadeOfQ4_0WhereThatIsAsked) {
  std::string block = number(std::uint16_t{0xC000});  // -2
  for (int i = 0; i < 16; ++i) block += static_cast<char>(i | (15 - i) << 4);
  const auto numbers = floats_of(read_file({.tensors = {{"q", {32}, q4_0, 0}}, .data = block}, {.dequantize = true}));
  ASSERT_EQ(numbers.size(), 32U);
  for (std::size_t i = 0; i < 16; ++i) {
    EXPECT_EQ(numbers[i], -2 * (static_cast<float>(i) - 8));
    EXPECT_EQ(numbers[i + 16], -2 * (7 - static_cast<float>(i)));
  }
}

TEST(Gguf, NumbersAreTheSameInPiecesOfAnySize) {
  std::string blocks;
  for (int i = 0; i < 6 * 34; ++i) blocks += static_cast<char>(i * 37);
  const Checkpoint read = read_file({.tensors = {{"q", {192}, q8_0, 0}}, .data = blocks}, {.dequantize = true});
  const ByteSource& bytes = *read.storages[0].bytes;
  const auto whole = read_all(bytes, 1 << 20);
  ASSERT_EQ(whole.size(), 768U);
  for (const std::size_t size : {1U, 3U, 127U, 129U, 500U})
    for (std::size_t at = 0; at < whole.size(); at += size) {
      std::vector<std::byte> piece(std::min(size, whole.size() - at));
      bytes.read_exactly(at, piece);
      EXPECT_TRUE(std::equal(piece.begin(), piece.end(), whole.begin() + static_cast<std::ptrdiff_t>(at))) << size;
    }
  std::array<std::byte, 8> past{};
  EXPECT_EQ(bytes.read_at(768, past), 0U);
}

TEST(Gguf, OtherBlocksAreRefusedByNameWhereNumbersAreAsked) {
  const Checkpoint read = read_file({.tensors = {{"the weight", {256}, q4_k, 0}}, .data = std::string(144, '\0')},
                                    {.dequantize = true});  // what asks for other tensors alone is not refused
  EXPECT_EQ(read.tensors.at(0).info.dtype, DType::float32);
  const Error error = error_of([&] { stream_all(*read.storages.at(0).bytes, [](auto) {}); }).value();
  EXPECT_EQ(error.code(), ErrorCode::unsupported);
  EXPECT_TRUE(has(error.what(), "'the weight' is quantised as Q4_K")) << error.what();
  EXPECT_FALSE(error.hint().empty());
}

TEST(Gguf, NoNumbersAreMadeOfNoBlocksOfAnyKind) {
  const Checkpoint read = read_file({.tensors = {{"empty", {0, 2}, q4_k, 0}}, .data = ""}, {.dequantize = true});
  EXPECT_EQ(read.tensors.at(0).info.dtype, DType::float32);
  EXPECT_TRUE(floats_of(read).empty());
  std::span<std::byte> nothing;
  EXPECT_NO_THROW(read.storages.at(0).bytes->read_exactly(0, nothing));
}

TEST(Gguf, EveryTypeWithABlockHasWholeRowsOfThem) {
  for (std::uint32_t id = 0; id < 64; ++id) {
    const auto* const type = gguf::find_type(id);
    if (type == nullptr || type->block <= 1) continue;
    EXPECT_TRUE(has(message({.tensors = {{"w", {type->block + 1}, id, 0}}}), "a multiple of")) << type->name;
  }
}

TEST(Gguf, TypesThatAreGoneOrNewAreNamed) {
  EXPECT_TRUE(has(message({.tensors = {{"w", {32}, 4, 0}}}), "type 4 (Q4_2, which ggml no longer has)"));
  EXPECT_TRUE(has(message({.tensors = {{"w", {32}, 999, 0}}}), "type 999, expected"));
}

TEST(Gguf, VersionsThatAreNotKnownAreRefused) {
  EXPECT_TRUE(has(message({.version = 4}), "GGUF of version 4"));
  EXPECT_TRUE(has(message({.version = 0}), "GGUF of version 0"));
}

TEST(Gguf, CountsAndLengthsAreNotBelieved) {
  const std::string tensors = gguf({.data = "", .more_tensors = ~std::uint64_t{0}});
  EXPECT_EQ(refused(tensors.substr(0, 24)).code(), ErrorCode::truncated);
  const std::string many = gguf({.data = "", .more_metadata = ~std::uint64_t{0}});
  EXPECT_EQ(refused(many.substr(0, 24)).code(), ErrorCode::truncated);
  const auto entry_of = [](const std::string& bytes) { return gguf({.metadata = {bytes}, .data = ""}); };
  EXPECT_EQ(refused(entry_of(number(~std::uint64_t{0} - 3))).code(), ErrorCode::truncated);
  EXPECT_EQ(refused(entry_of(number(std::uint64_t{1} << 20))).code(), ErrorCode::truncated);
  const auto array_of = [&](std::uint32_t type, std::uint64_t count) {
    return entry_of(entry("a", array_value, number(type) + number(count)));
  };
  EXPECT_EQ(refused(array_of(uint8_value, ~std::uint64_t{0})).code(), ErrorCode::truncated);
  EXPECT_EQ(refused(array_of(uint32_value, ~std::uint64_t{0})).code(), ErrorCode::truncated);
  EXPECT_EQ(refused(array_of(string_value, ~std::uint64_t{0})).code(), ErrorCode::truncated);
  EXPECT_EQ(refused(array_of(77, 1)).code(), ErrorCode::corrupt);
}

TEST(Gguf, ShapesThatOverflowAreRefused) {
  const std::uint64_t large = std::uint64_t{1} << 40;
  EXPECT_TRUE(has(message({.tensors = {{"w", {large, large}, f32, 0}}}), "more than 2^63 elements"));
  EXPECT_TRUE(has(message({.tensors = {{"w", {0, large, large}, f32, 0}}}), "more than 2^63 elements"));
  EXPECT_TRUE(has(message({.tensors = {{"w", {std::uint64_t{1} << 62}, f32, 0}}}), "more than 2^63 bytes"));
  EXPECT_TRUE(has(message({.tensors = {{"w", {INT64_MAX / 32 * 32, 0}, 8, 0}}}), "more than 2^63 bytes")) << "Q8_0";
  EXPECT_TRUE(has(message({.tensors = {{"w", std::vector<std::uint64_t>(65, 1), f32, 0}}}), "65 dimensions"));
}

TEST(Gguf, TensorsLieApartAlignedAndInTheFile) {
  EXPECT_TRUE(has(message({.tensors = {{"a", {4}, f32, 0}, {"b", {4}, f32, 0}}}), "tensor 'b' overlaps 'a'"));
  EXPECT_TRUE(has(message({.tensors = {{"a", {16}, f32, 0}, {"b", {4}, f32, 32}}}), "overlaps"));
  EXPECT_TRUE(has(message({.tensors = {{"a", {4}, f32, 4}}}), "expected a multiple of 32"));
  EXPECT_TRUE(has(message({.tensors = {{"a", {4}, f32, ~std::uint64_t{31}}}}), "ends past 2^64 bytes"));
  EXPECT_EQ(refused(gguf({.tensors = {{"a", {4}, f32, 32}}})).code(), ErrorCode::truncated);
  EXPECT_EQ(read_file({.tensors = {{"a", {0}, f32, 0}, {"b", {4}, f32, 0}}}).tensors.size(), 2U);
}

TEST(Gguf, NamesAndKeysComeOnce) {
  EXPECT_TRUE(has(message({.tensors = {{"w", {1}, f32, 0}, {"w", {1}, f32, 32}}}), "tensor 'w' comes twice"));
  const std::string key = entry("k", uint8_value, "\1");
  EXPECT_TRUE(has(message({.metadata = {key, key}}), "the key 'k' comes twice"));
  EXPECT_TRUE(has(message({.tensors = {{"\xff", {1}, f32, 0}}}), "not UTF-8"));
}

TEST(Gguf, WhatFollowsTheTensorsIsToldOf) {
  const File file{.tensors = {{"w", {4}, f32, 0}}, .data = std::string(16 + 40, '\0')};
  EXPECT_EQ(read_file(file).warnings, (std::vector<std::string>{"40 bytes follow the tensors and are left out"}));
}

TEST(Gguf, InGzipIsKnownToBeWholeAtItsEnd) {
  const std::string whole = gguf({.tensors = {{"w", {4}, f32, 0}}});
  const Checkpoint read = torch_testing::read_bytes(io_testing::gzipped(raw(whole)));
  EXPECT_TRUE(finish_reading(read).empty());
  const auto error = error_of(
      [&] { finish_reading(torch_testing::read_bytes(io_testing::gzipped(raw(whole.substr(0, whole.size() - 1))))); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::truncated);
}

TEST(Gguf, ConvertsToTorchWithTheSameDigest) {
  const Checkpoint before = read_file({.tensors = {{"w", {2, 2}, f32, 0}}});
  const Checkpoint after = torch_testing::read_bytes(torch_testing::written_as(before, "torch"));
  EXPECT_EQ(digest(before).total, digest(after).total);
}

}  // namespace
}  // namespace ckpt
