#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace ckpt::eval {

/// Where this process stands among the ranks of a run, and where they meet.
struct Place {
  std::uint64_t rank = 0, size = 1;
  std::optional<std::uint64_t> local_rank;  ///< among the ranks of this machine: which GPU is its own
  std::string host;                         ///< of the store
  std::uint16_t port = 0;
  bool store_runs = false;  ///< a launcher holds the store; else rank 0 does
  std::string attempt;      ///< tells this run from one that a launcher has started again
};

/// A variable of the environment; none where it is not set.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;

/// This process's own.
[[nodiscard]] Environment process_environment();

/// From torchrun's variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT: also set by hand), else from
/// those of a Slurm step (srun). None where neither speaks of ranks. Throws Error (invalid_argument) where one is
/// missing or is no number, naming it.
[[nodiscard]] std::optional<Place> find_place(const Environment& environment);

/// The first host of Slurm's list of nodes: "gpu07" of "gpu[07-09,12],login1".
[[nodiscard]] std::string first_host(const std::string& nodes);

}  // namespace ckpt::eval
