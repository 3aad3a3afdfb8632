#include <nlohmann/json.hpp>

#include "ckpt/dtype.h"
#include "inspection.h"
#include "render.h"
#include "text.h"

namespace ckpt::tools {
namespace {

using Json = nlohmann::ordered_json;

Json tensor_json(const TensorRow& row) {
  const TensorInfo& info = row.tensor->info;
  const bool strided = info.layout == Layout::strided;
  Json out = Json::object();
  out["name"] = valid_utf8(row.name);
  out["dtype"] = dtype_name(info.dtype);
  out["layout"] = layout_name(info.layout);
  out["shape"] = info.shape;
  out["stride"] = strided ? Json(info.stride) : Json();
  out["offset"] = strided ? Json(info.offset) : Json();
  out["device"] = row.device.empty() ? Json() : Json(valid_utf8(row.device));
  out["storage"] = row.storage ? Json(*row.storage) : Json();
  out["nbytes"] = row.nbytes;
  return out;
}

Json global_json(const GlobalUse& global) {
  Json out = Json::object();
  out["name"] = valid_utf8(global.module + "." + global.name);
  out["verdict"] = verdict_name(global.verdict);
  out["offset"] = global.offset;
  return out;
}

}  // namespace

std::string inspection_json(const Inspection& inspection) {
  const Checkpoint& checkpoint = *inspection.checkpoint;
  Json out = Json::object();
  out["file"] = valid_utf8(inspection.file);
  out["format"] = checkpoint.format;
  out["compression"] = compression_name(checkpoint.gzip);
  out["bytes"] = inspection.file_bytes;
  out["tensors"] = Json::array();
  for (const TensorRow& row : inspection.rows) out["tensors"].push_back(tensor_json(row));
  out["state_dicts"] = Json::array();
  for (const StateDictSummary& state_dict : inspection.state_dicts) {
    out["state_dicts"].push_back(valid_utf8(state_dict.path));
  }
  out["globals"] = Json::array();
  for (const GlobalUse& global : checkpoint.globals) out["globals"].push_back(global_json(global));
  out["warnings"] = Json::array();
  for (const std::string& warning : inspection.warnings) out["warnings"].push_back(valid_utf8(warning));
  out["metadata"] = {{"protocol", checkpoint.protocol}};
  return visible_json(out.dump()) + "\n";
}

}  // namespace ckpt::tools
