#include "world.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "ckpt/error.h"
#include "ckpt/eval.h"
#include "distributed/store.h"
#include "threads/start_thread.h"

namespace ckpt::eval {
namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

constexpr auto beat_every = 500ms;
constexpr auto silence = 15s;      // a rank that has not beaten for so long is gone
constexpr auto farewell = 10s;     // how long rank 0 holds the store for the others
constexpr auto hearsay = 2s;       // the same, where a rank is gone and will never say that it needs it no more
constexpr auto poll_every = 10ms;  // a check for what others have written
constexpr std::size_t piece = 1 << 22;

Error gone(const std::string& what) {
  return Error(ErrorCode::unavailable, what)
      .hint("its own output says why; the rest of the run was given up, so that nothing partial is reported");
}

std::string rank_key(const std::string& what, std::uint64_t rank) { return what + "/" + std::to_string(rank); }

}  // namespace

/// The store, and a thread that says every half second that this rank lives and looks whether the others do.
class World::State {
 public:
  State(const Place& place, double seconds) : place_(place) {
    if (place_.size == 1) return;
    connect(seconds);
    try {
      meet(seconds);
    } catch (const c10::Error& error) {
      throw lost(error);
    }
    watcher_ = start_thread([this] { watch(); });
  }

  ~State() {
    if (place_.size == 1) return;
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    wake_.notify_all();
    watcher_.join();
    try {
      store_->add("left", 1);
      // Rank 0 holds the store for those who still read: a result, or which rank has failed.
      const auto until = Clock::now() + (failed() ? hearsay : farewell);
      const bool holds = place_.rank == 0 && !place_.store_runs;
      while (holds && static_cast<std::uint64_t>(store_->add("left", 0)) < place_.size && Clock::now() < until)
        std::this_thread::sleep_for(poll_every);
    } catch (const std::exception&) {
      // Nobody is left to tell.
    }
  }

  State(const State&) = delete;
  State& operator=(const State&) = delete;

  [[nodiscard]] const Place& place() const { return place_; }

  void check() const {
    if (!failed()) return;
    const std::lock_guard lock(mutex_);
    throw gone(failure_);
  }

  std::vector<std::string> gather(const std::string& bytes) {
    if (place_.size == 1) return {bytes};
    try {
      const std::string round = "gather/" + std::to_string(rounds_++);
      if (place_.rank != 0) {
        put(rank_key(round, place_.rank), bytes);
        // Until rank 0 has all, this rank counts: should another fail now, it fails as well.
        await(round + "/done", 0);
        return {};
      }
      std::vector<std::string> all{bytes};
      for (std::uint64_t rank = 1; rank < place_.size; ++rank) all.push_back(take(rank_key(round, rank), rank));
      store_->set(round + "/done", "1");
      return all;
    } catch (const c10::Error& error) {
      throw lost(error);
    }
  }

  void fail(const std::string& why) noexcept {
    if (place_.size == 1) return;
    try {
      const std::string what = "rank " + std::to_string(place_.rank) + " failed: " + why;
      store_->set_once("failure", what);
    } catch (const std::exception&) {
      // The others will miss its beats.
    }
  }

