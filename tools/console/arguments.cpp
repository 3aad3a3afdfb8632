#include "arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <utility>

#include "messages.h"
#include "text.h"

namespace ckpt::tools {

std::string command_text(const std::string& name, std::span<const std::string> files,
                         std::span<const GivenOption> options, std::span<const std::string> without) {
  std::string line = "ckpt " + name;
  for (const std::string& file : files) line += " " + shell_word(file);
  for (const GivenOption& option : options)
    if (std::ranges::count(without, option.name) == 0) line += " " + option.text;
  return line;
}

struct Arguments::State {
  struct Option {
    std::string name, left, help;
    [[nodiscard]] bool takes_next_word() const { return left.compare(name.size(), 1, " ") == 0; }
  };

  explicit State(std::string name) : command(std::move(name)) {
    app.set_help_flag("-h,--help");
    // What is no option is sorted by take_files(): CLI11's own positionals would split "[a,b]" at the comma.
    app.allow_extras();
  }

  void note(const std::string& name, const std::string& value, std::string help) {
    options.push_back({name, name + value, std::move(help)});
  }

  struct Single {
    std::string name;
    std::optional<std::string>* target;
    std::vector<std::string> given;
  };

  void refuse_empty_values(const std::vector<std::string>& words) const;
  void take_single_values() const;
  void take_files(const std::vector<std::string>& rest) const;
  [[nodiscard]] std::vector<GivenOption> options_of(const std::vector<std::string>& words) const;
  [[nodiscard]] Error unknown_option(const std::string& word) const;
  [[nodiscard]] std::string help_hint() const { return "ckpt " + command + " --help"; }

  std::string command;
  CLI::App app;
  std::vector<Option> options;
  std::deque<Single> singles;  // CLI11 keeps references to them
  std::vector<std::string>* files = nullptr;
  std::vector<GivenOption>* given = nullptr;
  std::function<std::vector<std::string>()> outputs;
};

Arguments::Arguments(std::string command) : state_(std::make_unique<State>(std::move(command))) {}
Arguments::~Arguments() = default;

void Arguments::flag(const std::string& name, bool& target, std::string help) {
  state_->app.add_flag(name, target);
  state_->note(name, "", std::move(help));
}

void Arguments::value(const std::string& name, const std::string& placeholder, std::optional<std::string>& target,
                      std::string help) {
  // Taken as a list, so that a second one can be refused in words.
  auto& given = state_->singles.emplace_back(State::Single{name, &target, {}}).given;
  state_->app.add_option(name, given)->type_name(placeholder)->allow_extra_args(false);
  state_->note(name, " " + placeholder, std::move(help));
}

void Arguments::values(const std::string& name, const std::string& placeholder, std::vector<std::string>& target,
                       std::string help) {
  state_->app.add_option(name, target)->type_name(placeholder)->allow_extra_args(false);
  state_->note(name, " " + placeholder, std::move(help));
}

void Arguments::optional_value(const std::string& name, const std::string& placeholder, const std::string& otherwise,
                               std::optional<std::string>& target, std::string help) {
  // A flag with a default value: unlike an option that expects 0 to 1 values it never takes the next word.
  auto& given = state_->singles.emplace_back(State::Single{name, &target, {}}).given;
  state_->app.add_flag(name + "{" + otherwise + "}", given);
  state_->note(name, "[=" + placeholder + "]", std::move(help));
}

void Arguments::files(std::vector<std::string>& target) { state_->files = &target; }

void Arguments::given(std::vector<GivenOption>& target) { state_->given = &target; }

void Arguments::outputs(std::function<std::vector<std::string>()> names) { state_->outputs = std::move(names); }

std::vector<std::string> Arguments::outputs() const {
  return state_->outputs ? state_->outputs() : std::vector<std::string>();
}

bool Arguments::parse(const std::vector<std::string>& words) {
  state_->refuse_empty_values(words);
  try {
    state_->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    return false;
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string what = error.what();
    throw usage_error(what.substr(0, what.find(':')) + " needs a value", state_->help_hint());
  } catch (const CLI::ParseError& error) {
    throw usage_error(error.what(), state_->help_hint());
  }
  state_->take_single_values();
  state_->take_files(state_->app.remaining());
  if (state_->given != nullptr) *state_->given = state_->options_of(words);
  return true;
}

// CLI11 would take the next word for the value of `--to=`.
void Arguments::State::refuse_empty_values(const std::vector<std::string>& words) const {
  for (const std::string& word : words) {
    if (word == "--") return;
    if (word.size() > 3 && word.compare(0, 2, "--") == 0 && word.find('=') == word.size() - 1) {
      throw usage_error("'" + word + "' has no value", help_hint());
    }
  }
}

void Arguments::State::take_single_values() const {
  for (const Single& single : singles) {
    if (single.given.size() > 1) throw usage_error(single.name + " is given more than once", help_hint());
    if (!single.given.empty()) *single.target = single.given.front();
  }
}

void Arguments::State::take_files(const std::vector<std::string>& rest) const {
  bool only_files = false;
  for (const std::string& word : rest) {
    if (!only_files && word == "--") {
      only_files = true;
    } else if (!only_files && word.size() > 1 && word[0] == '-') {
      throw unknown_option(word);
    } else if (files == nullptr) {
      throw usage_error("'" + word + "' is one argument too many", help_hint());
    } else {
      files->push_back(word);
    }
  }
}

/// `words`: have been parsed, so that every option is known and has its value.
std::vector<GivenOption> Arguments::State::options_of(const std::vector<std::string>& words) const {
  std::vector<GivenOption> out;
  for (auto word = words.begin(); word != words.end() && *word != "--"; ++word) {
    if (!word->starts_with("--")) continue;
    const std::size_t equals = word->find('=');
    const std::string name = word->substr(0, equals);
    const auto option = std::ranges::find(options, name, &Option::name);
    std::string text = shell_value(*word);
    if (equals == std::string::npos && option->takes_next_word()) text += " " + shell_value(*++word);
    const bool is_last = word + 1 == words.end() || word[1].starts_with("--");
    out.push_back({name, std::move(text), is_last ? "" : word[1]});
  }
  return out;
}

Error Arguments::State::unknown_option(const std::string& word) const {
  std::vector<std::string_view> names;
  for (const Option& option : options) names.push_back(option.name);
  const std::string name = word.substr(0, word.find('='));
  const auto meant = nearest(name, names);
  const std::string proposal = meant ? std::string(*meant) + ", perhaps; " : "";
  return usage_error("unknown option '" + name + "'", proposal + help_hint() + " lists the options");
}

std::string Arguments::options_help() const {
  constexpr std::size_t column = 22;
  std::string out;
  for (const State::Option& option : state_->options) {
    std::string line = "  " + option.left;
    if (line.size() + 2 > column) {
      out += line + "\n";
      line.clear();
    }
    line.resize(column, ' ');
    out += line + option.help + "\n";
  }
  return out;
}

}  // namespace ckpt::tools
