#include "torchscript/model_json.h"

#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/state_dict.h"
#include "io/bytes.h"
#include "torch_common/archive.h"
#include "torch_common/read_pickle.h"
#include "torchscript/layout.h"
#include "torchscript/model_tensors.h"
#include "torchscript/pickles.h"

namespace ckpt::torchscript {
namespace {

constexpr std::string_view attributes_name = "attributes.pkl";

Json parse_model(const ByteSource& model) {
  const auto bytes = read_all(model, limits::script_model_bytes);
  const auto check_depth = [&](int depth, Json::parse_event_t, const Json&) {
    if (depth > limits::script_model_depth)
      throw Error(ErrorCode::limit_exceeded,
                  "model.json is nested deeper than " + std::to_string(limits::script_model_depth));
    return true;
  };
  try {
    Json json = Json::parse(as_text(bytes), check_depth);
    if (!json.is_object()) throw wrong("model.json", "an object");
    return json;
  } catch (const Json::exception& error) {
    throw Error(ErrorCode::corrupt, std::string("model.json is no JSON: ") + error.what()).in(model.name());
  } catch (Error& error) {
    throw error.in(model.name());
  }
}

/// What the modules name, by qualified names and in the order of state_dict().
class Modules {
 public:
  Modules(const std::vector<ValueId>& tensors, const std::vector<ValueId>& attributes)
      : tensors_(tensors), attributes_(attributes) {}

  std::vector<std::pair<std::string, ValueId>> named;
  StateEntries entries;

  void walk(const Json& main) {
    std::vector<std::pair<const Json*, std::string>> open{{&main, ""}};
    for (bool top = true; !open.empty(); top = false) {
      const auto [module, above] = open.back();
      open.pop_back();
      const std::string name = top ? "" : above + text_of(*module, "name");
      const std::string prefix = name.empty() ? "" : name + ".";
      entries.modules.push_back(name);
      add_tensors(*module, prefix, false);
      add_tensors(*module, prefix, true);
      add_attributes(*module, prefix);
      const Json& below = array_of(*module, "submodules");
      for (auto child = below.rbegin(); child != below.rend(); ++child) open.emplace_back(&*child, prefix);
    }
  }

 private:
  void add_tensors(const Json& module, const std::string& prefix, bool buffers) {
    for (const Json& parameter : array_of(module, "parameters")) {
      const auto is_buffer = parameter.find("isBuffer");
      if ((is_buffer != parameter.end() && is_buffer->is_boolean() && is_buffer->get<bool>()) != buffers) continue;
      const std::string name = prefix + text_of(parameter, "name");
      const ValueId tensor = at(tensors_, integer_of(parameter, "tensorId", 0), "tensor", name);
      named.emplace_back(name, tensor);
      entries.tensors.emplace_back(name, tensor);
    }
  }

  void add_attributes(const Json& module, const std::string& prefix) {
    for (const Json& attribute : array_of(module, "attributes")) {
      const std::int64_t id = integer_of(attribute, "id", 0);
      if (id < 0) continue;  // its class makes it anew
      const std::string name = prefix + text_of(attribute, "name");
      named.emplace_back(name, at(attributes_, id, "attribute", name));
    }
  }

  static ValueId at(const std::vector<ValueId>& values, std::int64_t index, const std::string& what,
                    const std::string& name) {
    if (index >= 0 && static_cast<std::uint64_t>(index) < values.size()) return values[static_cast<std::size_t>(index)];
    throw Error(ErrorCode::corrupt, "'" + name + "' is " + what + " " + std::to_string(index))
        .expected("one of the file's " + std::to_string(values.size()));
  }

