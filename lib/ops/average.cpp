#include "ckpt/average.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "ckpt/check.h"
#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "io/keyed_hash.h"
#include "model/end_of_file.h"
#include "ops/averaged_source.h"
#include "ops/cast_elements.h"
#include "ops/check_keys.h"
#include "ops/dense_tensor.h"
#include "ops/gathered_source.h"
#include "ops/matched_state_dicts.h"
#include "ops/numbers.h"
#include "ops/root.h"
#include "ops/tensor_bytes.h"
#include "ops/tensor_edit.h"
#include "ops/watched_source.h"

namespace ckpt {
namespace {

using TensorsByKey = std::map<std::string, const Tensor*, std::less<>>;

TensorsByKey tensors_of(const FoundStateDict& found) {
  TensorsByKey tensors;
  const ValueGraph& values = found.facts.checkpoint().values;
  for (const MappingEntry& entry : mapping_entries(values, found.dict.value))
    if (const Tensor* const tensor = found.facts.tensor(entry.value); tensor != nullptr && values.is_string(entry.key))
      tensors.emplace(values.text(entry.key), tensor);
  return tensors;
}

bool can_average(DType dtype) { return is_cast_target(dtype) || is_complex(dtype); }

/// Where the elements of one tensor lie in each checkpoint, the last one last.
struct Sources {
  std::vector<std::uint32_t> storages;
  std::vector<TensorInfo> infos;
};

auto geometry(const TensorInfo& info) {
  return std::tie(info.offset, info.shape, info.stride, info.conjugate, info.negative);
}

class Averager {
 public:
  Averager(std::vector<Checkpoint> checkpoints, const AverageOptions& options)
      : others_(std::move(checkpoints)), edit_(take_last(others_)) {
    const std::size_t count = others_.size() + 1;
    set_steps(options, count);
  }

  std::pair<Checkpoint, AverageReport> run() {
    std::vector<const Checkpoint*> all;
    for (const Checkpoint& other : others_) all.push_back(&other);
    all.push_back(&edit_.checkpoint());
    std::deque<Searched> searched;
    for (const Checkpoint* each : all) searched.emplace_back(*each);
    const Parts& parts = searched.back().parts();
    const ModelDicts dicts = model_dicts(edit_.checkpoint().values, parts.state_dicts);
    const std::vector<StateDicts> matched = matched_state_dicts(all, dicts.models, searched);
    for (const StateDicts& each : matched) compare(each);
    refuse_misfits();
    for (const StateDicts& each : matched) add_views(all, each);
    refuse_misfits();
    keep_others(searched.back(), dicts.others);
    keep_others(searched.back(), parts.mixed);
    refuse_nothing();
    check_all_together(all);
    replace_storages(all);
    return {edit_.finish(), std::move(report_)};
  }

 private:
  static Checkpoint take_last(std::vector<Checkpoint>& checkpoints) {
    if (checkpoints.empty())
      throw Error(ErrorCode::invalid_argument, "no checkpoint to average").expected("one at least");
    Checkpoint last = std::move(checkpoints.back());
    checkpoints.pop_back();
    return last;
  }

  /// Their shares of the sum stay, to the last bit, and no product leaves what a number can be.
  static std::vector<double> scaled(std::vector<double> weights) {
    double most = 0;
    for (const double weight : weights) most = std::max(most, std::abs(weight));
    if (std::isfinite(most) && most > 0)
      for (double& weight : weights) weight = std::ldexp(weight, -std::ilogb(most));
    return weights;
  }

  void set_steps(const AverageOptions& options, std::size_t count) {
    if (!options.weights.empty() && options.decay)
      throw Error(ErrorCode::invalid_argument, "weights and a decay at once").expected("one of them");
    if (!options.weights.empty() && options.weights.size() != count)
      throw Error(ErrorCode::invalid_argument, std::to_string(options.weights.size()) + " weights")
          .expected("one for each of " + std::to_string(count) + " checkpoints");
    if (options.decay && !(*options.decay >= 0 && *options.decay <= 1))
      throw Error(ErrorCode::invalid_argument, "a decay of " + std::to_string(*options.decay))
          .expected("one from 0 to 1");
    keep_.assign(count, options.decay.value_or(1));
    take_.assign(count, options.decay ? 1 - *options.decay : 1);
    if (options.decay) take_.front() = 1;
    if (!options.weights.empty()) take_ = scaled(options.weights);
    divisor_ = options.decay ? 1 : 0;
    if (!options.decay)
      for (const double weight : take_) divisor_ += weight;
    if (!std::isfinite(divisor_) || divisor_ == 0)
      throw Error(ErrorCode::invalid_argument, "weights whose sum is " + std::to_string(divisor_))
          .expected("a sum that they can be shares of")
          .hint("weights of 0.7 and 0.3, for example: one number for each checkpoint, in their order");
  }

