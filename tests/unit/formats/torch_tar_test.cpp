#include <gtest/gtest.h>

#include "ckpt/error.h"
#include "formats/tar_files.h"
#include "formats/torch_files.h"

namespace ckpt {
namespace {

using io_testing::has;
using tar_testing::storage_record;
using tar_testing::tar_of;
using tar_testing::tensor_record;
using tar_testing::torch_tar_of;
using tar_testing::TorchTar;
using torch_testing::values;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;

Checkpoint read_tar_file(const TorchTar& file) {
  return torch_testing::read_bytes(io_testing::bytes_of(torch_tar_of(file)));
}

std::string refused_bytes(const std::string& tar) {
  const auto error = torch_testing::refusal(io_testing::bytes_of(tar));
  return error ? error->what() : "read";
}
std::string refused(const TorchTar& file) { return refused_bytes(torch_tar_of(file)); }

py::Code key(const std::string& text) { return py::persistent(py::str(text)); }

TEST(TorchTar, IsRead) {
  const auto checkpoint = read_tar_file({});
  EXPECT_EQ(checkpoint.format, "torch-tar");
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"w"}));
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 1, 2, 3}));
  EXPECT_EQ(checkpoint.storages[0].key, "1");
}

TEST(TorchTar, IsReadInGzip) {
  const auto checkpoint = torch_testing::read_bytes(io_testing::gzipped(io_testing::bytes_of(torch_tar_of({}))));
  EXPECT_EQ(checkpoint.format, "torch-tar");
  EXPECT_EQ(values(checkpoint, 0), (Floats{0, 1, 2, 3}));
}

TEST(TorchTar, BecomesATorchZip) {
  const auto back = torch_testing::read_bytes(torch_testing::written_as(read_tar_file({}), "torch"));
  EXPECT_EQ(back.format, "torch");
  EXPECT_EQ(torch_testing::names(back), (Names{"w"}));
  EXPECT_EQ(values(back, 0), (Floats{0, 1, 2, 3}));
}

TEST(TorchTar, WhatHasOneKeyIsOneTensor) {
  const auto checkpoint = read_tar_file({.object = py::list({key("7"), key("7"), key("8")}),
                                         .tensors = {tensor_record(7, 1, {4}, {1}), tensor_record(8, 1, {2}, {2}, 1)}});
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"0", "1", "2"}));
  ASSERT_EQ(checkpoint.tensors.size(), 2U);
  EXPECT_EQ(checkpoint.storages.size(), 1U);
  EXPECT_EQ(values(checkpoint, 1), (Floats{1, 3}));
}

TEST(TorchTar, AViewIsAStorageOfItsOwnInAZip) {
  const auto checkpoint =
      read_tar_file({.tensors = {tensor_record(7, 5, {2}, {1})},
                     .views = py::list({py::tuple({py::integer(5), py::integer(1), py::integer(1), py::integer(2)})})});
  EXPECT_EQ(values(checkpoint, 0), (Floats{1, 2}));
  const auto back = torch_testing::read_bytes(torch_testing::written_as(checkpoint, "torch"));
  EXPECT_EQ(values(back, 0), (Floats{1, 2}));
  EXPECT_EQ(back.storages[0].nbytes, 8U);
}

TEST(TorchTar, AStorageMayStandAlone) {
  const auto checkpoint = read_tar_file({.object = py::list({key("1")}), .tensors = {}});
  EXPECT_EQ(checkpoint.storage_uses.size(), 1U);
  EXPECT_EQ(torch_testing::read_bytes(torch_testing::written_as(checkpoint, "torch")).storages.size(), 1U);
}

TEST(TorchTar, AModulesSourceGivesWayToItsClass) {
  const py::Code module =
      py::persistent(py::tuple({py::global("zoo", "Net"), py::str("zoo.py"), py::str("class Net: pass")}));
  const auto checkpoint = read_tar_file({.object = py::call(module, {key("7")})});
  EXPECT_EQ(torch_testing::names(checkpoint), (Names{"0"}));
  const auto back = torch_testing::read_bytes(torch_testing::written_as(checkpoint, "torch"));
  ASSERT_FALSE(back.globals.empty());
  EXPECT_EQ(back.globals[0].module, "zoo");
}

TEST(TorchTar, DevicesAreTheStorages) {
  const auto checkpoint = read_tar_file({.storages = {storage_record(1, {0, 1, 2, 3}, "FloatStorage", "cuda:1")}});
  EXPECT_EQ(checkpoint.storages[0].location, "cuda:1");
}

