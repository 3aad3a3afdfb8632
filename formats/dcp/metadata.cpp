#include "dcp/metadata.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/state_dict.h"
#include "ckpt/utf8.h"
#include "dcp/record.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"
#include "model/calls.h"
#include "model/walk.h"
#include "pickle/machine.h"
#include "pickle/policy.h"
#include "pickled_tensors/arguments.h"

namespace ckpt::dcp {
namespace {

/// What a MetadataIndex is compared by: its name, and the offsets of the chunk, if it is one.
std::string index_key(std::string_view name, const std::vector<std::int64_t>* offsets) {
  std::string key;
  append_le(key, static_cast<std::uint64_t>(name.size()));
  key += name;
  if (offsets == nullptr) return key + "v";
  key += as_text(std::as_bytes(std::span(*offsets)));
  return key + "t";
}

class Decoder {
 public:
  Decoder(Metadata& metadata, const ReadContext& context)
      : metadata_(metadata), values_(metadata.values), context_(context) {}

  void run(ValueId root) {
    if (class_of(values_, root) != "Metadata")
      throw Error(ErrorCode::corrupt, "the pickle holds no Metadata")
          .expected("what torch.distributed.checkpoint wrote");
    const Record record(values_, root);
    read_places(mapping(record, "storage_data", "where items lie"));
    metadata_.steps = Steps(metadata_.items.size());
    read_paths(record.at("planner_data"));
    for (const MappingEntry& each : mapping(record, "state_dict_metadata", "what the state dict holds")) {
      const bool is_text = values_.kind(each.key) == ValueKind::str ||
                           (values_.kind(each.key) == ValueKind::py2_str && is_utf8(values_.text(each.key)));
      if (!is_text) throw Error(ErrorCode::corrupt, "a name in state_dict_metadata is no string").expected("strings");
      Entry entry;
      entry.name = values_.text(each.key);
      try {
        read_entry(entry, each.value);
      } catch (Error& error) {
        context_.report(error.within("'" + entry.name + "'"), "");
        continue;
      }
      metadata_.entries.push_back(std::move(entry));
    }
  }

 private:
  std::vector<MappingEntry> mapping(const Record& record, std::string_view name, const std::string& what) const {
    const ValueId id = record.at(name);
    if (id == no_value || values_.kind(id) != ValueKind::dict)
      throw Error(ErrorCode::corrupt, "the Metadata has no '" + std::string(name) + "'").expected("a dict: " + what);
    return mapping_entries(values_, id);
  }

  void read_places(const std::vector<MappingEntry>& entries) {
    metadata_.items.reserve(entries.size());
    places_.reserve(entries.size());
    for (const MappingEntry& entry : entries) {
      if (class_of(values_, entry.key) != "MetadataIndex" || class_of(values_, entry.value) != "_StorageInfo")
        throw Error(ErrorCode::corrupt, "an entry of storage_data is of other classes")
            .expected("a MetadataIndex, and a _StorageInfo");
      const Record index(values_, entry.key), info(values_, entry.value);
      const std::string name(index.text("fqn"));
      metadata_.steps.spend(1 + name.size() / bytes_a_step);
      const ValueId offset = index.at("offset");
      std::optional<std::vector<std::int64_t>> offsets;
      if (offset != no_value) offsets = size_of(values_, offset);
      std::string key = index_key(name, offsets ? &*offsets : nullptr);
      if (const ValueId transforms = info.at("transform_descriptors"); transforms != no_value)
        refuse_transforms(name, transforms);
      const Item item{file(info.text("relative_path")), info.number("offset"), info.number("length")};
      places_[std::move(key)] = static_cast<std::uint32_t>(metadata_.items.size());
      metadata_.items.push_back(item);
    }
  }

  /// StreamTransformExtension: the item is compressed or otherwise changed.
  void refuse_transforms(const std::string& name, ValueId transforms) const {
    const auto names = torch::sequence_items(values_, transforms);
    if (names && names->empty()) return;
    std::string shown;
    if (names)
      for (const ValueId each : *names)
        if (shown.size() < 200 && values_.is_string(each))
          shown += (shown.empty() ? "" : ", ") + std::string(values_.text(each));
    throw Error(ErrorCode::unsupported, "'" + name + "' was transformed by extensions (" + shown + ")")
        .expected("items as torch.save wrote them")
        .hint("in Python: torch.distributed.checkpoint.format_utils.dcp_to_torch_save(FOLDER, \"model.pt\")");
  }

