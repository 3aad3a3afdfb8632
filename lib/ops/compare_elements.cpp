#include "ops/compare_elements.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/limits.h"
#include "ops/compare_tensors.h"
#include "ops/ordered_work.h"
#include "ops/storage_window.h"
#include "ops/tensor_bytes.h"

namespace ckpt {
namespace {

const Storage& storage_of(const DiffSide& side, const DenseTensor& tensor) {
  return side.storages[*tensor.tensor->storage];
}

bool is_straight(const DenseTensor& tensor) {
  return is_contiguous(*tensor.placed) && !tensor.placed->conjugate && !tensor.placed->negative;
}

/// Elements of one side's tensor that are compared at a time.
class Elements {
 public:
  Elements(const DiffSide& side, const Storage& storage, const DenseTensor& tensor, std::string_view name)
      : side_(&side), storage_(&storage), tensor_(&tensor), name_(name) {}

  /// Names tensor and file in errors.
  template <class Work>
  auto naming(Work&& work) const {
    return in_file_of(*side_, [&] {
      try {
        return work();
      } catch (Error& error) {
        error.within("tensor '" + std::string(name_) + "'");
        throw;
      }
    });
  }

  [[nodiscard]] bool is_concurrent() const { return storage_->bytes && storage_->bytes->is_concurrent(); }
  [[nodiscard]] std::uint64_t item() const { return dtype_size(tensor_->placed->dtype); }
  [[nodiscard]] TensorStream stream() const {
    return naming([&] { return TensorStream(*storage_, *tensor_->placed); });
  }

  /// Appends the elements from `first` on to `buffer`; where they begin there. They are contiguous.
  std::size_t read(std::uint64_t first, std::uint64_t count, std::vector<std::byte>& buffer, std::size_t& used) const {
    const std::uint64_t begin = tensor_->begin + first * item(), end = begin + count * item();
    const std::uint64_t from = begin / storage_alignment * storage_alignment;
    const std::uint64_t to =
        std::min((end + storage_alignment - 1) / storage_alignment * storage_alignment, storage_->nbytes);
    const auto size = static_cast<std::size_t>(to - from);
    if (buffer.size() < used + size) buffer.resize(std::max(used + size, 2 * limits::copy_chunk));
    naming([&] { read_little_endian(*storage_, from, std::span(buffer).subspan(used, size)); });
    const std::size_t place = used + static_cast<std::size_t>(begin - from);
    used += size;
    return place;
  }

 private:
  const DiffSide* side_;
  const Storage* storage_;
  const DenseTensor* tensor_;
  std::string_view name_;
};

/// A pair, and what of it has not been handed out.
struct OpenPair {
  OpenPair(const ComparedSides& sides, ElementPair of)
      : pair(std::move(of)),
        a(sides.a, storage_of(sides.a, pair.a), pair.a, pair.name),
        b(sides.b, storage_of(sides.b, pair.b), pair.b, pair.name),
        straight(is_straight(pair.a) && is_straight(pair.b)) {
    static_cast<void>(a.stream());  // which checks the geometry
    static_cast<void>(b.stream());
    elements = logical_bytes(*pair.a.placed) / a.item();
  }

  ElementPair pair;
  Elements a, b;
  bool straight;
  std::uint64_t elements = 0, done = 0;
};

class ComparisonPiece final : public WorkPiece {
 public:
  using Finish = std::function<void(const OpenPair&, const ValueComparison&, bool is_last)>;

  ComparisonPiece(const ValueRules& rules, const Finish& finish) : rules_(rules), finish_(finish) {}

  void clear() { parts_.clear(), used_ = 0; }

  [[nodiscard]] bool has_room() const {
    constexpr std::size_t most = 256;
    return parts_.empty() || (parts_.back().pair->straight && parts_.size() < most && used_ < limits::copy_chunk &&
                              planned_ < limits::copy_chunk);
  }

