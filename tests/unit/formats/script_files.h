#pragma once

#include <string>
#include <vector>

#include "formats/torch_files.h"

/// TorchScript archives by hand.
namespace ckpt::script_testing {

using torch_testing::Bytes;
using torch_testing::Member;

/// An object of a class of the archive's code, as libtorch pickles it.
py::Code object(const std::string& module, const std::string& name, const py::Pairs& attributes);

/// The code of a class.
std::string class_code(const std::string& name, const std::string& parameters, const std::string& buffers,
                       const std::string& more = {});

Member text(const std::string& name, const std::string& text);

struct ScriptFile {
  py::Code module = object("__torch__", "Net", {{py::str("w"), torch_testing::weight()}});
  std::string code = class_code("Net", "\"w\", ", "");
  std::vector<py::Code> constants = {};
  std::vector<Member> data = {{"data/0", torch_testing::floats({0, 1, 2, 3})}};
  std::vector<Member> more = {};
};
Bytes bytes_of(const ScriptFile& file);

/// The form of 2019: model.json, attributes.pkl, and four floats in tensors/0.
struct ModelFile {
  std::string model;
  py::Code attributes = py::tuple({});
  std::vector<Member> more = {};
};
Bytes bytes_of(const ModelFile& file);

/// What a member of an archive holds; "missing" where there is none.
std::string content(const Bytes& archive, const std::string& member);

}  // namespace ckpt::script_testing