  std::uint32_t file(std::string_view name) {
    const auto [found, fresh] = files_.try_emplace(std::string(name), static_cast<std::uint32_t>(files_.size()));
    if (fresh) metadata_.files.emplace_back(name);
    return found->second;
  }

  void read_paths(ValueId planner) {
    if (planner == no_value || values_.kind(planner) != ValueKind::dict) return;
    for (const MappingEntry& entry : mapping_entries(values_, planner))
      if (values_.is_string(entry.key)) paths_[values_.text(entry.key)] = entry.value;
  }

  std::uint32_t place(const std::string& key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? nowhere : found->second;
  }

  void read_entry(Entry& entry, ValueId value) {
    if (const auto path = paths_.find(entry.name); path != paths_.end()) entry.path = path->second;
    const std::string_view type = class_of(values_, value);
    if (type == "BytesStorageMetadata") {
      entry.items = {place(index_key(entry.name, nullptr))};
      if (entry.items[0] == nowhere) refuse_missing("the value");
    } else if (type == "TensorStorageMetadata") {
      read_tensor(entry, Record(values_, value));
    } else {
      throw Error(ErrorCode::corrupt, "it is described by " + (type.empty() ? "no class" : "a " + std::string(type)))
          .expected("a TensorStorageMetadata or a BytesStorageMetadata");
    }
  }

  [[noreturn]] static void refuse_missing(const std::string& what) {
    throw Error(ErrorCode::corrupt, "storage_data does not say where " + what + " lies")
        .expected("a place for each item");
  }

  void read_tensor(Entry& entry, const Record& record) {
    entry.is_tensor = true;
    read_properties(entry, record.at("properties"));
    entry.shape = size_of(values_, required(record, "size"));
    const ValueId chunks = required(record, "chunks");
    if (values_.kind(chunks) != ValueKind::list)
      throw Error(ErrorCode::corrupt, "its chunks are no list").expected("a list");
    std::unordered_map<std::uint32_t, std::size_t> seen;
    values_.each_operand(chunks, [&](ValueId chunk) {
      metadata_.steps.spend(1 + entry.name.size() / bytes_a_step);
      read_chunk(entry, Record(values_, chunk), seen);
    });
  }

  /// `seen`: for each item, which of the boxes it was first.
  void read_chunk(Entry& entry, const Record& chunk, std::unordered_map<std::uint32_t, std::size_t>& seen) const {
    const std::size_t dims = entry.shape.size();
    const auto offsets = size_of(values_, required(chunk, "offsets"));
    const auto sizes = size_of(values_, required(chunk, "sizes"));
    if (offsets.size() != dims || sizes.size() != dims)
      throw Error(ErrorCode::corrupt, "a chunk of " + std::to_string(offsets.size()) + " and " +
                                          std::to_string(sizes.size()) + " dimensions")
          .expected(std::to_string(dims) + ", as the tensor has");
    const std::uint32_t item = place(index_key(entry.name, &offsets));
    if (item == nowhere) refuse_missing("a chunk");
    const auto [first, fresh] = seen.try_emplace(item, entry.items.size());
    // A replica, saved by several ranks and kept of one.
    if (!fresh && std::equal(sizes.begin(), sizes.end(), entry.boxes.data() + (2 * first->second + 1) * dims)) return;
    entry.boxes.insert(entry.boxes.end(), offsets.begin(), offsets.end());
    entry.boxes.insert(entry.boxes.end(), sizes.begin(), sizes.end());
    entry.items.push_back(item);
  }

  ValueId required(const Record& record, std::string_view name) const {
    const ValueId id = record.at(name);
    if (id == no_value)
      throw Error(ErrorCode::corrupt, "it has no '" + std::string(name) + "'").expected("what torch wrote of a tensor");
    return id;
  }

