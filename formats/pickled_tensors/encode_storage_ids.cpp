#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "ckpt/error.h"
#include "io/ascii.h"
#include "io/keyed_hash.h"
#include "model/module_reader.h"
#include "pickle/reach.h"
#include "pickled_tensors/replace_values.h"
#include "pickled_tensors/storage_ids.h"

namespace ckpt::torch {
namespace {

/// A key becomes part of a member's name in a zip.
bool is_plain_key(std::string_view key) {
  const bool plain = std::none_of(key.begin(), key.end(), [](unsigned char c) {
    return c < 0x20 || c == 0x7F || c == '/' || c == '\\' || c == ':';
  });
  return plain && !key.empty() && key != "." && key != ".." && key.size() <= 200;
}

class Encoder {
 public:
  Encoder(Checkpoint& checkpoint, IdForm form) : checkpoint_(checkpoint), values_(checkpoint.values), form_(form) {}

  std::vector<WrittenStorage> run() {
    choose_storages();
    std::vector<ValueId> roots{checkpoint_.root};
    roots.insert(roots.end(), checkpoint_.discarded.begin(), checkpoint_.discarded.end());
    uses_ = pickle::count_uses(values_, roots);
    for (const auto& [id, use] : checkpoint_.storage_uses) encode(id, use);
    if (form_ == IdForm::zip) unwrap_modules();
    return std::move(written_);
  }

 private:
  bool is_whole(const StorageUse& use) const {
    if (use.view == nullptr) return true;
    const Storage& storage = checkpoint_.storages[use.storage];
    return use.view->offset == 0 && use.view->size * dtype_size(storage.dtype) == storage.nbytes;
  }

  /// The key of a view that is written as a storage of its own; empty where the whole storage is.
  std::string_view own_key(const StorageUse& use) const {
    return form_ == IdForm::legacy || is_whole(use) ? std::string_view() : use.view->key;
  }

  /// What is written for a use: in the order of the bytes, a storage before its views.
  std::pair<std::uint32_t, std::string_view> rank(const StorageUse& use) const { return {use.storage, own_key(use)}; }

  /// Which storages are written, in the order of their bytes, and under which keys.
  void choose_storages() {
    for (const auto& [id, use] : checkpoint_.storage_uses) chosen_.push_back(&use);
    const auto before = [&](const StorageUse* a, const StorageUse* b) { return rank(*a) < rank(*b); };
    const auto same = [&](const StorageUse* a, const StorageUse* b) { return rank(*a) == rank(*b); };
    std::stable_sort(chosen_.begin(), chosen_.end(), before);
    chosen_.erase(std::unique(chosen_.begin(), chosen_.end(), same), chosen_.end());
    const bool keep_keys = form_ == IdForm::legacy ? are_sorted() : are_members();
    const std::size_t width = form_ == IdForm::legacy ? std::to_string(chosen_.size()).size() : 1;
    written_.reserve(chosen_.size());
    for (const StorageUse* const use : chosen_) {
      Storage storage = checkpoint_.storages[use->storage];
      if (storage.bytes == nullptr)
        throw Error(ErrorCode::invalid_argument, "storage '" + storage.key + "' has no bytes")
            .expected(std::to_string(storage.nbytes));
      if (!own_key(*use).empty()) {
        const std::uint64_t size = dtype_size(storage.dtype);
        storage.key = use->view->key;
        storage.nbytes = use->view->size * size;
        storage.bytes = slice(storage.bytes, use->view->offset * size, storage.nbytes, storage.bytes->source_name());
      }
      std::string source_key = storage.key;
      if (!keep_keys) {
        storage.key = std::to_string(written_.size());
        storage.key.insert(0, width - std::min(width, storage.key.size()), '0');
      }
      written_.push_back({std::move(source_key), std::move(storage)});
    }
  }

  [[nodiscard]] std::string key_of(const StorageUse& use) const {
    const std::string_view own = own_key(use);
    return std::string(own.empty() ? checkpoint_.storages[use.storage].key : own);
  }

  /// As torch writes a legacy file's, which tells their order where the list of them is lost.
  [[nodiscard]] bool are_sorted() const {
    // What views of a legacy file are called stays, and is not to be a storage's new name.
    if (std::ranges::any_of(chosen_, [](const auto* use) { return use->view != nullptr; })) return true;
    return std::ranges::is_sorted(chosen_, {}, [&](const auto* use) { return key_of(*use); });
  }

