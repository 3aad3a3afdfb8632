#include "model/numpy_codes.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace ckpt {
namespace {

constexpr std::pair<std::string_view, DType> codes[] = {
    {"b1", DType::boolean},   {"u1", DType::uint8},      {"u2", DType::uint16},  {"u4", DType::uint32},
    {"u8", DType::uint64},    {"i1", DType::int8},       {"i2", DType::int16},   {"i4", DType::int32},
    {"i8", DType::int64},     {"f2", DType::float16},    {"f4", DType::float32}, {"f8", DType::float64},
    {"c8", DType::complex64}, {"c16", DType::complex128}};

/// By what they begin with.
constexpr std::pair<std::string_view, std::string_view> foreign[] = {
    {"O", "Python objects"},       {"U", "Unicode text"},       {"S", "byte strings"},
    {"a", "byte strings"},         {"M", "dates (datetime64)"}, {"m", "spans of time (timedelta64)"},
    {"V", "records or raw bytes"}, {"f12", "long doubles"},     {"f16", "long doubles"},
    {"c24", "long doubles"},       {"c32", "long doubles"}};

}  // namespace

std::string_view without_order(std::string_view code) {
  return code.substr(!code.empty() && std::string_view("<>=|").find(code[0]) != std::string_view::npos ? 1 : 0);
}

std::optional<DType> dtype_from_numpy(std::string_view code) {
  const auto* const found =
      std::find_if(std::begin(codes), std::end(codes), [&](const auto& row) { return row.first == code; });
  return found == std::end(codes) ? std::nullopt : std::optional(found->second);
}

std::string_view numpy_code(DType dtype) {
  const auto* const found =
      std::find_if(std::begin(codes), std::end(codes), [&](const auto& row) { return row.second == dtype; });
  return found == std::end(codes) ? std::string_view() : found->first;
}

std::string_view foreign_numpy_type(std::string_view code) {
  const auto* const found = std::find_if(std::begin(foreign), std::end(foreign),
                                         [&](const auto& row) { return code.starts_with(row.first); });
  return found == std::end(foreign) ? std::string_view() : found->second;
}

}  // namespace ckpt
