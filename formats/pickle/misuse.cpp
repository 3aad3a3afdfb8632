#include "pickle/misuse.h"

#include <algorithm>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>

#include "ckpt/state_dict.h"
#include "model/byte_texts.h"
#include "model/calls.h"
#include "model/python_names.h"
#include "pickle/call_forms.h"
#include "pickle/call_policy.h"
#include "pickle/name_risks.h"
#include "pickle/numpy_states.h"
#include "pickle/policy.h"

namespace ckpt::pickle {
namespace {

class Judge {
 public:
  Judge(const ValueGraph& values, std::size_t first)
      : values_(values), first_(static_cast<ValueId>(first)), risks_(values), forms_(values, risks_) {}

  std::vector<Misuse> run() {
    for (ValueId id = first_; id < values_.size(); ++id) {
      if (const CallRisk risky = risk(id); risky == CallRisk::makes_first || risky == CallRisk::calls_first)
        applies_ = true;
      if (values_.kind(id) == ValueKind::object) judge(id);
      if (values_.kind(id) == ValueKind::persistent) judge_persistent(id);
    }
    if (applies_) find_other_uses();
    if (believes_)
      for (const ValueId made : unsound_states(values_, first_))
        misused_.push_back({values_.items(made)[0], Verdict::dangerous});
    return std::move(misused_);
  }

 private:
  CallRisk risk(ValueId id) { return risks_.of(id); }
  ValueId maker(ValueId object) { return risks_.maker(object); }

  /// Whether what policy says of a name by itself is that it is known, and nothing else has been found.
  bool& is_known(ValueId name) {
    const auto [found, fresh] = known_.try_emplace(name_key(values_, name));
    if (fresh) found->second = judge_global(values_.module(name), values_.name(name)) == Verdict::known;
    return found->second;
  }

  /// What is known is harmless as picklers use it, and this is not how.
  void refuse(ValueId name) {
    if (values_.kind(name) != ValueKind::global || !is_known(name)) return;
    misused_.push_back({name, Verdict::dangerous});
    is_known(name) = false;  // once is enough
  }

  /// Nor is this, and nothing is known of it.
  void doubt(ValueId object) {
    const ValueId name = maker(object);
    if (values_.kind(name) == ValueKind::global && is_known(name)) misused_.push_back({name, Verdict::unknown});
  }

  void judge_keywords(ValueId type) {
    if (values_.kind(type) == ValueKind::global && takes_addresses(values_.module(type)))
      misused_.push_back({type, Verdict::dangerous});
  }

  bool is_call_of(ValueId id, CallRisk risky) {
    return values_.kind(id) == ValueKind::object && risk(values_.items(id)[0]) == risky;
  }

  /// Whether it is what a call makes. (Of bytes, the call only spells them.)
  bool is_made(ValueId id) { return values_.kind(id) == ValueKind::object && !is_call_of(id, CallRisk::encodes); }

  /// Whether any argument is.
  bool is_given_objects(ValueId object, std::size_t from = 0) {
    auto arguments = call_arguments(values_, object);
    arguments = arguments.subspan(std::min(from, arguments.size()));
    return std::any_of(arguments.begin(), arguments.end(), [&](ValueId argument) { return is_made(argument); });
  }

  /// Whether a mapping is made of a list of what calls make: each is asked for a key and a value.
  bool is_given_pairs_that_are_made(ValueId object) {
    if (!takes_items(object, EffectKind::set_items)) return false;
    const auto arguments = call_arguments(values_, object);
    return std::any_of(arguments.begin(), arguments.end(), [&](ValueId list) {
      if (!is_container(values_.kind(list)) || values_.kind(list) == ValueKind::dict) return false;
      const auto [known, fresh] = holds_made_.try_emplace(list, false);
      if (fresh) values_.each_operand(list, [&, &any = known->second](ValueId pair) { any = any || is_made(pair); });
      return known->second;
    });
  }

  void judge(ValueId id) {
    if (!forms_.fits(id)) doubt(id);
    judge_call(id);
    bool built = false;
    for (auto handle = values_.first_effect(id); handle != 0; handle = values_.effect(handle).next)
      if (const EffectKind kind = values_.effect(handle).kind; kind == EffectKind::build)
        judge_state(id, values_.effect(handle), std::exchange(built, true));
      else if (!takes_items(id, kind) && !is_call_of(id, CallRisk::returns_first))
        refuse(maker(id));
  }

  /// Of what is known, only Python's containers are given items, each in its own way.
  bool takes_items(ValueId id, EffectKind kind) {
    const ValueId made_by = maker(id);
    if (risk(made_by) != CallRisk::iterates) return false;
    return ckpt::takes_items(to_python3(values_.module(made_by), values_.name(made_by)).second, kind);
  }

