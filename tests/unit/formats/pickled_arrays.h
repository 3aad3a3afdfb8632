#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "formats/python.h"
#include "formats/torch_files.h"

/// What plain pickles hold: arrays of numpy's as calls, storages as files in bytes.
namespace ckpt::pickled_arrays {

inline py::Code dtype_state(const std::string& order) {
  return py::tuple({py::integer(3), py::str(order), py::none(), py::none(), py::none(), py::integer(-1),
                    py::integer(-1), py::integer(0)});
}

inline py::Code dtype(const std::string& code, const std::string& order) {
  return py::build(py::call(py::global("numpy", "dtype"), {py::str(code), py::boolean(false), py::boolean(true)}),
                   dtype_state(order));
}

/// Four floats 0, 1, 2, 3, unless told.
struct Array {
  std::string code = "f4", order = "<";
  std::vector<std::int64_t> shape = {4};
  bool fortran = false;
  py::Code data = {};   ///< empty: those floats
  py::Code dtype = {};  ///< in place of the code's
};

inline py::Code array(const Array& array) {
  const py::Code floats = py::bytes(as_text(torch_testing::floats({0, 1, 2, 3})));
  const py::Code made = py::call(py::global("numpy.core.multiarray", "_reconstruct"),
                                 {py::global("numpy", "ndarray"), torch_testing::sizes({0}), py::bytes("b")});
  return py::build(made, py::tuple({py::integer(1), torch_testing::sizes(array.shape),
                                    array.dtype.empty() ? dtype(array.code, array.order) : array.dtype,
                                    py::boolean(array.fortran), array.data.empty() ? floats : array.data}));
}

/// torch.save(a storage of four floats on cuda:0), as legacy files are.
inline std::string storage_file() {
  const auto bytes = torch_testing::bytes_of(
      torch_testing::LegacyFile{.object = torch_testing::legacy_storage({.location = "cuda:0"})});
  return std::string(as_text(bytes));
}

inline py::Code load_from_bytes(const py::Code& bytes) {
  return py::call(py::global("torch.storage", "_load_from_bytes"), {bytes});
}

inline py::Code nested() { return load_from_bytes(py::bytes(storage_file())); }

}  // namespace ckpt::pickled_arrays
