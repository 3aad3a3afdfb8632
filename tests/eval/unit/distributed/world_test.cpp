#include "distributed/world.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>

#include "ckpt/error.h"

namespace ckpt::eval {
namespace {

/// A port of this machine on which somebody listens and never answers, or, closed again, one that is free.
class Port {
 public:
  Port() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    number_ = ntohs(address.sin_port);
  }
  ~Port() { close(); }
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  void close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
  }
  [[nodiscard]] std::uint16_t number() const { return number_; }

 private:
  int socket_;
  std::uint16_t number_ = 0;
};

Place place(std::uint64_t rank, std::uint64_t size, std::uint16_t port) {
  Place out;
  out.rank = rank;
  out.size = size;
  out.host = "127.0.0.1";
  out.port = port;
  out.attempt = "0";
  return out;
}

Place free_place(std::uint64_t rank, std::uint64_t size) {
  Port port;
  port.close();
  return place(rank, size, port.number());
}

std::string refusal(const Place& where, double seconds) {
  try {
    const World world(where, seconds);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unavailable);
    return error.what();
  }
  return {};
}

TEST(World, OneRankNeedsNoStore) {
  World world(Place{});
  EXPECT_EQ(world.gather("x"), std::vector<std::string>{"x"});
  world.check();
}

TEST(World, RanksThatNeverComeAreNamed) {
  EXPECT_NE(refusal(free_place(0, 3), 0.3).find("of 3 ranks these did not come: 1, 2"), std::string::npos);
}

TEST(World, RankZeroThatNeverComesIsBounded) {
  EXPECT_NE(refusal(free_place(1, 2), 0.3).find("rank 1 found no store at 127.0.0.1:"), std::string::npos);
}

TEST(World, StoreThatNeverAnswersIsBounded) {
  const Port silent;
  EXPECT_NE(refusal(place(1, 2, silent.number()), 0.3).find("rank 1 found no store"), std::string::npos);
}

TEST(World, GathersByRankAndInPieces) {
  const Place zero = free_place(0, 2), one = place(1, 2, zero.port);
  const std::string large(9 << 20, 'x');
  auto other = std::async(std::launch::async, [&] {
    World world(one, 20);
    const auto first = world.gather("one"), second = world.gather(large);
    return first.empty() && second.empty();
  });
  {
    World world(zero, 20);
    EXPECT_EQ(world.gather("zero"), (std::vector<std::string>{"zero", "one"}));
    EXPECT_EQ(world.gather({}), (std::vector<std::string>{"", large}));
  }
  EXPECT_TRUE(other.get());
}

TEST(World, ARankThatFailsIsHeardOf) {
  const Place zero = free_place(0, 2), one = place(1, 2, zero.port);
  auto other = std::async(std::launch::async, [&] { World(one, 20).fail("its disk is full"); });
  World world(zero, 20);
  try {
    (void)world.gather("zero");
    FAIL() << "gathered what was never sent";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("rank 1"), std::string::npos) << error.what();
  }
  other.get();
}

}  // namespace
}  // namespace ckpt::eval
