#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using torch_testing::checkpoint_of;
using torch_testing::refusal;
using torch_testing::sizes;
using torch_testing::storage;
using torch_testing::tensor;
using torch_testing::values;
using torch_testing::weight;
using torch_testing::ZipFile;
using Floats = std::vector<float>;

py::Code rebuild(const std::string& name, const std::vector<py::Code>& arguments) {
  return py::call(py::global("torch._utils", name), arguments);
}

std::string refused(const py::Code& object) {
  const auto error = refusal(bytes_of(ZipFile{.object = object}));
  return error ? error->what() : "read";
}

TEST(Tensors, HaveShapeStrideAndOffset) {
  const auto checkpoint = checkpoint_of(tensor(storage(), {2, 1}, {2, 9}, 1));
  ASSERT_EQ(checkpoint.tensors.size(), 1U);
  const TensorInfo& info = checkpoint.tensors[0].info;
  EXPECT_EQ(info.dtype, DType::float32);
  EXPECT_EQ(info.shape, (std::vector<std::int64_t>{2, 1}));
  EXPECT_EQ(info.stride, (std::vector<std::int64_t>{2, 9}));
  EXPECT_EQ(info.offset, 1);
  EXPECT_EQ(values(checkpoint, 0), (Floats{1, 3}));
}

TEST(Tensors, MayBeScalarsEmptyOrExpanded) {
  EXPECT_EQ(values(checkpoint_of(tensor(storage(), {}, {}, 3)), 0), (Floats{3}));
  EXPECT_EQ(values(checkpoint_of(tensor(storage(), {0, 5}, {5, 1}, 4)), 0), Floats{});
  EXPECT_EQ(values(checkpoint_of(tensor(storage(), {3}, {0}, 2)), 0), (Floats{2, 2, 2}));
}

TEST(Tensors, OfTorch01HaveNoGradient) {
  const auto code = rebuild("_rebuild_tensor", {storage(), py::integer(0), sizes({4}), sizes({1})});
  EXPECT_EQ(values(checkpoint_of(code), 0), (Floats{0, 1, 2, 3}));
}

TEST(Tensors, MayHaveTorchSizes) {
  const auto size = py::call(py::global("torch", "Size"), {sizes({2, 2})});
  const auto code = rebuild("_rebuild_tensor", {storage(), py::integer(0), size, sizes({1, 2})});
  EXPECT_EQ(values(checkpoint_of(code), 0), (Floats{0, 2, 1, 3}));
}

TEST(Tensors, OfUntypedStoragesSayTheirDtype) {
  const auto bytes = storage({.type = "UntypedStorage", .elements = 16, .module = "torch.storage"});
  const auto code = rebuild("_rebuild_tensor_v3", {bytes, py::integer(1), sizes({7}), sizes({1}), py::boolean(false),
                                                   py::ordered_dict({}), py::global("torch", "uint16")});
  const auto checkpoint = checkpoint_of(code);
  EXPECT_EQ(checkpoint.tensors[0].info.dtype, DType::uint16);
  EXPECT_NE(refused(rebuild("_rebuild_tensor_v3", {bytes, py::integer(2), sizes({7}), sizes({1}), py::boolean(false),
                                                   py::ordered_dict({}), py::global("torch", "uint16")})),
            "read");
}

/// torch.save({"a": e, "b": e.view(torch.int32)}) of an empty one, which torch loads.
TEST(Tensors, OfNoElementsMayShareAStorageOfNone) {
  const auto of = [](const char* type) { return tensor(storage({.type = type, .elements = 0}), {0}, {1}); };
  const auto checkpoint = torch_testing::read_bytes(bytes_of(
      torch_testing::ZipFile{.object = py::list({of("FloatStorage"), of("IntStorage")}), .data = {{"data/0", {}}}}));
  ASSERT_EQ(checkpoint.tensors.size(), 2U);
  EXPECT_EQ(checkpoint.tensors[0].info.dtype, DType::float32);
  EXPECT_EQ(checkpoint.tensors[1].info.dtype, DType::int32);
  const auto again = torch_testing::read_bytes(torch_testing::written(checkpoint));
  EXPECT_EQ(again.tensors[1].info.dtype, DType::int32);
}