  void add_misfit(const FoundStateDict& each, const FoundStateDict& last, const std::string& what) {
    const std::string &file = each.facts.checkpoint().file, &path = each.dict.path, &last_path = last.dict.path;
    if (misfits_.empty())
      check_ = "ckpt check " + shell_word(file) + " --like " + shell_word(edit_.checkpoint().file) +
               (path.empty() ? "" : " --root " + shell_value(path)) +
               (last_path.empty() ? "" : " --like-root " + shell_value(last_path));
    misfits_.push_back(file + ": " + what);
  }

  /// Keys and shapes, each checkpoint against the last.
  void compare(const StateDicts& dicts) {
    NameSet named;
    const FoundStateDict& last = dicts.back();
    for (std::size_t i = 0; i + 1 < dicts.size(); ++i) {
      const FoundStateDict& each = dicts[i];
      if (each.dict.path != last.dict.path)
        report_.elsewhere.push_back({each.facts.checkpoint().file, each.dict.path, last.dict.path});
      const CheckReport report = check_keys(each, last);
      for (const DTypeMismatch& dtype : report.dtypes)
        if (named.insert(dtype.name).second) report_.dtypes.push_back(dtype.name);
      if (report.loads()) continue;
      const Checkpoint& checkpoint = each.facts.checkpoint();
      for (const std::string& line : load_errors(report)) add_misfit(each, last, line);
      constexpr int most_fixes = 8;
      if (!fix_.empty() || ++fixes_tried_ > most_fixes) continue;
      fix_ = fix_of(checkpoint, last, each.dict.path);
    }
  }

  static std::string fix_of(const Checkpoint& checkpoint, const FoundStateDict& last, const std::string& path) {
    CheckReport report = check(checkpoint, last.facts.checkpoint(), {path, last.dict.path});
    // One state dict alone has not the place that the last file's has; a prefix is changed in all of them.
    if (report.fix && !report.fix->root.empty() && !last.dict.path.empty()) {
      if (report.fix->strip_prefix.empty() && report.fix->add_prefix.empty()) return {};
      report.fix->root.clear();
    }
    return fix_command(report, checkpoint.file);
  }

  void add_views(const std::vector<const Checkpoint*>& all, const StateDicts& dicts) {
    std::vector<TensorsByKey> tensors;
    for (const FoundStateDict& found : dicts) tensors.push_back(tensors_of(found));
    const StateDict& last = dicts.back().dict;
    // In the order of the state dict.
    for (const MappingEntry& entry : mapping_entries(all.back()->values, last.value)) {
      const std::string key(all.back()->values.text(entry.key));
      const auto found = tensors.back().find(key);
      const std::string name = part_name(last.path, key);
      if (found == tensors.back().end()) {
        if (is_packed(key)) report_.kept.push_back(name);
        continue;
      }
      const Tensor& tensor = *found->second;
      const std::vector<std::size_t> views = edit_.views_of(tensor);
      const bool is_averaged = can_average(tensor.info.dtype);
      const bool whole = tensor.parts.empty() && views.size() == 1 && is_averaged;
      if (is_averaged && !tensor.array && lacks_elements(*all.back(), tensor)) {
        fix_ = "full_tensor() of each DTensor, in Python, makes tensors that can be averaged";
        add_misfit(dicts.back(), dicts.back(), "\"" + key + "\" has its numbers where only its class finds them.");
        continue;
      }
      // What an extra state's numbers mean, its module knows.
      if (!whole || may_hold_anything(key)) {
        report_.kept.push_back(name);
      } else if (auto sources = sources_of(dicts, tensors, key, name)) {
        add_view(views.front(), *sources, name);
      }
    }
  }

  std::optional<Sources> sources_of(const StateDicts& dicts, const std::vector<TensorsByKey>& tensors,
                                    const std::string& key, const std::string& name) {
    Sources sources;
    const bool complex = is_complex(tensors.back().at(key)->info.dtype);
    for (std::size_t i = 0; i < dicts.size(); ++i) {
      const auto found = tensors[i].find(key);
      if (found == tensors[i].end()) {  // a key that PyTorch forgives
        report_.kept.push_back(name);
        return std::nullopt;
      }
      const Tensor& tensor = *found->second;
      const bool dense = tensor.parts.empty() && tensor.storage && is_numeric(tensor.info.dtype);
      if (!dense || is_complex(tensor.info.dtype) != complex || is_quantised(tensor.info.dtype)) {
        add_misfit(dicts[i], dicts.back(),
                   "\"" + key + "\" is " + std::string(layout_name(tensor.info.layout)) + " " +
                       std::string(dtype_name(tensor.info.dtype)) + ", which is not averaged with " +
                       std::string(dtype_name(tensors.back().at(key)->info.dtype)) + ".");
        return std::nullopt;
      }
      auto placed = dense_tensor(dicts[i].facts.checkpoint(), name, tensor);
      if (!placed) {  // meta
        report_.kept.push_back(name);
        return std::nullopt;
      }
      sources.storages.push_back(*tensor.storage);
      sources.infos.push_back(*placed->placed);
    }
    return sources;
  }

