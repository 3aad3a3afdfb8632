#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/extract.h"
#include "ckpt/merge.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "ckpt/recover.h"
#include "ckpt/state_dict.h"
#include "ckpt/stats.h"
#include "ckpt/tensor_ops.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using Use = std::function<void(const Checkpoint&)>;

/// What takes a checkpoint's parts or writes it, by name.
std::map<std::string, Use> uses_of_a_root(const std::string& folder) {
  std::map<std::string, Use> uses;
  for (const char* suffix : {"pt", "safetensors", "npz", "npy"})
    uses[std::string("save as ") + suffix] = [=](const Checkpoint& c) { save(c, folder + "/x." + suffix); };
  for (const char* format : {"torch", "torch-legacy", "safetensors-index", "torch-index", "dcp", "torchscript"})
    uses[std::string("save as ") + format] = [=](const Checkpoint& c) {
      SaveOptions options;
      options.format = format;
      save(c, folder + "/" + format, options);
    };
  uses["keep"] = [](const Checkpoint& c) { select(c, {.keep = {"*"}, .drop = {}}); };
  uses["take_root"] = [](const Checkpoint& c) { take_root(c, "a"); };
  uses["take_root auto"] = [](const Checkpoint& c) { take_root(c, "auto"); };
  uses["extract"] = [](const Checkpoint& c) { extract(c, "a", true); };
  uses["merge"] = [](const Checkpoint& c) { merge({c, c}); };
  uses["cast"] = [](const Checkpoint& c) { cast(c, DType::float16); };
  uses["compact"] = [](const Checkpoint& c) { compact(c); };
  uses["make_contiguous"] = [](const Checkpoint& c) { make_contiguous(c); };
  return uses;
}

/// What looks at one: where there is no root, there is nothing to see.
const std::map<std::string, Use> looks{
    {"tensor_names", [](const Checkpoint& c) { tensor_names(c); }},
    {"find_state_dicts", [](const Checkpoint& c) { find_state_dicts(c); }},
    {"digest", [](const Checkpoint& c) { digest(c); }},
    {"stats", [](const Checkpoint& c) { stats(c); }},
    {"remap", [](const Checkpoint& c) { remap(c, DeviceMap::all_to("cpu")); }},
    {"unpack_modules", [](const Checkpoint& c) { unpack_modules(c); }},
    {"strip_prefix", [](const Checkpoint& c) { strip_prefix(c); }},
    {"strip_optimizer", [](const Checkpoint& c) { strip_optimizer(c); }},
    {"select", [](const Checkpoint& c) { select(c, {}); }},
    {"drop", [](const Checkpoint& c) { select(c, {.keep = {}, .drop = {"*"}}); }},
};

void expect_refusal(const std::string& name, const Use& use, const Checkpoint& checkpoint) {
  const auto error = io_testing::error_of([&] { use(checkpoint); });
  ASSERT_TRUE(error) << name;
  EXPECT_EQ(error->code(), ErrorCode::invalid_argument) << name << ": " << error->what();
}

TEST(Rootless, IsNeitherWrittenNorTakenApart) {
  const io_testing::TemporaryFolder folder;
  for (const auto& [name, use] : uses_of_a_root(folder.path())) expect_refusal(name, use, Checkpoint{});
  EXPECT_EQ(folder.entries(), std::vector<std::string>());
}

TEST(Rootless, HoldsNothingToLookAt) {
  for (const auto& [name, look] : looks)
    EXPECT_FALSE(io_testing::error_of([&, &look = look] { look(Checkpoint{}); })) << name;
}

TEST(Rootless, OrMovedFromIsRefused) {
  const io_testing::TemporaryFolder folder;
  Checkpoint moved = torch_testing::checkpoint_of(py::dict({{py::str("a"), torch_testing::weight()}}));
  const Checkpoint taken = std::move(moved);
  for (const auto& [name, use] : uses_of_a_root(folder.path()))
    expect_refusal(name, use, moved);  // NOLINT(bugprone-use-after-move): that is what is tested
  for (const auto& [name, look] : looks)
    if (name != "remap" && name != "select") expect_refusal(name, look, moved);
}

TEST(Rootless, RemainsOfAFileAreNotSaved) {
  const auto whole = bytes_of(torch_testing::ZipFile{.object = py::dict({{py::str("a"), torch_testing::weight()}})});
  auto cut = whole;
  cut.resize(whole.size() / 3);
  const Recovery recovery = recover(torch_testing::source_of(cut));
  ASSERT_FALSE(recovery.has_checkpoint());
  const io_testing::TemporaryFolder folder;
  expect_refusal(
      "save", [&](const Checkpoint& c) { save(c, folder / "x.pt"); }, recovery.checkpoint);
}

}  // namespace
}  // namespace ckpt
