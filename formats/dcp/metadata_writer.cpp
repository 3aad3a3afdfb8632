#include "dcp/metadata_writer.h"

#include <initializer_list>
#include <map>
#include <string_view>
#include <utility>

#include "pickle/emitter.h"

namespace ckpt::dcp {
namespace {

constexpr std::string_view metadata_module = "torch.distributed.checkpoint.metadata";
constexpr std::string_view filesystem_module = "torch.distributed.checkpoint.filesystem";

class Maker {
 public:
  using Pairs = std::vector<ValueId>;

  std::string make(const FlatDict& flat, const std::vector<WrittenItem>& items, const std::string& file,
                   std::optional<int> protocol) {
    const ValueId path = values_.make_str(file);
    Pairs contents, places, paths;
    for (std::size_t i = 0; i < items.size(); ++i) {
      const ValueId name = values_.make_str(flat.leaves[i].name);
      contents.insert(contents.end(), {name, content(items[i])});
      places.insert(places.end(), {index(name, items[i]), place(path, items[i])});
      paths.insert(paths.end(), {name, path_of(flat, flat.leaves[i])});
    }
    const ValueId root =
        object(metadata_module, "Metadata",
               {text("state_dict_metadata"), dict(contents), text("planner_data"), dict(paths), text("storage_data"),
                dict(places), text("storage_meta"), values_.make_none(), text("version"), text("1.0.0")});
    return pickle::emit(values_, root, {2, protocol, {}});
  }

 private:
  ValueId global(std::string_view module, std::string_view name) {
    const auto [found, fresh] = globals_.try_emplace({module, name}, no_value);
    if (fresh) found->second = values_.make_global(module, name);
    return found->second;
  }
  /// One of the few that come again and again; a literal.
  ValueId text(std::string_view text) {
    const auto [found, fresh] = texts_.try_emplace(text, no_value);
    if (fresh) found->second = values_.make_str(text);
    return found->second;
  }
  ValueId integer(std::uint64_t value) { return values_.make_integer(static_cast<std::int64_t>(value)); }
  ValueId tuple(std::initializer_list<ValueId> items) { return values_.make_tuple(std::vector(items)); }

  ValueId dict(const Pairs& pairs) {
    const ValueId made = values_.make_container(ValueKind::dict);
    if (!pairs.empty()) values_.add_effect(made, EffectKind::set_items, pairs);
    return made;
  }
  ValueId call(std::string_view module, std::string_view name, std::initializer_list<ValueId> arguments) {
    const ValueId parts[] = {global(module, name), tuple(arguments)};
    return values_.make_object(CallKind::reduce, parts);
  }
  /// cls.__new__(cls), and its state.
  ValueId stateful(std::string_view module, std::string_view name, ValueId state) {
    const ValueId parts[] = {global(module, name), tuple({})};
    const ValueId made = values_.make_object(CallKind::newobj, parts);
    values_.add_effect(made, EffectKind::build, std::span(&state, 1));
    return made;
  }
  ValueId object(std::string_view module, std::string_view name, const Pairs& attributes) {
    return stateful(module, name, dict(attributes));
  }

  ValueId size(const std::vector<std::int64_t>& sizes) {
    std::vector<ValueId> items;
    for (const std::int64_t each : sizes) items.push_back(values_.make_integer(each));
    return call("torch", "Size", {values_.make_tuple(items)});
  }
  ValueId origin(const WrittenItem& item) { return size(std::vector<std::int64_t>(item.shape.size(), 0)); }

  /// TensorProperties.__getstate__; all but the dtype is the same of every tensor.
  ValueId properties(DType dtype) {
    const auto [found, fresh] = properties_.try_emplace(dtype, no_value);
    if (!fresh) return found->second;
    if (layout_ == no_value) {
      layout_ = call("torch.serialization", "_get_layout", {text("torch.strided")});
      memory_format_ = call(metadata_module, "_MEM_FORMAT_ENCODING", {integer(0)});
    }
    const ValueId state = tuple({global("torch", dtype_name(dtype)), layout_, values_.make_boolean(false),
                                 memory_format_, values_.make_boolean(false)});
    return found->second = stateful(metadata_module, "TensorProperties", state);
  }

  ValueId content(const WrittenItem& item) {
    // An object without attributes has no state.
    const ValueId bytes[] = {global(metadata_module, "BytesStorageMetadata"), tuple({})};
    if (!item.dtype) return values_.make_object(CallKind::newobj, bytes);
    const ValueId chunk = object(metadata_module, "ChunkStorageMetadata",
                                 {text("offsets"), origin(item), text("sizes"), size(item.shape)});
    const ValueId chunks = values_.make_container(ValueKind::list);
    values_.add_effect(chunks, EffectKind::append, std::span(&chunk, 1));
    return object(
        metadata_module, "TensorStorageMetadata",
        {text("properties"), properties(*item.dtype), text("size"), size(item.shape), text("chunks"), chunks});
  }

  ValueId index(ValueId name, const WrittenItem& item) {
    Pairs attributes{text("fqn"), name, text("index"), item.dtype ? integer(0) : values_.make_none()};
    if (item.dtype) attributes.insert(attributes.end(), {text("offset"), origin(item)});
    return object(metadata_module, "MetadataIndex", attributes);
  }

  ValueId place(ValueId path, const WrittenItem& item) {
    return object(
        filesystem_module, "_StorageInfo",
        {text("relative_path"), path, text("offset"), integer(item.offset), text("length"), integer(item.length)});
  }

  ValueId path_of(const FlatDict& flat, const Leaf& leaf) {
    std::vector<ValueId> parts;
    for (const PathPart* part : flat.path(leaf.path))
      parts.push_back(part->is_place ? integer(part->place) : values_.make_str(part->key));
    return values_.make_tuple(parts);
  }

  ValueGraph values_;
  std::map<std::pair<std::string_view, std::string_view>, ValueId> globals_;
  std::map<std::string_view, ValueId> texts_;
  std::map<DType, ValueId> properties_;
  ValueId layout_ = no_value, memory_format_ = no_value;
};

}  // namespace

std::string metadata_pickle(const FlatDict& flat, const std::vector<WrittenItem>& items, const std::string& file,
                            std::optional<int> protocol) {
  return Maker().make(flat, items, file, protocol);
}

}  // namespace ckpt::dcp
