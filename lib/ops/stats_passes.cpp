#include "ops/stats_passes.h"

#include <algorithm>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "ops/float_bits.h"
#include "ops/view_numbers.h"

namespace ckpt {
namespace {

/// Keeps what each block comes to, so that blocks are joined one by one, whoever made them.
class MomentsVisitor final : public ViewVisitor {
 public:
  MomentsVisitor(std::span<const SweptView> views, std::vector<ViewMoments>& found) : views_(views), found_(found) {}

  void begin(std::size_t view, std::uint64_t done) override {
    view_ = view;
    dtype_ = views_[view].tensor.placed->dtype;
    numbers_.begin(views_[view].tensor.tensor->info, done);
  }
  void elements(std::span<const std::byte> bytes, std::uint64_t /*distance*/) override { numbers_.add(bytes); }
  void end() override { numbers_.end(); }

  void join() override {
    for (const auto& [view, block] : blocks_) found_[view].add(block);
    blocks_.clear();
  }

 private:
  void add(const NumberBlock& block) {
    ViewMoments found;
    if (dtype_ == DType::int64) found.integers.add(block.elements);
    if (dtype_ == DType::uint64) found.naturals.add(block.elements);
    if (block.floats)
      add_numbers<float>(found.moments, block.numbers, block.count);
    else
      add_numbers<double>(found.moments, block.numbers, block.count);
    // A view that overlaps comes at once, however large it is.
    const bool is_whole = views_[view_].runs.overlaps();
    if (is_whole && !blocks_.empty() && blocks_.back().first == view_)
      blocks_.back().second.add(found);
    else
      blocks_.emplace_back(view_, found);
  }

  std::span<const SweptView> views_;
  std::vector<ViewMoments>& found_;
  std::vector<std::pair<std::size_t, ViewMoments>> blocks_;
  std::size_t view_ = 0;
  DType dtype_{};
  ViewNumbers numbers_{[this](const NumberBlock& block) { add(block); }};
};

void add_times(std::vector<std::uint64_t>& sum, const std::vector<std::uint64_t>& counts, std::uint64_t times) {
  for (std::size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i] * times;
}

}  // namespace

template <class T>
void Extremes<T>::add(std::span<const std::byte> elements) {
  for (std::size_t at = 0; at + sizeof(T) <= elements.size(); at += sizeof(T)) {
    const T value = load_le<T>(elements.data() + at);
    min = std::min(min, value);
    max = std::max(max, value);
  }
}

template <class T>
void Extremes<T>::add(const Extremes& other) {
  min = std::min(min, other.min);
  max = std::max(max, other.max);
}

void ViewMoments::add(const ViewMoments& other) {
  moments.add(other.moments);
  integers.add(other.integers);
  naturals.add(other.naturals);
}

template struct Extremes<std::int64_t>;
template struct Extremes<std::uint64_t>;

std::unique_ptr<ViewVisitor> moments_visitor(std::span<const SweptView> views, std::vector<ViewMoments>& found) {
  return std::make_unique<MomentsVisitor>(views, found);
}

class HistogramPass::Visitor final : public ViewVisitor {
 public:
  explicit Visitor(HistogramPass& pass) : pass_(pass), all_(pass.all_) {}

  void begin(std::size_t view, std::uint64_t done) override {
    const Moments& moments = pass_.found_[view].moments;
    skips_ = moments.finite == 0;
    if (skips_) return;
    all_finite_ = moments.not_finite() == 0;
    view_ = view;
    own_.emplace(moments.min, moments.max, pass_.bins_);
    own_->expect(moments.min, moments.max);
    in_all_ = all_ && is_floating(pass_.views_[view].tensor.placed->dtype);
    if (in_all_) {
      all_->clear();
      all_->expect(moments.min, moments.max);
    }
    numbers_.begin(pass_.views_[view].tensor.tensor->info, done);
  }

  void elements(std::span<const std::byte> bytes, std::uint64_t /*distance*/) override {
    if (!skips_) numbers_.add(bytes);
  }

  void end() override {
    if (skips_) return;
    numbers_.end();
    parts_.push_back({view_, own_->counts(), in_all_ ? all_->counts() : Counts()});
  }

  void join() override {
    for (const Part& part : parts_) {
      const std::uint64_t times = pass_.views_[part.view].runs.repeats();
      add_times(pass_.counts_[part.view], part.own, times);
      add_times(pass_.counts_of_all_, part.all, times);
    }
    parts_.clear();
  }

 private:
  struct Part {
    std::size_t view;
    Counts own, all;
  };

  void add(const NumberBlock& block) {
    if (all_finite_ || is_finite(block))
      return block.floats ? count<float>(block.numbers, block.count) : count<double>(block.numbers, block.count);
    const std::size_t left = block.floats ? copy_finite<float>(block.numbers, block.count, finite_.data())
                                          : copy_finite<double>(block.numbers, block.count, finite_.data());
    if (left > 0) count<double>(reinterpret_cast<const std::byte*>(finite_.data()), left);
  }

  static bool is_finite(const NumberBlock& block) {
    const DType dtype = block.floats ? DType::float32 : DType::float64;
    return !any_not_finite(*float_bits(dtype), {block.numbers, block.count * dtype_size(dtype)});
  }

  template <class T>
  void count(const std::byte* numbers, std::size_t count) {
    own_->add<T>(numbers, count);
    if (in_all_) all_->add<T>(numbers, count);
  }

  HistogramPass& pass_;
  std::optional<HistogramCounter> own_, all_;
  std::size_t view_ = 0;
  bool skips_ = false, all_finite_ = false, in_all_ = false;
  std::vector<Part> parts_;
  std::vector<double> finite_ = std::vector<double>(moments_block);
  ViewNumbers numbers_{[this](const NumberBlock& block) { add(block); }};
};

void check_bins(std::size_t histograms, std::size_t bins) {
  if (histograms <= limits::histogram_counts / bins) return;
  throw Error(ErrorCode::limit_exceeded,
              std::to_string(histograms) + " histograms of " + std::to_string(bins) + " bins")
      .expected("at most " + std::to_string(limits::histogram_counts) + " bins in all")
      .hint("--bins " + std::to_string(std::max<std::uint64_t>(1, limits::histogram_counts / histograms)) +
            " counts in fewer, --keys GLOB fewer tensors");
}

HistogramPass::HistogramPass(std::span<const SweptView> views, const std::vector<ViewMoments>& found,
                             const Moments& all, std::size_t bins, bool counts_all)
    : views_(views), found_(found), bins_(bins), counts_(views.size()) {
  if (counts_all && all.finite > 0) all_.emplace(all.min, all.max, bins);
  for (std::size_t i = 0; i < views.size(); ++i)
    if (found[i].moments.finite > 0) counts_[i].resize(bins);
  if (all_) counts_of_all_.resize(bins);
}

std::unique_ptr<ViewVisitor> HistogramPass::visitor() { return std::make_unique<Visitor>(*this); }

Histogram HistogramPass::of(std::size_t view) const {
  const Moments& moments = found_[view].moments;
  if (moments.finite == 0) return {};
  return HistogramCounter(moments.min, moments.max, bins_).histogram(counts_[view]);
}

Histogram HistogramPass::of_all() const { return all_ ? all_->histogram(counts_of_all_) : Histogram(); }

}  // namespace ckpt