  void add_view(std::size_t view, const Sources& sources, const std::string& name) {
    if (logical_bytes(sources.infos.back()) == 0) return;
    if (sources_.try_emplace(view, sources).second) ++report_.tensors;
    const TensorInfo& last = sources.infos.back();
    Place place = std::tuple_cat(std::tuple(sources.storages.back(), last.dtype), geometry(last));
    // The same numbers under two names here, others elsewhere: they cannot be the averages of both.
    const Sources& first = sources_.at(tied_.try_emplace(std::move(place), view).first->second);
    for (std::size_t i = 0; i < first.infos.size(); ++i)
      if (first.storages[i] != sources.storages[i] || geometry(first.infos[i]) != geometry(sources.infos[i])) {
        if (misfits_.empty()) fix_ = others_[i].file + " as the last file, which says what is tied";
        misfits_.push_back(others_[i].file + ": \"" + name + "\" is not tied to another name, as in " +
                           edit_.checkpoint().file + ".");
        return;
      }
  }

  /// What maps names to tensors and is no model's (a scaler's state, random generators'), or holds other values, too.
  void keep_others(Searched& last, const std::vector<StateDict>& others) {
    for (const StateDict& other : others)
      for (const auto& [key, tensor] : tensors_of({last.facts(), other}))
        report_.kept.push_back(part_name(other.path, key));
  }

  void refuse_nothing() const {
    if (report_.tensors > 0 || report_.kept.empty()) return;
    throw Error(ErrorCode::unsupported, "none of its tensors can be averaged")
        .expected("floating tensors of torch's")
        .in(edit_.checkpoint().file)
        .hint(std::ranges::any_of(edit_.checkpoint().tensors, [](const Tensor& tensor) { return tensor.array; })
                  ? "ckpt convert IN OUT --weights-only makes tensors of numpy's arrays"
                  : "ckpt inspect " + shell_word(edit_.checkpoint().file) + " shows what they are");
  }

  void refuse_misfits() {
    if (misfits_.empty()) return;
    Error error(ErrorCode::unsupported,
                std::to_string(misfits_.size()) + (misfits_.size() == 1 ? " thing does" : " things do") + " not fit");
    error.expected("checkpoints of one model").in(edit_.checkpoint().file);
    for (std::string& line : misfits_) error.detail(std::move(line));
    error.hint(fix_.empty() ? check_ : fix_);
    throw error;
  }

  /// Whether all views of a storage lie in the same way in one storage of each checkpoint, of as many elements.
  bool is_alike(const std::vector<const Checkpoint*>& all, const std::vector<std::size_t>& views) {
    const Sources& first = sources_.at(views.front());
    const auto elements = [&](std::size_t i) {
      return all[i]->storages[first.storages[i]].nbytes / dtype_size(first.infos[i].dtype);
    };
    for (const std::size_t view : views) {
      const Sources& sources = sources_.at(view);
      for (std::size_t i = 0; i < all.size(); ++i) {
        // An integer without a sign is no average of what is stored, once all are negative.
        const bool is_signed = is_floating(sources.infos[i].dtype) || is_complex(sources.infos[i].dtype);
        const bool same = sources.storages[i] == first.storages[i] && sources.infos[i].dtype == first.infos[i].dtype &&
                          (is_signed || !sources.infos[i].negative) &&
                          geometry(sources.infos[i]) == geometry(sources.infos.back()) &&
                          elements(i) == elements(all.size() - 1);
        if (!same) return false;
      }
    }
    return true;
  }

  void check_all_together(const std::vector<const Checkpoint*>& all) const {
    for (std::size_t i = 0; i < all.size(); ++i) {
      ViewsTogether together;
      for (const auto& [view, sources] : sources_)
        together.add(sources.storages[i], all[i]->storages[sources.storages[i]].nbytes, sources.infos[i]);
      try {
        together.check();
      } catch (Error& error) {
        throw error.in(all[i]->file);
      }
    }
  }

