#include <algorithm>
#include <nlohmann/json.hpp>

#include "ckpt/dtype.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/text.h"
#include "inspection.h"
#include "stats_report.h"

namespace ckpt::tools {
namespace {

using Json = nlohmann::ordered_json;

/// A string as nlohmann/json writes it; names that need no escape, as nearly all, at once.
void append_string(std::string& out, std::string_view text) {
  const bool plain =
      std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
  if (plain)
    out.append(1, '"').append(text).append(1, '"');
  else
    out += visible_json(Json(valid_utf8(text)).dump());
}

void append_list(std::string& out, const std::vector<std::int64_t>& numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) out.append(i == 0 ? "" : ",").append(std::to_string(numbers[i]));
  out += ']';
}

/// Written by hand: of tens of thousands of tensors nlohmann/json would first build a tree, ten times their size.
std::string tensor_json(const Inspection& inspection, std::size_t index) {
  const TensorRow& row = inspection.rows[index];
  const TensorInfo& info = row.tensor->info;
  const bool strided = info.layout == Layout::strided;
  std::string out = "{\"name\":";
  append_string(out, row.name);
  out.append(",\"dtype\":\"").append(dtype_name(info.dtype));
  out.append("\",\"layout\":\"").append(layout_name(info.layout)).append("\",\"shape\":");
  append_list(out, info.shape);
  out += ",\"stride\":";
  strided ? append_list(out, info.stride) : void(out += "null");
  out.append(",\"offset\":").append(strided ? std::to_string(info.offset) : "null").append(",\"device\":");
  const std::string device = device_of(inspection, row);
  device.empty() ? void(out += "null") : append_string(out, device);
  out.append(",\"storage\":").append(row.storage ? std::to_string(*row.storage) : "null");
  out += ",\"nbytes\":" + std::to_string(row.nbytes);
  if (inspection.with_figures) out += ",\"stats\":" + figures_json(inspection.figures[index], info.dtype);
  return out + "}";
}

Json global_json(const GlobalUse& global) {
  Json out = Json::object();
  out["name"] = valid_utf8(global.module + "." + global.name);
  out["verdict"] = verdict_name(global.verdict);
  out["offset"] = global.offset;
  return out;
}

}  // namespace

void print_inspection_json(const Inspection& inspection) {
  const Checkpoint& checkpoint = *inspection.checkpoint;
  Json head = Json::object();
  head["file"] = valid_utf8(inspection.file);
  head["format"] = checkpoint.format;
  head["compression"] = compression_name(checkpoint.gzip);
  head["bytes"] = inspection.file_bytes;
  const std::string begin = visible_json(head.dump());
  print(std::string_view(begin).substr(0, begin.size() - 1));  // the object goes on
  print(",\"tensors\":[");
  for (std::size_t i = 0; i < inspection.rows.size(); ++i) {
    if (i > 0) print(",");
    print(tensor_json(inspection, i));
  }
  print("],");
  Json tail = Json::object();
  tail["state_dicts"] = Json::array();
  for (const StateDictSummary& state_dict : inspection.state_dicts) {
    tail["state_dicts"].push_back(valid_utf8(state_dict.path));
  }
  tail["modules"] = Json::array();
  for (const Module& module : inspection.modules)
    tail["modules"].push_back({{"path", valid_utf8(module.path)}, {"class", valid_utf8(module.class_name)}});
  tail["optimizers"] = Json::array();
  for (const OptimizerState& optimizer : inspection.optimizers)
    tail["optimizers"].push_back(valid_utf8(optimizer.path));
  tail["globals"] = Json::array();
  for (const GlobalUse& global : checkpoint.globals) tail["globals"].push_back(global_json(global));
  tail["warnings"] = Json::array();
  for (const std::string& warning : inspection.warnings) tail["warnings"].push_back(valid_utf8(warning));
  tail["metadata"] = {{"protocol", checkpoint.pickled ? Json(checkpoint.protocol) : Json(nullptr)}};
  if (!checkpoint.metadata.empty()) {
    tail["metadata"]["entries"] = Json::object();
    // ordered_json looks each key up in a list; readers refuse a name that comes twice, so the pairs go straight in.
    auto& entries = tail["metadata"]["entries"].get_ref<Json::object_t&>();
    for (const auto& [name, text] : checkpoint.metadata) entries.emplace_back(valid_utf8(name), valid_utf8(text));
  }
  const std::string end = visible_json(tail.dump());
  print(std::string_view(end).substr(1));
  print("\n");
}

}  // namespace ckpt::tools
