#include "report/statements.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

#include "ckpt/error.h"
#include "console/render.h"

namespace ckpt::eval {
namespace {

constexpr std::string_view heading = "index,label,prediction,confidence";

std::string number_text(float number) {
  if (!std::isfinite(number)) return "nan";
  std::array<char, 32> buffer{};
  return {buffer.data(), std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr};
}

/// As RFC 4180 has it.
std::string field_text(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// Takes the next field off `line`; false where it is not well formed.
bool take_field(std::string_view& line, std::string& field) {
  field.clear();
  if (line.starts_with('"')) {
    for (std::size_t at = 1; at < line.size(); ++at) {
      if (line[at] != '"') {
        field += line[at];
      } else if (at + 1 < line.size() && line[at + 1] == '"') {
        field += line[at++];
      } else {
        line.remove_prefix(at + 1);
        if (!line.empty() && line[0] != ',') return false;
        line.remove_prefix(line.empty() ? 0 : 1);
        return true;
      }
    }
    return false;
  }
  const std::size_t end = std::min(line.find(','), line.size());
  field = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return true;
}

bool parse_line(std::string_view line, Statement& out) {
  std::string index, confidence;
  if (std::count(line.begin(), line.end(), ',') < 3) return false;
  if (!take_field(line, index) || !take_field(line, out.label) || !take_field(line, out.prediction) ||
      !take_field(line, confidence) || !line.empty())
    return false;
  const char* const end = index.data() + index.size();
  return std::from_chars(index.data(), end, out.index) == std::from_chars_result{end, std::errc()};
}

}  // namespace

std::vector<Statement> statements(const Result& result) {
  const Predictions& all = result.predictions;
  const auto positions = static_cast<std::size_t>(result.signature.positions);
  std::vector<Statement> out;
  out.reserve(all.labels.size() / positions);
  for (std::size_t at = 0; at + positions <= all.labels.size(); at += positions)
    out.push_back({all.first + at / positions, result.signature.text(&all.labels[at]),
                   result.signature.text(&all.predicted[at])});
  return out;
}

std::string csv_text(const Result& result) {
  std::string out(heading);
  out += '\n';
  const std::vector<Statement> all = statements(result);
  for (std::size_t at = 0; at < all.size(); ++at)
    out += std::to_string(all[at].index) + ',' + field_text(all[at].label) + ',' + field_text(all[at].prediction) +
           ',' + number_text(result.predictions.confidence[at]) + '\n';
  return out;
}

bool is_csv(const std::string& text) { return text.starts_with(heading); }

std::vector<Statement> parse_csv(const std::string& text, const std::string& file) {
  std::vector<Statement> out;
  std::string_view rest = text;
  for (std::uint64_t number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    Statement statement;
    if (number == 1 ? line != heading : !parse_line(line, statement))
      throw Error(ErrorCode::corrupt,
                  "line " + tools::count_text(number) + " is \"" + std::string(line.substr(0, 60)) + "\"")
          .expected(number == 1 ? std::string(heading) : "an index, a label, a prediction and a confidence")
          .in(file);
    if (number > 1) out.push_back(std::move(statement));
  }
  return out;
}

Discordant discordant(const std::vector<Statement>& old, const std::vector<Statement>& now) {
  Discordant out;
  for (std::size_t at = 0; at < std::min(old.size(), now.size()); ++at) {
    const Statement &a = old[at], &b = now[at];
    if (a.index != b.index)
      throw Error(ErrorCode::invalid_argument, "has sample " + tools::count_text(a.index) +
                                                   " where this run has sample " + tools::count_text(b.index))
          .hint("a paired test needs the same samples in both: the same --data, --split and --shard");
    if (a.label != b.label)
      throw Error(ErrorCode::invalid_argument, "labels sample " + tools::count_text(a.index) + " \"" + a.label +
                                                   "\", and this run's data \"" + b.label + "\"")
          .hint("a paired test needs the same samples in both: the same --data and --split");
    const bool before = a.prediction == a.label, after = b.prediction == b.label;
    if (before && !after) ++out.lost;
    if (after && !before) ++out.gained;
  }
  if (old.size() != now.size())
    throw Error(ErrorCode::invalid_argument,
                "has " + tools::count_text(old.size(), "sample") + ", and this run " + tools::count_text(now.size()))
        .hint("a paired test needs the same samples in both: the same --data, --split and --shard");
  return out;
}

}  // namespace ckpt::eval
