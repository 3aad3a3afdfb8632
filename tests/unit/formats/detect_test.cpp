#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::bytes_of;
using io_testing::gzipped;
using torch_testing::Bytes;
using torch_testing::bytes_of;
using torch_testing::LegacyFile;
using torch_testing::source_of;
using torch_testing::ZipFile;

const ZipFile zip{.object = torch_testing::weight()};
const LegacyFile legacy{.object = py::none(), .data = {}};

std::string detected(Bytes bytes) {
  const Detection detection = detect(source_of(std::move(bytes), "model.npz"));
  return detection.format + " " + std::to_string(detection.gzip_layers);
}

TEST(Detect, GoesByContent) {
  EXPECT_EQ(detected(bytes_of(zip)), "torch 0");
  EXPECT_EQ(detected(bytes_of(legacy)), "torch-legacy 0");
  EXPECT_EQ(detected(bytes_of(std::string_view("hello"))), " 0");
  EXPECT_EQ(detected({}), " 0");
}

TEST(Detect, ReadsLittleOfWhatAnnouncesMuch) {
  using namespace std::string_view_literals;
  for (const std::string_view head : {"Time,Volume"sv, "\x80\2X\xff\xff\xff\0"sv, "\x8e\xff\xff\xff\0\0\0\0\0"sv}) {
    Bytes bytes = bytes_of(head);
    bytes.resize(32 << 20, std::byte{'a'});
    const auto source = std::make_shared<io_testing::CountingSource>(bytes);
    static_cast<void>(detect(source));
    EXPECT_LT(source->read, bytes.size() / 4) << head;
  }
}

TEST(Detect, LooksIntoGzip) {
  EXPECT_EQ(detected(gzipped(bytes_of(zip))), "torch 1");
  EXPECT_EQ(detected(gzipped(gzipped(bytes_of(legacy)))), "torch-legacy 2");
}

