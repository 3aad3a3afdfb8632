#include "named_tensors/names.h"

#include <string>
#include <string_view>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ckpt/state_dict.h"
#include "io/keyed_hash.h"
#include "model/walk.h"
#include "ops/entry_walk.h"

namespace ckpt::named_tensors {
namespace {

/// Looking for them takes no longer than this, whatever shares what: the name alone says enough.
constexpr std::size_t most_steps = 65536;

/// Where values lie, as Python has it, that all come to the same name: ['a']['b'] and ['a.b'].
class PathFinder {
 public:
  PathFinder(const Checkpoint& checkpoint, std::string_view name)
      : values_(checkpoint.values), is_tensor_(checkpoint.values.size(), false), budget_(checkpoint.file) {
    for (const Tensor& tensor : checkpoint.tensors) is_tensor_[tensor.value] = true;
    open_.push_back({checkpoint.root, name, ""});
  }

  /// The first two.
  std::vector<std::string> run() {
    std::vector<std::string> found;
    for (std::size_t steps = 0; !open_.empty() && steps < most_steps && found.size() < 2; ++steps) {
      const Place place = std::move(open_.back());
      open_.pop_back();
      if (!is_tensor_[place.value])
        enter(place);
      else if (place.rest.data() == nullptr)
        found.push_back(place.path);
    }
    return found;
  }

 private:
  struct Place {
    ValueId value;
    std::string_view rest;  ///< of the name; null behind its last part
    std::string path;
  };

  void enter(const Place& place) {
    if (place.rest.data() == nullptr) return;
    const NamedChildren children = named_children(values_, place.value, budget_);
    std::vector<MappingEntry> entries;
    if (is_mapping(values_, place.value)) entries = mapping_entries(values_, place.value);
    for (std::size_t i = children.size(); i-- > 0;) {
      const std::string_view part = children.part(i);
      if (!place.rest.starts_with(part)) continue;
      std::string_view rest = place.rest.substr(part.size());
      if (!rest.empty() && rest.front() != '.') continue;
      rest = rest.empty() ? std::string_view() : rest.substr(1);
      const std::string_view quote = i < entries.size() && values_.is_string(entries[i].key) ? "'" : "";
      std::string path = place.path + "[";
      path.append(quote).append(part).append(quote) += ']';
      open_.push_back({children.value(i), rest, std::move(path)});
    }
  }

  const ValueGraph& values_;
  std::vector<bool> is_tensor_;
  NameBudget budget_;
  std::vector<Place> open_;
};

/// The first name that another was made up for, as "name#2".
std::string_view repeated(const std::vector<NamedTensor>& names) {
  NameViewSet seen;
  for (const NamedTensor& named : names) {
    const std::string_view name = named.name, base = name.substr(0, name.rfind('#'));
    if (base.size() < name.size() && seen.contains(base)) return base;
    seen.insert(name);
  }
  return {};
}

/// The name, or the beginning of it, that is an entry of a mapping: only such can be dropped. Empty where none is.
std::string innermost_entry(const Checkpoint& checkpoint, const std::string& name) {
  std::string entry;
  EntryWalk(checkpoint).run([&](const EntryWalk::Place& place) {
    const bool leads_there = name == place.path || name.starts_with(std::string(place.path) + ".");
    if (place.entry != EntryWalk::no_entry && leads_there && place.path.size() > entry.size()) entry = place.path;
    return false;
  });
  return entry;
}

}  // namespace

std::vector<NamedTensor> names_of(const Checkpoint& checkpoint) {
  std::vector<std::string> warnings;
  std::vector<NamedTensor> names = tensor_names(checkpoint, &warnings);
  if (warnings.empty()) return names;
  const std::string name(repeated(names));
  const std::vector<std::string> paths = PathFinder(checkpoint, name).run();
  // A key may be spelt like a name that was made up; of the walk's own words none is wrong.
  throw Error(
      ErrorCode::invalid_argument,
      paths.size() == 2 ? "two tensors are named '" + name + "': " + paths[0] + " and " + paths[1] : warnings.front())
      .expected("each name once, as this format has nothing else to tell them apart")
      .in(checkpoint.file)
      .hint(drop_hint(checkpoint, name) + ", and --root PATH takes one part");
}

std::string drop_hint(const Checkpoint& checkpoint, const std::string& name) {
  const std::string entry = innermost_entry(checkpoint, name);
  return (entry.empty() ? ""
                        : "--drop " + shell_value(escaped_glob(entry)) +
                              (entry == name ? " leaves it out; " : " leaves out what it stands in; ")) +
         "--format torch can say it";
}

}  // namespace ckpt::named_tensors
