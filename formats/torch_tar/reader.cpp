#include <algorithm>
#include <unordered_map>

#include "ckpt/error.h"
#include "container/quoted_name.h"
#include "container/tar_reader.h"
#include "io/keyed_hash.h"
#include "model/end_of_file.h"
#include "model/order_storages.h"
#include "model/tensor_calls.h"
#include "pickle/global_uses.h"
#include "pickle/machine.h"
#include "pickle/policy.h"
#include "pickled_tensors/nested_files.h"
#include "pickled_tensors/replace_values.h"
#include "pickled_tensors/storage_ids.h"
#include "pickled_tensors/tensors.h"
#include "torch_tar/records.h"
#include "torch_tar/torch_tar.h"

namespace ckpt::torch {
namespace {

constexpr std::string_view parts[] = {"sys_info", "pickle", "tensors", "storages"};

const TarMember* find_member(const std::vector<TarMember>& members, std::string_view name, const ByteSource& source) {
  const auto found =
      std::find_if(members.begin(), members.end(), [&](const TarMember& member) { return member.name == name; });
  if (found == members.end()) return nullptr;
  if (found->kind != TarMember::Kind::file)
    throw Error(ErrorCode::corrupt, "member " + quoted_name(name) + " is a link or a folder")
        .expected("a file")
        .in(source.name());
  return &*found;
}

const TarMember& need_member(const std::vector<TarMember>& members, std::string_view name, const ByteSource& source) {
  if (const TarMember* const member = find_member(members, name, source)) return *member;
  throw Error(ErrorCode::corrupt, "the archive has no member '" + std::string(name) + "'")
      .expected("sys_info, pickle, tensors and storages, as PyTorch 0.1 wrote them")
      .in(source.name());
}

/// Brings the object's pickle into the form of later files: tensors are calls, storages and classes have the persistent
/// ids of torch-legacy.
class Translation {
 public:
  Translation(Checkpoint& checkpoint, const tar::Records& records)
      : checkpoint_(checkpoint), values_(checkpoint.values), records_(records), calls_(checkpoint.values) {}

  void run(bool by_tensor_records) {
    const auto count = static_cast<ValueId>(values_.size());
    for (ValueId id = 0; id < count; ++id) {
      if (values_.kind(id) == ValueKind::persistent) translate(id, values_.items(id)[0]);
      if (!by_tensor_records) name_storage(id);
    }
    replace_values(checkpoint_, same_);
    for (const auto& [id, first] : same_) values_.become_none(id);
  }

 private:
  void translate(ValueId id, ValueId saved) {
    if (values_.kind(saved) == ValueKind::tuple) return translate_tuple(id, saved);
    const std::string key = tar::key_text(values_, saved);
    const auto tensor = records_.tensors.find(key);
    const bool is_storage = records_.storages.contains(key) || records_.views.contains(key);
    if (tensor == records_.tensors.end() && !is_storage)
      throw Error(ErrorCode::corrupt, "the object names '" + key + "'")
          .expected("the key of a tensor or a storage in the archive")
          .in(checkpoint_.file);
    // What has one key is one object.
    const auto [first, fresh] = made_.try_emplace(key, id);
    if (!fresh) {
      if (values_.first_effect(id) != 0)
        throw Error(ErrorCode::unsupported, "the object changes '" + key + "' where it names it again")
            .expected("tensors as they are")
            .in(checkpoint_.file);
      same_[id] = first->second;
    } else if (is_storage) {
      values_.become_persistent(id, storage_id(key));
    } else {
      TensorInfo info = tensor->second.info;
      info.dtype = record_of(tensor->second.storage).dtype;
      values_.become_object(id, CallKind::reduce, calls_.rebuild(storage(tensor->second.storage), info, true));
    }
  }

  /// A class, the file that it stood in, and its source; or a storage as later files name it.
  void translate_tuple(ValueId id, ValueId saved) {
    if (decode_storage_id(values_, saved)) return;
    const std::size_t count = values_.items(saved).size();
    if (count != 3)
      throw Error(ErrorCode::corrupt, "a persistent id of " + std::to_string(count) + " parts")
          .expected("a key, or (class, file, source)")
          .in(checkpoint_.file);
    std::vector<ValueId> module{calls_.text("module")};
    const auto items = values_.items(saved);
    module.insert(module.end(), items.begin(), items.end());
    values_.become_persistent(id, calls_.kept(values_.make_tuple(module)));
  }

  /// torch._utils._rebuild_tensor…(('storage', …), …), with a tuple where torch has a persistent id of that tuple: what
  /// other programs write, and no member `tensors`.
  void name_storage(ValueId id) {
    if (values_.kind(id) != ValueKind::object || values_.call(id) != CallKind::reduce) return;
    const auto items = values_.items(id);
    if (values_.kind(items[0]) != ValueKind::global || values_.module(items[0]) != "torch._utils") return;
    if (!values_.name(items[0]).starts_with("_rebuild_") || values_.kind(items[1]) != ValueKind::tuple) return;
    const ValueId arguments = items[1];
    if (values_.items(arguments).empty() || !decode_storage_id(values_, values_.items(arguments)[0])) return;
    const ValueId persistent = values_.make_persistent(values_.items(arguments)[0]);
    values_.set_item(arguments, 0, persistent);
  }

  const tar::StorageRecord& record_of(const std::string& key) const {
    const auto view = records_.views.find(key);
    return records_.storages.at(view == records_.views.end() ? key : view->second.root);
  }