/// Of PyTorch 1.7 to 1.11, in either module.
TEST(Tensors, OfAClassOfTheirOwnAreTensors) {
  for (const auto& [module, name] :
       {std::pair("torch.tensor", "_rebuild_from_type"), std::pair("torch._tensor", "_rebuild_from_type"),
        std::pair("torch._tensor", "_rebuild_from_type_v2")}) {
    const py::Code inner =
        py::tuple({storage(), py::integer(0), sizes({4}), sizes({1}), py::boolean(false), py::ordered_dict({})});
    const auto checkpoint = checkpoint_of(
        py::call(py::global(module, name), {py::global("torch._utils", "_rebuild_tensor_v2"), py::global("m", "Own"),
                                            inner, py::dict({{py::str("note"), py::str("kept")}})}));
    ASSERT_EQ(checkpoint.tensors.size(), 1U) << module << "." << name;
    EXPECT_EQ(values(checkpoint, 0), (Floats{0, 1, 2, 3}));
  }
}

TEST(Tensors, ReachNoFurtherThanTheirStorage) {
  EXPECT_EQ(refused(tensor(storage(), {4}, {1}, 1)),
            "test.pt: a float32 tensor of shape [4], stride [1], offset 1 reaches element 4, expected below "
            "4, what its "
            "storage '0' holds");
  EXPECT_NE(refused(tensor(storage(), {2}, {4})), "read");
  EXPECT_NE(refused(tensor(storage(), {}, {}, 4)), "read");
}

TEST(Tensors, ThatOverflowAreRefused) {
  EXPECT_NE(refused(tensor(storage(), {INT64_MAX}, {INT64_MAX})), "read");
  EXPECT_NE(refused(tensor(storage(), {2}, {INT64_MAX}, INT64_MAX)), "read");
  EXPECT_NE(refused(tensor(storage(), {INT64_MAX, 4}, {0, 0})), "read");
  EXPECT_NE(refused(tensor(storage(), {0, INT64_MAX, 4}, {0, 0, 0})), "read");
}

TEST(Tensors, WithNegativesAreRefused) {
  EXPECT_NE(refused(tensor(storage(), {-1}, {1})), "read");
  EXPECT_NE(refused(tensor(storage(), {2}, {-1}, 3)), "read");
  EXPECT_NE(refused(tensor(storage(), {2}, {1}, -1)), "read");
  EXPECT_NE(refused(tensor(storage(), {0}, {1}, -1)), "read");
}

TEST(Tensors, HaveAStrideADimension) { EXPECT_NE(refused(tensor(storage(), {2, 2}, {1})), "read"); }

TEST(Tensors, HaveNoMoreDimensionsThanTheLimit) {
  const std::vector<std::int64_t> ones(64, 1), more(65, 1);
  EXPECT_EQ(refused(tensor(storage(), ones, ones)), "read");
  EXPECT_NE(refused(tensor(storage(), more, more)), "read");
}

TEST(Tensors, CalledWithOtherThingsAreRefused) {
  const auto calling = [](const py::Code& storage, const py::Code& offset, const py::Code& size) {
    return refused(
        rebuild("_rebuild_tensor_v2", {storage, offset, size, sizes({1}), py::boolean(false), py::ordered_dict({})}));
  };
  EXPECT_EQ(calling(storage(), py::integer(0), sizes({4})), "read");
  EXPECT_EQ(calling(py::none(), py::integer(0), sizes({4})),
            "test.pt: torch._utils._rebuild_tensor_v2 is called with a bad argument 1, expected a storage");
  EXPECT_NE(calling(storage(), py::none(), sizes({4})), "read");
  EXPECT_NE(calling(storage(), py::integer(0), py::none()), "read");
  EXPECT_NE(calling(storage(), py::integer(0), py::tuple({py::none()})), "read");
}

TEST(Tensors, CalledWithMoreOrFewerThingsAreRefused) {
  std::vector<py::Code> arguments{storage(), py::integer(0), sizes({4}), sizes({1})};
  EXPECT_EQ(refused(rebuild("_rebuild_tensor", arguments)), "read");
  EXPECT_EQ(refused(rebuild("_rebuild_tensor_v2", arguments)),
            "test.pt: torch._utils._rebuild_tensor_v2 is called with 4 arguments, expected 6 or 7");
  arguments.resize(7, py::none());
  EXPECT_EQ(refused(rebuild("_rebuild_tensor_v2", arguments)), "read");
  EXPECT_EQ(refused(rebuild("_rebuild_tensor", arguments)),
            "test.pt: torch._utils._rebuild_tensor is called with 7 arguments, expected 4");
  arguments.resize(8, py::none());
  EXPECT_NE(refused(rebuild("_rebuild_tensor_v2", arguments)), "read");
}

