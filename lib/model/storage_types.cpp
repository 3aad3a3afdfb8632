#include "model/storage_types.h"

#include <utility>

namespace ckpt {
namespace {

constexpr std::pair<std::string_view, DType> classes[] = {
    {"Double", DType::float64},
    {"Float", DType::float32},
    {"Half", DType::float16},
    {"BFloat16", DType::bfloat16},
    {"Long", DType::int64},
    {"Int", DType::int32},
    {"Short", DType::int16},
    {"Char", DType::int8},
    {"Byte", DType::uint8},
    {"Bool", DType::boolean},
    {"ComplexDouble", DType::complex128},
    {"ComplexFloat", DType::complex64},
    {"QUInt8", DType::quint8},
    {"QInt8", DType::qint8},
    {"QInt32", DType::qint32},
    {"QUInt4x2", DType::quint4x2},
    {"QUInt2x4", DType::quint2x4},
};

/// Those that only libtorch spells, in TorchScript (c10/core/ScalarType.h): Python has no such classes.
constexpr std::pair<std::string_view, DType> script_classes[] = {
    {"ComplexHalf", DType::complex32},
    {"UInt16", DType::uint16},
    {"UInt32", DType::uint32},
    {"UInt64", DType::uint64},
    {"Float8_e4m3fn", DType::float8_e4m3fn},
    {"Float8_e4m3fnuz", DType::float8_e4m3fnuz},
    {"Float8_e5m2", DType::float8_e5m2},
    {"Float8_e5m2fnuz", DType::float8_e5m2fnuz},
    {"Float8_e8m0fnu", DType::float8_e8m0fnu},
    {"Float4_e2m1fn_x2", DType::float4_e2m1fn_x2},
    {"Bits8", DType::bits8},
    {"Bits16", DType::bits16},
};

std::optional<DType> by_class(std::string_view name, std::string_view suffix) {
  if (!name.ends_with(suffix)) return std::nullopt;
  name.remove_suffix(suffix.size());
  for (const auto& [prefix, dtype] : classes)
    if (prefix == name) return dtype;
  return std::nullopt;
}

bool is_torch_module(std::string_view module) { return module == "torch" || module == "torch.cuda"; }

}  // namespace

std::optional<StorageType> storage_type(std::string_view module, std::string_view name) {
  if (name == "UntypedStorage" && (module == "torch.storage" || module == "torch"))
    return StorageType{DType::uint8, false};
  if (!is_torch_module(module)) return std::nullopt;
  if (const auto dtype = by_class(name, "Storage")) return StorageType{*dtype, true};
  if (module == "torch" && name.ends_with("Storage"))
    for (const auto& [prefix, dtype] : script_classes)
      if (name.size() == prefix.size() + std::string_view("Storage").size() && name.starts_with(prefix))
        return StorageType{dtype, true};
  return std::nullopt;
}

std::optional<std::string> storage_class(DType dtype) {
  for (const auto& [prefix, held] : classes)
    if (held == dtype) return std::string(prefix) + "Storage";
  return std::nullopt;
}

std::optional<DType> tensor_type(std::string_view module, std::string_view name) {
  return is_torch_module(module) ? by_class(name, "Tensor") : std::nullopt;
}

}  // namespace ckpt