 private:
  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }

  [[nodiscard]] Error lost(const c10::Error& error) const {
    if (failed()) {
      const std::lock_guard lock(mutex_);
      return gone(failure_);
    }
    const std::string holder = place_.store_runs ? "the launcher" : "rank 0";
    return gone("rank " + std::to_string(place_.rank) + " lost the store that " + holder + " holds at " + place_.host +
                ":" + std::to_string(place_.port) + " (" + error.what_without_backtrace() + ")");
  }

  void connect(double seconds) {
    try {
      store_.emplace(place_, seconds);
    } catch (const c10::Error& error) {
      throw Error(ErrorCode::unavailable, "rank " + std::to_string(place_.rank) + " found no store at " + place_.host +
                                              ":" + std::to_string(place_.port) + " (" +
                                              error.what_without_backtrace() + ")")
          .hint("MASTER_ADDR and MASTER_PORT must be those of rank 0, reachable from every rank, and free there");
    }
  }

  void meet(double seconds) {
    const auto until = Clock::now() + std::chrono::duration<double>(seconds);
    store_->add(rank_key("beat", place_.rank), 1);
    for (;;) {
      std::string missing;
      for (std::uint64_t rank = 0; rank < place_.size; ++rank)
        if (store_->add(rank_key("beat", rank), 0) == 0)
          missing += (missing.empty() ? "" : ", ") + std::to_string(rank);
      if (missing.empty()) return;
      if (Clock::now() > until)
        throw Error(ErrorCode::unavailable,
                    "of " + std::to_string(place_.size) + " ranks these did not come: " + missing)
            .hint("start as many processes as WORLD_SIZE says, each with its own RANK from 0 on");
      std::this_thread::sleep_for(poll_every);
    }
  }

  void watch() {
    struct Pulse {
      std::int64_t beats = 0;
      Clock::time_point seen = Clock::now();
    };
    std::vector<Pulse> pulses(place_.size);
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, beat_every, [this] { return ended_; })) {
      lock.unlock();
      try {
        store_->add(rank_key("beat", place_.rank), 1);
        if (store_->has("failure")) note_failure(store_->get("failure"));
        // Rank 0 listens to all, and the others to rank 0.
        for (std::uint64_t rank = 0; rank < (place_.rank == 0 ? place_.size : 1); ++rank) {
          const std::int64_t beats = store_->add(rank_key("beat", rank), 0);
          if (beats != pulses[rank].beats) pulses[rank] = {beats, Clock::now()};
          if (Clock::now() - pulses[rank].seen > silence && !store_->has(rank_key("left", rank)))
            announce("rank " + std::to_string(rank) + " has died or hangs: it has not been heard of for " +
                     std::to_string(silence.count()) + " s");
        }
      } catch (const c10::Error& error) {
        note_failure(lost(error).what());
      }
      lock.lock();
    }
    lock.unlock();
    try {
      store_->set(rank_key("left", place_.rank), "1");
    } catch (const std::exception&) {
      // The store is gone, and with it whoever would have read it.
    }
  }

  void announce(const std::string& what) {
    note_failure(what);
    store_->set_once("failure", what);
  }

  void note_failure(const std::string& what) {
    const std::lock_guard lock(mutex_);
    if (failed()) return;
    failure_ = what;
    failed_.store(true, std::memory_order_release);
  }

  /// Until `rank` has written it.
  void await(const std::string& key, std::uint64_t rank) {
    for (std::uint64_t polls = 0; !store_->has(key); ++polls) {
      check();
      // It may have ended in good order and without a word, over something that only it met.
      const bool left = polls % 50 == 49 && store_->has(rank_key("left", rank));
      if (left && !store_->has(key)) announce("rank " + std::to_string(rank) + " has ended before it had a result");
      std::this_thread::sleep_for(poll_every);
    }
  }

  // In pieces: the store takes 8 MiB a request at most, and a beat must not wait behind a long one.
  void put(const std::string& key, const std::string& bytes) {
    const std::size_t pieces = (bytes.size() + piece - 1) / piece;
    for (std::size_t at = 0; at < pieces; ++at) store_->set(rank_key(key, at), bytes.substr(at * piece, piece));
    store_->set(key, std::to_string(pieces));
  }

  std::string take(const std::string& key, std::uint64_t rank) {
    await(key, rank);
    const std::size_t pieces = std::stoull(store_->get(key));
    std::string out;
    for (std::size_t at = 0; at < pieces; ++at) {
      out += store_->get(rank_key(key, at));
      store_->remove(rank_key(key, at));
    }
    return out;
  }

  Place place_;
  std::optional<BoundedStore> store_;
  std::uint64_t rounds_ = 0;
  mutable std::mutex mutex_;  // of ended_ and failure_
  std::condition_variable wake_;
  bool ended_ = false;
  std::string failure_;
  std::atomic<bool> failed_ = false;
  std::thread watcher_;
};

World::World(const Place& place, double seconds) : state_(std::make_unique<State>(place, seconds)) {}
World::~World() = default;
const Place& World::place() const { return state_->place(); }

std::shared_ptr<World> join_world() {
  const std::optional<Place> place = find_place(process_environment());
  return place ? std::make_shared<World>(*place) : nullptr;
}

std::uint64_t rank_in(const World* world) { return world == nullptr ? 0 : world->place().rank; }

void World::check() const { state_->check(); }
std::vector<std::string> World::gather(const std::string& bytes) { return state_->gather(bytes); }
void World::fail(const std::string& why) noexcept { state_->fail(why); }

}  // namespace ckpt::eval