TEST(Tensors, InParametersAreTheParameters) {
  const auto code = rebuild("_rebuild_parameter", {weight(), py::boolean(true), py::ordered_dict({})});
  const auto checkpoint = checkpoint_of(code);
  ASSERT_EQ(checkpoint.tensors.size(), 2U);
  EXPECT_EQ(checkpoint.tensors[1].value, checkpoint.root);
  EXPECT_EQ(values(checkpoint, 1), (Floats{0, 1, 2, 3}));
  const auto called = checkpoint_of(py::call(py::global("torch.nn.parameter", "Parameter"), {weight()}));
  EXPECT_EQ(called.tensors.back().value, called.root);
}

TEST(Tensors, OfSubclassesAreThoseTheyWrap) {
  const auto arguments =
      py::tuple({storage(), py::integer(0), sizes({4}), sizes({1}), py::boolean(false), py::ordered_dict({})});
  const auto code = py::call(
      py::global("torch._tensor", "_rebuild_from_type_v2"),
      {py::global("torch._utils", "_rebuild_tensor_v2"), py::global("zoo", "MyTensor"), arguments, py::dict({})});
  EXPECT_EQ(values(checkpoint_of(code), 0), (Floats{0, 1, 2, 3}));
}

TEST(Tensors, Of2017AreBuiltAfterTheyAreMade) {
  const auto made = py::call(py::global("torch.cuda", "FloatTensor"), {});
  const auto code = py::build(made, py::tuple({storage(), py::integer(1), sizes({3}), sizes({1})}));
  EXPECT_EQ(values(checkpoint_of(code), 0), (Floats{1, 2, 3}));
  const auto lists = py::tuple({storage(), py::integer(0), py::list({py::integer(2)}), py::list({py::integer(2)})});
  EXPECT_EQ(values(checkpoint_of(py::build(made, lists)), 0), (Floats{0, 2}));
}

TEST(Tensors, MayBeLazilyConjugateOrNegative) {
  const auto complex = storage({.type = "ComplexFloatStorage", .elements = 2});
  const auto with = [&](const py::Code& metadata) {
    return checkpoint_of(rebuild("_rebuild_tensor_v2", {complex, py::integer(0), sizes({2}), sizes({1}),
                                                        py::boolean(false), py::ordered_dict({}), metadata}))
        .tensors[0]
        .info;
  };
  EXPECT_TRUE(with(py::dict({{py::str("conj"), py::boolean(true)}})).conjugate);
  EXPECT_TRUE(with(py::dict({{py::str("neg"), py::boolean(true)}})).negative);
  EXPECT_FALSE(with(py::none()).conjugate);
}

py::Code quantised(const std::string& type, std::int64_t elements, const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& stride) {
  const auto scheme = py::tuple({py::global("torch", "per_tensor_affine"), py::real(0.5), py::integer(3)});
  return rebuild("_rebuild_qtensor", {storage({.type = type, .elements = elements}), py::integer(0), sizes(shape),
                                      sizes(stride), scheme, py::boolean(false), py::ordered_dict({})});
}

std::string refused_of_sixteen_bytes(const py::Code& object) { return refused(object); }

TEST(Tensors, MayBeQuantised) {
  const auto checkpoint = checkpoint_of(quantised("QInt8Storage", 16, {4, 4}, {4, 1}));
  EXPECT_EQ(checkpoint.tensors[0].info.dtype, DType::qint8);
}

TEST(Tensors, MayBeQuantisedWithSeveralElementsAByte) {
  EXPECT_EQ(refused_of_sixteen_bytes(quantised("QUInt4x2Storage", 16, {4, 8}, {8, 1})), "read");
  EXPECT_EQ(refused_of_sixteen_bytes(quantised("QUInt4x2Storage", 16, {4, 7}, {7, 1})), "read");
  EXPECT_NE(refused_of_sixteen_bytes(quantised("QUInt4x2Storage", 16, {4, 9}, {9, 1})), "read");
  EXPECT_EQ(refused_of_sixteen_bytes(quantised("QUInt2x4Storage", 16, {64}, {1})), "read");
  EXPECT_NE(refused_of_sixteen_bytes(quantised("QUInt2x4Storage", 16, {65}, {1})), "read");
}

