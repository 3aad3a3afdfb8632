#include "ops/ordered_work.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

namespace ckpt {
namespace {

struct Numbered final : WorkPiece {
  explicit Numbered(std::vector<int>& joined) : joined_(joined) {}
  void work() override {
    if (number % 3 == 0) std::this_thread::yield();
    if (number == throws) throw std::runtime_error(std::to_string(number));
    done = true;
  }
  void join() override {
    EXPECT_TRUE(done);
    joined_.push_back(number);
  }
  int number = 0, throws = -1;
  bool done = false;

 private:
  std::vector<int>& joined_;
};

/// Pieces 0 to `count` - 1, of which some throw; what was joined.
std::vector<int> joined(std::size_t threads, int count, const std::vector<int>& throwing = {}, int* made = nullptr) {
  std::vector<int> all;
  int next = 0;
  const auto make = [&](std::unique_ptr<WorkPiece> used) -> std::unique_ptr<WorkPiece> {
    if (next == count) return nullptr;
    std::unique_ptr<Numbered> piece(static_cast<Numbered*>(used.release()));
    if (!piece) {
      piece = std::make_unique<Numbered>(all);
      if (made != nullptr) ++*made;
    }
    piece->number = next++;
    piece->done = false;
    for (const int number : throwing)
      if (number == piece->number) piece->throws = number;
    return piece;
  };
  try {
    work_in_order(threads, make);
  } catch (const std::runtime_error& error) {
    all.push_back(-std::stoi(error.what()));
  }
  return all;
}

TEST(OrderedWork, IsJoinedInTheOrderInWhichItWasMade) {
  std::vector<int> expected;
  for (int i = 0; i < 500; ++i) expected.push_back(i);
  for (const std::size_t threads : {std::size_t{1}, std::size_t{2}, std::size_t{8}, SIZE_MAX})
    EXPECT_EQ(joined(threads, 500), expected) << threads;
}

TEST(OrderedWork, ThrowsWhatTheFirstPieceThrew) {
  for (const std::size_t threads : {1U, 2U, 8U})
    EXPECT_EQ(joined(threads, 100, {5, 4, 6}), (std::vector<int>{0, 1, 2, 3, -4})) << threads;
}

TEST(OrderedWork, HoldsAFewPiecesAndUsesThemAgain) {
  int made = 0;
  joined(4, 1000, {}, &made);
  EXPECT_LE(made, 8);
}

TEST(OrderedWork, ThrowsWhatMakingAPieceThrew) {
  for (const std::size_t threads : {1U, 4U})
    EXPECT_THROW(work_in_order(threads, [](auto) -> std::unique_ptr<WorkPiece> { throw std::logic_error("no"); }),
                 std::logic_error);
}

}  // namespace
}  // namespace ckpt
