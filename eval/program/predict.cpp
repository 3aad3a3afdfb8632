#include "program/predict.h"

#include <algorithm>
#include <iostream>
#include <optional>

#include "console/messages.h"
#include "console/text.h"
#include "datasets/pictures.h"

namespace ckpt::eval {
namespace {

constexpr std::size_t together = 64;  // pictures that go through the model at once

/// Reads pictures in groups and prints what is in them.
class Printer {
 public:
  Printer(const Options& options, const Observer& observer) : reader_(options, observer) {}

  /// Returns the exit status for this picture.
  int add(const std::string& path) {
    const int status = tools::guarded(
        [&] {
          reader_.add(path);
          return tools::exit_done;
        },
        path);
    if (status == tools::exit_done) paths_.push_back(path);
    if (paths_.size() == together) flush();
    return status;
  }

  void flush() {
    const std::vector<Reading> readings = reader_.flush();
    for (std::size_t at = 0; at < readings.size(); ++at)
      tools::print(tools::printable(paths_[at]) + ": " + readings[at].text + "\n");
    paths_.clear();
    tools::flush_output();
  }

 private:
  PictureReader reader_;
  std::vector<std::string> paths_;
};

}  // namespace

int predict(const Settings& settings, bool quiet) {
  if (settings.files.size() < 2)
    throw tools::usage_error("--predict reads pictures, and none were given",
                             "ckpt eval captcha.pt --predict picture.png");
  Observer observer;
  observer.warning = [&](const std::string& text) { tools::print_warning(settings.files.front() + ": " + text); };
  if (!quiet) observer.note = [&](const std::string& text) { tools::print_note(settings.files.front() + ": " + text); };
  std::optional<Printer> printer;
  try {
    printer.emplace(settings.options(), observer);
  } catch (Error& error) {
    settings.complete_hint(error);
    throw;
  }
  std::ios::sync_with_stdio(false);  // else std::cin does not know what there is to be read
  int status = tools::exit_done;
  for (std::size_t at = 1; at < settings.files.size(); ++at) {
    const auto each = [&] {
      each_picture(settings.files[at], std::cin, [&](const std::string& path) {
        status = std::max(status, printer->add(path));
        // Whoever writes paths one by one waits for an answer to each.
        if (settings.files[at] == "-" && std::cin.rdbuf()->in_avail() <= 0) printer->flush();
      });
      return tools::exit_done;
    };
    status = std::max(status, tools::guarded(each, settings.files[at]));
  }
  printer->flush();
  return status;
}

}  // namespace ckpt::eval
