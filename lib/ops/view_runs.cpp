#include "ops/view_runs.h"

#include "ckpt/error.h"
#include "io/bytes.h"

namespace ckpt {
namespace {

[[noreturn]] void refuse(const Storage& storage) {
  throw Error(ErrorCode::corrupt, "a view leaves storage '" + storage.key + "'")
      .expected("one within its " + std::to_string(storage.nbytes) + " bytes");
}

}  // namespace

ViewRuns::ViewRuns(const Storage& storage, const TensorInfo& placed) : run_(dtype_size(placed.dtype)) {
  const std::uint64_t item = run_;
  if (placed.offset < 0 || placed.stride.size() != placed.shape.size()) refuse(storage);
  std::optional<std::uint64_t> last = static_cast<std::uint64_t>(placed.offset);
  for (std::size_t i = 0; i < placed.shape.size(); ++i) {
    if (placed.shape[i] <= 0 || placed.stride[i] < 0) refuse(storage);
    const auto size = static_cast<std::uint64_t>(placed.shape[i]),
               stride = static_cast<std::uint64_t>(placed.stride[i]);
    const auto reach = checked_mul(size - 1, stride);
    last = last && reach ? checked_add(*last, *reach) : std::nullopt;
    if (stride == 0)
      repeats_ *= size;
    else if (size > 1 && last)
      axes_.push_back({size, stride * item});
  }
  const auto end = last && *last < storage.nbytes ? checked_mul(*last + 1, item) : std::nullopt;
  if (!end || *end > storage.nbytes) refuse(storage);
  begin_ = static_cast<std::uint64_t>(placed.offset) * item;
  end_ = *end;
  std::stable_sort(axes_.begin(), axes_.end(), [](const Axis& a, const Axis& b) { return a.step > b.step; });
  while (!axes_.empty() && axes_.back().step == run_) {
    run_ *= axes_.back().size;
    axes_.pop_back();
  }
  std::uint64_t reach = run_;
  for (auto axis = axes_.rbegin(); axis != axes_.rend(); ++axis) {
    overlaps_ = overlaps_ || axis->step < reach;
    reach += (axis->size - 1) * axis->step;
  }
}

std::optional<std::uint64_t> ViewRuns::next_at(std::uint64_t address) const {
  if (address >= end_) return std::nullopt;
  const Place place = find(address);
  return place.left > 0 ? std::optional(place.at) : std::nullopt;
}

ViewRuns::Place ViewRuns::find(std::uint64_t address) const {
  Place place;
  place.index.resize(axes_.size());
  place.run = begin_;
  std::uint64_t rest = address <= begin_ ? 0 : address - begin_, inside = run_;
  for (const Axis& axis : axes_) inside *= axis.size;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    // Where the address lies past the last step, it lies past all that is inside of it.
    place.index[i] = std::min(rest / axes_[i].step, axes_[i].size - 1);
    rest -= place.index[i] * axes_[i].step;
    place.run += place.index[i] * axes_[i].step;
    inside /= axes_[i].size;
    place.done += place.index[i] * inside;
  }
  place.at = place.run + std::min(rest, run_);
  place.left = run_ - std::min(rest, run_);
  place.done += std::min(rest, run_);
  if (place.left == 0) step(place);
  return place;
}

void ViewRuns::step(Place& place) const {
  place.left = 0;
  for (std::size_t i = axes_.size(); i-- > 0;) {
    place.run += axes_[i].step;
    if (++place.index[i] < axes_[i].size) {
      place.at = place.run;
      place.left = run_;
      return;
    }
    place.run -= axes_[i].step * axes_[i].size;
    place.index[i] = 0;
  }
}

}  // namespace ckpt
