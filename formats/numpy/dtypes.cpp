#include "numpy/dtypes.h"

#include "ckpt/error.h"
#include "model/numpy_codes.h"

namespace ckpt::numpy {
namespace {

/// What the other codes of numpy stand for, and what would read them.
struct Foreign {
  std::string_view code;  ///< what they begin with
  std::string_view what, hint;
};

constexpr std::string_view in_numpy = "in Python: numpy.load reads it; astype() gives an array of numbers";

constexpr Foreign foreign[] = {
    {"O", "Python objects, as a pickle that would be run",
     "in Python, if you trust the file: numpy.load(path, allow_pickle=True)"},
    {"U", "Unicode text", in_numpy},
    {"S", "byte strings", in_numpy},
    {"a", "byte strings", in_numpy},
    {"M", "dates (datetime64)", "in Python: numpy.load(path).astype('int64') gives them as numbers"},
    {"m", "spans of time (timedelta64)", "in Python: numpy.load(path).astype('int64') gives them as numbers"},
    {"V", "raw bytes without a type of numpy's own (bfloat16 and float8 are saved so by ml_dtypes)",
     "in Python: numpy.load(path).view('uint16'), or another dtype of that size"},
    {"f12", "long doubles", in_numpy},
    {"f16", "long doubles", in_numpy},
    {"c24", "long doubles", in_numpy},
    {"c32", "long doubles", in_numpy},
};

bool is_order(char c) { return c == '<' || c == '>' || c == '|' || c == '='; }

}  // namespace

ArrayType parse_descr(std::string_view descr) {
  const bool ordered = !descr.empty() && is_order(descr[0]);
  const std::string_view code = descr.substr(ordered ? 1 : 0);
  // "=" is the order of the machine, which is little-endian wherever ckpt is built.
  const bool big = ordered && descr[0] == '>';
  if (const auto dtype = dtype_from_numpy(code))
    return {*dtype, big && dtype_swap_size(*dtype) > 1 ? ByteOrder::big : ByteOrder::little};
  const std::string shown(descr.substr(0, 40));
  for (const Foreign& kind : foreign)
    if (code.starts_with(kind.code))
      throw Error(ErrorCode::unsupported, "the array holds " + std::string(kind.what) + ": dtype '" + shown + "'")
          .expected("bools, integers, floats or complex numbers that torch has")
          .hint(std::string(kind.hint));
  throw Error(ErrorCode::corrupt, "dtype '" + shown + "'").expected("one of numpy's, such as '<f4'");
}

std::string descr_of(DType dtype) {
  const std::string_view code = numpy_code(dtype);
  if (code.empty()) return {};
  return (dtype_size(dtype) == 1 ? "|" : "<") + std::string(code);
}

}  // namespace ckpt::numpy