TEST(Detect, LooksIntoNoMoreGzipThanTheLimit) {
  const auto error = io_testing::error_of([] { detected(gzipped(gzipped(gzipped(bytes_of(zip))))); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::limit_exceeded);
}

TEST(Detect, TakesTheMagicNumberInEverySpelling) {
  using namespace std::string_view_literals;
  const std::string number = "119547037146038801333356";
  EXPECT_EQ(detected(bytes_of(std::string_view("L" + number + "L\n."))), "torch-legacy 0");
  EXPECT_EQ(detected(bytes_of("\x80\2\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv)), "torch-legacy 0");
  EXPECT_EQ(detected(bytes_of("\x80\4\x95\x0d\0\0\0\0\0\0\0\x8a\n\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."sv)),
            "torch-legacy 0");
}

TEST(Detect, TakesNoOtherNumber) {
  EXPECT_EQ(detected(bytes_of(std::string_view("L119547037146038801333357L\n."))), "pickle 0");
  EXPECT_EQ(detected(bytes_of(std::string_view(py::pickle(py::integer(7))))), "pickle 0");
}

std::string foreign(std::string_view bytes) {
  const auto error = torch_testing::refusal(bytes_of(bytes));
  EXPECT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::unsupported);
  EXPECT_FALSE(error->hint().empty());
  return error->what();
}

TEST(ForeignFiles, AreNamed) {
  using namespace std::string_view_literals;
  EXPECT_EQ(foreign("7z\xbc\xaf\x27\x1c\0\4"sv), "test.pt: this is a 7z archive, expected a PyTorch checkpoint");
  EXPECT_NE(foreign("Rar!\x1a\7\1\0"sv).find("rar"), std::string::npos);
  EXPECT_NE(foreign("version https://git-lfs.github.com/spec/v1\n").find("Git LFS"), std::string::npos);
  EXPECT_NE(foreign("<!DOCTYPE html><html>").find("web page"), std::string::npos);
  EXPECT_NE(foreign("\x89HDF\r\n\x1a\n....."sv).find("HDF5"), std::string::npos);
  EXPECT_NE(foreign(std::string(257, 'x') + "ustar").find("tar archive"), std::string::npos);
}

TEST(ForeignFiles, WithoutAMagicNumberAreNamedByTheirShape) {
  using namespace std::string_view_literals;
  const std::pair<std::string_view, std::string_view> shapes[] = {
      {"\x08\x08\x12\x07pytorch\x1a\x05"
       "2.1.0:\x80"sv,
       "an ONNX model"},
      {"\x08\x03\x3a\x10graph"sv, "an ONNX model"},
      {"\x08\x01\x12\x80\x02\x0a\x10"sv, "the graph of a TensorFlow SavedModel"},
      {"\x08\x05\x12\x20\x0a\x10\x0a\x05image"sv, "a Core ML model"},
      {"\x0a\x14\x0a\x05input\x12\x0bPlaceholder"sv, "a TensorFlow graph"},
      {"\x0a\x05lenet\xa2\x06\x10"sv, "a Caffe model"},
      {"\x81\xa6params\x82\xa7"
       "Dense_0"sv,
       "a msgpack file (Flax)"},
      {"\xde\0\x14\xa5layer\x82"sv, "a msgpack file (Flax)"},
      {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\6\0\0\0\x08\5\x10\3"sv, "a file of Paddle's parameters"},
      {"\4\0\0\0\1\0\0\0\3\0\0\0V 1\x10\0\0\0nn.Seq"sv, "a file of Torch7 (Lua)"},
      {"\3\0\0\0\1\0\0\0\2\0\0\0\2\0\0\0\5\0\0\0model"sv, "a file of Torch7 (Lua)"},
  };
  for (const auto& [bytes, what] : shapes)
    EXPECT_EQ(foreign(bytes), "test.pt: this is " + std::string(what) + ", expected a PyTorch checkpoint");
  EXPECT_NE(foreign(std::string(100, '\0')).find("nothing but zeros"), std::string::npos);
  EXPECT_NE(foreign("\x01\xfe" + std::string(46, 'x') + "\x57\xfb\x80\x8b\x24\x75\x47\xdb").find("TensorFlow"),
            std::string::npos);
}

TEST(ForeignFiles, ThatAreTextAreToldApart) {
  EXPECT_NE(foreign("{\"architectures\": []}").find("JSON"), std::string::npos);
  EXPECT_NE(foreign("<?xml version=\"1.0\"?>").find("XML"), std::string::npos);
  EXPECT_NE(foreign("Entry not found").find("text: 'Entry not found'"), std::string::npos);
}

TEST(ForeignFiles, AreNamedInTheCommandThatHelps) {
  const auto error = torch_testing::refusal(bytes_of(std::string_view("BZh91AY")));
  ASSERT_TRUE(error);
  EXPECT_EQ(error->hint(), "bzip2 -dc < test.pt > OUT");
}

TEST(ForeignFiles, ThatAreEmptyAreSaidToBe) { EXPECT_NE(foreign("").find("the file is empty"), std::string::npos); }

TEST(ForeignFiles, ThatNobodyKnowsShowTheirFirstBytes) {
  EXPECT_EQ(foreign("\x01\xfe hello world"),
            "test.pt: no known format begins with 01 fe 20 68 65 6c 6c 6f, expected a PyTorch checkpoint");
}

TEST(ForeignFiles, AreNamedInsideGzipToo) {
  const auto error = torch_testing::refusal(gzipped(bytes_of(std::string_view("PAR1...."))));
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("Parquet"), std::string::npos);
}

TEST(Registry, ListsWhatIsReadAndWritten) {
  const auto known = formats();
  std::vector<std::string> names;
  for (const FormatInfo& format : known) names.push_back(format.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"gguf", "npy", "npz", "torch", "torchscript", "torch-legacy", "dcp", "torch-tar",
                                      "safetensors", "safetensors-index", "torch-index", "pickle"}));
  for (const FormatInfo& format : known) {
    EXPECT_TRUE(format.reads) << format.name;
    EXPECT_FALSE(format.loader.empty()) << format.name;
  }
}

TEST(Read, SaysWhereTheCheckpointComesFrom) {
  const auto checkpoint = read(source_of(gzipped(bytes_of(zip)), "model.pt.gz"));
  EXPECT_EQ(checkpoint.file, "model.pt.gz");
  EXPECT_TRUE(checkpoint.gzip);
  EXPECT_FALSE(torch_testing::read_bytes(bytes_of(zip)).gzip);
}

}  // namespace
}  // namespace ckpt
