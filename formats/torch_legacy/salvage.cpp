#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"
#include "model/order_storages.h"
#include "pickle/global_uses.h"
#include "pickled_tensors/read_pickle.h"
#include "pickled_tensors/tensors.h"
#include "torch_legacy/chain.h"
#include "torch_legacy/parts.h"
#include "torch_legacy/torch_legacy.h"

namespace ckpt::torch {
namespace {

/// How a pickle of protocol 2 begins, behind the STOP of another.
constexpr std::string_view pickle_begin = ".\x80\x02";
constexpr std::string_view list_begin = ".\x80\x02]";
/// The pickles before the object are a few hundred bytes.
constexpr std::uint64_t header_bytes = 4 * limits::kib;
/// How far behind a break the list of keys is looked for, and how many places are tried: each may be a long pickle.
constexpr std::uint64_t most_searched = 64 * limits::mib;
constexpr int most_tried = 16;
/// Of a list of keys, beside the keys themselves.
constexpr std::uint64_t list_bytes = 64 * limits::kib, key_bytes = 32;

/// Calls `found` with the place behind each STOP that `what` begins with, from `from` on, until it says yes.
template <class Found>
bool search(const ByteSource& source, std::string_view what, std::uint64_t from, std::uint64_t most, Found found) {
  std::vector<std::byte> window(limits::copy_chunk);
  for (std::uint64_t at = from; at < from + most; at += window.size() - what.size() + 1) {
    const auto bytes = std::span<const std::byte>(window).first(source.read_at(at, window));
    const std::string_view text = as_text(bytes);
    for (std::size_t i = text.find(what); i != std::string_view::npos; i = text.find(what, i + 1))
      if (found(at + i + 1)) return true;
    if (bytes.size() < window.size()) break;
  }
  return false;
}

class Salvager {
 public:
  Salvager(const ByteSourcePtr& source, const ReadContext& context)
      : source_(source), context_(context), checkpoint_(result_.checkpoint) {}

  Salvage run() {
    checkpoint_.file = source_->name();
    checkpoint_.format = legacy_format.name;
    read_object();
    place_storages();
    decode_tensors(checkpoint_, &result_.doubts);
    pickle::GlobalUses(checkpoint_.globals).add(globals_);
    if (end_ > 0 && end_ < source_->size()) {
      context_.remark(std::to_string(source_->size() - end_) +
                      " bytes follow the last storage, which may be displaced");
      result_.is_certain = false;
    }
    return std::move(result_);
  }

  /// Whether the last storage ends where the file does.
  [[nodiscard]] bool reaches_end() const { return end_ == source_->size(); }

 private:
  void note(const Error& error) {
    context_.report(error, "");
    result_.is_certain = false;
  }

  void read_object() {
    std::uint64_t begin = 0;
    try {
      begin = read_header(*source_, context_.pickle_cap, checkpoint_, globals_);
    } catch (const Error& error) {
      context_.report(error, "");
      begin = find_object();
    }
    checkpoint_.details = nullptr;  // what is written has a header of its own
    object_ = salvage_object(*source_, begin, checkpoint_, result_.doubts, context_);
    if (object_.broken) note(*object_.broken);
  }

  /// The first of the pickles that names storages.
  [[nodiscard]] std::uint64_t find_object() const {
    std::optional<std::uint64_t> begin;
    int tried = 0;
    search(*source_, pickle_begin, 0, header_bytes, [&](std::uint64_t at) {
      if (++tried > most_tried) return true;
      ValueGraph values;
      try {
        static_cast<void>(pickle::salvage(*source_, at, values, context_.pickle_cap));
      } catch (const Error& error) {
        if (is_of_the_machine(error)) throw;
        return false;
      }
      for (ValueId id = 0; id < values.size() && !begin; ++id)
        if (values.kind(id) == ValueKind::persistent) begin = at;
      return begin.has_value();
    });
    if (!begin)
      throw Error(ErrorCode::unsupported, "the file's first pickles are damaged, and no object is found behind them")
          .expected("a magic number, a version, the system's sizes and an object")
          .in(source_->name());
    return *begin;
  }

