#include "ckpt/quantizer.h"

#include <span>
#include <string>
#include <string_view>

#include "ckpt/error.h"
#include "model/calls.h"

namespace ckpt {
namespace {

constexpr std::string_view wanted = "torch's per_tensor_affine or per_channel_affine and its numbers";

[[noreturn]] void refuse() {
  throw Error(ErrorCode::unsupported, "the way it is quantised is unknown").expected(std::string(wanted));
}

double real_of(const ValueGraph& values, ValueId value) {
  if (values.kind(value) == ValueKind::real) return values.real(value);
  if (values.kind(value) == ValueKind::integer) return static_cast<double>(values.integer(value));
  refuse();
}

using Values = std::span<const ValueId>;

class Reader {
 public:
  Reader(const ValueGraph& values, const TensorsByValue& tensors) : values_(values), tensors_(tensors) {}

  /// The arguments of the call of torch._utils._rebuild_qtensor that makes `tensor`, wrappers around it taken off.
  Values rebuild_arguments(ValueId tensor) const {
    constexpr int most_wrappers = 8;
    for (int i = 0; i < most_wrappers; ++i) {
      if (values_.kind(tensor) != ValueKind::object) refuse();
      const Values call = values_.items(tensor);
      Values arguments = tuple(call, 1);
      std::string_view name = global(call, 0);
      if (name.starts_with("_rebuild_from_type")) {
        name = global(arguments, 0);
        arguments = tuple(arguments, 2);
      }
      if (name == "_rebuild_qtensor") return arguments;
      if (arguments.empty()) refuse();
      tensor = arguments[0];
    }
    refuse();
  }

  Values tuple(Values values, std::size_t at) const {
    if (at >= values.size() || values_.kind(values[at]) != ValueKind::tuple) refuse();
    return values_.items(values[at]);
  }

  std::string_view global(Values values, std::size_t at) const {
    if (at >= values.size() || values_.kind(values[at]) != ValueKind::global) refuse();
    return values_.name(values[at]);
  }

  double real(ValueId value) const { return real_of(values_, value); }

  std::int64_t integer(ValueId value) const {
    if (values_.kind(value) != ValueKind::integer) refuse();
    return values_.integer(value);
  }

  ChannelNumbers numbers(ValueId value) const {
    if (values_.kind(value) == ValueKind::list) return value;
    if (const auto found = tensors_.find(value); found != tensors_.end()) return found->second;
    refuse();
  }

 private:
  const ValueGraph& values_;
  const TensorsByValue& tensors_;
};

}  // namespace

std::unordered_set<ValueId> given_to_quantised(const Checkpoint& checkpoint) {
  const ValueGraph& values = checkpoint.values;
  std::unordered_set<ValueId> found;
  for (const Tensor& tensor : checkpoint.tensors) {
    if (!is_quantised(tensor.info.dtype) || values.kind(tensor.value) != ValueKind::object) continue;
    for (const ValueId argument : call_arguments(values, tensor.value))
      if (values.kind(argument) == ValueKind::tuple)
        found.insert(values.items(argument).begin(), values.items(argument).end());
  }
  return found;
}

TensorsByValue tensors_by_value(const Checkpoint& checkpoint) {
  TensorsByValue tensors;
  for (const Tensor& tensor : checkpoint.tensors) tensors.emplace(tensor.value, &tensor);
  return tensors;
}

Quantizer quantizer_of(const ValueGraph& values, const TensorsByValue& tensors, const Tensor& tensor) {
  const Reader reader(values, tensors);
  const Values arguments = reader.tuple(reader.rebuild_arguments(tensor.value), 4);
  const std::string_view scheme = reader.global(arguments, 0);
  Quantizer quantizer;
  if (scheme == "per_tensor_affine" && arguments.size() == 3) {
    quantizer.scale = reader.real(arguments[1]);
    quantizer.zero_point = reader.integer(arguments[2]);
  } else if (scheme.starts_with("per_channel_affine") && arguments.size() == 4) {
    quantizer.per_channel = true;
    quantizer.scales = reader.numbers(arguments[1]);
    quantizer.zero_points = reader.numbers(arguments[2]);
    quantizer.axis = reader.integer(arguments[3]);
  } else {
    refuse();
  }
  return quantizer;
}

std::vector<double> listed_numbers(const ValueGraph& values, ValueId list) {
  std::vector<double> numbers;
  values.each_operand(list, [&](ValueId item) { numbers.push_back(real_of(values, item)); });
  return numbers;
}

}  // namespace ckpt
