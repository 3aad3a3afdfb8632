#include "ckpt/diff.h"

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "io/keyed_hash.h"
#include "ops/compare_code.h"
#include "ops/compare_tensors.h"
#include "ops/dense_tensor.h"
#include "ops/other_values.h"
#include "ops/renames.h"
#include "ops/watched_source.h"

namespace ckpt {
namespace {

/// Two tensors that are the same one of both files, under its name in the first.
struct Match {
  std::string name;
  const Tensor* a;
  const Tensor* b;
};

std::unordered_set<ValueId> values_of(const std::vector<NamedTensor>& named) {
  std::unordered_set<ValueId> values;
  for (const NamedTensor& tensor : named) values.insert(tensor.tensor->value);
  return values;
}

/// All of them will be read, each once.
void check_together(const DiffSide& side, const std::vector<NamedTensor>& tensors) {
  in_file_of(side, [&] {
    std::set<const Tensor*> seen;
    std::vector<DenseTensor> dense;
    for (const NamedTensor& named : tensors)
      if (seen.insert(named.tensor).second) add_dense_tensors(side.checkpoint, named.name, *named.tensor, dense);
    check_views_together(side.checkpoint, dense);
  });
}

/// What the tensors are, read in the order of their bytes, so that each file is read forward.
std::vector<Candidate> candidates(const DiffSide& side, const std::vector<NamedTensor>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t x, std::size_t y) {
    return tensors[x].tensor->storage < tensors[y].tensor->storage;
  });
  check_together(side, tensors);
  std::unordered_map<const Tensor*, std::string> known;
  std::vector<Candidate> found(tensors.size());
  for (const std::size_t i : order) {
    auto [content, fresh] = known.try_emplace(tensors[i].tensor);
    if (fresh) content->second = content_of(side, tensors[i]);
    found[i] = {tensors[i].name, content->second};
  }
  return found;
}

class Differ {
 public:
  Differ(const Checkpoint& a, const Checkpoint& b, const DiffOptions& options)
      : a_(a),
        b_(b),
        options_(options),
        pairs_(a_, b_, options),
        names_a_(in_file_of(a_, [&] { return tensor_names(a); })),
        names_b_(in_file_of(b_, [&] { return tensor_names(b); })) {}

  CheckpointDiff run() {
    match_names();
    find_renames();
    found_.compared = matches_.size();
    compare_others();
    in_file_of(a_, [&] { read_rest(a_); });
    in_file_of(b_, [&] { read_rest(b_); });
    found_.tensors = pairs_.take();
    compare_sharing(true);
    compare_sharing(false);
    return std::move(found_);
  }

 private:
  void match_names();
  void find_renames();
  NameSet unequal_names(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b,
                        const std::vector<std::pair<std::size_t, std::size_t>>& pairs) const;
  void compare_others();
  [[nodiscard]] std::optional<OtherValues::Facts> facts_of(const Tensor& a, const Tensor& b) const;
  void compare_unnamed(const OtherValues::Unnamed& pair);
  void compare_sharing(bool shared_in_a);

  static void read_rest(const DiffSide& side) {
    finish_watching(side.storages, &side.checkpoint);
    finish_reading(side.checkpoint);
  }

  const Tensor& storage_as_tensor(const Checkpoint& checkpoint, ValueId persistent);

  DiffSide a_, b_;
  DiffOptions options_;
  TensorPairs pairs_;
  std::vector<NamedTensor> names_a_, names_b_;
  NameViewSet common_;
  std::vector<Match> matches_;
  std::vector<NamedTensor> lone_a_, lone_b_;
  std::deque<Tensor> made_;  ///< for storages outside of tensors
  CheckpointDiff found_;
};

void Differ::match_names() {
  NameViewMap<const Tensor*> in_b;
  for (const NamedTensor& named : names_b_) in_b.emplace(named.name, named.tensor);
  for (const NamedTensor& named : names_a_) {
    const auto found = in_b.find(named.name);
    if (found == in_b.end()) {
      lone_a_.push_back(named);
      continue;
    }
    common_.insert(named.name);
    matches_.push_back({named.name, named.tensor, found->second});
    pairs_.add(named.name, *named.tensor, *found->second);
  }
  for (const NamedTensor& named : names_b_)
    if (!common_.contains(named.name)) lone_b_.push_back(named);
}

