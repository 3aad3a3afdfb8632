// No output replaces another one, or what the command reads.
#include <algorithm>
#include <array>
#include <filesystem>

#include "ckpt/error.h"
#include "ckpt/file_sink.h"
#include "console/messages.h"
#include "console/same_file.h"
#include "program/settings.h"

namespace ckpt::eval {
namespace {

struct Output {
  std::string option;
  const std::optional<std::string>* file;
};

std::array<Output, 6> all_of(const OutputSettings& settings) {
  return {{{"--json", &settings.json},
           {"--junit", &settings.junit},
           {"--markdown", &settings.markdown},
           {"--report", &settings.report},
           {"--predictions", &settings.predictions},
           {"--outputs", &settings.outputs}}};
}

/// Where it would be made: through links, of folders and of its own name.
std::filesystem::path place_of(const std::string& file) {
  std::error_code failed;
  const std::filesystem::path end = std::filesystem::absolute(tools::end_of_links(file, failed));
  const std::filesystem::path folder = failed ? "" : std::filesystem::weakly_canonical(end.parent_path(), failed);
  if (failed) throw Error(ErrorCode::io, "cannot look at it: " + failed.message()).in(file);
  return folder / end.filename();
}

bool go_to_one_file(const std::string& a, const std::string& b) {
  try {
    if (a == "-") return b == "-" || tools::is_same_file(b, a);
    return tools::is_same_file(a, b) || (b != "-" && place_of(a) == place_of(b));
  } catch (Error& error) {
    throw error.on_output();  // both are
  }
}

}  // namespace

bool OutputSettings::takes_standard_output() const {
  const auto all = all_of(*this);
  return std::any_of(all.begin(), all.end(), [](const Output& output) { return *output.file == "-"; });
}

void OutputSettings::check() const {
  const auto all = all_of(*this);
  for (auto one = all.begin(); one != all.end(); ++one) {
    if (!*one->file) continue;
    refuse_empty(one->option, *one->file);
    for (auto other = all.begin(); other != one; ++other) {
      if (!*other->file || !go_to_one_file(**other->file, **one->file)) continue;
      const std::string place = **one->file == "-" ? "standard output" : "one file, " + **one->file;
      throw tools::usage_error(
          "only one result can go to " + place + ": " + other->option + " and " + one->option + " do",
          "--json=result.json --junit=result.xml");
    }
  }
}

void OutputSettings::check_spares(const std::vector<std::string>& files,
                                  const std::optional<std::string>* rolling) const {
  for (const auto& [option, output] : all_of(*this)) {
    if (!*output || output == rolling) continue;
    for (const std::string& file : files)
      if (tools::is_same_file(file, **output))
        throw tools::usage_error(
            option + " would replace " + (file == "-" ? "standard input" : file) + ", which is read",
            "name another file: " + option + "=FILE");
  }
}

void OutputSettings::try_out() const {
  for (const auto& [option, output] : all_of(*this))
    if (*output) (void)dry_sink(**output);
}

const std::optional<std::string>* OutputSettings::rolling(BaselineKind kind) const {
  if (kind == BaselineKind::json) return &json;
  return kind == BaselineKind::predictions ? &predictions : nullptr;
}

}  // namespace ckpt::eval
