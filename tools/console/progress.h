#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace ckpt::tools {

/// A line on a terminal that says how far long work has come: on standard error, from the second second on, ten times a
/// second at most, and gone when the work is done. In a pipe, and on a terminal that cannot erase (TERM=dumb), nothing.
///
///     Progress progress("evaluating", quiet);
///     for (…) progress.update(done, all);
///
/// One thread at a time. It has no colours, so that NO_COLOR changes nothing.
class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  explicit Progress(std::string doing, bool quiet = false, Clock clock = std::chrono::steady_clock::now);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `all` of 0: not known.
  void update(std::uint64_t done, std::uint64_t all);
  /// Erases the line: before anything else is printed. The next update() draws it again.
  void clear();

 private:
  void draw(std::uint64_t done, std::uint64_t all, double seconds);

  std::string doing_;
  Clock clock_;
  bool on_, drawn_ = false;
  std::chrono::steady_clock::time_point begin_, last_;
};

}  // namespace ckpt::tools
