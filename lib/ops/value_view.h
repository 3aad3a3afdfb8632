#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"

namespace ckpt {

/// A value that another one holds.
struct ViewChild {
  std::string match;  ///< equal in two views for what stands at the same place: a kind (one letter), then a name
  std::string label;  ///< its part of a path
  ValueId value = no_value;
  ValueId key = no_value;  ///< of a mapping or set, where `match` does not say all of it
};

/// What a value means to Python, whatever the pickle's spelling: `__builtin__.set([1])` of protocol 2 and EMPTY_SET of
/// protocol 4 are one set, `_codecs.encode('a', 'latin1')` is b'a', copy_reg._reconstructor is NEWOBJ.
struct ValueView {
  enum class Family : std::uint8_t { atom, sequence, mapping, set, object, tensor, storage };
  Family family = Family::atom;
  std::string type;  ///< "int", "tuple", "argparse.Namespace"
  /// Equal for equal atoms of one type; empty for other families. What the graph holds word for word is `text`.
  std::string atom;
  std::string_view text;
  std::vector<ViewChild> children;
  /// Of a list or tuple, in place of children: it may be very long.
  std::vector<ValueId> elements;
  ValueId value = no_value;  ///< what it is a view of, once wrappers without meaning are taken off
};

/// Views of the values of one checkpoint, which must outlive it.
class ValueViews {
 public:
  explicit ValueViews(const Checkpoint& checkpoint);

  [[nodiscard]] ValueView of(ValueId id) const;
  /// The tensor that an object builds; null for other values.
  [[nodiscard]] const Tensor* tensor(ValueId id) const;
  /// In short, for a message: "0.1", "'cuda:0'", "dict of 3", "tensor float32 [3, 4]".
  [[nodiscard]] std::string text(ValueId id) const;
  /// The global that an id names, as Python 3 calls it: "collections.OrderedDict"; empty for other values.
  [[nodiscard]] std::string global_name(ValueId id) const;

 private:
  friend class ViewBuilder;
  const Checkpoint& checkpoint_;
  std::vector<std::uint32_t> tensor_of_;  ///< index + 1, by value
};

/// What the call that builds a tensor says beside dtype, shape, bytes and device.
struct TensorFacts {
  std::string type;  ///< "torch.Tensor", "torch.nn.parameter.Parameter", a subclass
  bool requires_grad = false;
  /// The quantizer (label "quantizer"), hooks, attributes; what a tensor without storage is held as.
  std::vector<ViewChild> children;
};

TensorFacts tensor_facts(const ValueViews& views, const Checkpoint& checkpoint, ValueId tensor);

}  // namespace ckpt
