#include "model/module_reader.h"

#include <array>
#include <utility>

#include "ckpt/state_dict.h"
#include "model/byte_texts.h"
#include "model/calls.h"
#include "model/walk.h"

namespace ckpt {
namespace {

constexpr std::array<std::pair<std::string_view, ValueId ModuleParts::*>, 6> attribute_names{{
    {"_parameters", &ModuleParts::parameters},
    {"_buffers", &ModuleParts::buffers},
    {"_modules", &ModuleParts::modules},
    {"_non_persistent_buffers_set", &ModuleParts::non_persistent},
    {"_state_dict_hooks", &ModuleParts::hooks},
    {"_state_dict_pre_hooks", &ModuleParts::pre_hooks},
}};

/// What later attributes replace of earlier ones.
void merge(ModuleParts& into, const ModuleParts& later) {
  for (const auto& [name, part] : attribute_names)
    if (later.*part != no_value) into.*part = later.*part;
}

/// What is called to make the object, or whose object it is; no_value where that is no name.
ValueId class_of(const ValueGraph& values, ValueId object) {
  ValueId type = values.items(object)[0];
  // Protocols 0 and 1: copyreg._reconstructor(class, object, None).
  if (is_global(values, type, "copyreg", "_reconstructor") || is_global(values, type, "copy_reg", "_reconstructor")) {
    const auto arguments = call_arguments(values, object);
    if (!arguments.empty()) type = arguments[0];
  }
  if (const ValueId with_source = class_with_source(values, type); with_source != no_value) return with_source;
  return values.kind(type) == ValueKind::global ? type : no_value;
}

}  // namespace

ValueId class_with_source(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::persistent) return no_value;
  const auto items = values.items(values.items(id)[0]);
  if (items.size() < 2 || values.kind(items[1]) != ValueKind::global) return no_value;
  const bool is_text = values.is_string(items[0]) || values.kind(items[0]) == ValueKind::bytes;
  return is_text && values.text(items[0]) == "module" ? items[1] : no_value;
}

const ModuleParts& ModuleReader::attributes(ValueId mapping) {
  const auto [found, fresh] = mappings_.try_emplace(mapping);
  if (!fresh) return found->second;
  for (const MappingEntry& entry : mapping_entries(values_, mapping)) {
    if (!values_.is_string(entry.key)) continue;
    for (const auto& [name, part] : attribute_names) {
      if (values_.text(entry.key) != name) continue;
      const bool taken = name == "_non_persistent_buffers_set" || is_mapping(values_, entry.value);
      if (taken) found->second.*part = entry.value;
    }
  }
  return found->second;
}

const ModuleParts& ModuleReader::read(ValueId id) {
  static constexpr ModuleParts none;
  if (values_.kind(id) != ValueKind::object || is_mapping(values_, id)) return none;
  const auto [found, fresh] = objects_.try_emplace(id);
  ModuleParts& parts = found->second;
  if (!fresh) return parts;
  const ValueId type = class_of(values_, id);
  // torch.fx's modules are made from their attributes (GraphModule.__reduce__).
  if (is_global(values_, type, "torch.fx.graph_module", "reduce_graph_module")) {
    const auto arguments = call_arguments(values_, id);
    if (!arguments.empty() && is_mapping(values_, arguments[0])) parts = attributes(arguments[0]);
  }
  // torch.compile()'s are made from the module that they hold (OptimizedModule.__reduce__).
  if (is_global(values_, type, "torch._dynamo.eval_frame", "OptimizedModule")) {
    const auto arguments = call_arguments(values_, id);
    if (!arguments.empty() && values_.kind(arguments[0]) == ValueKind::object) parts.compiled = arguments[0];
  }
  for (auto handle = values_.first_effect(id); handle != 0; handle = values_.effect(handle).next) {
    if (values_.effect(handle).kind != EffectKind::build) continue;
    for (const ValueId mapping : state_mappings(values_, values_.items(values_.effect(handle))[0]))
      merge(parts, attributes(mapping));
  }
  return parts;
}

std::string class_name(const ValueGraph& values, ValueId object) {
  const ValueId type = class_of(values, object);
  if (type == no_value) return {};
  return std::string(values.module(type)) + "." + std::string(values.name(type));
}

}  // namespace ckpt
