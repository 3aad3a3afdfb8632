#include <filesystem>

#include "caps_testing.h"
#include "ckpt/formats.h"
#include "ckpt/limits.h"
#include "io/io_testing.h"

namespace ckpt::caps_testing {
namespace {

TEST(Cap, folder_entries) {
  const io_testing::TemporaryFolder folder;
  io_testing::put_file(folder / "model.safetensors", "");
  // Links to one file: as many entries, for less.
  for (std::size_t i = 1; i < limits::folder_entries; ++i)
    std::filesystem::create_symlink("model.safetensors", folder / ("notes-" + std::to_string(i)));
  expect_within([&] { static_cast<void>(open_checkpoint(folder.path())); });
  std::filesystem::create_symlink("model.safetensors", folder / "one more");
  expect_past([&] { static_cast<void>(open_checkpoint(folder.path())); });
}

}  // namespace
}  // namespace ckpt::caps_testing