  ValueId storage_id(const std::string& key) {
    const auto view = records_.views.find(key);
    const std::string& root = view == records_.views.end() ? key : view->second.root;
    const tar::StorageRecord& record = records_.storages.at(root);
    const ValueId id = calls_.storage_id(record.module, record.name, root, record.location, record.elements);
    if (view == records_.views.end()) return id;
    const ValueId range[] = {calls_.text(key), number(view->second.offset), number(view->second.size)};
    std::vector<ValueId> items(values_.items(id).begin(), values_.items(id).end());
    items.push_back(calls_.kept(values_.make_tuple(range)));
    return calls_.kept(values_.make_tuple(items));
  }

  ValueId storage(const std::string& key) {
    const auto [made, fresh] = made_.try_emplace(key, no_value);
    if (fresh) made->second = values_.make_persistent(storage_id(key));
    return made->second;
  }

  ValueId number(std::uint64_t value) { return values_.make_integer(static_cast<std::int64_t>(value)); }

  Checkpoint& checkpoint_;
  ValueGraph& values_;
  const tar::Records& records_;
  TensorCalls calls_;
  NameMap<ValueId> made_;                      ///< tensors and storages, by key
  std::unordered_map<ValueId, ValueId> same_;  ///< persistent values of a key that has come before
};

/// Gives each storage its bytes, in the order of the file, and renumbers the uses accordingly.
void attach(Checkpoint& checkpoint, const tar::Records& records, const ByteSourcePtr& member) {
  std::vector<std::uint64_t> begins;
  for (Storage& storage : checkpoint.storages) {
    const auto record = records.storages.find(storage.key);
    if (record == records.storages.end())
      throw Error(ErrorCode::corrupt, "the object uses storage '" + storage.key + "', which the archive lacks")
          .expected("every storage in the member 'storages'")
          .in(checkpoint.file);
    if (record->second.dtype != storage.dtype || record->second.nbytes != storage.nbytes)
      throw Error(ErrorCode::corrupt, "storage '" + storage.key + "' is another in the object and in the archive")
          .expected("one dtype and one size")
          .in(checkpoint.file);
    storage.bytes =
        slice(member, record->second.at, storage.nbytes, checkpoint.file + ": storage '" + storage.key + "'");
    begins.push_back(record->second.at);
  }
  order_storages(checkpoint, begins);
}

void read_object(const ByteSourcePtr& source, const std::vector<TarMember>& members, const ReadContext& context,
                 Checkpoint& checkpoint, tar::Records& records) {
  const TarMember& object = need_member(members, "pickle", *source);
  const TarMember& storages = need_member(members, "storages", *source);
  const TarMember* const tensors = find_member(members, "tensors", *source);
  const ByteSourcePtr pickle = open_tar_member(source, object);
  pickle::Program program = pickle::run(*pickle, 0, checkpoint.values, context.pickle_cap);
  checkpoint.root = program.root;
  checkpoint.protocol = program.protocol;
  checkpoint.discarded = std::move(program.discarded);
  checkpoint.globals = std::move(program.globals);

  const ByteSourcePtr elements = open_tar_member(source, storages);
  tar::read_storages(*elements, storages.offset, context.pickle_cap, records);
  if (tensors != nullptr)
    tar::read_tensors(*open_tar_member(source, *tensors), tensors->offset, context.pickle_cap, records);
  if (!records.tell_views)
    checkpoint.warnings.emplace_back("the storages end without their list of views, which PyTorch asks for");
  Translation(checkpoint, records).run(tensors != nullptr);
  collect_storages(checkpoint);
  open_nested_files(checkpoint, program.texts, context);
  for (GlobalUse& global : checkpoint.globals) global.offset += object.offset;
  pickle::GlobalUses(checkpoint.globals).add(records.globals);
  attach(checkpoint, records, elements);
  decode_tensors(checkpoint);
}

/// sys_info says how the machine's numbers were laid out, which nothing ever asked. It is a pickle all the same.
void judge_system(const ByteSourcePtr& source, const TarMember& member, std::uint64_t cap, Checkpoint& checkpoint) {
  ValueGraph values;
  pickle::Program program = pickle::run(*open_tar_member(source, member), 0, values, cap);
  pickle::GlobalUses(checkpoint.globals).add(program.globals, member.offset);
}

}  // namespace

bool probe_tar(const ByteSource& source) {
  if (!is_tar(source)) return false;
  const auto members = read_tar(source);
  const auto has = [&](std::string_view name) {
    return std::any_of(members.begin(), members.end(), [&](const TarMember& member) { return member.name == name; });
  };
  return has("pickle") && has("storages");
}

Checkpoint read_torch_tar(const ByteSourcePtr& source, const ReadContext& context) {
  const std::vector<TarMember> members = read_tar(*source);
  Checkpoint checkpoint;
  checkpoint.file = source->name();
  checkpoint.format = tar_format.name;
  tar::Records records;
  try {
    read_object(source, members, context, checkpoint, records);
    if (const TarMember* const system = find_member(members, "sys_info", *source))
      judge_system(source, *system, context.pickle_cap, checkpoint);
  } catch (Error& error) {
    pickle::GlobalUses(checkpoint.globals).add(records.globals);
    if (context.met != nullptr) *context.met = {std::move(records.globals), records.last, {}};
    name_dangers(error, checkpoint.globals);
    throw;
  }
  for (const TarMember& member : members)
    if (std::find(std::begin(parts), std::end(parts), member.name) == std::end(parts)) {
      checkpoint.warnings.push_back("member " + quoted_name(member.name) + " is none of PyTorch's and is left out");
      keep_rest(checkpoint);
    }
  for (const Storage& storage : checkpoint.storages)
    context.check_bytes(*storage.bytes, "storage '" + storage.key + "'");
  return checkpoint;
}

}  // namespace ckpt::torch