/// Only tensors of a form that both sides miss are read for it. Of those whose elements stand elsewhere nothing tells
/// that they are equal.
void Differ::find_renames() {
  std::set<std::string> forms_a, forms_b;
  for (const NamedTensor& named : lone_a_) forms_a.insert(form_of(*named.tensor));
  for (const NamedTensor& named : lone_b_) forms_b.insert(form_of(*named.tensor));
  const auto with_form = [](const DiffSide& side, const std::vector<NamedTensor>& lone,
                            const std::set<std::string>& forms) {
    std::vector<NamedTensor> found;
    for (const NamedTensor& named : lone)
      if (forms.contains(form_of(*named.tensor)) && !lacks_elements(side.checkpoint, *named.tensor))
        found.push_back(named);
    return found;
  };
  const auto in_a = with_form(a_, lone_a_, forms_b), in_b = with_form(b_, lone_b_, forms_a);
  const auto pairs = match_renames(candidates(a_, in_a), candidates(b_, in_b));
  const auto unequal = unequal_names(in_a, in_b, pairs);
  NameViewSet renamed_a, renamed_b;
  for (const auto& [place_a, place_b] : pairs) {
    const NamedTensor& from = in_a[place_a];
    const NamedTensor& to = in_b[place_b];
    if (unequal.contains(from.name)) continue;
    found_.renamed.push_back({from.name, to.name});
    renamed_a.insert(from.name);
    renamed_b.insert(to.name);
    matches_.push_back({from.name, from.tensor, to.tensor});
    pairs_.add(from.name, *from.tensor, *to.tensor, true);
  }
  found_.prefix = common_change(found_.renamed);
  for (const NamedTensor& named : lone_a_)
    if (!renamed_a.contains(named.name)) found_.only_a.push_back({named.name, named.tensor});
  for (const NamedTensor& named : lone_b_)
    if (!renamed_b.contains(named.name)) found_.only_b.push_back({named.name, named.tensor});
}

/// Names in `a` of pairs that are not equal after all: a checksum proves nothing.
NameSet Differ::unequal_names(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b,
                              const std::vector<std::pair<std::size_t, std::size_t>>& pairs) const {
  DiffOptions by_bits;
  by_bits.ignore_devices = true;
  by_bits.threads = options_.threads;
  TensorPairs comparison(a_, b_, by_bits);
  for (const auto& [place_a, place_b] : pairs) comparison.add(a[place_a].name, *a[place_a].tensor, *b[place_b].tensor);
  comparison.run();
  NameSet names;
  for (const TensorDifference& difference : comparison.take()) {
    names.insert(difference.name);
    names.insert(difference.name.substr(0, difference.name.rfind('.')));  // of which it may be a part
  }
  return names;
}

void Differ::compare_others() {
  OtherValues others(a_.checkpoint, b_.checkpoint, values_of(names_a_), values_of(names_b_), common_, found_);
  for (const Match& match : matches_) others.add_match(match.a->value, match.b->value);
  if (!options_.ignore_other) {
    others.compare_roots();
    compare_code(a_.checkpoint, b_.checkpoint, found_);
  }
  for (const Match& match : matches_) {
    if (const auto facts = facts_of(*match.a, *match.b))
      others.compare_facts(match.name, match.a->value, match.b->value, *facts);
  }
  // Tensors inside of what was compared may hold more of them.
  for (auto met = others.take_unnamed(); !met.empty(); met = others.take_unnamed()) {
    for (const OtherValues::Unnamed& pair : met) {
      compare_unnamed(pair);
      if (pair.tensor_a == nullptr) continue;
      if (const auto facts = facts_of(*pair.tensor_a, *pair.tensor_b))
        others.compare_facts(pair.path, pair.a, pair.b, *facts);
    }
  }
  pairs_.run();
}

