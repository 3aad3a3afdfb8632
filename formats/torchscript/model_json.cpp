#include "torchscript/model_json.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/json_shape.h"
#include "io/bytes.h"
#include "model/walk.h"

namespace ckpt::torchscript {
namespace {

using Json = nlohmann::ordered_json;

/// Caffe2's names of element types (caffe2/proto/caffe2.proto).
constexpr std::pair<std::string_view, DType> data_types[] = {
    {"FLOAT", DType::float32},   {"INT32", DType::int32},    {"BYTE", DType::uint8},  {"BOOL", DType::boolean},
    {"UINT8", DType::uint8},     {"INT8", DType::int8},      {"INT16", DType::int16}, {"INT64", DType::int64},
    {"FLOAT16", DType::float16}, {"DOUBLE", DType::float64},
};

Error wrong(const std::string& what, const std::string& expected) {
  return Error(ErrorCode::corrupt, what + " is something else").expected(expected);
}

/// An object, whose keys need not be there.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {
    if (!json.is_object()) throw wrong("it", "an object");
  }

  [[nodiscard]] std::string text(const char* key) const {
    const Json* const found = find(key);
    if (found == nullptr) return {};
    if (!found->is_string()) throw wrong(name(key), "a string");
    return found->get<std::string>();
  }
  [[nodiscard]] std::int64_t integer(const char* key) const {
    const Json* const found = find(key);
    if (found == nullptr) return 0;
    const auto number = as_integer(*found);
    if (!number) throw wrong(name(key), "an integer");
    return *number;
  }
  [[nodiscard]] bool flag(const char* key) const {
    const Json* const found = find(key);
    return found != nullptr && found->is_boolean() && found->get<bool>();
  }
  [[nodiscard]] const Json& array(const char* key) const {
    static const Json empty = Json::array();
    const Json* const found = find(key);
    if (found == nullptr) return empty;
    if (!found->is_array()) throw wrong(name(key), "an array");
    return *found;
  }
  [[nodiscard]] std::vector<std::int64_t> integers(const char* key) const {
    std::vector<std::int64_t> numbers;
    for (const Json& each : array(key)) {
      const auto number = as_integer(each);
      if (!number) throw wrong(name(key), "integers");
      numbers.push_back(*number);
    }
    return numbers;
  }
  [[nodiscard]] Fields object(const char* key) const {
    const Json* const found = find(key);
    if (found == nullptr || !found->is_object()) throw wrong(name(key), "an object");
    return Fields(*found);
  }

 private:
  static std::string name(const char* key) { return std::string("its ") + key; }

  static std::optional<std::int64_t> as_integer(const Json& value) {
    if (value.is_number_integer()) return value.get<std::int64_t>();
    if (!value.is_string()) return std::nullopt;
    const auto& text = value.get_ref<const std::string&>();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
  }

  [[nodiscard]] const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }

  const Json& json_;
};

Json parse(const ByteSource& model) {
  const auto bytes = read_all(model, limits::script_model_bytes);
  const auto check = [](const JsonPlace& place) {
    if (place.depth > static_cast<std::size_t>(limits::script_model_depth))
      throw Error(ErrorCode::limit_exceeded,
                  "model.json is nested deeper than " + std::to_string(limits::script_model_depth));
    if (!place.in_list && place.count > limits::script_model_fields)
      throw Error(ErrorCode::limit_exceeded,
                  "an object of model.json has more than " + std::to_string(limits::script_model_fields) + " keys");
  };
  try {
    check_json_shape(as_text(bytes), check);
    Json json = Json::parse(as_text(bytes));
    if (!json.is_object()) throw wrong("model.json", "an object");
    return json;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::corrupt, std::string("model.json is no JSON: ") + error.what()).in(model.name());
  } catch (Error& error) {
    throw error.in(model.name());
  }
}

std::string member_of(const Json& tensor) { return Fields(tensor).object("data").text("key"); }

ModelTensor parse_tensor(const Json& json) {
  const Fields fields(json);
  if (fields.flag("isQuantized"))
    throw Error(ErrorCode::unsupported, "it is quantised").expected("a plain tensor, as torch 1.0 to 1.2 wrote");
  ModelTensor tensor{fields.integers("dims"), fields.integers("strides"), fields.integer("offset"), {},
                     member_of(json),         fields.text("device")};
  if (tensor.device.empty()) throw wrong("its device", "a name such as cpu");
  const std::string type = fields.text("dataType");
  for (const auto& [name, dtype] : data_types) {
    if (name != type) continue;
    tensor.dtype = dtype;
    return tensor;
  }
  throw Error(ErrorCode::unsupported, "its dataType is '" + type.substr(0, 40) + "'").expected("FLOAT or its like");
}

/// The name of what is in a module, which holds those of the modules around it.
std::string name_within(const std::string& module, const std::string& name, NameBudget& budget) {
  std::string qualified = module.empty() ? name : module + "." + name;
  budget.spend(qualified.size());
  return qualified;
}

ModelModule parse_module(const Fields& fields, std::string name, NameBudget& names) {
  ModelModule module{std::move(name), {}, {}, {}};
  for (const Json& each : fields.array("parameters")) {
    const Fields parameter(each);
    (parameter.flag("isBuffer") ? module.buffers : module.parameters)
        .emplace_back(name_within(module.name, parameter.text("name"), names), parameter.integer("tensorId"));
  }
  for (const Json& each : fields.array("attributes")) {
    const Fields attribute(each);
    if (const std::int64_t id = attribute.integer("id"); id >= 0)  // else its class makes it anew
      module.attributes.emplace_back(name_within(module.name, attribute.text("name"), names), id);
  }
  return module;
}

}  // namespace

ScriptModel parse_model(const ByteSource& model) {
  const Json json = parse(model);
  ScriptModel parsed;
  for (const Json& tensor : Fields(json).array("tensors")) {
    try {
      parsed.tensors.push_back(parse_tensor(tensor));
    } catch (Error& error) {
      throw error.within("tensor " + std::to_string(parsed.tensors.size()) + " of model.json").in(model.name());
    }
  }
  try {
    const Fields main = Fields(json).object("mainModule");
    parsed.class_name = main.text("name");
    std::vector<std::pair<Fields, std::string>> open{{main, ""}};
    NameBudget names(model.name());
    while (!open.empty()) {
      const auto [fields, name] = open.back();
      open.pop_back();
      parsed.modules.push_back(parse_module(fields, name, names));
      const Json& below = fields.array("submodules");
      for (auto child = below.rbegin(); child != below.rend(); ++child)
        open.emplace_back(Fields(*child), name_within(name, Fields(*child).text("name"), names));
    }
  } catch (Error& error) {
    throw error.in(model.name());
  }
  return parsed;
}

std::string with_devices(const ByteSource& model, const std::map<std::string, std::string>& devices) {
  Json json = parse(model);
  bool changed = false;
  for (Json& tensor : json["tensors"]) {
    const std::string& device = devices.at(member_of(tensor));
    if (Fields(tensor).text("device") == device) continue;
    tensor["device"] = device;
    changed = true;
  }
  return changed ? json.dump() : std::string(as_text(read_all(model, limits::script_model_bytes)));
}

}  // namespace ckpt::torchscript
