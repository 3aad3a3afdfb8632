#pragma once

#include <torch/csrc/distributed/c10d/Store.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "distributed/place.h"

namespace ckpt::eval {

/// PyTorch's TCPStore, asked by one thread of its own, so that whoever asks waits a bounded time: c10d itself waits for
/// ever for an answer of a machine that has gone without a word, or of a process that was stopped. Safe to use from
/// several threads. Everything throws c10::Error.
class BoundedStore {
 public:
  /// Connects, within `seconds`; holds the store where it is this place's to hold.
  BoundedStore(const Place& place, double seconds);
  ~BoundedStore();
  BoundedStore(const BoundedStore&) = delete;
  BoundedStore& operator=(const BoundedStore&) = delete;

  /// As c10d::Store has them.
  std::int64_t add(const std::string& key, std::int64_t number);
  [[nodiscard]] bool has(const std::string& key);
  [[nodiscard]] std::string get(const std::string& key);
  void set(const std::string& key, const std::string& value);
  void set_once(const std::string& key, const std::string& value);
  void remove(const std::string& key);

 private:
  struct Shared;
  template <class Answer>
  Answer ask(std::function<Answer(c10d::Store&)> question);

  std::shared_ptr<Shared> shared_;  // with the thread, which outlives this where it waits for ever
};

}  // namespace ckpt::eval
