#pragma once

#include <algorithm>
#include <memory>
#include <string_view>
#include <vector>

#include "ckpt/error.h"

namespace ckpt {

/// What is wrong with bytes that are read as far as they go: each fault once, however often it is met.
class FaultList {
 public:
  void note(const Error& error) {
    const auto same = [&](const Error& other) { return std::string_view(other.what()) == error.what(); };
    if (std::none_of(faults_.begin(), faults_.end(), same)) faults_.push_back(error);
  }
  [[nodiscard]] const std::vector<Error>& faults() const { return faults_; }

 private:
  std::vector<Error> faults_;
};

using Faults = std::shared_ptr<FaultList>;

}  // namespace ckpt
