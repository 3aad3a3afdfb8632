#include <optional>
#include <utility>

#include "ckpt/state_dict.h"
#include "model/calls.h"
#include "model/pair_lists.h"
#include "ops/value_children.h"
#include "ops/value_view.h"

namespace ckpt {
namespace {

/// Reads the calls that build a tensor from the outermost inward (torch/_utils.py, torch/_tensor.py).
class FactReader {
 public:
  FactReader(const ValueViews& views, const Checkpoint& checkpoint) : views_(views), values_(checkpoint.values) {}

  TensorFacts read(ValueId tensor) {
    constexpr int most_wrappers = 8;
    const Tensor* const it = views_.tensor(tensor);
    ValueId next = it != nullptr && it->array ? no_value : tensor;  // an array is its numbers, by whatever calls
    for (int i = 0; i < most_wrappers && next != no_value; ++i) next = read_call(next);
    if (facts_.type.empty()) facts_.type = "torch.Tensor";
    facts_.requires_grad = requires_grad_.value_or(false);
    return std::move(facts_);
  }

 private:
  using Arguments = std::span<const ValueId>;

  Arguments tuple(ValueId id) const {
    return values_.kind(id) == ValueKind::tuple ? values_.items(id) : std::span<const ValueId>();
  }

  void set_type(std::string type) {
    if (facts_.type.empty()) facts_.type = std::move(type);
  }

  void set_grad(Arguments arguments, std::size_t at, bool otherwise = false) {
    if (requires_grad_) return;
    const bool told = at < arguments.size() && values_.kind(arguments[at]) == ValueKind::boolean;
    requires_grad_ = told ? values_.boolean(arguments[at]) : otherwise;
  }

  void add(const char* label, Arguments arguments, std::size_t at) {
    if (at >= arguments.size() || values_.kind(arguments[at]) == ValueKind::none) return;
    ChildCollector(values_, facts_.children).add("w", label, arguments[at]);
  }

  void add_state(Arguments arguments, std::size_t at) {
    if (at >= arguments.size() || values_.kind(arguments[at]) == ValueKind::none) return;
    ChildCollector(values_, facts_.children).add_state(arguments[at]);
  }

  /// Nearly always an empty OrderedDict, which older calls leave out.
  void add_hooks(Arguments arguments, std::size_t at) {
    if (at >= arguments.size()) return;
    const bool none = is_mapping(values_, arguments[at]) && pair_count(values_, arguments[at]) == 0;
    if (!none) add("hooks", arguments, at);
  }

  /// Returns the tensor that this one is made of, or no_value.
  ValueId read_call(ValueId id) {
    if (values_.kind(id) != ValueKind::object) return no_value;
    const Arguments arguments = call_arguments(values_, id);
    const std::string name = views_.global_name(values_.items(id)[0]);
    const bool made_by_build = name.ends_with("Tensor");  // torch 0.2: torch.FloatTensor(), then its state
    if (!made_by_build) ChildCollector(values_, facts_.children).add_effects(id, false);
    const auto [module, called] = callable(values_, id);
    if (!is_rebuild_from_type(module, called)) return read_arguments(name, arguments);
    if (arguments.size() < 3) return no_value;
    set_type(views_.global_name(arguments[1]));
    add_state(arguments, 3);
    return read_arguments(views_.global_name(arguments[0]), tuple(arguments[2]));
  }

  ValueId read_arguments(const std::string& name, Arguments arguments) {
    const std::string_view call = std::string_view(name).substr(name.rfind('.') + 1);
    const ValueId first = arguments.empty() ? no_value : arguments[0];
    if (call == "_rebuild_parameter" || call == "_rebuild_parameter_with_state") {
      set_type("torch.nn.parameter.Parameter");
      set_grad(arguments, 1);
      add_hooks(arguments, 2);
      add_state(arguments, 3);
      return first;
    }
    if (call == "Parameter" || call == "Buffer" || call == "Variable") {
      set_type(name);
      set_grad(arguments, 1, call == "Parameter");
      return first;
    }
    if (call == "_rebuild_tensor_v2" || call == "_rebuild_tensor_v3") {
      set_grad(arguments, 4);
      add_hooks(arguments, 5);
    } else if (call == "_rebuild_qtensor") {
      add("quantizer", arguments, 4);
      set_grad(arguments, 5);
      add_hooks(arguments, 6);
    } else if (call == "_rebuild_meta_tensor_no_storage") {
      set_grad(arguments, 3);
    } else if (call == "_rebuild_wrapper_subclass") {
      if (first != no_value) set_type(views_.global_name(first));
      set_grad(arguments, 7);
    } else if (puts_on_device(call)) {
      return read_moved(arguments);
    }
    return no_value;
  }

  /// (data, dtype, device, requires_grad): data is a tensor of the CPU or an array.
  ValueId read_moved(Arguments arguments) {
    set_grad(arguments, 3);
    if (!arguments.empty() && views_.tensor(arguments[0]) != nullptr) return arguments[0];
    add("data", arguments, 0);
    return no_value;
  }

  const ValueViews& views_;
  const ValueGraph& values_;
  TensorFacts facts_;
  std::optional<bool> requires_grad_;
};

}  // namespace

TensorFacts tensor_facts(const ValueViews& views, const Checkpoint& checkpoint, ValueId tensor) {
  return FactReader(views, checkpoint).read(tensor);
}

}  // namespace ckpt
