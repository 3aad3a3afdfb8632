#include "ckpt/stats.h"

#include <limits>
#include <map>
#include <tuple>

#include "ckpt/error.h"
#include "ckpt/glob.h"
#include "ops/dense_tensor.h"
#include "ops/ordered_work.h"
#include "ops/root.h"
#include "ops/stats_passes.h"
#include "ops/tensor_bytes.h"
#include "ops/unpacked.h"
#include "ops/view_numbers.h"
#include "ops/watched_source.h"

namespace ckpt {
namespace {

/// The rows of the result, and the views that they are figures of: equal ones are one.
struct Plan {
  std::vector<TensorStats> rows;
  std::vector<std::optional<std::size_t>> view_of;  ///< of each row
  std::vector<SweptView> views;
};

class Planner {
 public:
  Planner(const Checkpoint& checkpoint, const StatsOptions& options) : checkpoint_(checkpoint), options_(options) {}

  Plan plan() {
    for (const NamedTensor& named : tensors_below(checkpoint_, resolve_root(checkpoint_, options_.root)))
      add(named.name, *named.tensor, any_glob_match(options_.keys, named.name));
    check_views_together(checkpoint_, plan_.views, &SweptView::tensor);
    return std::move(plan_);
  }

 private:
  using Key =
      std::tuple<std::uint32_t, std::int64_t, DType, std::vector<std::int64_t>, std::vector<std::int64_t>, bool>;

  /// `wanted`: whether the name of what it is a part of was.
  void add(const std::string& name, const Tensor& tensor, bool wanted) {
    struct Open {
      std::string name;
      const Tensor* tensor;
      bool wanted;
    };
    std::vector<Open> open{{name, &tensor, wanted}};
    while (!open.empty()) {
      const Open next = std::move(open.back());
      open.pop_back();
      if (next.tensor->parts.empty() && next.wanted) add_row(next.name, name, *next.tensor);
      for (auto part = next.tensor->parts.rbegin(); part != next.tensor->parts.rend(); ++part) {
        std::string path = part_name(next.name, part->name);
        const bool named = next.wanted || any_glob_match(options_.keys, path);
        open.push_back({std::move(path), &part->tensor, named});
      }
    }
  }

  void add_row(const std::string& name, const std::string& whole, const Tensor& tensor) {
    plan_.rows.push_back({name, whole, tensor.info.dtype, tensor.info.shape, std::nullopt});
    plan_.view_of.emplace_back();
    TensorStats& row = plan_.rows.back();
    if (!tensor.storage || !ViewNumbers::can_count(tensor.info)) return;
    auto dense = dense_tensor(checkpoint_, name, tensor);
    if (!dense) return;
    row.figures.emplace();
    row.figures->elements = element_count(tensor.info);
    if (row.figures->elements == 0) return;
    const TensorInfo& placed = *dense->placed;
    const auto [known, fresh] = views_.try_emplace(
        Key{*tensor.storage, placed.offset, placed.dtype, tensor.info.shape, placed.stride, placed.negative},
        plan_.views.size());
    plan_.view_of.back() = known->second;
    if (!fresh) return;
    ViewRuns runs(checkpoint_.storages[*tensor.storage], placed);
    plan_.views.push_back({std::move(*dense), std::move(runs)});
  }

  const Checkpoint& checkpoint_;
  const StatsOptions& options_;
  Plan plan_;
  std::map<Key, std::size_t> views_;
};

Figures figures_of(const Moments& moments) {
  constexpr double none = std::numeric_limits<double>::quiet_NaN();
  Figures figures;
  figures.elements = moments.finite + moments.not_finite();
  figures.zeros = moments.zeros;
  figures.nan = moments.nan;
  figures.positive_infinity = moments.positive;
  figures.negative_infinity = moments.negative;
  figures.min = moments.finite == 0 ? none : moments.min;
  figures.max = moments.finite == 0 ? none : moments.max;
  figures.mean = moments.finite == 0 ? none : moments.mean();
  figures.std = moments.std();
  figures.norm = moments.norm();
  return figures;
}

Figures figures_of(const ViewMoments& found, DType dtype) {
  Figures figures = figures_of(found.moments);
  if (dtype == DType::int64) figures.min = found.integers.min, figures.max = found.integers.max;
  if (dtype == DType::uint64) figures.min = found.naturals.min, figures.max = found.naturals.max;
  return figures;
}

CheckpointStats stats_of(const Checkpoint& checkpoint, const StatsOptions& options) {
  Plan plan = Planner(checkpoint, options).plan();
  if (options.bins > 0) check_bins(plan.views.size(), options.bins);
  const std::vector<Storage> storages = watched_storages(checkpoint, Compared::when_asked);
  const SweepOptions how{.threads = options.threads == 0 ? working_threads() : options.threads};
  std::vector<ViewMoments> found(plan.views.size());
  sweep(
      storages, plan.views, [&] { return moments_visitor(plan.views, found); }, how);
  Moments all;
  CheckpointStats result;
  for (std::size_t i = 0; i < plan.views.size(); ++i) {
    found[i].moments.repeat(plan.views[i].runs.repeats());
    if (!is_floating(plan.views[i].tensor.placed->dtype)) continue;
    all.add(found[i].moments);
    ++result.floating_tensors;
  }
  std::optional<HistogramPass> histograms;
  if (options.bins > 0) {
    histograms.emplace(plan.views, found, all, options.bins, result.floating_tensors > 1);
    sweep(
        storages, plan.views, [&] { return histograms->visitor(); }, how);
  }
  compare_watched(storages, &checkpoint);
  finish_reading(checkpoint);
  result.floating = figures_of(all);
  for (std::size_t i = 0; i < plan.rows.size(); ++i) {
    if (!plan.rows[i].figures) continue;
    const auto view = plan.view_of[i];
    plan.rows[i].figures = view ? figures_of(found[*view], plan.rows[i].dtype) : figures_of(Moments());
    if (view && histograms) plan.rows[i].figures->histogram = histograms->of(*view);
    const bool alone = view && result.floating_tensors == 1 && is_floating(plan.rows[i].dtype);
    if (alone) result.floating.histogram = plan.rows[i].figures->histogram;
  }
  if (histograms && result.floating_tensors > 1) result.floating.histogram = histograms->of_all();
  result.tensors = std::move(plan.rows);
  return result;
}

}  // namespace

CheckpointStats stats(const Checkpoint& packed, const StatsOptions& options) {
  try {
    std::optional<Unpacked> unpacked;
    if (options.root == "auto") unpacked.emplace(packed);
    return stats_of(unpacked ? unpacked->get() : packed, options);
  } catch (Error& error) {
    error.in(packed.file);
    throw;
  }
}

}  // namespace ckpt