std::optional<OtherValues::Facts> Differ::facts_of(const Tensor& a, const Tensor& b) const {
  if (!options_.ignore_other) return OtherValues::Facts::all;
  if (is_quantised(a.info.dtype) && is_quantised(b.info.dtype)) return OtherValues::Facts::quantizer;
  if (lacks_elements(a_.checkpoint, a) && lacks_elements(b_.checkpoint, b)) return OtherValues::Facts::content;
  return std::nullopt;
}

void Differ::compare_unnamed(const OtherValues::Unnamed& pair) {
  const bool tensors = pair.tensor_a != nullptr;
  const Tensor& a = tensors ? *pair.tensor_a : storage_as_tensor(a_.checkpoint, pair.a);
  const Tensor& b = tensors ? *pair.tensor_b : storage_as_tensor(b_.checkpoint, pair.b);
  pairs_.add(pair.path, a, b);
}

/// All elements of a storage that the object holds by itself.
const Tensor& Differ::storage_as_tensor(const Checkpoint& checkpoint, ValueId persistent) {
  const StorageUse& use = *find_storage_use(checkpoint, persistent);
  const Storage& storage = checkpoint.storages[use.storage];
  Tensor tensor;
  tensor.value = persistent;
  tensor.storage = use.storage;
  tensor.info.dtype = storage.dtype;
  const StorageView* const view = use.view.get();
  const std::uint64_t elements = view != nullptr ? view->size : storage.nbytes / dtype_size(storage.dtype);
  tensor.view_offset = view != nullptr ? view->offset : 0;
  tensor.info.shape = {static_cast<std::int64_t>(elements)};
  tensor.info.stride = {1};
  return made_.emplace_back(std::move(tensor));
}

/// Names that lie in one storage of the one file and in several of the other; or at one place of a storage, and at
/// several.
void Differ::compare_sharing(bool shared_in_a) {
  using Place = std::pair<std::uint32_t, std::int64_t>;  // storage, and where in it the first element is, in bytes
  const auto place_of = [&](const Match& match, bool in_a) -> std::optional<Place> {
    const Tensor& tensor = in_a ? *match.a : *match.b;
    const std::vector<Storage>& storages = (in_a ? a_ : b_).storages;
    if (!tensor.storage || storages[*tensor.storage].nbytes == 0) return std::nullopt;
    const auto elements = static_cast<std::int64_t>(tensor.view_offset) + tensor.info.offset;
    return Place(*tensor.storage, elements * static_cast<std::int64_t>(dtype_size(tensor.info.dtype)));
  };
  struct Group {
    std::vector<std::string> names;
    std::set<Place> elsewhere;  ///< in the other file
  };
  struct Shared {
    Group whole;                       ///< elsewhere: storages, at their beginning
    std::map<std::int64_t, Group> at;  ///< by place
  };
  const auto add = [](Group& group, const std::string& name, const Place& there) {
    group.names.push_back(name);
    group.elsewhere.insert(there);
  };
  const auto tell = [&](Group& group) {
    const bool is_apart = group.elsewhere.size() > 1;
    if (is_apart) found_.sharing.push_back({shared_in_a, std::move(group.names)});
    return is_apart;
  };
  std::map<std::uint32_t, Shared> storages;
  for (const Match& match : matches_) {
    const auto here = place_of(match, shared_in_a), there = place_of(match, !shared_in_a);
    if (!here || !there) continue;
    Shared& shared = storages[here->first];
    add(shared.whole, match.name, {there->first, 0});
    if (element_count(match.a->info) > 0) add(shared.at[here->second], match.name, *there);
  }
  for (auto& [storage, shared] : storages)
    if (!tell(shared.whole))
      for (auto& [place, group] : shared.at) tell(group);
}

}  // namespace

CheckpointDiff diff(const Checkpoint& a, const Checkpoint& b, const DiffOptions& options) {
  for (const auto& tolerance : {options.rtol, options.atol})
    if (tolerance && !(*tolerance >= 0))
      throw Error(ErrorCode::invalid_argument, "a tolerance of " + std::to_string(*tolerance)).expected("0 or more");
  return Differ(a, b, options).run();
}

}  // namespace ckpt
