#include <array>
#include <cstdio>
#include <vector>

#include "report/markup.h"
#include "report/report.h"

namespace ckpt::eval {
namespace {

struct Case {
  std::string name;
  std::string failure;                  ///< empty: it passed
  std::string kind;                     ///< of the failure
  std::vector<std::string> lines = {};  ///< that belong below the failure
};

/// The rest of a failure, from behind its attributes on.
std::string body_text(const std::vector<std::string>& lines) {
  if (lines.empty()) return "/>";
  std::string out = ">";
  for (const std::string& line : lines) out += (&line == &lines.front() ? "" : "\n") + escape_markup(line);
  return out + "</failure>";
}

std::string suite_text(const std::string& model, const std::vector<Case>& cases, double seconds,
                       const std::vector<std::pair<std::string, std::string>>& properties,
                       const std::vector<std::string>& warnings = {}) {
  std::size_t failures = 0;
  for (const Case& one : cases) failures += one.failure.empty() ? 0 : 1;
  std::array<char, 32> time{};
  std::snprintf(time.data(), time.size(), "%.3f", seconds);
  const std::string name = escape_markup(model);
  const std::string counts = " tests=\"" + std::to_string(cases.size()) + "\" failures=\"" + std::to_string(failures) +
                             "\" errors=\"0\" skipped=\"0\" time=\"" + time.data() + "\"";
  std::string out = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites" + counts +
                    ">\n  <testsuite name=\"ckpt eval " + name + "\"" + counts + ">\n";
  if (!properties.empty()) {
    out += "    <properties>\n";
    for (const auto& [key, value] : properties)
      out += "      <property name=\"" + key + "\" value=\"" + escape_markup(value) + "\"/>\n";
    out += "    </properties>\n";
  }
  for (const Case& one : cases) {
    out += "    <testcase classname=\"ckpt.eval." + name + "\" name=\"" + escape_markup(one.name) + "\" time=\"" +
           (&one == &cases.front() ? time.data() : "0.000") + "\"";
    if (one.failure.empty())
      out += "/>\n";
    else
      out += ">\n      <failure type=\"" + one.kind + "\" message=\"" + escape_markup(one.failure) + "\"" +
             body_text(one.lines) + "\n    </testcase>\n";
  }
  if (!warnings.empty()) {
    out += "    <system-err>";
    for (const std::string& warning : warnings) out += "warning: " + escape_markup(warning) + "\n";
    out += "</system-err>\n";
  }
  return out + "  </testsuite>\n</testsuites>\n";
}

}  // namespace

std::string junit_text(const Result& result, const Verdict& verdict) {
  std::vector<Case> cases{{"loads into " + result.arch, "", ""}};
  for (const Verdict::Check& check : verdict.checks)
    cases.push_back({check.name, check.passed ? "" : check.sentence, "verdict"});
  const Seconds& seconds = result.seconds;
  return suite_text(result.model, cases, seconds.start + seconds.read + seconds.upload + seconds.run,
                    {{"accuracy", std::to_string(result.counts.accuracy())},
                     {"correct", std::to_string(result.counts.correct)},
                     {"samples", std::to_string(result.counts.samples)},
                     {"data", result.data},
                     {"device", result.device},
                     {"digest", result.digest},
                     {"data_digest", result.data_digest},
                     {"version", result.version}},
                    result.warnings);
}

std::string junit_text(const std::string& model, const Error& error) {
  const std::string hint = error.hint().empty() ? "" : "; hint: " + error.hint();
  return suite_text(model, {{"loads", error.what() + hint, "error", error.details()}}, 0, {});
}

}  // namespace ckpt::eval
