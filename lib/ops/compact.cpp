#include <algorithm>
#include <span>
#include <vector>

#include "ckpt/tensor_ops.h"
#include "ops/gathered_source.h"
#include "ops/tensor_bytes.h"
#include "ops/tensor_edit.h"

namespace ckpt {
namespace {

/// A view and the bytes of its storage that it begins and ends with.
struct Extent {
  std::size_t view = 0;
  std::uint64_t begin = 0, end = 0;
};

std::uint64_t item_size(const TensorInfo& info) { return dtype_size(info.dtype); }

Extent extent_of(std::size_t view, const TensorInfo& info) {
  std::int64_t last = info.offset;
  for (std::size_t i = 0; i < info.shape.size(); ++i) last += (info.shape[i] - 1) * info.stride[i];
  return {view, static_cast<std::uint64_t>(info.offset) * item_size(info),
          (static_cast<std::uint64_t>(last) + 1) * item_size(info)};
}

/// The dimensions that are stepped along, the longest step first.
std::vector<std::size_t> steps_of(const TensorInfo& info) {
  std::vector<std::size_t> dims;
  for (std::size_t i = 0; i < info.shape.size(); ++i)
    if (info.shape[i] > 1 && info.stride[i] != 0) dims.push_back(i);
  std::stable_sort(dims.begin(), dims.end(), [&](auto a, auto b) { return info.stride[a] > info.stride[b]; });
  return dims;
}

/// The view with its elements one after the other, in the order in which they lie; none where it has no gaps, or shows
/// one element at several places.
std::optional<TensorInfo> closed_up(const TensorInfo& info) {
  const std::vector<std::size_t> dims = steps_of(info);
  TensorInfo closed = info;
  closed.offset = 0;
  std::int64_t elements = 1, reach = 0;
  for (std::size_t i = dims.size(); i-- > 0;) {
    const std::size_t dim = dims[i];
    if (info.stride[dim] <= reach) return std::nullopt;
    reach += (info.shape[dim] - 1) * info.stride[dim];
    closed.stride[dim] = elements;
    elements *= info.shape[dim];
  }
  if (elements == reach + 1) return std::nullopt;
  return closed;
}

bool same_geometry(const TensorInfo& a, const TensorInfo& b) {
  return a.dtype == b.dtype && a.shape == b.shape && a.stride == b.stride && a.offset == b.offset;
}

class Compactor {
 public:
  explicit Compactor(Checkpoint checkpoint) : edit_(std::move(checkpoint)) {}

  std::pair<Checkpoint, CompactReport> run() {
    const std::vector<Storage>& storages = edit_.checkpoint().storages;
    std::vector<std::vector<Extent>> extents(storages.size());
    std::vector<std::vector<std::size_t>> empty(storages.size());
    std::vector<bool> stays = edit_.held_otherwise();
    for (std::size_t i = 0; i < edit_.views().size(); ++i) {
      const auto& [storage, info] = edit_.views()[i];
      if (storages[storage].bytes == nullptr || dtype_per_byte(info.dtype) != 1) stays[storage] = true;
      if (element_count(info) == 0)
        empty[storage].push_back(i);
      else
        extents[storage].push_back(extent_of(i, info));
    }
    for (std::uint32_t i = 0, count = static_cast<std::uint32_t>(extents.size()); i < count; ++i) {
      const bool is_viewed = !extents[i].empty() || !empty[i].empty();  // else arrays, which stay what they are
      if (!stays[i] && is_viewed) look_at(i, std::move(extents[i]), empty[i]);
    }
    return {edit_.finish(), report_};
  }

 private:
  void look_at(std::uint32_t place, std::vector<Extent> extents, const std::vector<std::size_t>& empty) {
    const std::uint64_t nbytes = edit_.checkpoint().storages[place].nbytes;
    std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
    std::uint64_t left = 0;
    std::vector<std::span<const Extent>> runs;
    for (std::size_t first = 0; first < extents.size();) {
      std::uint64_t end = extents[first].end;
      std::size_t last = first + 1;
      for (; last < extents.size() && extents[last].begin <= end; ++last) end = std::max(end, extents[last].end);
      runs.push_back(std::span(extents).subspan(first, last - first));
      first = last;
    }
    for (const auto run : runs) left += closes_up(run) ? closed_bytes(info(run[0])) : end_of(run) - begin_of(run);
    if (left >= nbytes) return;  // more, where parts of elements of several sizes overlap
    for (const auto run : runs) closes_up(run) ? close_up(place, run) : cut_out(place, run);
    if (!empty.empty()) clear(place, empty);
    ++report_.storages;
    report_.saved += nbytes - left;
  }

