#include "pickled_tensors/arguments.h"

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt::torch {

std::optional<std::span<const ValueId>> sequence_items(const ValueGraph& values, ValueId id) {
  Time until = 0;  // what a torch.Size is made of, it copies
  if (values.kind(id) == ValueKind::object && values.call(id) == CallKind::reduce) {
    const ValueId callable = values.items(id)[0];
    if (values.kind(callable) != ValueKind::global || values.module(callable) != "torch" ||
        values.name(callable) != "Size")
      return std::nullopt;
    const ValueId arguments = values.items(id)[1];
    if (values.kind(arguments) != ValueKind::tuple || values.items(arguments).size() != 1) return std::nullopt;
    until = values.made(id);
    id = values.items(arguments)[0];
  }
  if (values.kind(id) == ValueKind::tuple) return values.items(id);
  // A list (torch 0.2 wrote sizes so) is made empty and filled by one effect, or made with its items.
  if (values.kind(id) != ValueKind::list) return std::nullopt;
  const auto handle = values.first_effect(id);
  if (handle == 0) return values.items(id);
  const bool single =
      values.items(id).empty() && values.effect(handle).next == 0 && (until == 0 || values.effect(handle).time < until);
  return single ? std::optional(values.items(values.effect(handle))) : std::nullopt;
}

std::string Arguments::call() const {
  return std::string(call_.first) + (call_.second.empty() ? "" : "." + std::string(call_.second));
}

void Arguments::fail(std::size_t index, std::string_view expected) const {
  throw Error(ErrorCode::corrupt, call() + " is called with a bad argument " + std::to_string(index + 1))
      .expected(std::string(expected));
}

void Arguments::expect(std::size_t least, std::size_t most) const {
  if (items_.size() >= least && items_.size() <= most) return;
  throw Error(ErrorCode::corrupt, call() + " is called with " + std::to_string(items_.size()) + " arguments")
      .expected(std::to_string(least) + (most == any_number ? " or more"
                                         : most > least     ? " or " + std::to_string(most)
                                                            : ""));
}

std::int64_t Arguments::integer(std::size_t index) const {
  if (values_.kind(items_[index]) != ValueKind::integer) fail(index, "an integer of 64 bits");
  return values_.integer(items_[index]);
}

std::vector<std::int64_t> Arguments::integers(std::size_t index) const {
  const auto items = sequence_items(values_, items_[index]);
  if (!items) fail(index, "a tuple of integers");
  if (items->size() > limits::tensor_dimensions)
    throw Error(ErrorCode::limit_exceeded, "a tensor of " + std::to_string(items->size()) + " dimensions")
        .expected("at most " + std::to_string(limits::tensor_dimensions));
  std::vector<std::int64_t> out;
  out.reserve(items->size());
  for (const ValueId item : *items) {
    if (values_.kind(item) != ValueKind::integer) fail(index, "a tuple of integers of 64 bits");
    out.push_back(values_.integer(item));
  }
  return out;
}

DType Arguments::dtype(std::size_t index) const {
  const ValueId id = items_[index];
  if (values_.kind(id) == ValueKind::global && values_.module(id) == "torch")
    if (const auto dtype = dtype_from_name(values_.name(id))) return *dtype;
  fail(index, "a dtype of torch");
}

std::span<const ValueId> Arguments::tuple(std::size_t index) const {
  const auto items = sequence_items(values_, items_[index]);
  if (!items) fail(index, "a tuple");
  return *items;
}

}  // namespace ckpt::torch
