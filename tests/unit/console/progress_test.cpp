#include "console/progress.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <optional>
#include <string>

#include "io/io_testing.h"

namespace ckpt::tools {
namespace {

using std::chrono::milliseconds;

/// Standard error as a pseudo-terminal of so many columns, until the end of the test.
class Terminal {
 public:
  explicit Terminal(unsigned short columns = 100) : master_(::posix_openpt(O_RDWR | O_NOCTTY)) {
    ::grantpt(master_);
    ::unlockpt(master_);
    const int slave = ::open(::ptsname(master_), O_RDWR | O_NOCTTY);
    const winsize size{24, columns, 0, 0};
    ::ioctl(slave, TIOCSWINSZ, &size);
    ::fcntl(master_, F_SETFL, O_NONBLOCK);
    redirected_.emplace(STDERR_FILENO, slave);
    ::close(slave);
    ::setenv("TERM", "xterm", 1);
  }
  ~Terminal() { ::close(master_); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  /// What has been written to it since the last call.
  std::string shown() const {
    std::fflush(stderr);
    std::array<char, 4096> buffer{};
    const ssize_t size = ::read(master_, buffer.data(), buffer.size());
    return {buffer.data(), static_cast<std::size_t>(size < 0 ? 0 : size)};
  }

 private:
  int master_;
  std::optional<io_testing::Redirected> redirected_;
};

/// A clock that is set by hand.
struct Time {
  std::chrono::steady_clock::time_point now{};
  Progress::Clock clock() {
    return [this] { return now; };
  }
};

TEST(Progress, says_nothing_in_the_first_second) {
  const Terminal terminal;
  Time time;
  Progress progress("evaluating", false, time.clock());
  time.now += milliseconds(999);
  progress.update(50, 100);
  progress.clear();
  EXPECT_EQ(terminal.shown(), "");
}

TEST(Progress, draws_how_far_it_is_and_what_is_left) {
  const Terminal terminal;
  Time time;
  Progress progress("evaluating", false, time.clock());
  time.now += milliseconds(3000);
  progress.update(2500, 10000);
  EXPECT_EQ(terminal.shown(), "\revaluating [######------------------]  25 %  2,500 of 10,000  9 s left\x1b[K");
}

TEST(Progress, draws_ten_times_a_second_at_most) {
  const Terminal terminal;
  Time time;
  Progress progress("evaluating", false, time.clock());
  time.now += milliseconds(1000);
  int drawn = 0;
  for (int i = 0; i < 1000; ++i, time.now += milliseconds(1)) {
    progress.update(static_cast<std::uint64_t>(i), 1000);
    drawn += terminal.shown().empty() ? 0 : 1;
  }
  EXPECT_EQ(drawn, 10);
}

TEST(Progress, is_gone_at_the_end) {
  const Terminal terminal;
  Time time;
  {
    Progress progress("evaluating", false, time.clock());
    time.now += milliseconds(1500);
    progress.update(1, 2);
    EXPECT_NE(terminal.shown(), "");
  }
  EXPECT_EQ(terminal.shown(), "\r\x1b[K");
}

TEST(Progress, does_not_wrap_on_a_narrow_terminal) {
  const Terminal terminal(20);
  Time time;
  Progress progress("evaluating", false, time.clock());
  time.now += milliseconds(1500);
  progress.update(1, 2);
  EXPECT_EQ(terminal.shown(), "\revaluating [#######\x1b[K");
}

TEST(Progress, counts_where_the_end_is_not_known) {
  const Terminal terminal;
  Time time;
  Progress progress("reading", false, time.clock());
  time.now += milliseconds(1500);
  progress.update(12345, 0);
  EXPECT_EQ(terminal.shown(), "\rreading 12,345\x1b[K");
}

TEST(Progress, is_silent_where_asked) {
  const Terminal terminal;
  Time time;
  Progress progress("evaluating", true, time.clock());
  time.now += milliseconds(1500);
  progress.update(1, 2);
  EXPECT_EQ(terminal.shown(), "");
}

TEST(Progress, is_silent_on_a_dumb_terminal) {
  const Terminal terminal;
  ::setenv("TERM", "dumb", 1);
  Time time;
  Progress progress("evaluating", false, time.clock());
  time.now += milliseconds(1500);
  progress.update(1, 2);
  EXPECT_EQ(terminal.shown(), "");
}

TEST(Progress, is_silent_in_a_pipe) {
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe2(pipe.data(), O_NONBLOCK), 0);
  ::setenv("TERM", "xterm", 1);
  Time time;
  {
    const io_testing::Redirected redirected(STDERR_FILENO, pipe[1]);
    Progress progress("evaluating", false, time.clock());
    time.now += milliseconds(1500);
    progress.update(1, 2);
    std::fflush(stderr);
  }
  std::array<char, 16> buffer{};
  EXPECT_EQ(::read(pipe[0], buffer.data(), buffer.size()), -1);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace
}  // namespace ckpt::tools
