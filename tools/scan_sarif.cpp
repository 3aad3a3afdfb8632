#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

#include "ckpt/byte_source.h"
#include "ckpt/version.h"
#include "console/text.h"
#include "scan_report.h"

namespace ckpt::tools {
namespace {

using Json = nlohmann::ordered_json;

struct Rule {
  std::string_view id, name, level, severity, brief, full, help;
};

// A table: what is reported, in the order of ruleIndex.
constexpr std::array<Rule, 3> rules{{
    {"dangerous-name", "DangerousName", "error", "9.8", "A pickle that can run code when it is loaded",
     "The file holds a pickle that imports a name by which code can run as soon as the file is loaded.",
     "Do not load this file. torch.load(weights_only=True) refuses such names; ckpt inspect FILE shows what else it "
     "holds."},
    {"unknown-name", "UnknownName", "warning", "5.0", "A pickle that imports a name of a third party",
     "The file holds a pickle that imports a name which is neither known to be harmless nor known to run code.",
     "Load this file only where you trust the package that the name belongs to."},
    {"unreadable", "Unreadable", "warning", "5.0", "A file that could not be judged",
     "The file, or a part of it, is damaged, encrypted, past a limit or of a kind that is not opened.",
     "Fetch the file again, or unpack it, and scan what was inside."},
}};

Json text_of(std::string_view text) { return Json{{"text", valid_utf8(text)}}; }

/// RFC 3986: a relative path stays relative, for that is what belongs to a repository.
std::string uri_of(std::string_view path) {
  constexpr std::string_view plain = "-._~/", hex = "0123456789ABCDEF";
  std::string uri = path.starts_with('/') ? "file://" : "";
  if (path.starts_with("./")) path.remove_prefix(2);
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    const bool stays = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       plain.find(c) != std::string_view::npos;
    if (stays)
      uri.push_back(c);
    else
      uri += {'%', hex[byte >> 4], hex[byte & 15]};
  }
  return uri;
}

/// The same for the same finding in each run, wherever its byte has moved to.
std::string fingerprint(std::string_view id, const std::string& file, const std::string& where,
                        const std::string& what) {
  std::vector<std::byte> bytes;
  for (const std::string_view part : {id, std::string_view(file), std::string_view(where), std::string_view(what)}) {
    for (const char c : part) bytes.push_back(static_cast<std::byte>(c));
    bytes.push_back({});
  }
  return sha256_of(*memory_source(std::move(bytes), "fingerprint")).substr(0, 32);
}

Json rule_json(const Rule& rule) {
  return {{"id", rule.id},
          {"name", rule.name},
          {"shortDescription", text_of(rule.brief)},
          {"fullDescription", text_of(rule.full)},
          {"help", text_of(rule.help)},
          {"defaultConfiguration", {{"level", rule.level}}},
          {"properties", {{"tags", {"security"}}, {"precision", "high"}, {"security-severity", rule.severity}}}};
}

/// Code scanning shows lines alone: a file that has none is its first. `offset`: in the file; none where it is in a
/// part that is compressed, or nowhere.
Json result_json(std::size_t rule, const std::string& file, const std::string& where, const std::string& message,
                 const std::string& what, std::optional<std::uint64_t> offset) {
  Json region = {{"startLine", 1}, {"startColumn", 1}, {"endLine", 1}, {"endColumn", 1}};
  if (offset) region.update({{"byteOffset", *offset}, {"byteLength", 1}});
  Json location = {{"physicalLocation", {{"artifactLocation", {{"uri", uri_of(file)}}}, {"region", region}}}};
  if (!where.empty()) location["logicalLocations"] = {{{"fullyQualifiedName", valid_utf8(where)}, {"kind", "member"}}};
  return {{"ruleId", rules[rule].id},
          {"ruleIndex", rule},
          {"level", rules[rule].level},
          {"message", text_of(printable(message))},
          {"locations", Json::array({location})},
          {"partialFingerprints",
           {{"primaryLocationLineHash", fingerprint(rules[rule].id, uri_of(file), where, what) + ":1"}}}};
}

void add_results(const ScanResult& result, Json& results) {
  for (const ScanFinding& finding : result.findings) {
    const std::string name = finding.module + "." + finding.name;
    const auto offset = finding.stream.empty() ? std::optional(finding.offset) : std::nullopt;
    results.push_back(result_json(finding.verdict == Verdict::dangerous ? 0 : 1, result.file, finding.where,
                                  name + ": " + reached_text(finding), name, offset));
  }
  if (!result.error.empty())
    results.push_back(result_json(2, result.file, "", "not judged: " + result.error, "", std::nullopt));
}

}  // namespace

std::string scan_sarif(const std::vector<ScanResult>& results) {
  Json driver = {{"name", "ckpt"}, {"semanticVersion", CKPT_VERSION}, {"rules", Json::array()}};
  for (const Rule& rule : rules) driver["rules"].push_back(rule_json(rule));
  Json run = {{"tool", {{"driver", driver}}}, {"columnKind", "unicodeCodePoints"}, {"results", Json::array()}};
  for (const ScanResult& result : results) add_results(result, run["results"]);
  const Json out = {
      {"$schema", "https://json.schemastore.org/sarif-2.1.0.json"}, {"version", "2.1.0"}, {"runs", Json::array({run})}};
  return visible_json(out.dump(1)) + "\n";
}

}  // namespace ckpt::tools
