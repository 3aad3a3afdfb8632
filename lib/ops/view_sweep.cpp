#include "ops/view_sweep.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "ops/storage_window.h"
#include "ops/tensor_bytes.h"

namespace ckpt {
namespace {

constexpr std::uint64_t alignment = 16;  // that of the largest element

class StorageSweep {
 public:
  /// `order`: views of one storage, by where they begin.
  StorageSweep(const Storage& storage, std::span<SweptView> views, std::span<const std::size_t> order,
               ViewVisitor& visitor)
      : storage_(storage), views_(views), order_(order), visitor_(visitor), done_(order.size()) {}

  void run() {
    std::uint64_t end = 0;
    for (const std::size_t i : order_) end = std::max(end, views_[i].runs.end());
    StorageWindow window(storage_, end, limits::copy_chunk);
    std::uint64_t at = 0;
    while (next_ < order_.size() || !open_.empty()) {
      if (open_.empty()) at = std::max(at, views_[order_[next_]].runs.begin() / alignment * alignment);
      now_ = open_.empty() ? next_ : open_.front();
      const auto bytes = window.from(at);
      for (; next_ < order_.size() && views_[order_[next_]].runs.begin() < at + bytes.size(); ++next_) begin_view();
      for (const std::size_t place : open_) look_at(place, at, bytes);
      at += bytes.size();
      std::erase_if(open_, [&](std::size_t place) { return views_[order_[place]].runs.end() <= at; });
    }
  }

  /// The view that was being read when something failed.
  [[nodiscard]] const DenseTensor& now() const { return views_[order_[now_]].tensor; }

 private:
  void begin_view() {
    if (!views_[order_[next_]].runs.overlaps()) return open_.push_back(next_);
    now_ = next_;
    visitor_.begin(order_[next_], 0);
    TensorInfo plain = views_[order_[next_]].tensor.placed;
    plain.conjugate = plain.negative = false;
    for (std::size_t i = 0; i < plain.shape.size(); ++i)
      if (plain.stride[i] == 0) plain.shape[i] = 1;
    stream_tensor(storage_, plain, [&](std::span<const std::byte> elements) { visitor_.elements(elements); });
    visitor_.end();
  }

  void look_at(std::size_t place, std::uint64_t address, std::span<const std::byte> bytes) {
    now_ = place;
    visitor_.begin(order_[place], done_[place]);
    views_[order_[place]].runs.until(address + bytes.size(), [&](std::uint64_t at, std::uint64_t size) {
      visitor_.elements(bytes.subspan(static_cast<std::size_t>(at - address), static_cast<std::size_t>(size)));
      done_[place] += size;
    });
    visitor_.end();
  }

  const Storage& storage_;
  std::span<SweptView> views_;
  std::span<const std::size_t> order_;
  ViewVisitor& visitor_;
  std::size_t next_ = 0, now_ = 0;  ///< places in order_
  std::vector<std::size_t> open_;   ///< places of views that have begun and not ended
  std::vector<std::uint64_t> done_;
};

}  // namespace

void sweep(const std::vector<Storage>& storages, std::span<SweptView> views, ViewVisitor& visitor) {
  std::vector<std::size_t> order(views.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto storage_of = [&](std::size_t i) { return *views[i].tensor.tensor->storage; };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(storage_of(a), views[a].runs.begin()) < std::tuple(storage_of(b), views[b].runs.begin());
  });
  for (SweptView& view : views) view.runs.rewind();
  for (auto first = order.begin(); first != order.end();) {
    const auto last =
        std::find_if(first, order.end(), [&](std::size_t i) { return storage_of(i) != storage_of(*first); });
    StorageSweep storage(storages[storage_of(*first)], views, std::span(first, last), visitor);
    try {
      storage.run();
    } catch (Error& error) {
      error.within("tensor '" + storage.now().name + "'");
      throw;
    }
    first = last;
  }
}

}  // namespace ckpt
