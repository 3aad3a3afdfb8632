#include "ops/view_sweep.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "ckpt/limits.h"
#include "io/bytes.h"
#include "ops/ordered_work.h"
#include "ops/storage_window.h"
#include "ops/tensor_bytes.h"

namespace ckpt {
namespace {

/// A part of a storage, and the views that lie in it.
struct Stretch {
  const Storage* storage = nullptr;
  std::uint64_t begin = 0, end = 0;
  std::vector<std::size_t> views;
  bool apart = false;  ///< one view, which overlaps
};

/// Cuts storages into stretches, in the order of the storages and forward; what no view has an element in is left out.
class Stretches {
 public:
  Stretches(const std::vector<Storage>& storages, std::span<const SweptView> views, std::uint64_t most_steps)
      : storages_(storages), views_(views), order_(views.size()), steps_(most_steps) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::stable_sort(order_.begin(), order_.end(), [&](std::size_t a, std::size_t b) {
      const auto key = [&](std::size_t i) {
        return std::tuple(storage_of(i), views_[i].runs.overlaps(), views_[i].runs.begin());
      };
      return key(a) < key(b);
    });
  }

  /// Leaves what is left of the storage that the last stretch was of.
  void leave_storage(const Storage& storage) {
    open_ = {};
    while (next_ < order_.size() && &storages_[storage_of(order_[next_])] == &storage) ++next_;
  }

  /// Throws Error (limit_exceeded).
  std::optional<Stretch> next() {
    if (open_.empty() && next_ == order_.size()) return std::nullopt;
    const std::size_t first = open_.empty() ? order_[next_] : open_.top().view;
    Stretch stretch;
    stretch.storage = &storages_[storage_of(first)];
    if (open_.empty() && views_[first].runs.overlaps()) {
      stretch.apart = true;
      stretch.views = {first};
      ++next_;
      return stretch;
    }
    std::uint64_t begin = open_.empty() ? views_[first].runs.begin() : open_.top().next;
    if (next_ < order_.size() && begins_before(order_[next_], storage_of(first), begin))
      begin = views_[order_[next_]].runs.begin();
    stretch.begin = begin / storage_alignment * storage_alignment;
    const std::uint64_t last = stretch.begin + limits::copy_chunk;
    for (; next_ < order_.size() && begins_before(order_[next_], storage_of(first), last); ++next_)
      open_.push({views_[order_[next_]].runs.begin(), next_, order_[next_]});
    std::vector<Open> here;
    std::uint64_t end = 0;
    for (; !open_.empty() && open_.top().next < last; open_.pop()) {
      here.push_back(open_.top());
      stretch.views.push_back(here.back().view);
      end = std::max(end, views_[here.back().view].runs.end());
    }
    count_steps(here.size());
    const std::uint64_t rest = end % storage_alignment, swapped = rest == 0 ? end : end + (storage_alignment - rest);
    stretch.end = std::min({last, swapped, stretch.storage->nbytes});
    for (Open& open : here) {
      const auto next = views_[open.view].runs.next_at(stretch.end);
      if (next) open_.push({*next, open.place, open.view});
    }
    return stretch;
  }

 private:
  [[nodiscard]] std::uint32_t storage_of(std::size_t view) const { return *views_[view].tensor.tensor->storage; }
  [[nodiscard]] bool begins_before(std::size_t view, std::uint32_t storage, std::uint64_t address) const {
    return storage_of(view) == storage && !views_[view].runs.overlaps() && views_[view].runs.begin() < address;
  }

  /// A view that has begun and not ended.
  struct Open {
    std::uint64_t next;  ///< the address of its next element
    std::size_t place;   ///< in order_
    std::size_t view;
    bool operator>(const Open& other) const { return std::tie(next, place) > std::tie(other.next, other.place); }
  };

  /// Thousands of views may each have an element in each stretch of a large storage.
  void count_steps(std::size_t views) {
    if (views > steps_)
      throw Error(ErrorCode::limit_exceeded, "too many views lie across their storages")
          .expected("at most " + std::to_string(limits::sweep_steps) + " places to look at them");
    steps_ -= views;
  }

  const std::vector<Storage>& storages_;
  std::span<const SweptView> views_;
  std::vector<std::size_t> order_;
  std::size_t next_ = 0;  ///< in order_
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
  std::uint64_t steps_;  ///< that are left
};

/// Some stretches that fit a chunk together: one of a large storage, or many small storages.
class SweepPiece final : public WorkPiece {
 public:
  /// `failed`: of all pieces, the storage whose error was last told.
  SweepPiece(std::span<const SweptView> views, std::unique_ptr<ViewVisitor> visitor,
             const std::function<void(const Error&)>& on_error, const Storage*& failed)
      : views_(views), visitor_(std::move(visitor)), on_error_(on_error), failed_(failed) {}