  void replace_storages(const std::vector<const Checkpoint*>& all) {
    std::map<std::uint32_t, std::vector<std::size_t>> by_storage;
    for (const auto& [view, sources] : sources_) by_storage[sources.storages.back()].push_back(view);
    for (const auto& [storage, views] : by_storage) {
      if (!is_alike(all, views)) {
        for (const std::size_t view : views) replace_alone(all, view);
        continue;
      }
      Sources whole = sources_.at(views.front());
      const std::uint64_t bytes = all.back()->storages[storage].nbytes / dtype_size(whole.infos.back().dtype);
      for (TensorInfo& info : whole.infos) {
        info.shape = {static_cast<std::int64_t>(bytes)};
        info.stride = {1};
        info.offset = 0;
        info.conjugate = info.negative = false;
      }
      const std::uint32_t made = edit_.add(averaged(all, whole), storage);
      for (const std::size_t view : views) edit_.set(view, made, sources_.at(view).infos.back());
    }
  }

  /// The tensor by itself; those that are the same tensor in every checkpoint go on sharing.
  void replace_alone(const std::vector<const Checkpoint*>& all, std::size_t view) {
    Sources sources = sources_.at(view);
    TensorInfo info = sources.infos.back();
    info.offset = 0;
    // The pickle goes on saying that the last one's numbers are conjugate or negative: what is stored is averaged.
    for (TensorInfo& shown : sources.infos) shown.conjugate ^= info.conjugate;
    std::int64_t step = 1;
    for (std::size_t i = info.shape.size(); i-- > 0; step *= info.shape[i]) info.stride[i] = step;
    Key key;
    for (std::size_t i = 0; i < all.size(); ++i)
      key.push_back(std::tuple_cat(std::tuple(sources.storages[i]), geometry(sources.infos[i])));
    const auto [known, fresh] = alone_.try_emplace(std::move(key), 0);
    if (fresh) known->second = edit_.add(averaged(all, sources, info.negative), sources.storages.back());
    edit_.set(view, known->second, std::move(info));
  }

  /// `negated`: of the numbers, each with its sign turned.
  Storage averaged(const std::vector<const Checkpoint*>& all, const Sources& sources, bool negated = false) {
    std::vector<AverageStep> steps;
    for (std::size_t i = 0; i < all.size(); ++i) {
      Storage storage = all[i]->storages[sources.storages[i]];
      ByteSourcePtr& watched = watched_[{i, sources.storages[i]}];
      if (watched == nullptr) watched = watch(storage.bytes);
      storage.bytes = watched;
      steps.push_back(
          {gathered_source(storage, sources.infos[i], gathered_block), sources.infos[i].dtype, keep_[i], take_[i]});
    }
    Storage made = all.back()->storages[sources.storages.back()];
    made.bytes = averaged_source(std::move(steps), negated ? -divisor_ : divisor_, sources.infos.back().dtype);
    made.nbytes = made.bytes->size();
    made.byte_order = ByteOrder::little;
    return made;
  }

  using Shape = std::vector<std::int64_t>;
  using Key = std::vector<std::tuple<std::uint32_t, std::int64_t, Shape, Shape, bool, bool>>;
  using Place = std::tuple<std::uint32_t, DType, std::int64_t, Shape, Shape, bool, bool>;

  std::vector<Checkpoint> others_;
  /// By checkpoint and storage: its views share one, so that it is read to its end once.
  std::map<std::pair<std::size_t, std::uint32_t>, ByteSourcePtr> watched_;
  TensorEdit edit_;
  std::vector<double> keep_, take_;
  double divisor_ = 1;
  AverageReport report_;
  std::vector<std::string> misfits_;
  int fixes_tried_ = 0;
  std::string fix_, check_;                 ///< what mends a misfit; what shows the first
  std::map<std::size_t, Sources> sources_;  ///< by view of the last checkpoint
  std::map<Place, std::size_t> tied_;       ///< the first view of the last checkpoint that looks at it so
  std::map<Key, std::uint32_t> alone_;      ///< storages that were made
};

}  // namespace

std::pair<Checkpoint, AverageReport> average(std::vector<Checkpoint> checkpoints, const AverageOptions& options) {
  // The last one's is done where the result is written.
  for (std::size_t i = 0; i + 1 < checkpoints.size(); ++i) {
    for (std::string& warning : finish_joined(checkpoints[i]))
      checkpoints.back().warnings.push_back(std::move(warning));
    std::vector<std::string>& parts = checkpoints.back().parts;
    parts.insert(parts.end(), checkpoints[i].parts.begin(), checkpoints[i].parts.end());
  }
  return Averager(std::move(checkpoints), options).run();
}

}  // namespace ckpt
