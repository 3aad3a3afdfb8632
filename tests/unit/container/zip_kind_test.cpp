#include "container/zip_kind.h"

#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "ckpt/formats.h"
#include "container/zip_builder.h"
#include "foreign.h"

namespace ckpt {
namespace {

using zip_testing::ZipPart;

ByteSourcePtr archive(const std::vector<std::string>& names) {
  std::vector<ZipPart> parts;
  for (const std::string& name : names) parts.push_back({.name = name, .data = "x"});
  return zip_testing::source_of(zip_testing::build_zip(parts));
}

TEST(ZipKind, IsToldByNames) {
  EXPECT_EQ(zip_kind(*archive({"r/data/0", "r/data.pkl"})), ZipKind::checkpoint);
  EXPECT_EQ(zip_kind(*archive({"r/data/0", "r/data.pkl", "r/constants.pkl"})), ZipKind::script);
  EXPECT_EQ(zip_kind(*archive({"r/version", "r/model.json"})), ZipKind::script);
  EXPECT_EQ(zip_kind(*archive({"r/model.json"})), ZipKind::other);
  EXPECT_EQ(zip_kind(*archive({"a.npy", "b.npy"})), ZipKind::arrays);
  EXPECT_EQ(zip_kind(*archive({"a.npy", "r/data.pkl"})), ZipKind::checkpoint);
  EXPECT_EQ(zip_kind(*archive({"word/document.xml"})), ZipKind::other);
  EXPECT_EQ(zip_kind(*archive({})), ZipKind::other);
  EXPECT_EQ(zip_kind(*zip_testing::source_of("PK")), ZipKind::none);
}

TEST(ZipKind, OfAPickleThatComesFirstIsToldByIt) {
  const std::string script =
      "\x80\x02"
      "c__torch__.m\nNet\n";
  const auto with = [](const std::string& pickle, const std::string& other) {
    return zip_testing::build_zip({{.name = "r/data.pkl", .data = pickle}, {.name = other, .data = "x"}});
  };
  const auto kind = [](const std::string& bytes) { return zip_kind(*zip_testing::source_of(bytes)); };
  EXPECT_EQ(kind(with(script, "r/constants.pkl")), ZipKind::script);
  EXPECT_EQ(kind(with("\x80\x02}.", "r/constants.pkl")), ZipKind::checkpoint);

  // torch.save writes such a class too, and the directory knows.
  const std::string saved = with(script, "r/version");
  EXPECT_EQ(kind(saved), ZipKind::checkpoint);
  EXPECT_EQ(kind(saved.substr(0, saved.size() - 30)), ZipKind::script);
}

TEST(ZipKind, OfADamagedArchiveIsACheckpoint) {
  const auto cut = [](const std::string& first) {
    const std::string whole = zip_testing::build_zip({{.name = first, .data = "x"}});
    return zip_kind(*zip_testing::source_of(whole.substr(0, whole.size() - 30)));
  };
  EXPECT_EQ(cut("r/version"), ZipKind::checkpoint);
  EXPECT_EQ(cut("r/a/data/0"), ZipKind::checkpoint);
  EXPECT_EQ(cut("data/0"), ZipKind::checkpoint);
  EXPECT_EQ(cut("r/data/0"), ZipKind::script) << "whose storages torch.jit.save puts first";
}

std::string named(const std::vector<std::string>& names) { return foreign_file(*archive(names)).what(); }

TEST(ForeignZip, IsNamed) {
  EXPECT_NE(named({"x/archive_format", "x/data/weights/weight_0"}).find("torch.export"), std::string::npos);
  EXPECT_NE(named({"serialized_exported_program.json"}).find("torch.export"), std::string::npos);
  EXPECT_NE(named({"x/archive_format", "x/data/aotinductor/model/a.so"}).find("AOTInductor"), std::string::npos);
  EXPECT_NE(named({"p/.data/extern_modules", "p/model/model.pkl"}).find("torch.package"), std::string::npos);
  EXPECT_NE(named({"metadata.json", "model.weights.h5"}).find("Keras"), std::string::npos);
  EXPECT_NE(named({"[Content_Types].xml", "word/document.xml"}).find("Office"), std::string::npos);
  EXPECT_NE(named({"META-INF/MANIFEST.MF", "a.class"}).find("Java"), std::string::npos);
  EXPECT_NE(named({"readme.txt", "weights/model.pt"}).find("a zip archive around 'weights/model.pt'"),
            std::string::npos);
  EXPECT_NE(named({"a.txt"}).find("a zip archive without a checkpoint"), std::string::npos);
  EXPECT_NE(named({}).find("an empty zip archive"), std::string::npos);
}

}  // namespace
}  // namespace ckpt
