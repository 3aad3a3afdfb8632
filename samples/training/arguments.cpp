#include "arguments.h"

#include <c10/util/Exception.h>
#include <ckpt/error.h>

#include <algorithm>
#include <charconv>
#include <iostream>

namespace training {
namespace {

ckpt::Error wrong(const std::string& what) { return ckpt::Error(ckpt::ErrorCode::invalid_argument, what); }

bool among(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

Arguments::Arguments(int count, const char* const* words, const std::vector<std::string>& options,
                     const std::vector<std::string>& flags) {
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    if (word.rfind("--", 0) != 0) {
      rest_.push_back(word);
    } else if (among(flags, word)) {
      given_[word] = "";
    } else if (!among(options, word)) {
      std::string known;
      for (const auto* names : {&options, &flags})
        for (const std::string& name : *names) known += (known.empty() ? "" : ", ") + name;
      throw wrong("there is no option " + word).expected(known);
    } else if (++i == count) {
      throw wrong(word + " stands without its value");
    } else {
      given_[word] = words[i];
    }
  }
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) const {
  const auto found = given_.find(name);
  return found == given_.end() ? otherwise : found->second;
}

std::int64_t Arguments::number(const std::string& name, std::int64_t otherwise, std::int64_t least) const {
  const auto found = given_.find(name);
  if (found == given_.end()) return otherwise;
  std::int64_t value = 0;
  const char* const end = found->second.data() + found->second.size();
  const auto [stop, failed] = std::from_chars(found->second.data(), end, value);
  if (failed != std::errc() || stop != end || value < least)
    throw wrong(name + " is '" + found->second + "'").expected("an integer from " + std::to_string(least) + " on");
  return value;
}

const std::string& Arguments::only(const std::string& what) const {
  if (rest_.size() != 1) throw wrong(std::to_string(rest_.size()) + " words were given").expected(what);
  return rest_.front();
}

int run_command(int argc, char** argv, const std::vector<Command>& commands, const std::string& usage) {
  const std::string_view name = argc > 1 ? argv[1] : "";
  for (const Command& command : commands) {
    if (command.name != name) continue;
    try {
      return command.run(argc - 2, argv + 2);
    } catch (const ckpt::Error& error) {
      std::cerr << argv[0] << ": " << error.what() << '\n';
      if (!error.hint().empty()) std::cerr << "hint: " << error.hint() << '\n';
      return error.code() == ckpt::ErrorCode::invalid_argument ? 2 : 1;
    } catch (const c10::Error& error) {
      std::cerr << argv[0] << ": " << error.what_without_backtrace() << '\n';
    } catch (const std::exception& error) {
      std::cerr << argv[0] << ": " << error.what() << '\n';
    }
    return 1;
  }
  const bool asked = name == "--help" || name == "-h";
  (asked ? std::cout : std::cerr) << usage;
  return asked ? 0 : 2;
}

}  // namespace training
