#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "group.h"

namespace training {

/// What torchrun tells a process (env://): RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT.
struct Place {
  int rank = 0, size = 1, local_rank = 0;
  std::string host;
  int port = 0;
  bool store_runs = false;  ///< torchrun holds the store; else rank 0 does
  std::string attempt;      ///< tells this run from one that torchrun has started again
};

/// None where WORLD_SIZE is not set. Throws ckpt::Error (invalid_argument), naming a variable that is missing or wrong.
std::optional<Place> torchrun_place();

/// Meets the other ranks at c10d's TCPStore. Sums go through NCCL where the device is a GPU, else through the store
/// itself: the same to the last bit on every rank, and slow. Throws ckpt::Error: invalid_argument (several devices for
/// one rank); c10::Error where the ranks do not meet.
std::unique_ptr<Group> join_ranks(const Place& place, const std::vector<at::Device>& devices);

}  // namespace training