  /// The storages' keys in the order of the file; none where the list is lost. `offset`: of what follows it.
  std::optional<std::vector<std::string>> find_keys(std::uint64_t& offset) {
    std::optional<std::vector<std::string>> keys;
    const auto read = [&](std::uint64_t at) {
      std::vector<GlobalUse> globals;
      offset = at;
      keys = read_keys(*source_, offset, context_.pickle_cap, globals);
      globals_.insert(globals_.end(), globals.begin(), globals.end());
    };
    try {
      if (!object_.broken) read(object_.offset);
    } catch (const Error& error) {
      context_.report(error, "");
    }
    if (keys || !object_.broken) return keys;
    int tried = 0;
    search(*source_, list_begin, object_.offset, most_searched, [&](std::uint64_t at) {
      if (++tried > most_tried) return true;
      try {
        read(at);
        return !keys->empty();
      } catch (const Error& error) {
        if (is_of_the_machine(error)) throw;
        keys.reset();
        return false;
      }
    });
    return keys;
  }

  /// The list of keys as it must have been: every storage of the object, and no other.
  std::vector<std::string> mended(std::vector<std::string> listed) {
    if (object_.broken) return listed;
    std::set<std::string_view> missing;
    for (const Storage& storage : checkpoint_.storages) missing.insert(storage.key);
    std::vector<std::size_t> unknown;  // what no storage is called, or another before it
    for (std::size_t i = 0; i < listed.size(); ++i)
      if (missing.erase(listed[i]) == 0) unknown.push_back(i);
    if (missing.empty()) {
      // An id of the object may be another's.
      if (!unknown.empty())
        note(Error(ErrorCode::corrupt, "the list of storage keys has '" + listed[unknown[0]] + "'")
                 .expected("storages of the object, each once")
                 .at(object_.offset)
                 .in(source_->name()));
      return listed;
    }
    if (!listed.empty())  // else its end has been told
      context_.report(
          Error(ErrorCode::corrupt, "the list of storage keys lacks '" + std::string(*missing.begin()) + "'")
              .expected("every storage of the object")
              .at(object_.offset)
              .in(source_->name()),
          "");
    // Which of two that are equal is the wrong one, their order tells.
    NameViewMap<int> count;
    for (const std::string& key : listed) ++count[key];
    const auto is_twice = [&](std::size_t i) { return count[listed[i]] > 1; };
    if (missing.size() == unknown.size() && std::none_of(unknown.begin(), unknown.end(), is_twice)) {
      auto key = missing.begin();
      for (const std::size_t i : unknown) {
        listed[i] = *key++;
        if (unknown.size() > 1) guessed_.insert(listed[i]);
      }
      return listed;
    }
    std::vector<std::string> sorted;  // as torch writes them (torch/serialization.py, _legacy_save)
    for (const Storage& storage : checkpoint_.storages) sorted.push_back(storage.key);
    std::sort(sorted.begin(), sorted.end());
    std::size_t others = 0;
    for (std::size_t i = 0; i < std::min(listed.size(), sorted.size()); ++i)
      if (listed[i] != sorted[i]) ++others;
    if (listed.empty() || others > unknown.size()) guessed_.insert(sorted.begin(), sorted.end());
    return sorted;
  }

