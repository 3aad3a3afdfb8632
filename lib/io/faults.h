#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "ckpt/error.h"

namespace ckpt {

/// What is wrong with bytes that are read as far as they go: each fault once, however often it is met, and the first of
/// very many.
class FaultList {
 public:
  static constexpr std::size_t most = 1000;

  void note(const Error& error) {
    if (known_.contains(error.what())) return;
    goes_on_ = faults_.size() == most;
    if (goes_on_) return;
    known_.insert(error.what());
    faults_.push_back(error);
  }
  [[nodiscard]] const std::vector<Error>& faults() const { return faults_; }
  /// There are more.
  [[nodiscard]] bool goes_on() const { return goes_on_; }

 private:
  std::vector<Error> faults_;
  std::unordered_set<std::string> known_;  ///< their texts
  bool goes_on_ = false;
};

using Faults = std::shared_ptr<FaultList>;

}  // namespace ckpt