  void clear() { parts_.clear(), used_ = 0; }
  [[nodiscard]] bool has_room_for(const Stretch& stretch) const {
    constexpr std::size_t most = 256;
    return parts_.empty() || (parts_.size() < most && !parts_.back().stretch.apart && !stretch.apart &&
                              used_ + (stretch.end - stretch.begin) <= limits::copy_chunk);
  }
  void add(Stretch stretch) {
    const std::size_t begin = used_;
    used_ += static_cast<std::size_t>(stretch.end - stretch.begin);
    parts_.push_back({std::move(stretch), begin, std::nullopt, false});
  }

  /// What no two threads may read at once is read as it is added; so is a view that is read apart, which may have to be
  /// gathered, block by block. False where that failed: going on with the storage may take as long as reading it from
  /// its beginning, again and again.
  bool read_ahead() {
    Part& part = parts_.back();
    const ByteSourcePtr& bytes = part.stretch.storage->bytes;
    if (!part.stretch.apart && bytes && bytes->is_concurrent()) return true;
    read(part);
    return !part.error;
  }

  void work() override {
    for (Part& part : parts_) {
      if (!part.is_read) read(part);
      if (part.error) {
        if (!on_error_) throw Error(*part.error);
      } else if (!part.stretch.apart) {
        look_at(part);
      }
    }
  }

  void join() override {
    for (const Part& part : parts_)
      if (part.error && part.stretch.storage != std::exchange(failed_, part.stretch.storage)) on_error_(*part.error);
    visitor_->join();
  }

 private:
  struct Part {
    Stretch stretch;
    std::size_t place;  ///< in bytes_
    std::optional<Error> error;
    bool is_read;
  };

  void read(Part& part) {
    part.is_read = true;
    if (bytes_.size() < used_) bytes_.resize(std::max<std::size_t>(used_, limits::copy_chunk));
    try {
      if (part.stretch.apart) return read_apart(part.stretch);
      const auto size = static_cast<std::size_t>(part.stretch.end - part.stretch.begin);
      read_little_endian(*part.stretch.storage, part.stretch.begin, std::span(bytes_).subspan(part.place, size));
    } catch (Error& error) {
      part.error = error.within("tensor '" + views_[part.stretch.views.front()].tensor.name + "'");
    }
  }

  void read_apart(const Stretch& stretch) {
    const std::size_t view = stretch.views.front();
    TensorInfo plain = *views_[view].tensor.placed;
    plain.conjugate = plain.negative = false;
    for (std::size_t i = 0; i < plain.shape.size(); ++i)
      if (plain.stride[i] == 0) plain.shape[i] = 1;
    std::uint64_t done = 0;
    visitor_->begin(view, 0);
    stream_tensor(*stretch.storage, plain, [&](std::span<const std::byte> elements) {
      visitor_->elements(elements, done);
      done += elements.size();
    });
    visitor_->end();
  }

  void look_at(const Part& part) {
    const Stretch& stretch = part.stretch;
    for (const std::size_t view : stretch.views) {
      const ViewRuns& runs = views_[view].runs;
      bool begun = false;
      runs.within(stretch.begin, stretch.end, [&](std::uint64_t at, std::uint64_t size, std::uint64_t done) {
        if (!begun) visitor_->begin(view, done);
        begun = true;
        const std::size_t place = part.place + static_cast<std::size_t>(at - stretch.begin);
        visitor_->elements(std::span(bytes_).subspan(place, static_cast<std::size_t>(size)), at - runs.begin());
      });
      if (begun) visitor_->end();
    }
  }

  std::span<const SweptView> views_;
  std::unique_ptr<ViewVisitor> visitor_;
  const std::function<void(const Error&)>& on_error_;
  const Storage*& failed_;
  std::vector<Part> parts_;
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0;
};

}  // namespace

void sweep(const std::vector<Storage>& storages, std::span<const SweptView> views,
           const std::function<std::unique_ptr<ViewVisitor>()>& make_visitor, const SweepOptions& options) {
  Stretches stretches(storages, views, options.steps);
  const Storage* failed = nullptr;
  std::optional<Stretch> stretch = stretches.next();
  work_in_order(options.threads, [&](std::unique_ptr<WorkPiece> used) -> std::unique_ptr<WorkPiece> {
    if (!stretch) return nullptr;
    std::unique_ptr<SweepPiece> piece(static_cast<SweepPiece*>(used.release()));
    if (!piece) piece = std::make_unique<SweepPiece>(views, make_visitor(), options.on_error, failed);
    piece->clear();
    while (stretch && piece->has_room_for(*stretch)) {
      const Storage& storage = *stretch->storage;
      piece->add(std::move(*stretch));
      if (!piece->read_ahead()) stretches.leave_storage(storage);
      stretch = stretches.next();
    }
    return piece;
  });
}

}  // namespace ckpt
