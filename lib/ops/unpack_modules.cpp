#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ckpt/modules.h"
#include "ckpt/state_dict.h"
#include "ckpt/utf8.h"
#include "io/keyed_hash.h"
#include "model/module_reader.h"
#include "model/replace_operands.h"
#include "model/walk.h"
#include "ops/module_walk.h"
#include "ops/plain_tensors.h"
#include "ops/prune.h"
#include "ops/whole_module.h"

namespace ckpt {
namespace {

constexpr std::string_view batches = "num_batches_tracked";
constexpr std::size_t warned_of = 20;

/// state_dict(), step by step as torch.nn.Module takes them.
class Unpacker {
 public:
  explicit Unpacker(Checkpoint& checkpoint)
      : checkpoint_(checkpoint),
        values_(checkpoint.values),
        walk_(checkpoint),
        tensors_(checkpoint),
        bytes_(checkpoint.file, limits::tensor_name_bytes),  // they become tensors' names, and are held more than once
        most_names_(limits::tensor_names + limits::names_a_tensor * checkpoint.tensors.size()) {}

  ValueId state_dict(const Module& module) {
    entries_.clear();
    metadata_.clear();
    where_ = module.path;
    walk_.run(
        module.value, [&](ValueId id, const std::string& name, std::size_t) { enter(id, name); },
        [&](const std::string& name) { warn("'" + name + "' is no module that could be read, and is left out"); });
    return made();
  }

  [[nodiscard]] const std::string& own_state() const { return own_state_; }

  /// Adds what there is to say to the checkpoint's warnings.
  void finish() {
    if (silent_ > 0) warnings_.push_back("… and " + std::to_string(silent_) + " more of the like");
    for (std::string& warning : warnings_) checkpoint_.warnings.push_back(std::move(warning));
    tensors_.finish();
  }

 private:
  /// Its own entries; those of its children follow when their turn comes.
  void enter(ValueId module, const std::string& name) {
    const ModuleParts parts = walk_.parts(module);
    const std::string prefix = name.empty() ? "" : name + ".";
    const auto buffers = walk_.entries_of(parts.buffers);
    walk_.count_step(buffers.size());
    add_metadata(module, name, buffers);
    add_entries(walk_.entries_of(parts.parameters), prefix, {});
    add_entries(buffers, prefix, parts.non_persistent == no_value ? Names() : strings_in(parts.non_persistent));
    warn_of_hooks(parts, name);
  }

  using Names = NameSet;

  /// The strings in a set, which protocols below 4 make by a call: set(([…],)).
  Names strings_in(ValueId set) {
    Names strings;
    std::vector<ValueId> open{set};
    for (int depth = 0; depth < 3 && !open.empty(); ++depth) {
      std::vector<ValueId> below;
      for (const ValueId holder : open)
        values_.each_operand(holder, [&](ValueId item) {
          walk_.count_step();
          const ValueKind kind = values_.kind(item);
          if (values_.is_string(item)) strings.emplace(values_.text(item));
          if (kind == ValueKind::tuple || kind == ValueKind::list) below.push_back(item);
        });
      open = std::move(below);
    }
    return strings;
  }

  void add_entries(const std::vector<MappingEntry>& entries, const std::string& prefix, const Names& left_out) {
    for (const MappingEntry& entry : entries) {
      walk_.count_step();
      if (values_.kind(entry.value) == ValueKind::none || !values_.is_string(entry.key)) continue;
      const std::string name(values_.text(entry.key));
      if (left_out.contains(name)) continue;
      const ValueId tensor = tensors_.detached(entry.value);
      if (tensor == no_value) {
        warn("'" + prefix + name + "' is no tensor, and is left out");
        continue;
      }
      entries_.push_back(text(prefix + name));
      entries_.push_back(tensor);
    }
  }

  /// The class has the version as an attribute, which no pickle holds. Norms have had num_batches_tracked, or None in
  /// its place, since they are of version 2.
  void add_metadata(ValueId module, const std::string& name, const std::vector<MappingEntry>& buffers) {
    const std::string type = class_name(values_, module);
    walk_.count_step(type.size() / bytes_a_step);
    const ModuleClass* const known = find_module_class(type);
    int version = known == nullptr ? 1 : known->version;
    for (const MappingEntry& buffer : buffers)
      if (values_.is_string(buffer.key, batches)) version = 2;
    if (known != nullptr && known->own_state) {
      const std::string what = "'" + name + "' is a " + type + ", which writes its state in a way of its own";
      if (own_state_.empty()) own_state_ = what;
      warn(what);
    }
    const ValueId key = text(name);
    const ValueId pair[] = {tensors_.calls().text("version"), values_.make_integer(version)};
    const ValueId local = kept(values_.make_container(ValueKind::dict));
    values_.add_effect(local, EffectKind::set_items, pair);
    metadata_.push_back(key);
    metadata_.push_back(local);
  }

