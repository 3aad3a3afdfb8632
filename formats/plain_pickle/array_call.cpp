#include <algorithm>
#include <string_view>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "model/calls.h"
#include "model/numpy_codes.h"
#include "plain_pickle/arrays.h"

namespace ckpt::plain_pickle {
namespace {

using Items = std::span<const ValueId>;

Items tuple_items(const ValueGraph& values, ValueId id) {
  return values.kind(id) == ValueKind::tuple ? values.items(id) : Items();
}

/// The name of a global of numpy's, if one of these modules has it: numpy 2 renamed numpy.core.
std::string_view numpy_name(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::global) return {};
  const std::string_view module = values.module(id);
  for (const std::string_view core : {"numpy.core.", "numpy._core."})
    if (module.starts_with(core)) {
      const std::string_view rest = module.substr(core.size());
      return rest == "multiarray" || rest == "numeric" ? values.name(id) : std::string_view();
    }
  return module == "numpy" || module == "numpy.ma.core" ? values.name(id) : std::string_view();
}

/// What was given to BUILD, where nothing else changed the value; no_value otherwise.
ValueId only_state(const ValueGraph& values, ValueId id) {
  const auto handle = values.first_effect(id);
  if (handle == 0 || values.effect(handle).next != 0 || values.effect(handle).kind != EffectKind::build)
    return no_value;
  return values.items(values.effect(handle))[0];
}

std::string_view short_text(const ValueGraph& values, ValueId id) {
  const bool is_text = values.is_string(id) || values.kind(id) == ValueKind::bytes;
  return is_text && values.far_text(id) == nullptr ? values.text(id) : std::string_view();
}

std::optional<DType> ml_dtype(const ValueGraph& values, ValueId id) {
  const bool named = values.kind(id) == ValueKind::global && values.module(id) == "ml_dtypes";
  return named ? dtype_from_name(values.name(id)) : std::nullopt;
}

/// numpy.dtype('f4', False, True), then BUILD((3, '<', None, None, None, -1, -1, 0)).
void read_dtype(const ValueGraph& values, ValueId id, ArrayCall& array) {
  array.why_not = "of a dtype that is no call of numpy.dtype";
  if (values.kind(id) != ValueKind::object || numpy_name(values, values.items(id)[0]) != "dtype") return;
  const Items arguments = call_arguments(values, id);
  if (arguments.empty()) return;
  const std::string_view code = short_text(values, arguments[0]);
  const auto dtype = code.empty() ? ml_dtype(values, arguments[0]) : dtype_from_numpy(code);
  if (!dtype) {
    const std::string_view known = foreign_numpy_type(code);
    array.why_not = known.empty() ? "of a dtype that torch lacks" : "of " + std::string(known);
    return;
  }
  array.info.dtype = *dtype;
  const bool changed = values.first_effect(id) != 0;
  const ValueId state = changed ? only_state(values, id) : no_value;
  if (changed && state == no_value) return;
  if (changed) {
    const Items parts = tuple_items(values, state);
    if (parts.size() < 2) return;
    const std::string_view order = short_text(values, parts[1]);
    if (order != "<" && order != ">" && order != "|" && order != "=") return;
    // A dtype of arrays, or with fields, has something there.
    for (std::size_t i = 2; i < std::min<std::size_t>(5, parts.size()); ++i)
      if (values.kind(parts[i]) != ValueKind::none) return;
    if (order == ">" && dtype_swap_size(*dtype) > 1) array.byte_order = ByteOrder::big;
  }
  array.why_not.clear();
}

void read_shape(const ValueGraph& values, ValueId id, bool fortran, TensorInfo& info) {
  if (values.kind(id) != ValueKind::tuple)
    throw Error(ErrorCode::corrupt, "an array has a shape that is no tuple").expected("a tuple of integers");
  const Items sizes = values.items(id);
  if (sizes.size() > limits::tensor_dimensions)
    throw Error(ErrorCode::limit_exceeded, "an array of " + std::to_string(sizes.size()) + " dimensions")
        .expected("at most " + std::to_string(limits::tensor_dimensions));
  std::optional<std::int64_t> bytes = static_cast<std::int64_t>(dtype_size(info.dtype));
  for (const ValueId size : sizes) {
    if (values.kind(size) != ValueKind::integer || values.integer(size) < 0)
      throw Error(ErrorCode::corrupt, "an array has a size that is no number").expected("0 or more");
    info.shape.push_back(values.integer(size));
    // As numpy has it: sizes of 0 do not make the others' product small.
    if (bytes) bytes = checked_mul(*bytes, std::max<std::int64_t>(info.shape.back(), 1));
  }
  if (!bytes)
    throw Error(ErrorCode::corrupt, "an array's shape overflows 63 bits").expected("what a machine could hold");
  info.stride.assign(info.shape.size(), 1);
  const std::size_t count = info.shape.size();
  for (std::size_t i = 1; i < count; ++i) {
    const std::size_t at = fortran ? i : count - 1 - i, inner = fortran ? i - 1 : count - i;
    info.stride[at] = info.stride[inner] * std::max<std::int64_t>(info.shape[inner], 1);
  }
}

void fill(const ValueGraph& values, ValueId shape, ValueId dtype, bool fortran, ValueId data, ArrayCall& array) {
  read_dtype(values, dtype, array);
  if (!array.why_not.empty()) return;
  read_shape(values, shape, fortran, array.info);
  array.data = data;
}

/// numpy's transpose(axes): the axis `axes[i]` becomes the i-th. False where these are not all axes, once each.
bool transpose(const ValueGraph& values, ValueId axes, TensorInfo& info) {
  const Items order = tuple_items(values, axes);
  const std::size_t count = info.shape.size();
  if (values.kind(axes) != ValueKind::tuple || order.size() != count) return false;
  const TensorInfo before = info;
  std::vector<bool> taken(count);
  for (std::size_t i = 0; i < count; ++i) {
    const bool is_axis = values.kind(order[i]) == ValueKind::integer && values.integer(order[i]) >= 0 &&
                         values.integer(order[i]) < static_cast<std::int64_t>(count);
    const auto axis = is_axis ? static_cast<std::size_t>(values.integer(order[i])) : 0;
    if (!is_axis || taken[axis]) return false;
    taken[axis] = true;
    info.shape[i] = before.shape[axis];
    info.stride[i] = before.stride[axis];
  }
  return true;
}

bool is_true(const ValueGraph& values, ValueId id) {
  const ValueKind kind = values.kind(id);
  return (kind == ValueKind::boolean || kind == ValueKind::integer) && values.integer(id) != 0;
}

}  // namespace

