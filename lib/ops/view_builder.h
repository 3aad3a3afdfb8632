#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ops/value_children.h"
#include "ops/value_view.h"

namespace ckpt {

/// Builds one view of one value.
class ViewBuilder {
 public:
  ViewBuilder(const ValueViews& views, ValueId id);

  ValueView build();

 private:
  using Family = ValueView::Family;
  using Arguments = std::span<const ValueId>;

  void persistent();
  /// A call: what an older protocol, or another version, spells as one is seen through (value_calls.cpp).
  void object();
  bool atom_call(std::string_view name, Arguments arguments);
  bool container_call(std::string_view name, Arguments arguments);
  bool instance_call(std::string_view name, Arguments arguments);
  bool partial_call(ValueId callable, Arguments arguments);
  bool array_call(std::string_view name, Arguments arguments);
  bool array(ValueId type, ValueId shape, ValueId dtype, bool fortran, ValueId data);
  void mapping_call(const std::string& name, Arguments arguments);
  void any_call(ValueId callable, Arguments arguments, ValueId keywords = no_value);

  void atom(std::string type, std::string identity) {
    view_.type = std::move(type);
    view_.atom = std::move(identity);
  }
  void text_atom(ValueId id);
  void container(Family family, std::string type) {
    view_.family = family;
    view_.type = std::move(type);
  }
  [[nodiscard]] Arguments tuple(ValueId id) const {
    return values_.kind(id) == ValueKind::tuple ? values_.items(id) : Arguments();
  }

  const ValueViews& views_;
  const Checkpoint& checkpoint_;
  const ValueGraph& values_;
  ValueView view_;
  ChildCollector children_;
};

}  // namespace ckpt