  /// TensorProperties.__getstate__: (dtype, layout, requires_grad, memory format, pin_memory).
  void read_properties(Entry& entry, ValueId properties) const {
    if (properties == no_value) throw Error(ErrorCode::corrupt, "it has no 'properties'").expected("its dtype");
    const ValueId state = state_of(values_, properties);
    const auto items = state == no_value ? std::nullopt : torch::sequence_items(values_, state);
    if (!items) throw Error(ErrorCode::corrupt, "its properties are no tuple").expected("a tuple of five");
    const torch::Arguments arguments(values_, "TensorProperties.__setstate__", *items);
    arguments.expect(2);
    entry.dtype = arguments.dtype(0);
    const auto call = values_.items(arguments.at(1));  // torch.serialization._get_layout('torch.strided')
    const auto named = call.size() > 1 ? values_.items(call[1]) : std::span<const ValueId>();
    if (named.size() == 1 && values_.is_string(named[0]) && values_.text(named[0]) != "torch.strided")
      throw Error(ErrorCode::unsupported, "its layout is " + std::string(values_.text(named[0])))
          .expected("torch.strided");
    if (is_quantised(entry.dtype))
      throw Error(ErrorCode::unsupported, "it is quantised (" + std::string(dtype_name(entry.dtype)) + ")")
          .expected("a dtype that torch.distributed.checkpoint can load");
  }

  Metadata& metadata_;
  const ValueGraph& values_;
  const ReadContext& context_;
  NameMap<std::uint32_t> places_;
  NameMap<std::uint32_t> files_;
  NameViewMap<ValueId> paths_;
};

/// An enum's member in Python 3.11.0 to 3.11.3: getattr(_MEM_FORMAT_ENCODING, "TORCH_CONTIGUOUS_FORMAT").
bool fetches_memory_format(const ValueGraph& values, ValueId call) {
  if (values.kind(call) != ValueKind::object || values.call(call) != CallKind::reduce) return false;
  const auto arguments = call_arguments(values, call);
  return arguments.size() == 2 && values.kind(arguments[0]) == ValueKind::global &&
         values.module(arguments[0]).starts_with("torch.distributed.") &&
         values.name(arguments[0]).ends_with("MEM_FORMAT_ENCODING") && values.is_string(arguments[1]) &&
         values.text(arguments[1]).starts_with("TORCH_");
}

/// builtins.getattr is known where nothing else is done with it.
void judge_getattr(Metadata& metadata) {
  const ValueGraph& values = metadata.values;
  const auto is_getattr = [&](ValueId id) {
    return values.kind(id) == ValueKind::global && values.name(id) == "getattr";
  };
  for (ValueId id = 0; id < values.size(); ++id) {
    bool used_otherwise = is_getattr(id) && values.first_effect(id) != 0;
    std::size_t position = 0;
    values.each_operand(id, [&](ValueId operand) {
      if (is_getattr(operand)) used_otherwise |= position != 0 || !fetches_memory_format(values, id);
      ++position;
    });
    if (used_otherwise) return;
  }
  for (GlobalUse& global : metadata.globals)
    if (global.name == "getattr" && (global.module == "builtins" || global.module == "__builtin__"))
      global.verdict = Verdict::known;
}

}  // namespace

std::vector<std::int64_t> size_of(const ValueGraph& values, ValueId id) {
  const ValueId operands[] = {id};
  auto sizes = torch::Arguments(values, "torch.Size", operands).integers(0);
  for (const std::int64_t size : sizes)
    if (size < 0) throw Error(ErrorCode::corrupt, "a size or offset of " + std::to_string(size)).expected("0 or more");
  return sizes;
}

Metadata read_metadata(const ByteSource& source, const ReadContext& context) {
  Metadata metadata;
  pickle::Program program = pickle::run(source, 0, metadata.values, context.pickle_cap);
  metadata.globals = std::move(program.globals);
  if (program.discarded.empty()) judge_getattr(metadata);
  try {
    Decoder(metadata, context).run(program.root);
  } catch (Error& error) {
    name_dangers(error, metadata.globals);
    throw;
  }
  if (const auto size = source.size(); program.end < size)
    context.remark(std::to_string(size - program.end) + " bytes follow the pickle and belong to nothing");
  return metadata;
}

}  // namespace ckpt::dcp