  void place_storages() {
    NameViewMap<const Storage*> by_key;
    for (const Storage& storage : checkpoint_.storages) by_key.emplace(storage.key, &storage);
    std::uint64_t offset = object_.offset;
    auto listed = find_keys(offset);
    const bool is_listed = listed.has_value();
    const auto keys = mended(std::move(listed).value_or(std::vector<std::string>()));
    if (checkpoint_.storages.empty() && !object_.broken && (!is_listed || offset < source_->size()))
      note(Error(ErrorCode::corrupt, "more follows an object that names no storage")
               .expected("an empty list of keys, and the end of the file")
               .at(object_.offset)
               .in(source_->name()));
    std::vector<Link> links;
    NameViewMap<std::size_t> place;
    std::uint64_t most = list_bytes;
    for (const std::string& key : keys) {
      most += key.size() + key_bytes;
      const auto found = by_key.find(key);
      place.emplace(key, links.size());
      links.push_back(found == by_key.end() ? Link{}
                                            : Link{true, found->second->nbytes, dtype_size(found->second->dtype)});
    }
    if (is_listed)
      follow_chain(*source_, offset, links);
    else if (const auto begin = begin_from_end(*source_, object_.offset, links))
      follow_chain(*source_, *begin, links);
    else if (!links.empty())
      search(*source_, ".", object_.offset, most, [&](std::uint64_t at) {
        return begins_chain(*source_, at, links) && (follow_chain(*source_, at, links), true);
      });
    if (!links.empty() && links.back().begin && std::ranges::any_of(links, [](auto& link) { return !link.begin; }))
      note(
          Error(ErrorCode::corrupt, "storages do not stand where those before them end: bytes are missing, or too many")
              .expected("each behind the other")
              .in(source_->name()));
    confirm_guess(keys, links);
    std::vector<std::uint64_t> begins(checkpoint_.storages.size());
    for (std::size_t i = 0; i < begins.size(); ++i)
      if (const auto found = place.find(checkpoint_.storages[i].key); found != place.end())
        begins[i] = give_bytes(checkpoint_.storages[i], links[found->second]);
    order_storages(checkpoint_, begins);
  }

  /// Of keys whose order is a guess, counts that differ are the proof.
  void confirm_guess(const std::vector<std::string>& keys, const std::vector<Link>& links) {
    std::set<std::uint64_t> counts;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (!guessed_.contains(keys[i])) continue;
      if (links[i].begin && links[i].is_counted && counts.insert(elements(links[i])).second) continue;
      note(Error(ErrorCode::corrupt, "which storage is whose, the list of keys does not tell any more")
               .expected("their order, which is torch's if torch wrote them")
               .at(object_.offset)
               .in(source_->name()));
      return;
    }
  }

  /// Returns where they begin; 0 where they do not.
  std::uint64_t give_bytes(Storage& storage, const Link& link) {
    const std::uint64_t size = source_->size();
    if (!link.begin) return 0;
    const std::uint64_t begin = *link.begin + count_bytes;
    if (begin <= size)
      storage.bytes = slice(source_, begin, std::min(storage.nbytes, size - begin),
                            source_->name() + ": storage '" + storage.key + "'");
    if (!link.is_counted)  // and the numbers beside it may be, of which there is no checksum
      note(Error(ErrorCode::corrupt, "the count of storage '" + storage.key + "' is damaged")
               .expected(std::to_string(storage.nbytes / dtype_size(storage.dtype)) + ", as the pickle says")
               .at(*link.begin)
               .in(source_->name()));
    end_ = std::max(end_, checked_add(begin, storage.nbytes).value_or(UINT64_MAX));
    return begin;
  }

  ByteSourcePtr source_;
  const ReadContext& context_;
  Salvage result_;
  Checkpoint& checkpoint_;
  std::vector<GlobalUse> globals_;  ///< of the pickles around the object
  ObjectEnd object_;
  std::uint64_t end_ = 0;          ///< of the last storage
  std::set<std::string> guessed_;  ///< keys whose place in the list is a guess
};

}  // namespace

Salvage salvage_legacy(const ByteSourcePtr& source, const ReadContext& context) {
  Salvager salvager(source, context);
  Salvage salvage = salvager.run();
  const auto& storages = salvage.checkpoint.storages;
  const auto is_short = [](const Storage& s) { return s.nbytes > (s.bytes == nullptr ? 0 : s.bytes->size()); };
  if (!salvager.reaches_end() && std::any_of(storages.begin(), storages.end(), is_short))
    context.report(
        Error(ErrorCode::truncated, "the file ends before its storages do").at(source->size()).in(source->name()), "");
  return salvage;
}

}  // namespace ckpt::torch
