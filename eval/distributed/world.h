#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/place.h"

namespace ckpt::eval {

/// The ranks of a run, joined through PyTorch's TCPStore. A rank that dies, is stopped or fails makes, in bounded time,
/// all others throw Error (unavailable) with its number and, where it could still speak, what it said.
///
///     World world(place);
///     try { …; world.check(); … ; const auto parts = world.gather(mine); }
///     catch (const Error& error) { world.fail(error.what()); throw; }
///
/// Destruction waits until the others need the store no more.
class World {
 public:
  /// Meets the others. Throws Error (unavailable) where some have not come after `seconds`, with their numbers.
  explicit World(const Place& place, double seconds = 300);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] const Place& place() const;
  /// Throws where another rank is known to have failed; costs nothing.
  void check() const;
  /// Every rank's bytes by rank, at rank 0; none elsewhere. All ranks call it equally often.
  [[nodiscard]] std::vector<std::string> gather(const std::string& bytes);
  /// Tells the others that this rank fails, and why.
  void fail(const std::string& why) noexcept;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace ckpt::eval
