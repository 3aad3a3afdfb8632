#include "numpy/dtypes.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>

#include "ckpt/error.h"
#include "model/numpy_codes.h"

namespace ckpt::numpy {
namespace {

/// Of what torch has no type for: more about it, and what would read it.
struct Advice {
  char code;  ///< what numpy's code for it begins with
  std::string_view more, hint;
};

constexpr std::string_view as_integers = "in Python: array.astype('int64') gives them as numbers";
constexpr std::string_view of_text =
    "in Python: numpy.load reads it; numpy.unique(…, return_inverse=True) numbers texts";
constexpr Advice advice[] = {
    {'O', ", as a pickle that would be run", "in Python, if you trust the file: numpy.load(path, allow_pickle=True)"},
    {'M', "", as_integers},
    {'m', "", as_integers},
    {'S', "", of_text},
    {'U', "", of_text},
    {'V', " without a type of numpy's own (bfloat16 and float8 are saved so by ml_dtypes)",
     "in Python: array.view('uint16'), or another dtype of that size"},
};
constexpr Advice other_advice = {0, "", "in Python: numpy.load reads it; astype() gives an array of numbers"};

}  // namespace

ArrayType parse_descr(std::string_view descr) {
  const std::string_view code = without_order(descr);
  // "=" is the order of the machine, which is little-endian wherever ckpt is built.
  const bool big = descr.starts_with('>');
  if (const auto dtype = dtype_from_numpy(code))
    return {*dtype, big && dtype_swap_size(*dtype) > 1 ? ByteOrder::big : ByteOrder::little};
  const std::string shown(descr.substr(0, 40));
  if (const std::string_view what = foreign_numpy_type(code); !what.empty()) {
    const auto* const found =
        std::find_if(std::begin(advice), std::end(advice), [&](const Advice& row) { return row.code == code[0]; });
    const Advice& told = found == std::end(advice) ? other_advice : *found;
    throw Error(ErrorCode::unsupported,
                "the array holds " + std::string(what) + std::string(told.more) + ": dtype '" + shown + "'")
        .expected("bools, integers, floats or complex numbers that torch has")
        .hint(std::string(told.hint));
  }
  throw Error(ErrorCode::corrupt, "dtype '" + shown + "'").expected("one of numpy's, such as '<f4'");
}

std::uint64_t item_bytes(std::string_view descr) {
  const std::string_view code = without_order(descr);
  if (const auto dtype = dtype_from_numpy(code)) return dtype_size(*dtype);
  const std::string_view behind = code.substr(std::min<std::size_t>(code.size(), 1));
  const std::string_view number = behind.substr(0, behind.find('['));
  std::uint64_t size = 0;
  const char* const end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, size);
  const bool has_unit = code.ends_with(']') && (code[0] == 'M' || code[0] == 'm');  // of time: [ns], [25s]
  const bool is_plain = !code.empty() && std::string_view("fcMmSUV").find(code[0]) != std::string_view::npos &&
                        error == std::errc{} && stop == end && size <= INT32_MAX &&
                        (has_unit || number.size() + 1 == code.size());
  if (!is_plain)
    throw Error(ErrorCode::unsupported, "dtype '" + std::string(descr.substr(0, 40)) + "', whose size is not known")
        .expected("one as numpy writes it, such as '<f4'");
  return code[0] == 'U' ? size * sizeof(char32_t) : size;
}

std::string descr_of(DType dtype) {
  const std::string_view code = numpy_code(dtype);
  if (code.empty()) return {};
  return (dtype_size(dtype) == 1 ? "|" : "<") + std::string(code);
}

}  // namespace ckpt::numpy
