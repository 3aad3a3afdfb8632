#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace training {

/// A command line: `--name value` pairs that are known, flags that are known, and the rest, in order.
///
///     const Arguments arguments(argc - 2, argv + 2, {"--device", "--epochs"}, {"--time"});
///     const std::int64_t epochs = arguments.number("--epochs", 5);
class Arguments {
 public:
  /// Throws ckpt::Error (invalid_argument) for an option that is not among `options` and `flags`, naming those there
  /// are.
  Arguments(int count, const char* const* words, const std::vector<std::string>& options,
            const std::vector<std::string>& flags = {});

  [[nodiscard]] bool has(const std::string& name) const { return given_.count(name) > 0; }
  [[nodiscard]] std::string text(const std::string& name, const std::string& otherwise) const;
  /// Throws ckpt::Error where it is no integer from `least` on.
  [[nodiscard]] std::int64_t number(const std::string& name, std::int64_t otherwise, std::int64_t least = 1) const;
  [[nodiscard]] const std::vector<std::string>& rest() const { return rest_; }
  /// The only word that is no option. Throws ckpt::Error where there are more or none; `what` says what it should be.
  [[nodiscard]] const std::string& only(const std::string& what) const;

 private:
  std::map<std::string, std::string> given_;
  std::vector<std::string> rest_;
};

/// A subcommand of a sample.
struct Command {
  std::string_view name;
  int (*run)(int count, const char* const* words);
};

/// Runs the command that argv[1] names. Errors go to standard error with their hint; the exit status is the command's,
/// 2 for wrong usage (with `usage`), 1 for any other failure.
int run_command(int argc, char** argv, const std::vector<Command>& commands, const std::string& usage);

}  // namespace training
