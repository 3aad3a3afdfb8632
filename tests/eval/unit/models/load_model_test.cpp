#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "ckpt/torch.h"
#include "models/model.h"

namespace ckpt::eval {
namespace {

/// Counts the bytes that are read of another source.
class CountedSource final : public ByteSource {
 public:
  CountedSource(ByteSourcePtr whole, std::uint64_t& count)
      : ByteSource(whole->name()), whole_(std::move(whole)), count_(&count) {}

  [[nodiscard]] std::uint64_t size() const override { return whole_->size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::size_t got = whole_->read_at(offset, out);
    *count_ += got;
    return got;
  }

 private:
  ByteSourcePtr whole_;
  std::uint64_t* count_;
};

class LoadModel : public testing::Test {
 protected:
  LoadModel() {
    for (Storage& storage : checkpoint.storages) storage.bytes = std::make_shared<CountedSource>(storage.bytes, read);
  }

  std::unique_ptr<Model> load(const std::function<bool()>& has_cuda = {}) {
    ModelRequest request;
    request.arch = "mlp";
    request.has_cuda = has_cuda;
    return load_model(checkpoint, request, notes);
  }

  /// 3 to 4 to 2, as float32 and float16.
  Checkpoint checkpoint = from_torch({{"module.a.weight", at::rand({4, 3})},
                                      {"module.a.bias", at::rand({4})},
                                      {"module.b.weight", at::ones({2, 4}, at::kHalf)}});
  const std::uint64_t bytes = sizeof(float) * (12 + 4) + 2 * 8;
  std::uint64_t read = 0;
  std::vector<std::string> notes;
};

TEST_F(LoadModel, leaves_the_digest_nothing_to_read) {
  const std::string before = digest(checkpoint, "auto").total;
  read = 0;
  const auto model = load();
  EXPECT_EQ(digest(checkpoint, "auto").total, before);
  EXPECT_EQ(read, bytes);
}

TEST_F(LoadModel, asks_for_cuda_where_a_tag_says_so) {
  int asked = 0;
  const auto has_cuda = [&] { return ++asked > 0; };
  static_cast<void>(load(has_cuda));
  EXPECT_EQ(asked, 0);
  checkpoint.storages.front().location = "cuda:0";
  static_cast<void>(load(has_cuda));
  EXPECT_EQ(asked, 1);
}

TEST_F(LoadModel, speaks_of_tags_where_there_is_no_cuda) {
  const auto speaks = [&] {
    for (const std::string& note : std::exchange(notes, {}))
      if (note.find("tagged cuda:0") != std::string::npos) return true;
    return false;
  };
  static_cast<void>(load());
  EXPECT_FALSE(speaks());
  checkpoint.storages.front().location = "cuda:0";
  static_cast<void>(load([] { return true; }));
  EXPECT_FALSE(speaks());
  static_cast<void>(load([] { return false; }));
  EXPECT_TRUE(speaks());
}

}  // namespace
}  // namespace ckpt::eval
