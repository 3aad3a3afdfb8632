#include "progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "render.h"

namespace ckpt::tools {
namespace {

using std::chrono::milliseconds;

bool terminal_erases() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && terminal != nullptr && std::string_view(terminal) != "dumb";
}

std::size_t terminal_width() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

/// "12 s left", "3 min left"
std::string time_text(double seconds) {
  std::array<char, 32> buffer{};
  const bool minutes = seconds >= 120;
  std::snprintf(buffer.data(), buffer.size(), minutes ? "%.0f min left" : "%.0f s left",
                std::min(minutes ? seconds / 60 : seconds, 9999.0));
  return buffer.data();
}

}  // namespace

Progress::Progress(std::string doing, bool quiet, Clock clock)
    : doing_(std::move(doing)),
      clock_(std::move(clock)),
      on_(!quiet && terminal_erases()),
      begin_(clock_()),
      last_(begin_ + milliseconds(900)) {}

void Progress::update(std::uint64_t done, std::uint64_t all) {
  if (!on_) return;
  const auto now = clock_();
  if (now - last_ < milliseconds(100)) return;
  last_ = now;
  draw(done, all, std::chrono::duration<double>(now - begin_).count());
}

void Progress::draw(std::uint64_t done, std::uint64_t all, double seconds) {
  std::string line = doing_ + " ";
  if (all == 0) {
    line += count_text(done);
  } else {
    const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(all));
    const auto filled = static_cast<std::size_t>(share * 24);
    std::array<char, 16> percent{};
    std::snprintf(percent.data(), percent.size(), "%3d %%", static_cast<int>(share * 100));
    line += "[" + std::string(filled, '#') + std::string(24 - filled, '-') + "] " + percent.data() + "  " +
            count_text(done) + " of " + count_text(all);
    if (done > 0 && done < all) line += "  " + time_text(seconds * (1 - share) / share);
  }
  // A line that wraps could not be erased. ASCII alone, so a byte is a column.
  line.resize(std::min(line.size(), terminal_width() - 1));
  line = "\r" + line + "\x1b[K";
  drawn_ = std::fwrite(line.data(), 1, line.size(), stderr) == line.size();
}

void Progress::clear() {
  if (!std::exchange(drawn_, false)) return;
  std::fputs("\r\x1b[K", stderr);
}

}  // namespace ckpt::tools