  /// Whether each key may name a member of a zip, in one case: torch finds a member in any.
  [[nodiscard]] bool are_members() const {
    std::set<std::string> keys;
    return std::all_of(chosen_.begin(), chosen_.end(), [&](const auto* use) {
      const std::string key = key_of(*use);
      return is_plain_key(key) && keys.insert(ascii_lower(key)).second;
    });
  }

  const WrittenStorage& written_for(const StorageUse& use) const {
    const auto at = std::lower_bound(chosen_.begin(), chosen_.end(), rank(use),
                                     [&](const StorageUse* a, const auto& wanted) { return rank(*a) < wanted; });
    return written_[static_cast<std::size_t>(at - chosen_.begin())];
  }

  ValueId text(const std::string& text) {
    const auto [found, fresh] = texts_.try_emplace(text, no_value);
    if (fresh) found->second = values_.make_str(text);
    return found->second;
  }

  ValueId integer(std::uint64_t value) { return values_.make_integer(static_cast<std::int64_t>(value)); }

  void encode(ValueId persistent, const StorageUse& use) {
    const WrittenStorage& written = written_for(use);
    const Storage& storage = written.storage;
    const std::uint64_t elements = storage.nbytes / dtype_size(storage.dtype);
    const ValueId id = values_.items(persistent)[0];
    const auto old = decode_storage_id(values_, id);
    const bool same_form = values_.items(id).size() == (form_ == IdForm::zip ? 5u : 6u);
    // A number, or a str of Python 2, is not the text that storages are found by.
    const bool is_text = values_.kind(values_.items(id)[2]) == ValueKind::str;
    const bool same_key = is_text && old->key == storage.key, same_location = old->location == storage.location;
    if (same_form && same_key && same_location && old->elements == elements) return;

    std::vector<ValueId> items(values_.items(id).begin(), values_.items(id).end());
    if (!same_key) items[2] = text(storage.key);
    if (!same_location) items[3] = text(storage.location);
    if (old->elements != elements) items[4] = integer(elements);
    if (form_ == IdForm::zip)
      items.resize(5);
    else if (items.size() == 5)
      items.push_back(values_.make_none());
    if (uses_[id] <= 1) return values_.set_items(id, items);
    // Something else holds this tuple, and is to keep it.
    const ValueId edited = values_.make_tuple(items);
    values_.set_form(edited, values_.form(id));
    if (values_.memoized(id)) values_.set_memoized(edited);
    values_.set_item(persistent, 0, edited);
  }

  /// A module's source stands for the class itself.
  void unwrap_modules() {
    const auto count = static_cast<ValueId>(values_.size());
    std::unordered_map<ValueId, ValueId> classes;
    for (ValueId id = 0; id < count; ++id) {
      if (values_.kind(id) != ValueKind::persistent || find_storage_use(checkpoint_, id) != nullptr) continue;
      const ValueId with_source = class_with_source(values_, id);
      if (with_source == no_value) refuse("a persistent id that is neither a storage nor a module's source");
      classes[id] = with_source;
    }
    if (classes.empty()) return;
    if (classes.contains(checkpoint_.root)) refuse("the file holds a class and nothing else");
    for (ValueId id = 0; id < count; ++id) {
      const auto items = values_.items(id);
      const bool takes_a_tuple = values_.kind(id) == ValueKind::object && values_.call(id) != CallKind::inst &&
                                 values_.call(id) != CallKind::obj;
      const bool is_given_one = takes_a_tuple && std::any_of(items.begin() + 1, items.end(),
                                                             [&](ValueId item) { return classes.contains(item); });
      if (is_given_one || (classes.contains(id) && values_.first_effect(id) != 0))
        refuse("a module's class stands where none can: as the arguments of a call, or filled as a container");
    }
    replace_values(values_, classes);
  }

  [[noreturn]] static void refuse(std::string what) {
    throw Error(ErrorCode::unsupported, std::move(what)).hint("--format torch-legacy can say it");
  }

  const Checkpoint& checkpoint_;
  ValueGraph& values_;
  IdForm form_;
  std::vector<const StorageUse*> chosen_;  ///< by rank, one for each storage that is written
  std::vector<WrittenStorage> written_;    ///< in the same order
  std::vector<std::uint32_t> uses_;        ///< of each value that there was at first
  NameMap<ValueId> texts_;
};

}  // namespace

std::vector<WrittenStorage> encode_storage_ids(Checkpoint& checkpoint, IdForm form) {
  return Encoder(checkpoint, form).run();
}

}  // namespace ckpt::torch