py::Code layout(const py::Code& name) { return py::call(py::global("torch.serialization", "_get_layout"), {name}); }
py::Code layout(const char* name) { return layout(py::str(name)); }

TEST(Tensors, MayBeSparse) {
  const auto indices = tensor(storage(), {1, 2}, {2, 1}), values = tensor(storage(), {2}, {1}, 2);
  const auto code = rebuild("_rebuild_sparse_tensor",
                            {layout("torch.sparse_coo"), py::tuple({indices, values, sizes({9}), py::boolean(true)})});
  const auto checkpoint = checkpoint_of(code);
  const Tensor& sparse = checkpoint.tensors.back();
  EXPECT_EQ(sparse.info.layout, Layout::sparse_coo);
  EXPECT_EQ(sparse.info.shape, (std::vector<std::int64_t>{9}));
  EXPECT_FALSE(sparse.storage);
  ASSERT_EQ(sparse.parts.size(), 2U);
  EXPECT_EQ(sparse.parts[0].name, "indices");
  EXPECT_EQ(sparse.parts[1].tensor.info.offset, 2);
  EXPECT_EQ(device_of(checkpoint, sparse), "cpu");
}

TEST(Tensors, MayBeSparseByRows) {
  const auto part = tensor(storage(), {1}, {1});
  for (const py::Code& name : {py::str("torch.sparse_csr"), py::py2_str("torch.sparse_csr")}) {
    const auto checkpoint =
        checkpoint_of(rebuild("_rebuild_sparse_tensor", {layout(name), py::tuple({part, part, part, sizes({2, 2})})}));
    EXPECT_EQ(checkpoint.tensors.back().info.layout, Layout::sparse_csr);
    EXPECT_EQ(checkpoint.tensors.back().parts[0].name, "crow_indices");
  }
}

TEST(Tensors, SparseOfOtherPartsAreRefused) {
  EXPECT_NE(refused(rebuild("_rebuild_sparse_tensor", {layout("torch.sparse_coo"), py::tuple({weight(), weight()})})),
            "read");
  EXPECT_NE(refused(rebuild("_rebuild_sparse_tensor",
                            {layout("torch.sparse_coo"), py::tuple({weight(), py::none(), sizes({2})})})),
            "read");
  EXPECT_NE(refused(rebuild("_rebuild_sparse_tensor",
                            {layout("torch.strided"), py::tuple({weight(), weight(), sizes({2})})})),
            "read");
}

TEST(Tensors, OfPartsHaveOnlyDenseParts) {
  const auto nested = [](const py::Code& part) { return rebuild("_rebuild_nested_tensor", {part, part, part, part}); };
  EXPECT_EQ(refused(nested(weight())), "read");
  EXPECT_EQ(refused(nested(nested(weight()))),
            "test.pt: torch._utils._rebuild_nested_tensor is called with a bad argument 1, expected a dense tensor");
}

TEST(Tensors, OnMetaHaveNoBytes) {
  const auto code = rebuild("_rebuild_meta_tensor_no_storage", {py::global("torch", "float16"), sizes({1000, 1000}),
                                                                sizes({1000, 1}), py::boolean(false)});
  const auto checkpoint = checkpoint_of(code);
  const Tensor& meta = checkpoint.tensors[0];
  EXPECT_EQ(meta.info.dtype, DType::float16);
  EXPECT_FALSE(meta.storage);
  EXPECT_EQ(device_of(checkpoint, meta), "meta");
}

TEST(Tensors, AreNotMadeByOthersFunctionsOfTheirNames) {
  EXPECT_TRUE(checkpoint_of(py::call(py::global("zoo", "_rebuild_tensor_v2"), {py::none()})).tensors.empty());
  EXPECT_TRUE(checkpoint_of(py::global("torch._utils", "_rebuild_tensor_v2")).tensors.empty());
}

}  // namespace
}  // namespace ckpt
