#include "numpy/dtypes.h"

#include <algorithm>
#include <iterator>

#include "ckpt/error.h"

namespace ckpt::numpy {
namespace {

struct Row {
  std::string_view code;  ///< without its byte order
  DType dtype;
};

constexpr Row rows[] = {{"b1", DType::boolean},   {"u1", DType::uint8},      {"u2", DType::uint16},
                        {"u4", DType::uint32},    {"u8", DType::uint64},     {"i1", DType::int8},
                        {"i2", DType::int16},     {"i4", DType::int32},      {"i8", DType::int64},
                        {"f2", DType::float16},   {"f4", DType::float32},    {"f8", DType::float64},
                        {"c8", DType::complex64}, {"c16", DType::complex128}};

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
  const auto known = std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.code == code; });
  // "=" is the order of the machine, which is little-endian wherever ckpt is built.
  const bool big = ordered && descr[0] == '>';
  if (known != std::end(rows))
    return {known->dtype, big && dtype_swap_size(known->dtype) > 1 ? ByteOrder::big : ByteOrder::little};
  const std::string shown(descr.substr(0, 40));
  for (const Foreign& kind : foreign)
    if (code.starts_with(kind.code))
      throw Error(ErrorCode::unsupported, "the array holds " + std::string(kind.what) + ": dtype '" + shown + "'")
          .expected("bools, integers, floats or complex numbers that torch has")
          .hint(std::string(kind.hint));
  throw Error(ErrorCode::corrupt, "dtype '" + shown + "'").expected("one of numpy's, such as '<f4'");
}

std::string descr_of(DType dtype) {
  const auto* const found =
      std::find_if(std::begin(rows), std::end(rows), [&](const Row& row) { return row.dtype == dtype; });
  if (found == std::end(rows)) return {};
  return (dtype_size(dtype) == 1 ? "|" : "<") + std::string(found->code);
}

}  // namespace ckpt::numpy
