#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace ckpt::eval {

/// Where this process stands among others, as torchrun (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT), plain
/// variables or Slurm say.
struct Place {
  std::uint64_t rank = 0, size = 1;
  std::optional<std::uint64_t> local_rank;
};

/// None where no variable speaks of ranks. Throws Error (invalid_argument) where they contradict each other or some
/// are missing, naming them.
[[nodiscard]] std::optional<Place> place_from_environment();

/// All ranks of a run, joined through c10d's TCPStore. Every wait is bounded; a rank that dies or fails makes the
/// others throw Error (unavailable) with its number and what it said.
class World {
 public:
  virtual ~World() = default;
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  [[nodiscard]] virtual const Place& place() const = 0;
  /// Element sums over all ranks, at every rank.
  [[nodiscard]] virtual std::vector<std::uint64_t> sum(const std::vector<std::uint64_t>& values) = 0;
  /// Every rank's bytes by rank, at rank 0; empty elsewhere.
  [[nodiscard]] virtual std::vector<std::vector<std::byte>> gather(const std::vector<std::byte>& bytes) = 0;
  /// Tells the others that this rank fails, and why. Never throws.
  virtual void fail(const std::string& why) noexcept = 0;

 protected:
  World() = default;
};

/// Meets the other ranks. Throws Error (unavailable) after `seconds` without them.
[[nodiscard]] std::unique_ptr<World> join_world(const Place& place, double seconds = 300);

}  // namespace ckpt::eval
