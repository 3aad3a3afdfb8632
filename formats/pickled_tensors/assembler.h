#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/checkpoint.h"
#include "ckpt/error.h"
#include "model/tensor_calls.h"

namespace ckpt::torch {

/// Makes a checkpoint piece by piece: writes the calls that torch.save would have written, for decode_tensors() to
/// read.
///
///     Assembler assembler;
///     const ValueId pair[] = {assembler.key("weight"), assembler.add(std::move(tensor))};
///     Checkpoint checkpoint = assembler.finish(assembler.dict(pair));
class Assembler {
 public:
  Assembler() = default;
  Assembler(const Assembler&) = delete;
  Assembler& operator=(const Assembler&) = delete;

  /// Makes room for so many tensors, so that little is moved as the graph grows.
  void reserve_for(std::size_t tensors) { values().reserve_for(tensors * bytes_a_tensor); }

  /// Throws Error, as assemble() does.
  ValueId add(TensorSource tensor);
  /// The object of a checkpoint that was read from a zip, with its storages and what its pickle made and threw away;
  /// its globals are the caller's to keep. Pieces are to be added in the order in which they are to be
  /// written.
  ValueId adopt(const Checkpoint& part);

  ValueId key(std::string_view name) { return kept(values().make_str(name)); }
  ValueId none();
  ValueId dict(std::span<const ValueId> pairs);
  ValueId ordered_dict(std::span<const ValueId> pairs) { return calls_.ordered_dict(pairs); }
  ValueId list(std::span<const ValueId> items);

  /// OrderedDict([("", {"version": 1}), …]), as an attribute.
  void set_metadata(ValueId state_dict, const std::vector<ModuleVersion>& versions);

  /// Called once, last. Throws Error: corrupt, limit_exceeded.
  Checkpoint finish(ValueId root);

 private:
  struct Source {
    ByteSourcePtr bytes;
    ByteOrder byte_order = ByteOrder::little;
  };
  /// What is known of a source that tensors may share; all of them say the same of it.
  struct Shared {
    ValueId id = no_value;
    DType dtype{};
    ByteOrder byte_order{};
    std::string location;
  };

  /// As long as the pickle of one may be: room that is not used costs nothing.
  static constexpr std::size_t bytes_a_tensor = 240;

  ValueGraph& values() { return checkpoint_.values; }

  static void refuse_at_once(const TensorSource& tensor);
  /// What tensors of one storage say of it has to be the same.
  static void refuse_to_differ(const TensorSource& tensor, const Shared& storage);
  /// The persistent id of the tensor's storage.
  ValueId storage(const TensorSource& tensor);
  ValueId filled(ValueId mapping, std::span<const ValueId> pairs);
  ValueId kept(ValueId id) { return calls_.kept(id); }

  Checkpoint checkpoint_;
  TensorCalls calls_{checkpoint_.values};
  std::vector<Source> storages_;                ///< by key, which is a number
  std::map<const ByteSource*, Shared> shared_;  ///< by the source that was given
  ValueId none_ = no_value;
  Time latest_ = 0;  ///< of what was adopted
};

/// A tensor that cannot be assembled, and why.
Error bad_tensor(const TensorSource& tensor, std::string what);

}  // namespace ckpt::torch
