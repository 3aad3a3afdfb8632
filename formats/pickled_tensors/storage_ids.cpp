#include "pickled_tensors/storage_ids.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"
#include "model/module_reader.h"
#include "model/position_index.h"
#include "pickled_tensors/text_ids.h"

namespace ckpt::torch {
namespace {

bool is_text(const ValueGraph& values, ValueId id) {
  const ValueKind kind = values.kind(id);
  return kind == ValueKind::str || kind == ValueKind::py2_str || kind == ValueKind::bytes;
}

[[noreturn]] void broken(const std::string& what, const std::string& expected) {
  throw Error(ErrorCode::corrupt, "a storage's persistent id has " + what).expected(expected);
}

std::string text_of(const ValueGraph& values, ValueId id, const char* what) {
  if (values.kind(id) == ValueKind::integer) return std::to_string(values.integer(id));  // keys of the oldest files
  if (!is_text(values, id)) broken(std::string("a ") + what + " that is no string", "a string");
  return std::string(values.text(id));
}

std::uint64_t count_of(const ValueGraph& values, ValueId id, const char* what) {
  if (values.kind(id) != ValueKind::integer || values.integer(id) < 0)
    broken(std::string("a bad ") + what, "a number, 0 or more");
  return static_cast<std::uint64_t>(values.integer(id));
}

StorageType type_of(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::global) broken("a storage class that is no name", "torch.FloatStorage or its like");
  const auto type = storage_type(values.module(id), values.name(id));
  if (!type)
    throw Error(ErrorCode::unsupported,
                "storage class '" + std::string(values.module(id)) + "." + std::string(values.name(id)) + "'")
        .expected("a storage class of torch");
  return *type;
}

std::string with_bytes(std::uint64_t elements, StorageType type) {
  return std::to_string(elements) + " elements of " + std::string(dtype_name(type.dtype));
}

/// A view's key stands for one range of one storage, as a storage's key does for one storage.
void check_views(const Checkpoint& checkpoint, Doubts* doubts) {
  NameViewSet keys;
  for (const Storage& storage : checkpoint.storages) keys.insert(storage.key);
  NameViewMap<std::pair<ValueId, const StorageUse*>> views;
  for (const auto& [id, use] : checkpoint.storage_uses) {
    if (use.view == nullptr) continue;
    const auto [first_id, first] = views.try_emplace(use.view->key, id, &use).first->second;
    try {
      if (first->storage != use.storage || first->view->offset != use.view->offset ||
          first->view->size != use.view->size)
        broken("the key '" + use.view->key + "' for two views", "one range a key");
      if (keys.contains(use.view->key))
        broken("the key '" + use.view->key + "' for a storage and for a view", "two keys");
    } catch (const Error& error) {
      if (doubts == nullptr) throw;
      for (const ValueId doubtful : {first_id, id}) doubts->push_back({doubtful, std::make_shared<const Error>(error)});
    }
  }
}

/// The storage that the persistent value `id` names; none where it names something else. An id in words becomes the
/// tuple that it stands for.
std::optional<StorageId> decode_use(ValueGraph& values, ValueId id) {
  if (!is_text(values, values.items(id)[0])) return decode_storage_id(values, values.items(id)[0]);
  const std::string text(values.text(values.items(id)[0]));
  const auto tuple = parse_text_id(values, text);
  if (!tuple)
    throw Error(ErrorCode::corrupt, "persistent id '" + text.substr(0, 80) + "'")
        .expected("a tuple that names a storage");
  values.set_item(id, 0, *tuple);
  auto storage = decode_storage_id(values, *tuple);
  // Only storages: any other class named in a text would have passed by the policy.
  if (!storage)
    throw Error(ErrorCode::unsupported, "persistent id '" + text.substr(0, 80) + "'").expected("a storage's");
  return storage;
}

/// That a storage is named a second time as it was the first time.
void check_same(Storage& known, const StorageId& again) {
  // Bytes named once as torch.ByteStorage and once as torch.UntypedStorage are the same bytes.
  known.typed |= again.type.typed;
  if (known.nbytes == 0 && again.nbytes == 0) return;  // where there is nothing, torch sees no contradiction
  if (known.dtype != again.type.dtype || known.nbytes != again.nbytes)
    throw Error(ErrorCode::corrupt, "storage '" + known.key + "' is named once as " + std::to_string(known.nbytes) +
                                        " bytes of " + std::string(dtype_name(known.dtype)) + " and once as " +
                                        with_bytes(again.elements, again.type))
        .expected("one size and one dtype a storage");
}

}  // namespace

