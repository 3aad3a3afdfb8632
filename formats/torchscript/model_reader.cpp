#include "torchscript/model_reader.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "ckpt/state_dict.h"
#include "model/calls.h"
#include "model/replace_operands.h"
#include "pickled_tensors/read_pickle.h"
#include "torchscript/layout.h"
#include "torchscript/model_json.h"
#include "torchscript/pickles.h"

namespace ckpt::torchscript {
namespace {

using Entries = std::vector<std::pair<std::string, ValueId>>;

constexpr std::string_view attributes_name = "attributes.pkl";

/// The table of tensors, as sources that share what they share.
class Table {
 public:
  Table(const ScriptDetails& details, const ReadContext& context) : details_(details), context_(context) {}

  std::vector<TensorSource> sources;  ///< named by their places
  std::vector<std::string> members;   ///< those of the storages, in the order in which the sources name them first

  void add(const ModelTensor& tensor) {
    const std::string number = std::to_string(sources.size());
    const auto [found, fresh] = storages_.try_emplace(tensor.member);
    Known& known = found->second;
    if (fresh) {
      known = {find(tensor.member), tensor.dtype, tensor.device};
      members.push_back(tensor.member);
    }
    if (known.dtype != tensor.dtype || known.device != tensor.device)
      throw Error(ErrorCode::corrupt, "tensor " + number + " of model.json: member '" + tensor.member +
                                          "' is named once as " + words(known.dtype, known.device) + " and once as " +
                                          words(tensor.dtype, tensor.device))
          .expected("one dtype and one device a storage");
    if (known.bytes->size() % dtype_size(tensor.dtype) != 0)
      throw Error(ErrorCode::corrupt,
                  "member '" + tensor.member + "' holds " + std::to_string(known.bytes->size()) + " bytes")
          .expected("whole elements of " + std::string(dtype_name(tensor.dtype)));
    sources.push_back({.name = number,
                       .dtype = tensor.dtype,
                       .shape = tensor.dims,
                       .stride = tensor.strides,
                       .bytes = known.bytes,
                       .location = tensor.device,
                       .offset = tensor.offset});
  }

 private:
  struct Known {
    ByteSourcePtr bytes;
    DType dtype{};
    std::string device;
  };

  static std::string words(DType dtype, const std::string& device) {
    return std::string(dtype_name(dtype)) + " on " + device;
  }

  ByteSourcePtr find(const std::string& member) const {
    if (const ZipMember* const found = details_.zip->find(details_.root + "/" + member))
      return details_.zip->read(*found);
    context_.report(Error(ErrorCode::corrupt, "the archive does not hold '" + member.substr(0, 80) + "'")
                        .expected("the bytes of a tensor of model.json"),
                    "");
    return memory_source({}, member);
  }

  const ScriptDetails& details_;
  const ReadContext& context_;
  std::map<std::string, Known> storages_;
};

/// The index that build_tensor_from_id((index,)) is given; none for anything else.
std::optional<std::int64_t> tensor_index(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::object || values.call(id) != CallKind::reduce) return std::nullopt;
  const ValueId called = values.items(id)[0];
  if (values.kind(called) != ValueKind::global || values.name(called) != "build_tensor_from_id") return std::nullopt;
  const auto arguments = call_arguments(values, id);
  if (arguments.size() != 1 || values.kind(arguments[0]) != ValueKind::integer) return std::nullopt;
  return values.integer(arguments[0]);
}

ValueId value_at(const std::vector<ValueId>& values, std::int64_t index, const std::string& what) {
  if (index >= 0 && static_cast<std::uint64_t>(index) < values.size()) return values[static_cast<std::size_t>(index)];
  throw Error(ErrorCode::corrupt, what + " " + std::to_string(index))
      .expected("one of the file's " + std::to_string(values.size()));
}

/// The attributes' values, with tensors of the table in place of what refers to them.
std::vector<ValueId> read_attributes(Checkpoint& checkpoint, const ScriptDetails& details, const ReadContext& context,
                                     const std::vector<ValueId>& tensors) {
  const ZipMember* const member = details.zip->find(details.root + "/" + std::string(attributes_name));
  if (member == nullptr) return {};
  ValueGraph& values = checkpoint.values;
  const auto first = static_cast<ValueId>(values.size());
  const ByteSourcePtr bytes = in_memory(*details.zip, *member, context.pickle_cap);
  const std::size_t uses = checkpoint.storage_uses.size();
  const ValueId root = torch::add_pickle(*bytes, 0, context.pickle_cap, checkpoint).root;
  if (checkpoint.storage_uses.size() != uses)
    throw Error(ErrorCode::corrupt, "attributes.pkl names a storage")
        .expected("tensors of model.json")
        .in(bytes->name());
  const auto resolved = [&](ValueId id) {
    const auto index = id < first ? std::nullopt : tensor_index(values, id);
    return index ? value_at(tensors, *index, "an attribute is tensor") : id;
  };
  const auto behind = static_cast<ValueId>(values.size());
  for (ValueId id = first; id < behind; ++id) replace_operands(values, id, resolved);
  std::vector<ValueId> attributes;  // of a tuple, or in proto version 2 of a list
  values.each_operand(root, [&](ValueId item) { attributes.push_back(item); });
  return attributes;
}

/// Those of the table that no module names: code does, by their numbers.
Entries constants_of(const Checkpoint& checkpoint, const std::vector<ValueId>& tensors, const Entries& named) {
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
  Entries constants;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (!reached[tensors[i]]) constants.emplace_back("c" + std::to_string(i), tensors[i]);
  return constants;
}

}  // namespace

Checkpoint read_model(ScriptDetails& details, const ByteSource& source, const ReadContext& context) {
  const ByteSourcePtr text = details.zip->read(*details.zip->find(details.root + "/" + std::string(model_name)));
  const ScriptModel model = parse_model(*text);
  try {
    Table table(details, context);
    for (const ModelTensor& tensor : model.tensors) table.add(tensor);
    Checkpoint checkpoint = assemble(std::move(table.sources));
    for (std::size_t i = 0; i < checkpoint.storages.size(); ++i) checkpoint.storages[i].key = table.members[i];
    std::vector<ValueId> tensors;
    for (const MappingEntry& entry : mapping_entries(checkpoint.values, checkpoint.root))
      tensors.push_back(entry.value);
    const std::vector<ValueId> attributes = read_attributes(checkpoint, details, context, tensors);

    Entries named;
    StateEntries entries{.tensors = {}, .modules = {}, .format = "torch"};
    for (const ModelModule& module : model.modules) {
      entries.modules.push_back(module.name);
      for (const auto* group : {&module.parameters, &module.buffers})
        for (const auto& [name, id] : *group)
          entries.tensors.emplace_back(name, value_at(tensors, id, "'" + name + "' is tensor"));
      for (const auto& [name, id] : module.attributes)
        named.emplace_back(name, value_at(attributes, id, "'" + name + "' is attribute"));
    }
    named.insert(named.begin(), entries.tensors.begin(), entries.tensors.end());
    const Entries constants = constants_of(checkpoint, tensors, named);
    if (!constants.empty()) named.emplace_back("CONSTANTS", make_dict(checkpoint.values, constants));
    checkpoint.root = make_dict(checkpoint.values, named);
    details.entries = std::move(entries);
    details.class_name = model.class_name;
    return checkpoint;
  } catch (Error& error) {
    throw error.in(source.name());
  }
}

}  // namespace ckpt::torchscript