std::optional<ArrayCall> array_call(const ValueGraph& values, ValueId id) {
  if (values.kind(id) != ValueKind::object || values.call(id) != CallKind::reduce) return std::nullopt;
  const std::string_view name = numpy_name(values, values.items(id)[0]);
  if (name != "_reconstruct" && name != "_frombuffer" && name != "_mareconstruct") return std::nullopt;
  const Items arguments = call_arguments(values, id);
  ArrayCall array;
  array.why_not = name == "_mareconstruct" ? "masked" : "made in a way that numpy has not";
  if (name == "_frombuffer" && (arguments.size() == 4 || arguments.size() == 5) && values.first_effect(id) == 0) {
    // (data, dtype, shape, order), and of numpy 2.4 the order of axes, where that is K
    const std::string_view order = short_text(values, arguments[3]);
    if ((order == "K") != (arguments.size() == 5)) return array;
    fill(values, arguments[2], arguments[1], order == "F", arguments[0], array);
    if (array.why_not.empty() && order == "K" && !transpose(values, arguments[4], array.info))
      array.why_not = "in an order of axes that numpy has not";
  }
  if (name == "_reconstruct" && !arguments.empty()) {
    const std::string_view type =
        values.kind(arguments[0]) == ValueKind::global && values.module(arguments[0]).starts_with("numpy")
            ? values.name(arguments[0])
            : std::string_view();
    // What other classes do with a state is theirs.
    if (type != "ndarray" && type != "matrix" && type != "memmap") {
      array.why_not = "of another class than numpy's own";
      return array;
    }
    const ValueId state = only_state(values, id);
    Items parts = state == no_value ? Items() : tuple_items(values, state);
    if (parts.size() == 5) parts = parts.subspan(1);  // after a version
    if (parts.size() == 4) fill(values, parts[0], parts[1], is_true(values, parts[2]), parts[3], array);
  }
  return array;
}

}  // namespace ckpt::plain_pickle
