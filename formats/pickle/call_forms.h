#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>

#include "ckpt/value.h"
#include "pickle/name_risks.h"

namespace ckpt::pickle {

/// How a known name is called by what pickles it; see call_forms.cpp.
struct CallForm;

/// Tells calls that are of the form in which Python, numpy and torch write them from those that somebody made up. What
/// a known name does with all else that it may be given, nobody has looked at.
class CallForms {
 public:
  /// `risks`: of the same graph.
  CallForms(const ValueGraph& values, NameRisks& risks) : values_(values), risks_(risks) {}

  /// `object`: a call of a name that policy knows. Looks at opcode and arguments, and at the items and states that what
  /// it makes is given; each argument that is a call itself has to be asked for.
  [[nodiscard]] bool fits(ValueId object);

 private:
  /// Whether plain data may have tensors in it. What asks one for its items runs torch.
  enum class Tensors : std::uint8_t { none, too };

  [[nodiscard]] const CallForm* form_of(ValueId name);
  [[nodiscard]] bool call_fits(const CallForm& form, ValueId object);
  [[nodiscard]] bool made_by_function_fits(const CallForm& form, ValueId object);
  [[nodiscard]] bool effects_fit(std::string_view allowed, ValueId object);
  [[nodiscard]] bool arguments_fit(std::string_view pattern, std::span<const ValueId> arguments);
  [[nodiscard]] bool argument_fits(char what, ValueId argument);
  [[nodiscard]] bool is_call_of(ValueId id, std::string_view package, std::string_view names) const;
  [[nodiscard]] bool is_bytes(ValueId id) const;
  [[nodiscard]] bool is_shape(ValueId id);
  [[nodiscard]] bool is_plain(ValueId id, Tensors tensors = Tensors::none, int depth = 0);
  [[nodiscard]] bool holds_plain(ValueId id, Tensors tensors, int depth);
  [[nodiscard]] bool is_named(ValueId type, std::string_view name) const;
  [[nodiscard]] bool is_constant_of_torch(ValueId id) const;
  [[nodiscard]] bool is_quantiser(ValueId id);
  [[nodiscard]] bool is_dict(ValueId id) const;
  [[nodiscard]] bool is_metadata(ValueId state);
  [[nodiscard]] bool is_state_of_tensor(ValueId state);
  [[nodiscard]] bool is_uncallable_state(ValueId state);
  [[nodiscard]] bool is_uncallable(ValueId id, int depth = 0);
  [[nodiscard]] bool is_state_of_handle(ValueId state) const;
  [[nodiscard]] bool is_without_hooks(ValueId id) const;
  [[nodiscard]] bool is_state_of_generator(ValueId state);
  [[nodiscard]] bool are_data_of_generator(ValueId state);
  [[nodiscard]] bool is_state_of_array(ValueId state);
  [[nodiscard]] bool is_dtype_object(ValueId id) const;

  /// What has been found out of containers, since several may hold one.
  using Answers = std::unordered_map<ValueId, bool>;
  /// What find() says of a container when it is first asked; `meanwhile`: what is true of it within itself.
  template <class Find>
  static bool once(Answers& answers, ValueId id, bool meanwhile, Find find) {
    const auto [known, fresh] = answers.try_emplace(id, meanwhile);
    if (!fresh) return known->second;
    const bool found = find();
    return answers[id] = found;
  }
  template <class Holds>
  [[nodiscard]] bool all_pairs(ValueId dict, Holds holds) const;

  const ValueGraph& values_;
  NameRisks& risks_;
  std::map<NameKey, const CallForm*> forms_;
  Answers plain_, plain_or_tensors_, uncallable_, states_, metadata_, of_generators_;
};

}  // namespace ckpt::pickle
