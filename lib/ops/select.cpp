#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/ops.h"
#include "ops/attached_entries.h"
#include "ops/entry_walk.h"
#include "ops/mapping_edit.h"
#include "ops/prune.h"
#include "ops/whole_module.h"

namespace ckpt {
namespace {

/// Globs, and which of them have matched.
class Globs {
 public:
  explicit Globs(const std::vector<std::string>& patterns) : patterns_(patterns), matched_(patterns.size()) {}

  bool match(std::string_view path) {
    bool any = false;
    for (std::size_t i = 0; i < patterns_.size(); ++i) {
      if (!glob_match(patterns_[i], path)) continue;
      matched_[i] = true;
      any = true;
    }
    return any;
  }

  [[nodiscard]] std::vector<std::string> idle() const {
    std::vector<std::string> idle;
    for (std::size_t i = 0; i < patterns_.size(); ++i)
      if (!matched_[i]) idle.push_back(patterns_[i]);
    return idle;
  }

 private:
  const std::vector<std::string>& patterns_;
  std::vector<bool> matched_;
};

/// Takes away the entries that go, by their place in `entries`.
void remove_entries(Checkpoint& checkpoint, const std::vector<EntryWalk::Entry>& entries,
                    const std::vector<bool>& goes) {
  std::map<ValueId, std::set<decltype(place_of({}))>> by_holder;
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (goes[i]) by_holder[entries[i].holder].insert(place_of(entries[i].pair));
  for (const auto& [holder, places] : by_holder) {
    const auto is_gone = [&places = places](const MappingEntry& pair) { return places.contains(place_of(pair)); };
    remove_pairs(checkpoint.values, holder, pairs_to_remove(checkpoint.values, holder, is_gone));
  }
}

Checkpoint keep_entries(Checkpoint checkpoint, Globs& globs) {
  EntryWalk walk(checkpoint);
  std::vector<bool> stays;
  walk.run([&](const EntryWalk::Place& place) {
    stays.resize(walk.entries().size());
    if (!globs.match(place.path) && !place.inside) return false;
    if (place.entry != EntryWalk::no_entry) stays[place.entry] = true;
    for (const std::size_t entry : walk.around()) stays[entry] = true;
    return true;
  });
  stays.resize(walk.entries().size());
  std::vector<bool> goes = stays;
  goes.flip();
  for (const std::size_t entry : attached_entries(checkpoint, walk.entries(), goes)) goes[entry] = false;
  remove_entries(checkpoint, walk.entries(), goes);
  checkpoint = prune(std::move(checkpoint));
  if (tensor_names(checkpoint).empty())
    throw Error(ErrorCode::invalid_argument, "--keep leaves no tensor")
        .expected("a name of a tensor, or of what holds one, among those that match")
        .in(checkpoint.file)
        .hint("ckpt inspect " + shell_word(checkpoint.file) + " lists the names");
  return checkpoint;
}

std::string_view kind_word(ValueKind holder) {
  switch (holder) {
    case ValueKind::list:
      return "an element of a list";
    case ValueKind::tuple:
      return "an element of a tuple";
    case ValueKind::set:
    case ValueKind::frozenset:
      return "a member of a set";
    case ValueKind::object:
      return "an attribute of an object";
    default:
      return "the object itself";
  }
}

[[noreturn]] void refuse_cut(const EntryWalk::Place& place, const std::string& around, const std::string& file) {
  Error error(ErrorCode::invalid_argument, "'" + std::string(place.path) + "' is " +
                                               std::string(kind_word(place.holder)) + " and cannot be dropped");
  error.expected("names of entries of mappings").in(file);
  if (!around.empty()) error.hint("--drop " + shell_value(escaped_glob(around)) + " drops what it stands in");
  throw error;
}

/// What a drop does to an entry, by the names that it has.
struct Fate {
  bool dropped = false, kept = false;
};

/// The first name by which an entry is dropped, or kept. A walk of its own, for an error: all names of a file are many.
std::string name_of(const Checkpoint& checkpoint, Globs& globs, std::size_t entry, bool dropped) {
  EntryWalk walk(checkpoint);
  std::string name;
  walk.run([&](const EntryWalk::Place& place) {
    if (place.inside) return true;
    const bool hit = globs.match(place.path);
    if (name.empty() && place.entry == entry && hit == dropped) name = place.path;
    return hit && place.entry != EntryWalk::no_entry;
  });
  return name;
}

Checkpoint drop_entries(Checkpoint checkpoint, Globs& globs) {
  EntryWalk walk(checkpoint);
  std::vector<Fate> fates;
  walk.run([&](const EntryWalk::Place& place) {
    fates.resize(walk.entries().size());
    const bool hit = globs.match(place.path);
    if (place.inside) return true;
    if (place.entry == EntryWalk::no_entry) {
      if (!hit) return false;
      const auto& around = walk.around();
      refuse_cut(place, around.empty() ? "" : name_of(checkpoint, globs, around.back(), false), checkpoint.file);
    }
    (hit ? fates[place.entry].dropped : fates[place.entry].kept) = true;
    return hit;
  });
  fates.resize(walk.entries().size());
  std::vector<bool> goes;
  for (std::size_t i = 0; i < fates.size(); ++i) {
    goes.push_back(fates[i].dropped);
    if (fates[i].dropped && fates[i].kept)
      throw Error(ErrorCode::invalid_argument, "'" + name_of(checkpoint, globs, i, true) + "' and '" +
                                                   name_of(checkpoint, globs, i, false) +
                                                   "' are two names of one entry, and one would stay")
          .expected("--drop to match both, or what holds the one")
          .in(checkpoint.file);
  }
  if (std::find(goes.begin(), goes.end(), true) == goes.end()) return checkpoint;
  if (const auto attached = attached_entries(checkpoint, walk.entries(), goes); !attached.empty())
    throw Error(ErrorCode::invalid_argument,
                "'" + name_of(checkpoint, globs, attached.front(), true) +
                    "' is in a mapping that an object which stays was made of, or has for its attributes")
        .expected("--drop to match the object, or what holds the mapping")
        .in(checkpoint.file);
  remove_entries(checkpoint, walk.entries(), goes);
  return prune(std::move(checkpoint));
}

}  // namespace

std::pair<Checkpoint, SelectionReport> select(Checkpoint checkpoint, const Selection& selection) {
  refuse_part(checkpoint);
  Globs keep(selection.keep), drop(selection.drop);
  if (!selection.keep.empty()) checkpoint = keep_entries(std::move(checkpoint), keep);
  if (!selection.drop.empty()) checkpoint = drop_entries(std::move(checkpoint), drop);
  return {std::move(checkpoint), SelectionReport{keep.idle(), drop.idle()}};
}

}  // namespace ckpt
