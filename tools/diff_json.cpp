#include <cmath>
#include <nlohmann/json.hpp>

#include "ckpt/dtype.h"
#include "console/text.h"
#include "diff_report.h"

namespace ckpt::tools {
namespace {

using Json = nlohmann::ordered_json;

template <class T, class Convert>
Json list(const std::vector<T>& all, Convert&& convert) {
  Json out = Json::array();
  for (const T& one : all) out.push_back(convert(one));
  return out;
}

Json text(const std::string& value) { return valid_utf8(value); }
Json text(const std::optional<std::string>& value) { return value ? text(*value) : Json(); }
/// JSON has no infinity.
Json number(const std::optional<double>& value) { return value && std::isfinite(*value) ? Json(*value) : Json(); }

Json lone(const LoneTensor& tensor) {
  const TensorInfo& info = tensor.tensor->info;
  return {{"name", text(tensor.name)}, {"dtype", dtype_name(info.dtype)}, {"shape", info.shape}};
}

Json values(const ValueDifference& values) {
  Json out;
  out["different"] = values.different;
  out["elements"] = values.elements;
  out["not_finite"] = values.not_finite;
  out["largest_error"] = number(values.largest_error);
  out["mean_error"] = number(values.mean_error);
  out["first"] = {{"index", values.first}, {"a", values.first_a}, {"b", values.first_b}};
  return out;
}

Json tensor(const TensorDifference& tensor) {
  Json out;
  out["name"] = text(tensor.name);
  if (tensor.shape) out["shape"] = {{"a", tensor.shape->a}, {"b", tensor.shape->b}};
  const auto add = [&](const char* what, const std::optional<Changed<std::string>>& change) {
    if (change) out[what] = {{"a", text(change->a)}, {"b", text(change->b)}};
  };
  add("dtype", tensor.dtype);
  add("layout", tensor.layout);
  add("device", tensor.device);
  if (tensor.values) out["values"] = values(*tensor.values);
  if (!tensor.not_compared.empty()) out["not_compared"] = tensor.not_compared;
  return out;
}

Json prefix(const std::optional<RenamedPrefix>& change) {
  if (!change) return {};
  return {{"after", text(change->lead)}, {"a", text(change->a)}, {"b", text(change->b)}};
}

}  // namespace

std::string diff_json(const DiffReport& report) {
  const CheckpointDiff& diff = report.diff;
  Json out;
  out["a"] = text(report.file_a);
  out["b"] = text(report.file_b);
  out["same"] = diff.same();
  out["ignored"] = report.ignored;
  out["tensors_compared"] = diff.compared;
  out["only_a"] = list(diff.only_a, lone);
  out["only_b"] = list(diff.only_b, lone);
  out["renamed"] = list(diff.renamed, [](const RenamedTensor& pair) {
    return Json{{"a", text(pair.a)}, {"b", text(pair.b)}};
  });
  out["prefix"] = prefix(diff.prefix);
  out["tensors"] = list(diff.tensors, tensor);
  out["sharing"] = list(diff.sharing, [](const SharingDifference& group) {
    return Json{{"shared_in", group.shared_in_a ? "a" : "b"},
                {"names", list(group.names, [](const std::string& name) { return text(name); })}};
  });
  out["other"] = list(diff.other, [](const OtherDifference& value) {
    return Json{{"path", text(value.path)}, {"a", text(value.a)}, {"b", text(value.b)}};
  });
  out["reordered"] = list(diff.reordered, [](const std::string& path) { return text(path); });
  return visible_json(out.dump()) + "\n";
}

}  // namespace ckpt::tools
