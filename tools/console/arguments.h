#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace ckpt::tools {

struct GivenOption {
  std::string name;  ///< "--drop"
  std::string text;  ///< with its value, as a command to be copied has it: "--drop 'head.*'"
  std::string next;  ///< the word behind that, where it is a file
};

/// `ckpt NAME FILE… OPTION…`, to be copied, with those of the options whose name is not among `without`.
std::string command_text(const std::string& name, std::span<const std::string> files,
                         std::span<const GivenOption> options, std::span<const std::string> without);

/// The arguments of one command, parsed into variables that the command names. Options and files may stand in any
/// order; after `--` everything is a file. A value that may be left out is taken with `=` only, so that it never
/// swallows a file's name.
///
///     Arguments arguments("inspect");
///     arguments.flag("--json", options.json, "print one JSON object a file");
///     arguments.files(options.files);
///     arguments.parse(words);
///
/// The variables must outlive parse(). Errors are Error (invalid_argument) with a hint.
class Arguments {
 public:
  explicit Arguments(std::string command);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void flag(const std::string& name, bool& target, std::string help);
  /// `--name VALUE` or `--name=VALUE`, once.
  void value(const std::string& name, const std::string& placeholder, std::optional<std::string>& target,
             std::string help);
  /// `--name VALUE`, any number of times.
  void values(const std::string& name, const std::string& placeholder, std::vector<std::string>& target,
              std::string help);
  /// `--name` (which stands for `otherwise`) or `--name=VALUE`.
  void optional_value(const std::string& name, const std::string& placeholder, const std::string& otherwise,
                      std::optional<std::string>& target, std::string help);
  /// Whatever is no option, in order.
  void files(std::vector<std::string>& target);

  /// The options that were given, in order.
  void given(std::vector<GivenOption>& target);

  /// What the command will write, asked for after parse(); without this, nothing. Of several calls the last one counts.
  void outputs(std::function<std::vector<std::string>()> names);
  [[nodiscard]] std::vector<std::string> outputs() const;

  /// False where `--help` was among the words: nothing is to be run.
  bool parse(const std::vector<std::string>& words);

  /// The options, a line each.
  [[nodiscard]] std::string options_help() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ckpt::tools