std::optional<StorageId> decode_storage_id(const ValueGraph& values, ValueId id) {
  const auto items = values.items(id);
  if (values.kind(id) != ValueKind::tuple || items.empty()) return std::nullopt;
  if (!is_text(values, items[0]) || values.text(items[0]) != "storage") return std::nullopt;
  if (items.size() != 5 && items.size() != 6) broken(std::to_string(items.size()) + " parts", "5 or 6");
  StorageId storage;
  storage.type = type_of(values, items[1]);
  storage.key = text_of(values, items[2], "key");
  storage.location = text_of(values, items[3], "location");
  storage.elements = count_of(values, items[4], "element count");
  const auto nbytes = checked_mul<std::uint64_t>(storage.elements, dtype_size(storage.type.dtype));
  if (!nbytes) broken(with_bytes(storage.elements, storage.type), "a size below 2^64 bytes");
  storage.nbytes = *nbytes;
  if (items.size() == 5 || values.kind(items[5]) == ValueKind::none) return storage;

  const auto view = values.items(items[5]);
  if (values.kind(items[5]) != ValueKind::tuple || view.size() != 3)
    broken("a view that is no triple", "None or (key, offset, size)");
  StorageView& range = storage.view.emplace();
  range.key = text_of(values, view[0], "view key");
  if (range.key.empty()) broken("a view without a key", "a key of its own");
  range.offset = count_of(values, view[1], "view offset");
  range.size = count_of(values, view[2], "view size");
  if (!in_bounds(range.offset, range.size, storage.elements))
    broken("a view of [" + std::to_string(range.offset) + ", +" + std::to_string(range.size) + ")",
           "a range within " + std::to_string(storage.elements) + " elements");
  return storage;
}

void collect_storages(Checkpoint& checkpoint, ValueId first, std::string_view folder, Doubts* doubts) {
  ValueGraph& values = checkpoint.values;
  PositionIndex by_key;
  const auto place_of = [&](const std::string& key, std::uint32_t next) {
    return by_key.add(hash_of(key), next, [&](std::uint32_t other) { return checkpoint.storages[other].key == key; });
  };
  for (std::uint32_t i = 0; i < checkpoint.storages.size(); ++i) place_of(checkpoint.storages[i].key, i);
  const auto count = static_cast<ValueId>(values.size());
  std::size_t persistent = 0;
  for (ValueId id = first; id < count; ++id) persistent += values.kind(id) == ValueKind::persistent ? 1 : 0;
  by_key.reserve(checkpoint.storages.size() + persistent);
  checkpoint.storages.reserve(checkpoint.storages.size() + persistent);
  checkpoint.storage_uses.reserve(checkpoint.storage_uses.size() + persistent);
  const auto foreign = std::make_shared<const Error>(ErrorCode::corrupt,
                                                     "a persistent id that is neither a storage nor a module's source");
  for (ValueId id = first; id < count; ++id) {
    if (values.kind(id) != ValueKind::persistent) continue;
    try {
      auto storage = decode_use(values, id);
      if (!storage) {
        if (doubts != nullptr && class_with_source(values, id) == no_value) doubts->push_back({id, foreign, true});
        continue;
      }
      storage->key.insert(0, folder);
      const auto next = static_cast<std::uint32_t>(checkpoint.storages.size());
      const std::uint32_t place = place_of(storage->key, next);
      if (place == next)
        checkpoint.storages.push_back({.key = storage->key,
                                       .dtype = storage->type.dtype,
                                       .typed = storage->type.typed,
                                       .location = storage->location,
                                       .nbytes = storage->nbytes,
                                       .byte_order = ByteOrder::little,
                                       .bytes = nullptr});
      else
        check_same(checkpoint.storages[place], *storage);
      std::shared_ptr<const StorageView> view;
      if (storage->view) view = std::make_shared<const StorageView>(*std::move(storage->view));
      checkpoint.storage_uses.push_back({id, {place, std::move(view)}});
    } catch (const Error& error) {
      if (doubts == nullptr) throw;
      doubts->push_back({id, std::make_shared<const Error>(error)});
    }
  }
  check_views(checkpoint, doubts);
}

}  // namespace ckpt::torch
