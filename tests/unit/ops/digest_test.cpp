#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "ckpt/error.h"
#include "ckpt/ops.h"
#include "io/bytes.h"
#include "io/checksum.h"

namespace ckpt {
namespace {

/// A checkpoint made by hand: mappings of names to tensors.
class Builder {
 public:
  Builder() { root_ = checkpoint.root = mapping(); }

  ValueId mapping() { return checkpoint.values.make_container(ValueKind::dict); }

  void set(ValueId in, std::string_view key, ValueId value) {
    const std::array<ValueId, 2> items{checkpoint.values.make_str(key), value};
    checkpoint.values.add_effect(in, EffectKind::set_items, items);
  }

  std::uint32_t storage(const std::vector<float>& values) {
    std::vector<std::byte> bytes(values.size() * sizeof(float));
    if (!bytes.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    Storage made;
    made.key = std::to_string(checkpoint.storages.size());
    made.dtype = DType::float32;
    made.location = "cpu";
    made.nbytes = bytes.size();
    made.bytes = memory_source(std::move(bytes), "storage " + made.key);
    checkpoint.storages.push_back(std::move(made));
    return static_cast<std::uint32_t>(checkpoint.storages.size() - 1);
  }

  ValueId object() {
    const ValueId callable = checkpoint.values.make_global("torch._utils", "_rebuild_tensor_v2");
    const std::array<ValueId, 2> items{callable, checkpoint.values.make_tuple({})};
    return checkpoint.values.make_object(CallKind::reduce, items);
  }

  static Tensor view(std::uint32_t storage, std::vector<std::int64_t> shape, std::vector<std::int64_t> stride,
                     std::int64_t offset = 0) {
    Tensor tensor;
    tensor.info.dtype = DType::float32;
    tensor.info.shape = std::move(shape);
    tensor.info.stride = std::move(stride);
    tensor.info.offset = offset;
    tensor.storage = storage;
    return tensor;
  }

  ValueId add(Tensor tensor) {
    tensor.value = object();
    checkpoint.tensors.push_back(tensor);
    return tensor.value;
  }

  /// At the root.
  void tensor(std::string_view name, Tensor made) { set(root_, name, add(std::move(made))); }

  ValueId root() const { return root_; }

  Checkpoint checkpoint;

 private:
  ValueId root_ = no_value;
};

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.update(as_bytes(bytes));
  return hash.hex();
}

std::string sha256(const std::vector<float>& values) {
  return sha256(std::string_view(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

std::vector<std::string> names(const CheckpointDigest& digests) {
  std::vector<std::string> result;
  for (const TensorDigest& tensor : digests.tensors) result.push_back(tensor.name);
  return result;
}

TEST(Digest, IsOverTheTensorsContiguousBytes) {
  Builder b;
  const auto storage = b.storage({0, 1, 2, 3, 4, 5});
  b.tensor("w", b.view(storage, {3, 2}, {1, 3}));
  const auto result = digest(b.checkpoint);
  ASSERT_EQ(names(result), (std::vector<std::string>{"w"}));
  EXPECT_EQ(result.tensors[0].sha256, sha256({0, 3, 1, 4, 2, 5}));
}

TEST(Digest, TotalIsOverSortedLines) {
  Builder b;
  const auto storage = b.storage({1, 2, 3});
  b.tensor("b", b.view(storage, {2}, {1}));
  b.tensor("a", b.view(storage, {}, {}, 2));
  std::vector<std::string> lines{sha256({1, 2}) + " float32 [2] b\n",
                                 sha256(std::vector<float>{3}) + " float32 [] a\n"};
  std::sort(lines.begin(), lines.end());
  EXPECT_EQ(digest(b.checkpoint).total, sha256(lines[0] + lines[1]));
}

TEST(Digest, ResultsStandInFileOrderWhateverTheStorages) {
  Builder b;
  const auto first = b.storage({1});
  const auto second = b.storage({2, 3});
  b.tensor("z", b.view(second, {1}, {1}, 1));
  b.tensor("y", b.view(first, {1}, {1}));
  b.tensor("x", b.view(second, {1}, {1}));
  const auto result = digest(b.checkpoint);
  EXPECT_EQ(names(result), (std::vector<std::string>{"z", "y", "x"}));
  EXPECT_EQ(result.tensors[0].sha256, sha256(std::vector<float>{3}));
  EXPECT_EQ(result.tensors[1].sha256, sha256(std::vector<float>{1}));
  EXPECT_EQ(result.tensors[2].sha256, sha256(std::vector<float>{2}));
}

TEST(Digest, DeviceDoesNotMatter) {
  Builder b;
  b.tensor("w", b.view(b.storage({1, 2}), {2}, {1}));
  const std::string before = digest(b.checkpoint).total;
  b.checkpoint.storages[0].location = "cuda:3";
  EXPECT_EQ(digest(b.checkpoint).total, before);
}

TEST(Digest, ShapeMatters) {
  Builder a, b;
  a.tensor("w", a.view(a.storage({1, 2}), {2}, {1}));
  b.tensor("w", b.view(b.storage({1, 2}), {1, 2}, {2, 1}));
  EXPECT_EQ(digest(a.checkpoint).tensors[0].sha256, digest(b.checkpoint).tensors[0].sha256);
  EXPECT_NE(digest(a.checkpoint).total, digest(b.checkpoint).total);
}

TEST(Digest, EmptyTensorIsTheDigestOfNothing) {
  Builder b;
  b.tensor("w", b.view(b.storage({}), {0, 4}, {4, 1}));
  EXPECT_EQ(digest(b.checkpoint).tensors[0].sha256, sha256(""));
}

TEST(Digest, SparseTensorIsDigestedByItsParts) {
  Builder b;
  const auto storage = b.storage({0, 1, 7});
  Tensor sparse;
  sparse.info.layout = Layout::sparse_coo;
  sparse.info.shape = {4};
  sparse.parts.push_back({"indices", b.view(storage, {1, 2}, {2, 1})});
  sparse.parts.push_back({"values", b.view(storage, {1}, {1}, 2)});
  b.tensor("s", sparse);
  const auto result = digest(b.checkpoint);
  EXPECT_EQ(names(result), (std::vector<std::string>{"s.indices", "s.values"}));
  EXPECT_EQ(result.tensors[1].sha256, sha256(std::vector<float>{7}));
}

TEST(Digest, MetaTensorsAreLeftOut) {
  Builder b;
  Tensor meta = b.view(0, {2}, {1});
  meta.storage.reset();
  meta.device = "meta";
  b.tensor("m", meta);
  b.tensor("w", b.view(b.storage({1}), {1}, {1}));
  EXPECT_EQ(names(digest(b.checkpoint)), (std::vector<std::string>{"w"}));
}

TEST(Digest, TensorWithoutStorageIsRefusedByName) {
  Builder b;
  Tensor tensor = b.view(0, {2}, {1});
  tensor.storage.reset();
  b.tensor("n", tensor);
  try {
    digest(b.checkpoint);
    FAIL() << "was digested";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported);
    EXPECT_NE(std::string(error.what()).find("'n'"), std::string::npos);
  }
}

TEST(Digest, ExpansionPastItsLimitNamesTheTensor) {
  Builder b;
  b.tensor("wide", b.view(b.storage({1}), {1 << 20, 1 << 20}, {0, 0}));
  try {
    digest(b.checkpoint);
    FAIL() << "was digested";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit_exceeded);
    EXPECT_NE(std::string(error.what()).find("'wide'"), std::string::npos);
  }
}

TEST(Digest, ExpansionOfAllTensorsHasALimitToo) {
  Builder b;
  const auto storage = b.storage({1});
  b.tensor("wide", b.view(storage, {1 << 28}, {0}));  // as much as one may stand for
  b.tensor("more", b.view(storage, {1}, {1}));
  try {
    digest(b.checkpoint);
    FAIL() << "was digested";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::limit_exceeded);
  }
}

TEST(Digest, NamesOfOneViewExpandOnce) {
  Builder b;
  const auto storage = b.storage({1});
  for (int i = 0; i < 300; ++i) b.tensor(std::to_string(i), b.view(storage, {1 << 20}, {0}));
  EXPECT_EQ(digest(b.checkpoint).tensors.size(), 300U);
}

TEST(Digest, ViewPastItsStorageNamesTheTensor) {
  Builder b;
  b.tensor("w", b.view(b.storage({1}), {2}, {1}));
  try {
    digest(b.checkpoint);
    FAIL() << "was digested";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::corrupt);
    EXPECT_NE(std::string(error.what()).find("'w'"), std::string::npos);
  }
}

/// {"epoch": tensor, "model": {"w": tensor}, "ema": {"w": tensor}}
Builder trainer() {
  Builder b;
  const auto storage = b.storage({1, 2, 3});
  const ValueId model = b.mapping(), ema = b.mapping(), wrapper = b.mapping();
  b.set(model, "w", b.add(b.view(storage, {1}, {1}, 1)));
  b.set(ema, "w", b.add(b.view(storage, {1}, {1}, 2)));
  b.set(wrapper, "deep", ema);
  b.set(b.root(), "model", model);
  b.set(b.root(), "ema", wrapper);
  return b;
}

TEST(Digest, RootLimitsItAndNamesAreRelative) {
  const auto result = digest(trainer().checkpoint, "ema.deep");
  ASSERT_EQ(names(result), (std::vector<std::string>{"w"}));
  EXPECT_EQ(result.tensors[0].sha256, sha256(std::vector<float>{3}));
}

TEST(Digest, RootIsAWholePathNotAPrefix) { EXPECT_THROW(digest(trainer().checkpoint, "ema.d"), Error); }

TEST(Digest, AutoFindsTheUsualStateDict) {
  const auto result = digest(trainer().checkpoint, "auto");
  ASSERT_EQ(names(result), (std::vector<std::string>{"w"}));
  EXPECT_EQ(result.tensors[0].sha256, sha256(std::vector<float>{2}));
}

TEST(Digest, AutoMakesATrainersFileAgreeWithBareWeights) {
  Builder bare;
  bare.tensor("w", bare.view(bare.storage({2}), {1}, {1}));
  EXPECT_EQ(digest(trainer().checkpoint, "auto").total, digest(bare.checkpoint).total);
}

TEST(Digest, AutoRefusesToChooseAmongUnusualOnes) {
  Builder b;
  const auto storage = b.storage({1, 2});
  for (std::string_view path : {"generator", "critic"}) {
    const ValueId dict = b.mapping();
    b.set(dict, "w", b.add(b.view(storage, {1}, {1})));
    b.set(b.root(), path, dict);
  }
  try {
    digest(b.checkpoint, "auto");
    FAIL() << "chose one";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("generator, critic"), std::string::npos);
    EXPECT_EQ(error.hint(), "--root generator");
  }
}

TEST(Digest, AutoWithoutAnyStateDictIsRefused) {
  Builder b;
  EXPECT_THROW(digest(b.checkpoint, "auto"), Error);
}

}  // namespace
}  // namespace ckpt