  void warn_of_hooks(const ModuleParts& parts, const std::string& name) {
    for (const ValueId hooks : {parts.pre_hooks, parts.hooks}) {
      if (hooks == no_value) continue;
      for (const MappingEntry& hook : mapping_entries(values_, hooks)) {
        walk_.count_step();
        const bool object = values_.kind(hook.value) == ValueKind::object;
        const std::string type = object ? class_name(values_, hook.value) : std::string();
        walk_.count_step(type.size() / bytes_a_step);
        warn("'" + name + "' has a hook of state_dict()" + (type.empty() ? "" : ", " + type + ",") +
             " which may change what Python would give");
      }
    }
  }

  ValueId made() {
    const ValueId dict = tensors_.calls().ordered_dict(entries_);
    const ValueId pair[] = {tensors_.calls().text("_metadata"), tensors_.calls().ordered_dict(metadata_)};
    const ValueId state = kept(values_.make_container(ValueKind::dict));
    values_.add_effect(state, EffectKind::set_items, pair);
    values_.add_effect(dict, EffectKind::build, std::span(&state, 1));
    return dict;
  }

  ValueId kept(ValueId id) {
    values_.set_memoized(id);
    return id;
  }

  /// A key. Modules that are shared are named once a path, so that names are counted, and their bytes.
  ValueId text(const std::string& name) {
    bytes_.spend(name.size());
    if (++names_ > most_names_)
      throw Error(ErrorCode::limit_exceeded,
                  "the modules give more than " + std::to_string(most_names_) + " names of tensors and modules")
          .in(checkpoint_.file);
    // Python 2's names may be bytes that are no text: a name with such a part is of that kind, too.
    return kept(values_.make_text(is_utf8(name, Surrogates::allowed) ? ValueKind::str : ValueKind::py2_str, name));
  }

  void warn(std::string what) {
    if (warnings_.size() == warned_of)
      ++silent_;
    else
      warnings_.push_back((where_.empty() ? "" : "in '" + where_ + "': ") + std::move(what));
  }

  Checkpoint& checkpoint_;
  ValueGraph& values_;
  ModuleWalk walk_;
  PlainTensors tensors_;
  NameBudget bytes_;
  std::uint64_t most_names_, names_ = 0;
  std::string where_;
  std::vector<ValueId> entries_, metadata_;
  std::vector<std::string> warnings_;
  std::string own_state_;  ///< of the first module that writes its state so
  std::size_t silent_ = 0;
};

/// Puts the state dicts in the modules' place in the root, and in the containers that find_modules() looks into.
void put_in_place(Checkpoint& checkpoint, const std::unordered_map<ValueId, ValueId>& made) {
  ValueGraph& values = checkpoint.values;
  const auto replaced = [&](ValueId id) {
    const auto found = made.find(id);
    return found == made.end() ? id : found->second;
  };
  std::vector<ValueId> open;
  std::vector<bool> seen(values.size());
  const auto add = [&](ValueId id) {
    const ValueKind kind = values.kind(id);
    const bool searched = kind == ValueKind::list || kind == ValueKind::tuple || is_mapping(values, id);
    if (searched && !seen[id]) open.push_back(id);
    seen[id] = true;
  };
  checkpoint.root = replaced(checkpoint.root);
  add(checkpoint.root);
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    replace_operands(values, id, replaced);
    values.each_operand(id, add);
  }
}

}  // namespace

Checkpoint unpack_modules(Checkpoint checkpoint) {
  if (whole_module(checkpoint)) return unpack_whole_module(std::move(checkpoint));
  const std::vector<Module> modules = find_modules(checkpoint);
  if (modules.empty()) return checkpoint;
  std::unordered_map<ValueId, ValueId> made;
  Unpacker unpacker(checkpoint);
  for (const Module& module : modules) made[module.value] = unpacker.state_dict(module);
  unpacker.finish();
  put_in_place(checkpoint, made);
  if (!unpacker.own_state().empty() && find_state_dicts(checkpoint).empty())
    throw Error(ErrorCode::unsupported, "the module's tensors are not where a module has them: " + unpacker.own_state())
        .expected("parameters and buffers")
        .in(checkpoint.file)
        .hint("in Python: torch.save(model.state_dict(), PATH)");
  return prune(std::move(checkpoint));
}

}  // namespace ckpt
