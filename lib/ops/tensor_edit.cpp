#include "ops/tensor_edit.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "ckpt/state_dict.h"
#include "io/swapped_source.h"
#include "model/calls.h"
#include "model/each_tensor.h"
#include "model/order_storages.h"
#include "model/rooted.h"
#include "ops/prune.h"
#include "ops/watched_source.h"
#include "ops/whole_module.h"

namespace ckpt {
namespace {

/// As ValueGraph::reserve_for() counts: what rewriting a call usually adds is an id of a storage, and the arguments
/// around it, five values.
constexpr std::size_t pickle_bytes_a_call = 60;

Checkpoint whole(Checkpoint checkpoint) {
  refuse_part(checkpoint);
  require_root(checkpoint);
  return checkpoint;
}

}  // namespace

TensorEdit::TensorEdit(Checkpoint checkpoint) : checkpoint_(whole(std::move(checkpoint))), calls_(checkpoint_.values) {
  each_tensor(checkpoint_.tensors, [&](const Tensor& tensor) { find_view(tensor); });
  origins_.resize(checkpoint_.storages.size());
  std::iota(origins_.begin(), origins_.end(), 0);
}

std::size_t TensorEdit::find_view(const Tensor& tensor) {
  if (!tensor.storage || tensor.array) return no_view;
  std::vector<ValueId> passed;
  std::size_t view = no_view;
  for (ValueId call = tensor.value; call != no_value;) {
    if (const auto known = known_.find(call); known != known_.end()) {
      view = known->second;
      break;
    }
    passed.push_back(call);
    const TensorPlace place = tensor_place(checkpoint_, call);
    if (place.storage != no_value) {
      view = views_.size();
      TensorInfo info = tensor.info;
      info.offset += static_cast<std::int64_t>(tensor.view_offset);
      views_.push_back({*tensor.storage, std::move(info)});
      places_.push_back({call, place.form, false});
      break;
    }
    known_[call] = no_view;  // of a call within itself
    call = place.inner;
  }
  for (const ValueId call : passed) known_[call] = view;
  return view;
}

std::size_t TensorEdit::view_at(ValueId tensor) const {
  const auto known = known_.find(tensor);
  return known == known_.end() ? no_view : known->second;
}

std::vector<std::size_t> TensorEdit::views_of(const Tensor& tensor) const {
  std::vector<std::size_t> views;
  if (const std::size_t view = view_at(tensor.value); view != no_view) views.push_back(view);
  for (const Tensor::Part& part : tensor.parts)
    if (const std::size_t view = view_at(part.tensor.value); view != no_view) views.push_back(view);
  return views;
}

std::vector<bool> TensorEdit::held_otherwise() const {
  const ValueGraph& values = checkpoint_.values;
  std::unordered_map<ValueId, std::size_t> uses;
  for (const auto& [id, use] : checkpoint_.storage_uses) uses.emplace(id, 0);
  const auto count = [&](ValueId item) {
    if (const auto found = uses.find(item); found != uses.end()) ++found->second;
  };
  for (ValueId id = 0; id < values.size(); ++id) values.each_operand(id, count);
  count(checkpoint_.root);
  for (const ValueId id : checkpoint_.discarded) count(id);
  // A tuple of arguments that several calls are given is one use: what is not accounted for is held otherwise.
  std::set<ValueId> holders;
  for (const Place& place : places_) {
    const TensorPlace at = tensor_place(checkpoint_, place.call);
    if (at.storage == no_value) continue;
    const auto given = call_arguments(values, place.call);
    const bool tuple = place.form == TensorPlace::Form::tuple;
    const ValueId holder = tuple                                       ? values.items(place.call)[1]
                           : place.form == TensorPlace::Form::subclass ? given[2]
                                                                       : place.call;
    if (holders.insert(holder).second && uses[at.storage] > 0) --uses[at.storage];
  }
  std::vector<bool> held(checkpoint_.storages.size());
  for (const auto& [id, use] : checkpoint_.storage_uses)
    if (uses[id] > 0) held[use.storage] = true;
  return held;
}

Storage TensorEdit::material(std::uint32_t storage) {
  Storage material = checkpoint_.storages[storage];
  ByteSourcePtr& bytes = watched_[storage];
  if (bytes == nullptr) bytes = watch(material.bytes);
  material.bytes = bytes;
  return material;
}

std::uint32_t TensorEdit::add(Storage storage, std::uint32_t origin) {
  // The storages of a file have one byte order.
  if (checkpoint_.storages[origin].byte_order == ByteOrder::big && storage.byte_order == ByteOrder::little) {
    if (storage.typed && storage.bytes != nullptr)
      storage.bytes = swapped(storage.bytes, dtype_swap_size(storage.dtype));
    storage.byte_order = ByteOrder::big;
  }
  checkpoint_.storages.push_back(std::move(storage));
  origins_.push_back(origins_[origin]);
  return static_cast<std::uint32_t>(origins_.size() - 1);
}

void TensorEdit::set(std::size_t view, std::uint32_t storage, TensorInfo info) {
  views_[view] = {storage, std::move(info)};
  places_[view].changed = true;
}

ValueId TensorEdit::edited(ValueId tuple, const std::vector<ValueId>& items) {
  ValueGraph& values = checkpoint_.values;
  const ValueId copy = values.make_tuple(items);
  values.set_form(copy, values.form(tuple));
  if (values.memoized(tuple)) values.set_memoized(copy);
  return copy;
}

/// Whether a tuple of the graph says these numbers, and stays what it is.
static bool says(const ValueGraph& values, ValueId tuple, const std::vector<std::int64_t>& numbers) {
  const auto items = values.items(tuple);
  if (values.kind(tuple) != ValueKind::tuple || items.size() != numbers.size()) return false;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (values.kind(items[i]) != ValueKind::integer || values.integer(items[i]) != numbers[i]) return false;
  return true;
}

/// Metadata of a call without the lazy sign: itself where it has none, no_value where it says nothing else.
ValueId TensorEdit::without_sign(ValueId metadata) {
  ValueGraph& values = checkpoint_.values;
  const std::vector<MappingEntry> entries = mapping_entries(values, metadata);
  std::vector<ValueId> left;
  for (const MappingEntry& entry : entries)
    if (!values.is_string(entry.key, "neg")) left.insert(left.end(), {entry.key, entry.value});
  if (left.size() == 2 * entries.size()) return metadata;
  if (left.empty()) return no_value;
  const ValueId made = calls_.kept(values.make_container(ValueKind::dict));
  values.add_effect(made, EffectKind::set_items, left);
  return made;
}

/// Takes the lazy sign from the metadata that a call ends in, and the metadata with it where it says nothing else.
void TensorEdit::drop_sign(std::vector<ValueId>& items, std::size_t metadata_at) {
  if (items.size() <= metadata_at || !is_mapping(checkpoint_.values, items[metadata_at])) return;
  const auto [known, is_new] = unsigned_.try_emplace(items[metadata_at]);
  if (is_new) known->second = without_sign(known->first);
  if (known->second == known->first) return;
  items.resize(metadata_at);
  if (known->second != no_value) items.push_back(known->second);
}

/// Only what has changed: hooks, a quantiser and what else the call is given stay.
void TensorEdit::rewrite_arguments(const Place& place, const View& view, ValueId storage) {
  ValueGraph& values = checkpoint_.values;
  const bool subclass = place.form == TensorPlace::Form::subclass;
  const ValueId outer = values.items(place.call)[1];
  const ValueId tuple = subclass ? values.items(outer)[2] : outer;
  ValueId function = subclass ? values.items(outer)[0] : values.items(place.call)[0];
  std::vector<ValueId> items(values.items(tuple).begin(), values.items(tuple).end());
  items[0] = storage;
  if (values.kind(items[1]) != ValueKind::integer || values.integer(items[1]) != view.info.offset)
    items[1] = values.make_integer(view.info.offset);
  if (!says(values, items[2], view.info.shape)) items[2] = calls_.integers(view.info.shape);
  if (!says(values, items[3], view.info.stride)) items[3] = calls_.integers(view.info.stride);
  // PyTorch cannot load what it saves of a tensor that requires grad and has no typed storage: _rebuild_tensor_v3 sets
  // the storage of a leaf that does already. (A Parameter asks for grad itself.)
  constexpr std::size_t requires_grad_at = 4;
  // _rebuild_tensor_v3 has the dtype between the hooks and the metadata, and what it looks at does not.
  constexpr std::ptrdiff_t dtype_at = 6;
  const std::string_view name = values.name(function);
  const bool has_metadata = name == "_rebuild_tensor_v2" || name == "_rebuild_tensor_v3";
  const bool typed = is_typed_as(checkpoint_.storages[view.storage], view.info.dtype);
  if (name == "_rebuild_tensor_v3") {
    if (typed) {
      items.erase(items.begin() + dtype_at);
      function = calls_.global("torch._utils", "_rebuild_tensor_v2");
    } else {
      items[dtype_at] = calls_.dtype(view.info.dtype);
      items[requires_grad_at] = values.make_boolean(false);
    }
  } else if (name == "_rebuild_tensor_v2" && !typed) {
    items.insert(items.begin() + dtype_at, calls_.dtype(view.info.dtype));
    items[requires_grad_at] = values.make_boolean(false);
    function = calls_.global("torch._utils", "_rebuild_tensor_v3");
  }
  if (has_metadata && !view.info.negative) drop_sign(items, static_cast<std::size_t>(dtype_at) + (typed ? 0 : 1));
  const ValueId arguments = edited(tuple, items);
  if (!subclass) {
    values.set_item(place.call, 1, arguments);
    return values.set_item(place.call, 0, function);
  }
  std::vector<ValueId> around(values.items(outer).begin(), values.items(outer).end());
  around[0] = function;
  around[2] = arguments;
  values.set_item(place.call, 1, edited(outer, around));
}

void TensorEdit::rewrite(std::size_t index) {
  const View& view = views_[index];
  const Place& place = places_[index];
  ValueGraph& values = checkpoint_.values;
  const Storage& storage = checkpoint_.storages[view.storage];
  const bool typed = is_typed_as(storage, view.info.dtype);
  const ValueId id = values.make_persistent(
      typed ? calls_.storage_id(storage.dtype, storage.key, storage.location, storage.nbytes)
            : calls_.storage_id("torch.storage", "UntypedStorage", storage.key, storage.location, storage.nbytes));
  checkpoint_.storage_uses.push_back({id, {view.storage, nullptr}});
  const bool says_dtype = values.name(values.items(place.call)[0]) != "_rebuild_tensor";
  if (place.form != TensorPlace::Form::other && (typed || says_dtype)) return rewrite_arguments(place, view, id);
  for (auto handle = values.first_effect(place.call); handle != 0; handle = values.effect(handle).next)
    values.set_effect_items(handle, {});
  values.become_object(place.call, CallKind::reduce, calls_.rebuild(id, view.info, typed));
}

void TensorEdit::update(Tensor& tensor) {
  const std::size_t view = view_at(tensor.value);
  if (view == no_view || !places_[view].changed) return;
  // A call that puts a tensor on a device is given its dtype as well.
  if (tensor.device_holder != no_value && tensor.info.dtype != views_[view].info.dtype)
    checkpoint_.values.set_item(tensor.device_holder, 1, calls_.dtype(views_[view].info.dtype));
  tensor.storage = views_[view].storage;
  tensor.view_offset = 0;
  tensor.info = views_[view].info;
}

/// In the order in which their bytes come, each with a key of its own.
void TensorEdit::sort_storages() {
  const auto place = order_storages(checkpoint_, origins_);
  each_tensor(checkpoint_.tensors, [&](Tensor& tensor) {
    if (tensor.storage) tensor.storage = place[*tensor.storage];
  });
}

/// Keys name members of archives. What was there first keeps its own.
static void make_keys_unique(std::vector<Storage>& storages) {
  std::set<std::string> taken;
  for (const Storage& storage : storages) taken.insert(storage.key);
  std::set<std::string> seen;
  std::size_t next = 0;
  for (Storage& storage : storages) {
    if (seen.insert(storage.key).second) continue;
    do storage.key = std::to_string(next++);
    while (!taken.insert(storage.key).second);
    seen.insert(storage.key);
  }
}

Checkpoint TensorEdit::finish() {
  if (std::none_of(places_.begin(), places_.end(), [](const Place& place) { return place.changed; }))
    return std::move(checkpoint_);
  const auto changed = static_cast<std::size_t>(
      std::count_if(places_.begin(), places_.end(), [](const Place& place) { return place.changed; }));
  checkpoint_.values.reserve_for((changed + 64) * pickle_bytes_a_call);
  checkpoint_.storage_uses.reserve(checkpoint_.storage_uses.size() + changed);
  for (std::size_t i = 0; i < views_.size(); ++i)
    if (places_[i].changed) rewrite(i);
  each_tensor(checkpoint_.tensors, [&](Tensor& tensor) { update(tensor); });
  // Sparse tensors are of their values' dtype; a nested one's come first.
  for (Tensor& tensor : checkpoint_.tensors)
    if (!tensor.parts.empty())
      tensor.info.dtype =
          (tensor.info.layout == Layout::nested ? tensor.parts.front() : tensor.parts.back()).tensor.info.dtype;
  calls_.list_globals(checkpoint_.globals);
  views_ = std::vector<View>();  // of which there may be tens of thousands, as of what is copied next
  known_ = {};
  watched_ = {};
  sort_storages();
  std::sort(checkpoint_.storage_uses.begin(), checkpoint_.storage_uses.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  Checkpoint result = prune(std::move(checkpoint_));
  make_keys_unique(result.storages);
  return result;
}

}  // namespace ckpt
