#include "store_group.h"

#include <ckpt/error.h>

#include <cstdlib>
#include <cstring>
#include <thread>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "nccl.h"

namespace training {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t piece = 1 << 22;  // the store takes 8 MiB a request at most

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr)
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument, std::string(name) + " is not set, and WORLD_SIZE is")
        .hint("torchrun --nproc-per-node 2 --no-python PROGRAM train … sets all that ranks need");
  return value;
}

int number(const char* name) {
  const std::string value = variable(name);
  char* end = nullptr;
  const long parsed = std::strtol(value.c_str(), &end, 10);
  if (value.empty() || *end != '\0' || parsed < 0 || parsed > 65535)
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument, std::string(name) + " is '" + value + "', no such number");
  return static_cast<int>(parsed);
}

/// Ranks that meet at a store, which lives until all have left it.
class StoreGroup : public Group {
 public:
  explicit StoreGroup(const Place& place)
      : Group(place.rank, place.size), holds_(place.rank == 0 && !place.store_runs) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(place.port);
    options.isServer = holds_;
    options.numWorkers = static_cast<std::size_t>(place.size);
    store_ = c10::make_intrusive<c10d::PrefixStore>("training/" + place.attempt,
                                                    c10::make_intrusive<c10d::TCPStore>(place.host, options));
  }

  ~StoreGroup() override {
    try {
      store_->add("left", 1);
      for (int waits = 0; holds_ && store_->add("left", 0) < size() && waits < 1000; ++waits)
        std::this_thread::sleep_for(10ms);
    } catch (const std::exception&) {
      // The store is gone, and with it whoever would have needed this rank.
    }
  }

  /// Every rank adds in the order of the ranks, so that all get the same sum.
  void sum(at::Tensor& values) override {
    const auto size_in_bytes = static_cast<std::size_t>(values.numel()) * sizeof(float);
    const at::Tensor here = values.cpu();
    const auto* const mine = static_cast<const std::uint8_t*>(here.const_data_ptr());
    for (std::size_t at = 0; at < size_in_bytes; at += piece)
      store_->set(key(rounds_, rank(), at), Bytes(mine + at, mine + std::min(size_in_bytes, at + piece)));
    std::vector<float> total(static_cast<std::size_t>(values.numel()));
    for (int other = 0; other < size(); ++other)
      for (std::size_t at = 0; at < size_in_bytes; at += piece) add(total, at, store_->get(key(rounds_, other, at)));
    std::memcpy(here.mutable_data_ptr(), total.data(), size_in_bytes);
    values.copy_(here);  // which on the CPU is the same
    // All have begun this round, so all have read the one before it.
    for (std::size_t at = 0; rounds_ > 0 && at < last_size_; at += piece)
      store_->deleteKey(key(rounds_ - 1, rank(), at));
    last_size_ = size_in_bytes;
    ++rounds_;
  }

 protected:
  c10d::Store& store() { return *store_; }

 private:
  static std::string key(std::uint64_t round, int rank, std::size_t at) {
    return std::to_string(round) + "/" + std::to_string(rank) + "/" + std::to_string(at);
  }

  static void add(std::vector<float>& total, std::size_t at, const Bytes& bytes) {
    if (bytes.size() % sizeof(float) != 0 || at / sizeof(float) + bytes.size() / sizeof(float) > total.size())
      throw ckpt::Error(ckpt::ErrorCode::unavailable, "another rank sent another number of values")
          .hint("all ranks must run the same program with the same options");
    for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
      float value = 0;
      std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
      total[at / sizeof(float) + i] += value;
    }
  }

  const bool holds_;
  c10::intrusive_ptr<c10d::Store> store_;
  std::uint64_t rounds_ = 0;
  std::size_t last_size_ = 0;
};

/// The same, with sums among GPUs by NCCL; the store only hands its id around.
class NcclGroup final : public StoreGroup {
 public:
  explicit NcclGroup(const Place& place) : StoreGroup(place) {
    if (rank() == 0) store().set("nccl", Nccl::new_id());
    nccl_.emplace(rank(), size(), store().get("nccl"));
  }

  void sum(at::Tensor& values) override { nccl_->sum(values); }

 private:
  std::optional<Nccl> nccl_;
};

}  // namespace

std::optional<Place> torchrun_place() {
  if (std::getenv("WORLD_SIZE") == nullptr) return std::nullopt;
  Place place;
  place.rank = number("RANK");
  place.size = number("WORLD_SIZE");
  place.local_rank = std::getenv("LOCAL_RANK") == nullptr ? place.rank : number("LOCAL_RANK");
  if (place.rank >= place.size)
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument, "RANK is not below WORLD_SIZE: ranks count from 0");
  place.host = variable("MASTER_ADDR");
  place.port = number("MASTER_PORT");
  const char* const runs = std::getenv("TORCHELASTIC_USE_AGENT_STORE");
  place.store_runs = runs != nullptr && std::string(runs) == "True";
  const char* const attempt = std::getenv("TORCHELASTIC_RESTART_COUNT");
  place.attempt = attempt == nullptr ? "0" : attempt;
  return place;
}

std::unique_ptr<Group> join_ranks(const Place& place, const std::vector<at::Device>& devices) {
  if (devices.size() != 1)
    throw ckpt::Error(ckpt::ErrorCode::invalid_argument, "several devices were named for one rank")
        .hint("--device cuda gives each rank the GPU of its LOCAL_RANK");
  if (devices.front().is_cuda()) return std::make_unique<NcclGroup>(place);
  return std::make_unique<StoreGroup>(place);
}

}  // namespace training
