#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "ckpt/limits.h"
#include "ckpt/value.h"

namespace ckpt::pickle {

/// What PUT stores and GET fetches. Dense where indices are (they nearly always are), so that an index a file merely
/// claims allocates nothing.
class Memo {
 public:
  explicit Memo(std::uint64_t cap = limits::pickle_memo) : cap_(cap) {}

  /// False where there are more entries than the cap.
  bool put(std::uint64_t index, ValueId id) {
    if (index == dense_.size() && sparse_.empty()) {  // as Python counts them
      dense_.push_back(id);
      return ++count_ <= cap_;
    }
    const bool is_new = get(index) == no_value;
    if (index < dense_.size() || index < 2 * count_ + 256) {
      if (index >= dense_.size()) dense_.resize(index + 1, no_value);
      dense_[index] = id;
    } else {
      sparse_[index] = id;
    }
    count_ += is_new ? 1 : 0;
    return count_ <= cap_;
  }

  /// no_value where nothing was put.
  [[nodiscard]] ValueId get(std::uint64_t index) const {
    if (index < dense_.size() && dense_[index] != no_value) return dense_[index];
    const auto found = sparse_.find(index);
    return found == sparse_.end() ? no_value : found->second;
  }

  /// Entries: what MEMOIZE takes for the next index.
  [[nodiscard]] std::uint64_t size() const { return count_; }

 private:
  std::vector<ValueId> dense_;
  std::map<std::uint64_t, ValueId> sparse_;  // no hash table: a file chooses the indices, and could make it slow
  std::uint64_t cap_;
  std::uint64_t count_ = 0;
};

}  // namespace ckpt::pickle