TEST(TorchTar, GlobalsOfEveryPickleCount) {
  const auto checkpoint = read_tar_file({.more = {{"sys.info", "x"}}});
  ASSERT_EQ(checkpoint.globals.size(), 2U);
  EXPECT_EQ(checkpoint.globals[0].name, "FloatStorage");
  EXPECT_EQ(checkpoint.globals[1].name, "FloatTensor");
  EXPECT_TRUE(has(checkpoint.warnings.at(0), "member 'sys.info'"));
}

/// What other programs write: no member of tensors, and storages named as later files name them, but by no id.
TEST(TorchTar, WithoutTensorsNamesItsStoragesInTuples) {
  const py::Code storage = torch_testing::storage({.key = "0"});
  const py::Code tuple = storage.substr(0, storage.size() - 1);
  for (const py::Code& id : {tuple, storage}) {
    const std::string storages =
        py::pickle(py::integer(1)) + storage_record(0, {4, 5, 6, 7}) + py::pickle(py::list({}));
    const auto checkpoint = torch_testing::read_bytes(io_testing::bytes_of(
        tar_of({{"sys_info", py::pickle(py::dict({}))},
                {"pickle", py::pickle(py::dict({{py::str("w"), torch_testing::tensor(id, {4}, {1})}}))},
                {"storages", storages}})));
    EXPECT_EQ(checkpoint.format, "torch-tar");
    EXPECT_EQ(values(checkpoint, 0), (Floats{4, 5, 6, 7}));
  }
}

TEST(TorchTar, RefusesKeysOfNothing) {
  EXPECT_TRUE(has(refused({.object = key("9")}), "the object names '9'"));
  EXPECT_TRUE(has(refused({.tensors = {tensor_record(7, 2, {4}, {1})}}), "a tensor in storage '2'"));
  const py::Code view = py::tuple({py::integer(5), py::integer(2), py::integer(0), py::integer(1)});
  EXPECT_TRUE(has(refused({.views = py::list({view})}), "a view of storage '2'"));
}

TEST(TorchTar, RefusesOneKeyForTwoThings) {
  const std::string storage = storage_record(1, {0, 1, 2, 3}), tensor = tensor_record(7, 1, {4}, {1});
  EXPECT_TRUE(has(refused({.storages = {storage, storage}}), "the key '1' for two storages"));
  EXPECT_TRUE(has(refused({.tensors = {tensor, tensor}}), "the key '7' for two things"));
  EXPECT_TRUE(has(refused({.tensors = {tensor_record(1, 1, {4}, {1})}}), "the key '1' for two things"));
}

TEST(TorchTar, RefusesTensorsPastTheirStorage) {
  EXPECT_TRUE(has(refused({.tensors = {tensor_record(7, 1, {5}, {1})}}), "tensor 'w'"));
  EXPECT_TRUE(has(refused({.tensors = {tensor_record(7, 1, {1ULL << 63}, {1})}}), "tensor 'w'"));
}

TEST(TorchTar, RefusesViewsPastTheirStorage) {
  const py::Code view = py::tuple({py::integer(5), py::integer(1), py::integer(3), py::integer(2)});
  EXPECT_TRUE(has(refused({.views = py::list({view})}), "a view past the end of storage '1'"));
}

TEST(TorchTar, RefusesCountsThatLie) {
  std::string record = storage_record(1, {0, 1, 2, 3});
  record[record.size() - 17] = '\1';  // the highest byte of the count
  EXPECT_TRUE(has(refused({.storages = {record}}), "elements"));
  std::string many = tensor_record(7, 1, {4}, {1});
  many[many.size() - 32] = '\x7f';
  EXPECT_TRUE(has(refused({.tensors = {many}}), "a tensor of 127 dimensions"));
}

TEST(TorchTar, RefusesBytesBehindTheLastRecord) {
  EXPECT_TRUE(has(refused({.tensors = {tensor_record(7, 1, {4}, {1}) + "x"}}), "bytes behind the last tensor"));
}

TEST(TorchTar, RefusesAMemberThatIsALink) {
  const std::string storages = py::pickle(py::integer(0));
  EXPECT_TRUE(has(refused_bytes(tar_of({{"pickle", "", '2'}, {"storages", storages}})), "member 'pickle' is a link"));
}

TEST(TorchTar, NamesDangersWhereItRefuses) {
  const py::Code evil = py::call(py::global("os", "system"), {py::str("id")});
  EXPECT_TRUE(has(refused({.object = py::list({evil, key("9")})}), "os.system"));
  EXPECT_TRUE(has(refused({.tensors = {py::pickle(evil)}}), "calls for os.system (dangerous): "));
}

}  // namespace
}  // namespace ckpt
