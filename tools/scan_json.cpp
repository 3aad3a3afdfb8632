#include <nlohmann/json.hpp>

#include "console/text.h"
#include "scan_report.h"

namespace ckpt::tools {

std::string scan_json(const ScanResult& result) {
  using Json = nlohmann::ordered_json;
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(valid_utf8(text));
  };
  Json out = Json::object();
  out["file"] = valid_utf8(result.file);
  out["verdict"] = scan_verdict_name(result.verdict);
  out["error"] = text_or_null(result.error);
  out["pickles"] = result.pickles;
  out["known"] = result.known;
  out["findings"] = Json::array();
  for (const ScanFinding& finding : result.findings)
    out["findings"].push_back({{"name", valid_utf8(finding.module + "." + finding.name)},
                               {"verdict", verdict_name(finding.verdict)},
                               {"called", finding.called},
                               {"how", finding.how},
                               {"where", text_or_null(finding.where)},
                               {"offset", finding.offset},
                               {"of", text_or_null(finding.stream)}});
  out["left_out"] = result.left_out;
  return visible_json(out.dump()) + "\n";
}

}  // namespace ckpt::tools
