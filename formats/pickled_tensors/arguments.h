#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/dtype.h"
#include "ckpt/tensor.h"

namespace ckpt::torch {

/// The arguments of a symbolic call that rebuilds a tensor, read as what they should be. Each accessor throws Error
/// (corrupt), naming the call and the argument, where they are something else.
class Arguments {
 public:
  static constexpr std::size_t any_number = SIZE_MAX;

  /// `call`: what messages call it, such as a global's module and name. `holder`: the value whose items() they are;
  /// no_value where that does not matter.
  Arguments(const ValueGraph& values, std::pair<std::string_view, std::string_view> call,
            std::span<const ValueId> items, ValueId holder = no_value)
      : values_(values), call_(call), items_(items), holder_(holder) {}
  Arguments(const ValueGraph& values, std::string_view call, std::span<const ValueId> items, ValueId holder = no_value)
      : Arguments(values, {call, {}}, items, holder) {}

  [[nodiscard]] ValueId holder() const { return holder_; }

  [[nodiscard]] std::size_t size() const { return items_.size(); }
  /// Throws where there are fewer than `least`.
  void expect(std::size_t least, std::size_t most = any_number) const;
  [[nodiscard]] ValueId at(std::size_t index) const { return items_[index]; }
  [[nodiscard]] std::int64_t integer(std::size_t index) const;
  /// A tuple or torch.Size of integers.
  [[nodiscard]] std::vector<std::int64_t> integers(std::size_t index) const;
  /// torch.float32 and its like.
  [[nodiscard]] DType dtype(std::size_t index) const;
  [[nodiscard]] std::span<const ValueId> tuple(std::size_t index) const;
  [[noreturn]] void fail(std::size_t index, std::string_view expected) const;

 private:
  const ValueGraph& values_;
  /// Put together for messages only.
  [[nodiscard]] std::string call() const;

  std::pair<std::string_view, std::string_view> call_;
  std::span<const ValueId> items_;
  ValueId holder_;
};

/// The items of a tuple or of torch.Size(tuple); none for anything else.
std::optional<std::span<const ValueId>> sequence_items(const ValueGraph& values, ValueId id);

}  // namespace ckpt::torch