  void judge_call(ValueId id) {
    const ValueId callable = class_meant(values_, values_.items(id)[0]);
    const CallKind call = values_.call(id);
    if (values_.kind(callable) == ValueKind::object) refuse(values_.items(callable)[0]);
    if (call == CallKind::newobj_ex) judge_keywords(callable);
    const bool listed = call == CallKind::inst || call == CallKind::obj;
    if (!listed && values_.kind(values_.items(id)[1]) != ValueKind::tuple) return refuse(callable);
    if (acts_in(call_arguments(values_, id))) refuse(callable);
    switch (risk(callable)) {
      case CallRisk::takes_memory:
      case CallRisk::is_not_called:
        return refuse(callable);
      case CallRisk::makes_first:
      case CallRisk::calls_first:
        if (!judge_application(id)) refuse(callable);
        return;
      case CallRisk::iterates:
        // A factory is not asked for items.
        if (is_given_objects(id, values_.name(callable) == "defaultdict" ? 1 : 0) || is_given_pairs_that_are_made(id))
          refuse(callable);
        return;
      case CallRisk::is_made_bare:
      case CallRisk::is_made_plain:
        if (call != CallKind::newobj) refuse(callable);
        return;
      case CallRisk::makes_array:
        believes_ = true;
        return;
      case CallRisk::makes_scalar:
        believes_ = true;
        if (!is_scalar_of_bytes(id)) refuse(callable);
        return;
      case CallRisk::makes_random:
        if (!is_told_numpys(id)) refuse(callable);
        return;
      case CallRisk::returns_first:
        if (call != CallKind::reduce) refuse(callable);
        return;
      case CallRisk::encodes:
        if (!is_latin1(id)) refuse(callable);
        return;
      case CallRisk::none:
      case CallRisk::believes_state:
      case CallRisk::has_no_state:
        return;
    }
  }

  bool is_scalar_of_bytes(ValueId id) {
    const auto arguments = call_arguments(values_, id);
    if (arguments.size() < 2) return false;  // of whatever memory it finds
    const ValueKind kind = values_.kind(arguments[1]);
    return kind == ValueKind::bytes || kind == ValueKind::py2_str || is_call_of(arguments[1], CallRisk::encodes);
  }

  bool is_latin1(ValueId id) const {
    const auto arguments = call_arguments(values_, id);
    if (values_.call(id) != CallKind::reduce || arguments.size() != 2 || !values_.is_string(arguments[1])) return false;
    return values_.is_string(arguments[0]) && ckpt::is_latin1(values_.text(arguments[1]));
  }

  /// Whether any of them, or of a tuple's among them, has whatever attributes the file gives it.
  bool acts_in(std::span<const ValueId> arguments, bool within = false) {
    return std::any_of(arguments.begin(), arguments.end(), [&](ValueId argument) {
      if (values_.kind(argument) == ValueKind::tuple && !within) return acts_in(values_.items(argument), true);
      if (values_.kind(argument) != ValueKind::object) return false;
      const ValueId made_by = maker(argument);
      return values_.kind(made_by) == ValueKind::global && has_any_attributes(values_.module(made_by));
    });
  }

  static bool is_container(ValueKind kind) { return kind >= ValueKind::list && kind <= ValueKind::frozenset; }

  bool is_number(ValueId id) const {
    const ValueKind kind = values_.kind(id);
    return kind == ValueKind::none || kind == ValueKind::boolean || kind == ValueKind::integer ||
           kind == ValueKind::real;
  }

  bool is_told_numpys(ValueId id) {
    const auto arguments = call_arguments(values_, id);
    const bool names_none =
        std::all_of(arguments.begin(), arguments.end(), [&](ValueId argument) { return is_number(argument); });
    if (names_none) return true;
    if (values_.kind(arguments[0]) == ValueKind::global && !makes_bits(values_.module(arguments[0]))) return false;
    return arguments.size() < 2 || (arguments.size() == 2 && risk(arguments[1]) == CallRisk::makes_random);
  }

  void judge_state(ValueId id, const Effect& build, bool is_again) {
    // A state may be a method that the next one is given to; of an object, it is asked for.
    if (is_again || build.late || values_.kind(values_.items(build)[0]) == ValueKind::object) refuse(maker(id));
    const ValueId callable = values_.items(id)[0];
    if (is_call_of(id, CallRisk::returns_first))
      if (const auto arguments = call_arguments(values_, id); !arguments.empty()) refuse(arguments[0]);
    const CallRisk risky = risk(maker(id));
    if (risky == CallRisk::believes_state && maker(id) == callable)
      believes_ = true;
    else if (risky == CallRisk::believes_state || risky == CallRisk::has_no_state)
      refuse(maker(id));
    if (values_.kind(maker(id)) != ValueKind::global || risky == CallRisk::is_made_bare) return;
    if (has_any_attributes(values_.module(maker(id))) && !are_attributes(values_.items(build)[0])) refuse(maker(id));
  }

