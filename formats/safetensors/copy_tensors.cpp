#include "safetensors/copy_tensors.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include "ckpt/error.h"
#include "io/checksum.h"
#include "ops/copy_tensor.h"
#include "ops/tensor_bytes.h"
#include "safetensors/header.h"

namespace ckpt::safetensors {
namespace {

constexpr std::uint64_t at_once = 16 * limits::mib;

class Copier {
 public:
  Copier(const std::vector<OutTensor>& tensors, const std::vector<Storage>& storages, ByteSink& sink)
      : tensors_(tensors), storages_(storages), sink_(sink) {}

  std::vector<std::uint32_t> run() {
    for (std::size_t begin = 0; begin < tensors_.size();) {
      const std::size_t end = end_of_group(begin);
      if (end > begin + 1)
        copy_group(begin, end);
      else
        of_tensor(begin, [&](const OutTensor& out) {
          sums_.push_back(copy_tensor(storage_of(out), *out.tensor.placed, sink_));
        });
      begin = end;
    }
    return std::move(sums_);
  }

 private:
  [[nodiscard]] const Storage& storage_of(const OutTensor& out) const { return storages_[*out.tensor.tensor->storage]; }

  /// Those from `begin` on that are read together: at least one.
  [[nodiscard]] std::size_t end_of_group(std::size_t begin) const {
    std::uint64_t bytes = 0;
    std::size_t end = begin;
    for (; end < tensors_.size(); ++end) {
      const std::uint64_t size = logical_bytes(*tensors_[end].tensor.placed);
      if (size > at_once - bytes || lies_there(storage_of(tensors_[end]))) break;
      bytes += size;
    }
    return std::max(end, begin + 1);
  }

  void copy_group(std::size_t begin, std::size_t end) {
    std::vector<std::size_t> order(end - begin), ends;
    std::iota(order.begin(), order.end(), begin);
    for (const std::size_t i : order)
      ends.push_back((ends.empty() ? 0 : ends.back()) +
                     static_cast<std::size_t>(logical_bytes(*tensors_[i].tensor.placed)));
    held_.resize(ends.back());
    const auto held = [&](std::size_t i) {
      const std::size_t from = i == begin ? 0 : ends[i - begin - 1];
      return std::span(held_).subspan(from, ends[i - begin] - from);
    };
    const auto place = [&](std::size_t i) {
      return std::pair(*tensors_[i].tensor.tensor->storage, tensors_[i].tensor.begin);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
    for (const std::size_t i : order)
      of_tensor(i, [&](const OutTensor& out) {
        auto room = held(i);
        stream_tensor(storage_of(out), *out.tensor.placed, [&](std::span<const std::byte> piece) {
          std::copy(piece.begin(), piece.end(), room.begin());
          room = room.subspan(piece.size());
        });
      });
    for (std::size_t i = begin; i < end; ++i) {
      sink_.announce(held(i).size());
      sink_.write(held(i));
      sums_.push_back(crc32(0, held(i)));
    }
  }

  template <class Work>
  void of_tensor(std::size_t i, Work work) const {
    try {
      work(tensors_[i]);
    } catch (Error& error) {
      throw error.is_output() ? error : error.within(tensor_called(tensors_[i].tensor.name));
    }
  }

  const std::vector<OutTensor>& tensors_;
  const std::vector<Storage>& storages_;
  ByteSink& sink_;
  std::vector<std::byte> held_;
  std::vector<std::uint32_t> sums_;
};

}  // namespace

std::vector<std::uint32_t> copy_tensors(const std::vector<OutTensor>& tensors, const std::vector<Storage>& storages,
                                        ByteSink& sink) {
  return Copier(tensors, storages, sink).run();
}

}  // namespace ckpt::safetensors