  const std::vector<ValueId>&tensors_, &attributes_;
};

/// The index that build_tensor_from_id((index,)) is given; none for anything else.
std::optional<std::int64_t> tensor_index(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::object || values.call(id) != CallKind::reduce) return std::nullopt;
  const ValueId called = values.items(id)[0];
  if (values.kind(called) != ValueKind::global || values.name(called) != "build_tensor_from_id") return std::nullopt;
  const auto arguments = values.items(values.items(id)[1]);
  if (arguments.size() != 1 || values.kind(arguments[0]) != ValueKind::integer) return std::nullopt;
  return values.integer(arguments[0]);
}

/// The attributes' values, with tensors of the table in place of what refers to them.
std::vector<ValueId> read_attributes(Checkpoint& checkpoint, const ScriptDetails& details, const ReadContext& context,
                                     const std::vector<ValueId>& tensors) {
  const ZipMember* const member = details.zip->find(details.root + "/" + std::string(attributes_name));
  if (member == nullptr) return {};
  ValueGraph& values = checkpoint.values;
  const auto first = static_cast<ValueId>(values.size());
  const ByteSourcePtr bytes = in_memory(*details.zip, *member, context.pickle_cap);
  const ValueId root = torch::add_pickle(*bytes, 0, context.pickle_cap, checkpoint).root;
  const auto resolved = [&](ValueId id) {
    const auto index = id < first ? std::nullopt : tensor_index(values, id);
    if (!index) return id;
    if (*index < 0 || static_cast<std::uint64_t>(*index) >= tensors.size())
      throw Error(ErrorCode::corrupt, "an attribute is tensor " + std::to_string(*index))
          .expected("one of the file's " + std::to_string(tensors.size()))
          .in(bytes->name());
    return tensors[static_cast<std::size_t>(*index)];
  };
  const auto behind = static_cast<ValueId>(values.size());
  for (ValueId id = first; id < behind; ++id) {
    for (std::size_t i = 0; i < values.items(id).size(); ++i) values.set_item(id, i, resolved(values.items(id)[i]));
    for (auto handle = values.first_effect(id); handle != 0; handle = values.effect(handle).next)
      for (std::size_t i = 0; i < values.effect(handle).count; ++i)
        values.set_effect_item(handle, i, resolved(values.items(values.effect(handle))[i]));
  }
  std::vector<ValueId> attributes(values.items(root).begin(), values.items(root).end());
  for (auto handle = values.first_effect(root); handle != 0; handle = values.effect(handle).next) {
    const auto more = values.items(values.effect(handle));
    attributes.insert(attributes.end(), more.begin(), more.end());
  }
  return attributes;
}

/// Those of the table that no module names: code does, by their numbers.
std::vector<std::pair<std::string, ValueId>> constants_of(const Checkpoint& checkpoint,
                                                          const std::vector<ValueId>& tensors,
                                                          const std::vector<std::pair<std::string, ValueId>>& named) {
  std::vector<bool> reached(checkpoint.values.size());
  std::vector<ValueId> open;
  const auto reach = [&](ValueId id) {
    if (!reached[id]) open.push_back(id);
    reached[id] = true;
  };
  for (const auto& [name, value] : named) reach(value);
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    checkpoint.values.each_operand(id, reach);
  }
  std::vector<std::pair<std::string, ValueId>> constants;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!reached[tensors[i]]) constants.emplace_back("c" + std::to_string(i), tensors[i]);
  return constants;
}

}  // namespace

Checkpoint read_model_json(ScriptDetails& details, const ByteSource& source, const ReadContext& context) {
  const ByteSourcePtr model = details.zip->read(*details.zip->find(details.root + "/" + std::string(model_name)));
  const Json json = parse_model(*model);
  try {
    ModelTensors table = read_tensors(array_of(json, "tensors"), details, context);
    Checkpoint checkpoint = assemble(std::move(table.sources));
    for (std::size_t i = 0; i < checkpoint.storages.size(); ++i) checkpoint.storages[i].key = table.members[i];
    std::vector<ValueId> tensors;
    for (const MappingEntry& entry : mapping_entries(checkpoint.values, checkpoint.root))
      tensors.push_back(entry.value);
    const std::vector<ValueId> attributes = read_attributes(checkpoint, details, context, tensors);
    Modules modules(tensors, attributes);
    const auto main = json.find("mainModule");
    if (main == json.end() || !main->is_object()) throw wrong("its mainModule", "an object");
    modules.walk(*main);
    details.class_name = text_of(*main, "name");
    const auto constants = constants_of(checkpoint, tensors, modules.named);
    if (!constants.empty()) modules.named.emplace_back("CONSTANTS", make_dict(checkpoint.values, constants));
    checkpoint.root = make_dict(checkpoint.values, modules.named);
    details.entries = std::move(modules.entries);
    details.entries->format = "torch";
    return checkpoint;
  } catch (Error& error) {
    throw error.in(model->name()).in(source.name());
  }
}

std::string with_devices(const ByteSource& model, const Checkpoint& checkpoint) {
  std::map<std::string, std::string> locations;
  for (const Storage& storage : checkpoint.storages) locations[storage.key] = storage.location;
  Json json = parse_model(model);
  bool changed = false;
  for (Json& tensor : json["tensors"]) {
    const std::string& location = locations.at(member_of(tensor));
    if (text_of(tensor, "device") == location) continue;
    tensor["device"] = location;
    changed = true;
  }
  return changed ? json.dump() : std::string(as_text(read_all(model, limits::script_model_bytes)));
}

}  // namespace ckpt::torchscript
