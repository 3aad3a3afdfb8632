#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ckpt/recover.h"
#include "formats/torch_files.h"

/// Files that are damaged, and what of them is recovered.
namespace ckpt::recover_testing {

using io_testing::Bytes;
using torch_testing::floats;
using torch_testing::legacy_storage;
using torch_testing::LegacyFile;
using torch_testing::storage;
using torch_testing::tensor;
using torch_testing::ZipFile;
using Names = std::vector<std::string>;

inline const std::vector<float> first{1, 2, 3, 4}, second{5, 6, 7, 8};

/// {"a": four floats, "b": four others}
inline Bytes zip_file() {
  const auto of = [](const std::string& key) { return tensor(storage({.key = key}), {4}, {1}); };
  return bytes_of(ZipFile{.object = py::dict({{py::str("a"), of("0")}, {py::str("b"), of("1")}}),
                          .data = {{"data/0", floats(first)}, {"data/1", floats(second)}}});
}

inline Bytes legacy_file() {
  const auto of = [](const std::string& key) { return tensor(legacy_storage({.key = key}), {4}, {1}); };
  return bytes_of(LegacyFile{.object = py::dict({{py::str("a"), of("0")}, {py::str("b"), of("1")}}),
                             .data = {{"0", 4, floats(first)}, {"1", 4, floats(second)}}});
}

/// Where some bytes stand in others.
inline std::size_t place(const Bytes& bytes, const Bytes& part) {
  const auto found = std::search(bytes.begin(), bytes.end(), part.begin(), part.end());
  EXPECT_NE(found, bytes.end());
  return static_cast<std::size_t>(found - bytes.begin());
}

inline Bytes cut(Bytes bytes, std::size_t size) {
  bytes.resize(size);
  return bytes;
}

inline Bytes damaged(Bytes bytes, std::size_t at) {
  bytes[at] ^= std::byte{0x20};
  return bytes;
}

inline Recovery recovered(Bytes bytes) { return recover(torch_testing::source_of(std::move(bytes))); }

inline Survival survival_of(const Recovery& found, const std::string& name) {
  for (const RecoveredTensor& tensor : found.tensors)
    if (tensor.name == name) return tensor.survival;
  ADD_FAILURE() << "no tensor is called " << name;
  return Survival::lost;
}

/// "a whole; b lost; "
inline std::string survivals(const Recovery& found) {
  std::string all;
  for (const RecoveredTensor& tensor : found.tensors)
    all += tensor.name + " " + std::string(survival_name(tensor.survival)) + "; ";
  return all;
}

/// Written and read again.
inline Names names_saved(const Recovery& found) {
  return torch_testing::names(torch_testing::read_bytes(torch_testing::written(found.checkpoint)));
}

inline bool says(const Recovery& found, const std::string& what) {
  return std::any_of(found.findings.begin(), found.findings.end(),
                     [&](const Finding& finding) { return finding.what.find(what) != std::string::npos; });
}

}  // namespace ckpt::recover_testing