  [[nodiscard]] const TensorInfo& info(const Extent& extent) const { return edit_.views()[extent.view].info; }

  bool closes_up(std::span<const Extent> run) const {
    return closed_up(info(run[0])) && std::all_of(run.begin(), run.end(), [&](const Extent& extent) {
             return same_geometry(info(extent), info(run[0]));
           });
  }

  void close_up(std::uint32_t place, std::span<const Extent> run) {
    const TensorInfo shown = info(run[0]);
    const TensorInfo closed = *closed_up(shown);
    TensorInfo order = shown;  // as the elements lie
    order.conjugate = order.negative = false;
    order.shape.clear();
    order.stride.clear();
    for (const std::size_t dim : steps_of(shown)) {
      order.shape.push_back(shown.shape[dim]);
      order.stride.push_back(shown.stride[dim]);
    }
    const Storage& storage = edit_.checkpoint().storages[place];
    Storage made = storage;
    made.bytes = gathered_source(edit_.material(place), order);
    made.nbytes = made.bytes->size();
    made.byte_order = ByteOrder::little;
    const std::uint32_t added = edit_.add(std::move(made), place);
    for (const Extent& extent : run) {
      TensorInfo moved = info(extent);
      moved.offset = 0;
      moved.stride = closed.stride;
      edit_.set(extent.view, added, std::move(moved));
    }
  }

  static std::uint64_t closed_bytes(const TensorInfo& shown) {
    std::uint64_t bytes = item_size(shown);
    for (const std::size_t dim : steps_of(shown)) bytes *= static_cast<std::uint64_t>(shown.shape[dim]);
    return bytes;
  }

  /// A whole number of every view's elements.
  std::uint64_t begin_of(std::span<const Extent> run) const {
    std::uint64_t item = 1;
    for (const Extent& extent : run) item = std::max(item, item_size(info(extent)));
    return run[0].begin / item * item;
  }

  static std::uint64_t end_of(std::span<const Extent> run) {
    std::uint64_t end = 0;
    for (const Extent& extent : run) end = std::max(end, extent.end);
    return end;
  }

  void cut_out(std::uint32_t place, std::span<const Extent> run) {
    const std::uint64_t begin = begin_of(run), end = end_of(run);
    TensorInfo part;
    part.dtype = DType::uint8;
    part.shape = {static_cast<std::int64_t>(end - begin)};
    part.stride = {1};
    part.offset = static_cast<std::int64_t>(begin);
    Storage made = edit_.checkpoint().storages[place];
    made.nbytes = end - begin;
    made.bytes = gathered_source(edit_.material(place), part);
    made.byte_order = ByteOrder::little;
    const std::uint32_t added = edit_.add(std::move(made), place);
    for (const Extent& extent : run) {
      TensorInfo moved = info(extent);
      moved.offset -= static_cast<std::int64_t>(begin / item_size(moved));
      edit_.set(extent.view, added, std::move(moved));
    }
  }

  /// Tensors without elements need no bytes.
  void clear(std::uint32_t place, const std::vector<std::size_t>& views) {
    Storage made = edit_.checkpoint().storages[place];
    made.nbytes = 0;
    made.bytes = memory_source({}, made.bytes->name());
    const std::uint32_t added = edit_.add(std::move(made), place);
    for (const std::size_t view : views) {
      TensorInfo moved = edit_.views()[view].info;
      moved.offset = 0;
      edit_.set(view, added, std::move(moved));
    }
  }

  TensorEdit edit_;
  CompactReport report_;
};

}  // namespace

std::pair<Checkpoint, CompactReport> compact(Checkpoint checkpoint) { return Compactor(std::move(checkpoint)).run(); }

}  // namespace ckpt
