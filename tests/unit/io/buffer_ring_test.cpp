#include "io/buffer_ring.h"

#include <gtest/gtest.h>

#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>

namespace ckpt {
namespace {

/// Strings of one letter each, 1 to 7 long, from one thread to another.
std::string carry(BufferRing& ring, int count) {
  std::thread filling([&] {
    for (int i = 0; i < count; ++i) {
      const auto room = ring.room();
      if (room.empty()) return;
      std::memset(room.data(), 'a' + i % 26, static_cast<std::size_t>(i % 7 + 1));
      ring.filled(static_cast<std::size_t>(i % 7 + 1));
    }
    ring.end();
  });
  std::string got;
  for (auto bytes = ring.next(); !bytes.empty(); bytes = ring.next()) {
    got.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    ring.emptied();
  }
  filling.join();
  return got;
}

TEST(BufferRing, carries_all_in_order) {
  std::string expected;
  for (int i = 0; i < 5000; ++i)
    expected += std::string(static_cast<std::size_t>(i % 7 + 1), static_cast<char>('a' + i % 26));
  for (const std::size_t buffers : {1, 2, 5}) {
    BufferRing ring(buffers, 8);
    EXPECT_EQ(carry(ring, 5000), expected) << buffers;
  }
}

TEST(BufferRing, hands_on_what_filling_failed_with_after_what_was_filled) {
  BufferRing ring(3, 8);
  ASSERT_EQ(ring.room().size(), 8);
  ring.filled(5);
  ring.end(std::make_exception_ptr(std::runtime_error("no")));
  EXPECT_EQ(ring.next().size(), 5);
  ring.emptied();
  EXPECT_THROW(static_cast<void>(ring.next()), std::runtime_error);
}

TEST(BufferRing, tells_who_fills_that_no_more_is_wanted) {
  BufferRing ring(1, 8);
  static_cast<void>(ring.room());
  ring.filled(8);
  std::thread stopping([&] { ring.stop(); });
  EXPECT_TRUE(ring.room().empty());
  stopping.join();
}

TEST(BufferRing, hands_back_what_emptying_failed_with) {
  BufferRing ring(2, 8);
  static_cast<void>(ring.room());
  ring.filled(1);
  ring.stop(std::make_exception_ptr(std::runtime_error("no")));
  EXPECT_THROW(ring.wait_until_empty(), std::runtime_error);
  EXPECT_THROW(static_cast<void>(ring.room()), std::runtime_error);
}

}  // namespace
}  // namespace ckpt