  /// As many of its elements as are compared at a time; all where they have to be gathered.
  void add(const std::shared_ptr<OpenPair>& pair) {
    if (parts_.empty()) planned_ = 0;
    std::uint64_t count = pair->elements - pair->done;
    const std::uint64_t widest = std::max(pair->a.item(), pair->b.item());
    if (pair->straight) count = std::min<std::uint64_t>(count, limits::copy_chunk / widest);
    parts_.push_back({pair,
                      pair->done,
                      count,
                      ValueComparison(pair->pair.info_a, pair->pair.info_b, rules_, pair->done),
                      false,
                      {},
                      {}});
    planned_ += static_cast<std::size_t>(std::min<std::uint64_t>(count * widest, limits::copy_chunk));
    pair->done += count;
    parts_.back().is_last = pair->done == pair->elements;
    // What no two threads may read at once is read here, one piece after the other; what has to be gathered is compared
    // here, so that blocks are held of one pair.
    Part& part = parts_.back();
    if (!pair->straight) return compare_streams(part);
    if (!pair->a.is_concurrent()) part.a = pair->a.read(part.first, count, bytes_, used_);
    if (!pair->b.is_concurrent()) part.b = pair->b.read(part.first, count, bytes_, used_);
  }

  void work() override {
    for (Part& part : parts_) {
      if (!part.pair->straight) continue;
      if (!part.a) part.a = part.pair->a.read(part.first, part.count, bytes_, used_);
      if (!part.b) part.b = part.pair->b.read(part.first, part.count, bytes_, used_);
      const auto of = [&](std::size_t place, const Elements& elements) {
        return std::span<const std::byte>(bytes_).subspan(place,
                                                          static_cast<std::size_t>(part.count * elements.item()));
      };
      part.comparison.add(of(*part.a, part.pair->a), of(*part.b, part.pair->b));
    }
  }

  void join() override {
    for (const Part& part : parts_) finish_(*part.pair, part.comparison, part.is_last);
  }

 private:
  struct Part {
    std::shared_ptr<OpenPair> pair;
    std::uint64_t first, count;
    ValueComparison comparison;
    bool is_last;
    std::optional<std::size_t> a, b;  ///< where in bytes_, once they are read
  };

  static void compare_streams(Part& part) {
    const Elements &a = part.pair->a, &b = part.pair->b;
    TensorStream stream_a = a.stream(), stream_b = b.stream();
    std::span<const std::byte> left_a, left_b;
    while (true) {
      if (left_a.empty()) left_a = a.naming([&] { return stream_a.next(); });
      if (left_b.empty()) left_b = b.naming([&] { return stream_b.next(); });
      if (left_a.empty() || left_b.empty()) return;
      const auto count = static_cast<std::size_t>(std::min(left_a.size() / a.item(), left_b.size() / b.item()));
      part.comparison.add(left_a.first(count * a.item()), left_b.first(count * b.item()));
      left_a = left_a.subspan(count * a.item());
      left_b = left_b.subspan(count * b.item());
    }
  }

  ValueRules rules_;
  const Finish& finish_;
  std::vector<Part> parts_;
  std::vector<std::byte> bytes_;
  std::size_t used_ = 0, planned_ = 0;
};

}  // namespace

void compare_elements(const ComparedSides& sides, const std::function<std::optional<ElementPair>()>& next,
                      const std::function<void(std::size_t number, const ValueDifference&)>& found) {
  std::optional<ValueComparison> whole;
  const ComparisonPiece::Finish finish = [&](const OpenPair& pair, const ValueComparison& part, bool is_last) {
    if (whole)
      whole->join(part);
    else
      whole = part;
    if (!is_last) return;
    if (auto difference = whole->result()) found(pair.pair.number, *difference);
    whole.reset();
  };
  std::shared_ptr<OpenPair> open;
  const auto has_more = [&] {
    if (open && open->done < open->elements) return true;
    open.reset();
    while (auto pair = next()) {
      open = std::make_shared<OpenPair>(sides, std::move(*pair));
      if (open->elements > 0) return true;
    }
    return false;
  };
  work_in_order(sides.threads, [&](std::unique_ptr<WorkPiece> used) -> std::unique_ptr<WorkPiece> {
    std::unique_ptr<ComparisonPiece> piece(static_cast<ComparisonPiece*>(used.release()));
    if (!piece) piece = std::make_unique<ComparisonPiece>(sides.rules, finish);
    piece->clear();
    bool any = false;
    for (; piece->has_room() && has_more(); any = true) piece->add(open);
    return any ? std::move(piece) : nullptr;
  });
}

}  // namespace ckpt
