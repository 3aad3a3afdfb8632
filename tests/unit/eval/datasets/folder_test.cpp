#include "ckpt/pictures.h"

#include <sys/stat.h>
#include <unistd.h>

#include "io/io_testing.h"

namespace ckpt::eval {
namespace {

namespace fs = std::filesystem;

class Folder : public testing::Test {
 protected:
  void put(const std::string& name) {
    fs::create_directories(fs::path(folder_ / name).parent_path());
    io_testing::put_file(folder_ / name, "");
  }

  /// What is found, without the folder's own path.
  [[nodiscard]] std::vector<std::string> found() const {
    std::vector<std::string> names;
    for (const auto& path : find_pictures(folder_.path())) {
      EXPECT_EQ(path.rfind(folder_.path() + "/", 0), 0U) << path;
      names.push_back(path.substr(folder_.path().size() + 1));
    }
    return names;
  }

  using Names = std::vector<std::string>;
  io_testing::TemporaryFolder folder_;
};

TEST_F(Folder, PicturesAreFoundByTheirSuffix) {
  for (const char* name : {"a.png", "b.PNG", "c.jpg", "png", "d.png.txt"}) put(name);
  EXPECT_EQ(found(), (Names{"a.png", "b.PNG"}));
}

TEST_F(Folder, NumbersAreInNumericOrder) {
  for (const char* name : {"10.png", "2.png", "1.png"}) put(name);
  EXPECT_EQ(found(), (Names{"1.png", "2.png", "10.png"}));
}

TEST_F(Folder, FoldersUnderItCount) {
  for (const char* name : {"10/a.png", "2/b/c/d.png", "e.png", "f.png/g.png"}) put(name);
  EXPECT_EQ(found(), (Names{"2/b/c/d.png", "10/a.png", "e.png", "f.png/g.png"}));
}

TEST_F(Folder, ALinkThatLeadsBackIsHarmless) {
  put("a/b.png");
  fs::create_directory_symlink("..", folder_ / "a/up");
  fs::create_directory_symlink(".", folder_ / "self");
  fs::create_symlink("loop", folder_ / "loop");
  EXPECT_EQ(found().size(), 1U);
}

TEST_F(Folder, LinksToFoldersAreFollowedOnce) {
  put("a.png");
  const io_testing::TemporaryFolder other;
  io_testing::put_file(other / "b.png", "");
  fs::create_directory_symlink(other.path(), folder_ / "one");
  fs::create_directory_symlink(other.path(), folder_ / "two");
  EXPECT_EQ(found().size(), 2U);
}

TEST_F(Folder, ALinkThatLeadsNowhereIsFoundForItsReaderToReport) {
  fs::create_symlink("/nowhere/a.png", folder_ / "a.png");
  fs::create_symlink("b.png", folder_ / "b.png");
  EXPECT_EQ(found(), (Names{"a.png", "b.png"}));
}

TEST_F(Folder, APipeIsNoPicture) {
  ASSERT_EQ(::mkfifo((folder_ / "a.png").c_str(), 0600), 0);
  EXPECT_EQ(found(), (Names{}));
}

TEST_F(Folder, OneThatIsNotThereIsAnError) {
  const auto error = io_testing::error_of([&] { find_pictures(folder_ / "none"); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
  EXPECT_EQ(error->file(), folder_ / "none");
}

TEST_F(Folder, AFileIsNoFolder) {
  put("a.png");
  EXPECT_EQ(io_testing::error_of([&] { find_pictures(folder_ / "a.png"); })->code(), ErrorCode::io);
}

// Whom permissions do not stop, a path past the system's length does.
TEST_F(Folder, OneUnderItThatCannotBeReadIsAnError) {
  const std::string name(250, 'd');
  int at = ::open(folder_.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int depth = 0; depth < 17; ++depth) {
    ASSERT_EQ(::mkdirat(at, name.c_str(), 0700), 0);
    const int next = ::openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ::close(at);
    at = next;
  }
  ::close(at);
  const auto error = io_testing::error_of([&] { static_cast<void>(found()); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::io);
}

}  // namespace
}  // namespace ckpt::eval