  /// A dict of names, none of them Python's own, which would make the object another class's, or memory; nothing that
  /// is set by any other way (a hook's state has its number there).
  bool are_attributes(ValueId state) {
    const auto parts = values_.items(state);
    if (values_.kind(state) == ValueKind::tuple && parts.size() == 2)
      return is_number(parts[1]) && values_.kind(parts[0]) != ValueKind::tuple && are_attributes(parts[0]);
    if (values_.kind(state) != ValueKind::dict) return true;
    const auto [found, fresh] = attributes_.try_emplace(state, true);
    if (!fresh) return found->second;
    const auto pairs = mapping_pairs(values_, state);
    return found->second = std::all_of(pairs.begin(), pairs.end(), [&](const MappingEntry& entry) {
             return values_.is_string(entry.key) && !values_.text(entry.key).starts_with("__");
           });
  }

  /// False where it cannot be seen what is made or called, or with which constructor.
  bool judge_application(ValueId id) {
    const auto arguments = call_arguments(values_, id);
    if (values_.call(id) != CallKind::reduce || arguments.empty()) return false;
    const ValueId callable = class_meant(values_, values_.items(id)[0]), first = class_meant(values_, arguments[0]);
    if (values_.kind(first) != ValueKind::global) return false;
    if (risk(callable) == CallRisk::calls_first) {
      if (!is_rebuilt_by(values_.module(first))) refuse(first);
      return true;
    }
    if (passes_keywords(values_.module(callable), values_.name(callable))) judge_keywords(first);
    if (!is_made_by_functions(risk(first)) || is_given_objects(id)) refuse(first);
    if (values_.name(callable) != "_reconstructor") return true;
    return !is_given_objects(id) && arguments.size() > 1 && values_.kind(arguments[1]) == ValueKind::global &&
           is_plain_base(values_.module(arguments[1]));
  }

  /// What an id stands for that is none of a storage: torch writes those of layers' classes alone, and no ids of ids.
  void judge_class(ValueId type) {
    if (values_.kind(type) == ValueKind::object) refuse(values_.items(type)[0]);
    if (values_.kind(type) == ValueKind::persistent) refuse(class_meant(values_, type));
    if (risk(type) != CallRisk::is_made_bare) refuse(type);
  }

  /// ('module', class, file, source); ('storage', class, key, place, size[, view]), of which torch makes texts;
  /// ('reduce_package', number, function, arguments), once without the number, which PackageImporter calls, and gives
  /// itself.
  void judge_persistent(ValueId id) {
    const ValueId tuple = values_.items(id)[0];
    if (is_made(tuple)) refuse(values_.items(tuple)[0]);
    if (values_.kind(tuple) != ValueKind::tuple) return;
    const auto items = values_.items(tuple);
    if (!items.empty() && values_.kind(items[0]) == ValueKind::object) refuse(maker(items[0]));
    if (const ValueId type = class_meant(values_, id); type != id) judge_class(type);
    if (begins_with(values_, items, "reduce_package"))
      for (const ValueId item : items.subspan(1)) refuse(item);
    for (const ValueId item : items) {
      const bool is_view = values_.kind(item) == ValueKind::tuple;
      for (const ValueId part : is_view ? values_.items(item) : std::span(&item, 1))
        if (is_made(part))
          refuse(maker(part));
        else if (is_container(values_.kind(part)) && items.size() > 1)
          refuse(items[1]);  // a text of it asks each of its own
    }
  }

  /// What makes or calls what it is given, in other places than at the head of a call.
  void find_other_uses() {
    const auto look_at = [&](ValueId item) {
      if (const CallRisk risky = risk(item); risky == CallRisk::makes_first || risky == CallRisk::calls_first)
        refuse(item);
    };
    for (ValueId id = first_; id < values_.size(); ++id) {
      const auto items = values_.items(id);
      const std::size_t head = values_.kind(id) == ValueKind::object ? 1 : 0;
      for (const ValueId item : items.subspan(std::min(head, items.size()))) look_at(item);
      for (auto handle = values_.first_effect(id); handle != 0; handle = values_.effect(handle).next)
        for (const ValueId item : values_.items(values_.effect(handle))) look_at(item);
    }
  }

  const ValueGraph& values_;
  ValueId first_;
  NameRisks risks_;
  CallForms forms_;
  std::map<NameKey, bool> known_;
  std::unordered_map<ValueId, bool> attributes_, holds_made_;  ///< states and lists that have been looked at
  std::vector<Misuse> misused_;
  bool applies_ = false, believes_ = false;
};

}  // namespace

std::vector<Misuse> misused_names(const ValueGraph& values, std::size_t first) { return Judge(values, first).run(); }

}  // namespace ckpt::pickle
