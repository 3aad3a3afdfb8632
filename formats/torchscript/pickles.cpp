#include "torchscript/pickles.h"

#include <string>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/state_dict.h"
#include "container/zip_kind.h"
#include "model/walk.h"
#include "pickle/global_uses.h"
#include "pickled_tensors/archive.h"
#include "pickled_tensors/read_pickle.h"
#include "torchscript/layout.h"

namespace ckpt::torchscript {
namespace {

constexpr std::string_view suffix = ".pkl";

/// Pickles that name storages. What others hold (the traced inputs, of which only the shapes were kept) is judged.
bool names_storages(std::string_view name) {
  return name == torch::pickle_name || name == constants_name || name == bytecode_name;
}

/// Those of the root folder, data.pkl first: extra files lie deeper, and may be called anything.
std::vector<const ZipMember*> pickles_of(const ScriptDetails& details) {
  std::vector<const ZipMember*> pickles{details.zip->find(details.root + "/" + std::string(torch::pickle_name))};
  for (const ZipMember& member : details.zip->members()) {
    const std::string_view name = std::string_view(member.name).substr(details.root.size() + 1);
    const bool is_pickle = name.ends_with(suffix) && name.find('/') == std::string_view::npos;
    if (is_pickle && name != torch::pickle_name) pickles.push_back(&member);
  }
  return pickles;
}

/// What the object is given by BUILD; itself where it is given nothing.
ValueId state_of(const ValueGraph& values, ValueId object) {
  const auto handle = values.kind(object) == ValueKind::object ? values.first_effect(object) : 0;
  const bool built = handle != 0 && values.effect(handle).kind == EffectKind::build;
  return built ? values.items(values.effect(handle))[0] : object;
}

/// The attributes of the module, by name; none where its class keeps its state in another form.
std::vector<std::pair<std::string, ValueId>> attributes_of(const ValueGraph& values, ValueId object) {
  std::vector<std::pair<std::string, ValueId>> attributes;
  if (const ValueId state = state_of(values, object); state != object)
    for (const ValueId mapping : state_mappings(values, state))
      for (const MappingEntry& entry : mapping_entries(values, mapping))
        if (values.is_string(entry.key)) attributes.emplace_back(values.text(entry.key), entry.value);
  return attributes;
}

}  // namespace

ValueId make_dict(ValueGraph& values, const std::vector<std::pair<std::string, ValueId>>& entries) {
  std::vector<ValueId> pairs;
  for (const auto& [name, value] : entries) {
    pairs.push_back(values.make_str(name));
    pairs.push_back(value);
  }
  const ValueId dict = values.make_container(ValueKind::dict);
  values.add_effect(dict, EffectKind::set_items, pairs);
  return dict;
}

void read_pickles(Checkpoint& checkpoint, ScriptDetails& details, const ReadContext& context) {
  ValueId constants = no_value;
  for (const ZipMember* const member : pickles_of(details)) {
    const std::string name = member->name.substr(details.root.size() + 1);
    const std::size_t known = checkpoint.globals.size();
    const ByteSourcePtr bytes = in_memory(*details.zip, *member, context.pickle_cap);
    if (name == torch::pickle_name && !begins_as_script(*bytes))
      throw Error(ErrorCode::corrupt, "the pickle is of no module that the archive has code for")
          .expected("an object of a class of __torch__")
          .in(bytes->name());
    if (names_storages(name)) {
      const std::string folder = storage_folder_of(*details.zip, details.root, name);
      const auto first = static_cast<ValueId>(checkpoint.values.size());
      const ValueId root = torch::add_pickle(*bytes, 0, context.pickle_cap, checkpoint, folder).root;
      details.pickles.push_back({member->name, first, static_cast<ValueId>(checkpoint.values.size())});
      if (name == torch::pickle_name) details.object = root;
      if (name == constants_name) constants = root;
    } else {
      Checkpoint aside;
      torch::read_object(*bytes, 0, context.pickle_cap, aside);
      pickle::GlobalUses(checkpoint.globals).add(aside.globals);
    }
    if (member->method == 0)
      for (std::size_t i = known; i < checkpoint.globals.size(); ++i)
        checkpoint.globals[i].offset += member->data_offset;
  }

  ValueGraph& values = checkpoint.values;
  if (const auto called = values.items(details.object);
      values.kind(details.object) == ValueKind::object && values.kind(called[0]) == ValueKind::global)
    details.class_name = std::string(values.module(called[0])) + "." + std::string(values.name(called[0]));
  auto attributes = attributes_of(values, details.object);
  std::vector<std::pair<std::string, ValueId>> numbered;
  if (constants != no_value)
    for (const ValueId constant : values.items(constants))
      numbered.emplace_back("c" + std::to_string(numbered.size()), constant);
  if (attributes.empty()) attributes.emplace_back("state", state_of(values, details.object));
  if (!numbered.empty()) attributes.emplace_back("CONSTANTS", make_dict(values, numbered));
  checkpoint.root = make_dict(values, attributes);
}

void judge_script_globals(Checkpoint& checkpoint) {
  for (GlobalUse& global : checkpoint.globals) {
    const bool in_code = global.module == "__torch__" || global.module.starts_with("__torch__.");
    const bool of_pickler = global.module == "__main__" && (global.name == "TensorID" || global.name == "IntList");
    if (global.verdict == Verdict::unknown && (in_code || of_pickler)) global.verdict = Verdict::known;
  }
}

}  // namespace ckpt::torchscript
