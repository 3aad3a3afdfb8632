#include "pickle/numpy_states.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ckpt/state_dict.h"
#include "io/bytes.h"
#include "model/calls.h"
#include "model/numpy_codes.h"
#include "pickle/call_policy.h"
#include "pickle/dtype_codes.h"
#include "pickle/name_lists.h"
#include "pickle/policy.h"

namespace ckpt::pickle {
namespace {

/// Of Python's classes: those that numpy has elements for; all others are objects to it.
constexpr std::string_view types_of_python = "bool bytes complex float int str";

/// What is known of elements.
struct Elements {
  std::uint64_t size = 0;
  bool objects = false;
  bool is_subarray = false;  ///< several of another dtype: elements of records alone
};

class NumpyStates {
 public:
  NumpyStates(const ValueGraph& values, ValueId first) : values_(values), first_(first) {}

  std::vector<ValueId> unsound() {
    std::vector<std::pair<Time, ValueId>> in_order;  // what a dtype is made of has its state before it has
    std::vector<ValueId> found, made_of_elements;
    for (ValueId id = first_; id < values_.size(); ++id) {
      const CallRisk risk = risk_of(id);
      const bool is_dtype = risk == CallRisk::believes_state;
      if (risk == CallRisk::makes_array || risk == CallRisk::makes_scalar) made_of_elements.push_back(id);
      if (!is_dtype && risk != CallRisk::makes_array) continue;
      if (!is_dtype && !is_array(id)) found.push_back(id);
      const auto handle = values_.first_effect(id);
      if (handle == 0 && is_dtype && !call_arguments(values_, id).empty() && !is_one_type(spelling_of(id)))
        found.push_back(id);
      if (handle == 0 && is_dtype && is_of_objects(spelling_of(id))) known_.emplace(id, Elements{sizeof(void*), true});
      if (handle == 0) continue;
      built_.emplace(id, values_.effect(handle).time);
      if (is_dtype) in_order.emplace_back(values_.effect(handle).time, id);
    }
    std::sort(in_order.begin(), in_order.end());
    for (const auto& [time, id] : in_order) {
      const auto elements = elements_of(id);
      if (elements) known_.emplace(id, *elements);
      if (!elements && !is_of_other_type(id)) found.push_back(id);
    }
    // Elements that are several are a record's alone: numpy writes no others, and takes their memory for one's. A
    // scalar with objects in it is given an array; of bytes, numpy before 1.16 takes them for places in memory.
    std::copy_if(made_of_elements.begin(), made_of_elements.end(), std::back_inserter(found), [&](ValueId id) {
      const auto elements = part(dtype_of(id));
      return elements &&
             (elements->is_subarray || (elements->objects && risk_of(id) == CallRisk::makes_scalar && is_of_bytes(id)));
    });
    find_used_before(found);
    return found;
  }

 private:
  /// Of what numpy makes; most values are something else.
  CallRisk risk_of(ValueId id) const {
    if (values_.kind(id) != ValueKind::object) return CallRisk::none;
    const auto [module, name] = callable(values_, id);
    return module.starts_with("numpy") ? call_risk(module, name) : CallRisk::none;
  }

  /// _reconstruct(class, (0,), b'b') and one state; _frombuffer(bytes, dtype, shape, order) and none. Memory that an
  /// array gives back when it gets its state must have been nobody's else.
  bool is_array(ValueId id) {
    const auto arguments = call_arguments(values_, id);
    const auto handle = values_.first_effect(id);
    if (values_.call(id) != CallKind::reduce || arguments.empty()) return false;
    if (callable(values_, id).second == "_frombuffer") {
      const bool is_bytes =
          values_.kind(arguments[0]) != ValueKind::object || spells_bytes(callable(values_, arguments[0]).second);
      return handle == 0 && is_bytes;
    }
    const std::size_t shape = callable(values_, id).second == "_mareconstruct" ? 2 : 1;
    if (arguments.size() <= shape) return false;
    for (const ValueId type : arguments.first(shape))
      if (!is_class_of_arrays(type)) return false;
    const auto extents = tuple(arguments[shape]);
    const bool is_empty = extents.size() == 1 && integer(extents[0]) == 0;
    if (!is_empty || handle == 0) return is_empty;
    const Effect& state = values_.effect(handle);
    if (state.kind != EffectKind::build || state.next != 0) return false;
    const bool is_matrix = std::ranges::any_of(arguments.first(shape), [&](ValueId type) {
      return values_.module(type).starts_with("numpy") && values_.name(type) == "matrix";
    });
    return has_all_elements(state) && (!is_matrix || is_of_two_dimensions(state));
  }

  /// Of any other number, a matrix is given a new shape in the middle of what numpy does with it.
  bool is_of_two_dimensions(const Effect& build) const {
    const auto state = tuple(values_.items(build)[0]);
    const std::size_t at = place_of_elements(state);
    return at < state.size() && tuple(state[at - 3]).size() == 2;
  }

  /// The text or class that says what a dtype is.
  std::string_view spelling_of(ValueId dtype) const {
    const auto arguments = call_arguments(values_, dtype);
    if (arguments.empty()) return {};
    if (values_.kind(arguments[0]) == ValueKind::global) {
      const std::string_view module = values_.module(arguments[0]), name = values_.name(arguments[0]);
      const bool is_pythons = module == "builtins" || module == "__builtin__";
      return module.starts_with("numpy") || (is_pythons && lists(types_of_python, name)) ? name : "object";
    }
    return values_.is_string(arguments[0]) ? values_.text(arguments[0]) : std::string_view();
  }

  /// What an array or a scalar has elements of; no_value where it does not say.
  ValueId dtype_of(ValueId id) const {
    const auto arguments = call_arguments(values_, id);
    const std::string_view function = callable(values_, id).second;
    if (function == "scalar") return arguments.empty() ? no_value : arguments[0];
    if (function == "_frombuffer") return arguments.size() < 2 ? no_value : arguments[1];
    const auto handle = values_.first_effect(id);
    if (handle == 0 || values_.effect(handle).kind != EffectKind::build) return no_value;
    const auto state = tuple(values_.items(values_.effect(handle))[0]);
    return state.size() < 4 ? no_value : state[place_of_elements(state) - 2];
  }

  bool is_of_bytes(ValueId scalar) const {
    const auto arguments = call_arguments(values_, scalar);
    if (arguments.size() < 2) return false;
    const ValueKind kind = values_.kind(arguments[1]);
    return kind == ValueKind::bytes || kind == ValueKind::py2_str ||
           (kind == ValueKind::object && spells_bytes(callable(values_, arguments[1]).second));
  }

  /// In ([version, ]shape, dtype, order, elements[, mask, fill value]).
  static std::size_t place_of_elements(std::span<const ValueId> state) { return state.size() == 4 ? 3 : 4; }

  /// numpy takes as many from a list as the shape asks for, whether it has them or not.
  bool has_all_elements(const Effect& build) {
    const auto state = tuple(values_.items(build)[0]);
    const std::size_t at = place_of_elements(state);
    if (at >= state.size()) return true;  // which numpy refuses
    const ValueId elements = state[at];
    if (values_.kind(elements) == ValueKind::object) return spells_bytes(callable(values_, elements).second);
    if (values_.kind(elements) != ValueKind::list) return true;
    if (values_.kind(state[at - 3]) != ValueKind::tuple) return false;  // a torch.Size is one to numpy
    std::uint64_t left = 1, has = values_.items(elements).size();
    for (const ValueId extent : tuple(state[at - 3])) {
      const auto count = integer(extent);
      const auto product = checked_mul(left, count && *count >= 0 ? static_cast<std::uint64_t>(*count) : UINT64_MAX);
      if (!product) return false;
      left = *product;
    }
    const auto appended = appended_before(elements, build.time);
    return appended && has + *appended == left;
  }

  /// How many items a list has been given until then; none where it is given them in another way.
  std::optional<std::uint64_t> appended_before(ValueId list, Time time) {
    const auto [found, fresh] = appended_.try_emplace(list);
    auto& [is_sound, counts] = found->second;
    if (fresh) {
      is_sound = true;
      for (auto handle = values_.first_effect(list); handle != 0; handle = values_.effect(handle).next) {
        const Effect& effect = values_.effect(handle);
        is_sound = is_sound && effect.kind == EffectKind::append;
        counts.emplace_back(effect.time, (counts.empty() ? 0 : counts.back().second) + values_.items(effect).size());
      }
    }
    if (!is_sound) return std::nullopt;
    const auto later = std::lower_bound(counts.begin(), counts.end(), time,
                                        [](const auto& count, Time limit) { return count.first < limit; });
    return later == counts.begin() ? 0 : std::prev(later)->second;
  }

  /// A class of numpy's, or of somebody who says how it is made.
  bool is_class_of_arrays(ValueId type) const {
    if (values_.kind(type) != ValueKind::global) return false;
    const CallRisk risk = call_risk(values_.module(type), values_.name(type));
    return risk == CallRisk::takes_memory ||
           (risk == CallRisk::is_not_called && values_.module(type).starts_with("numpy")) ||
           judge_global(values_.module(type), values_.name(type)) != Verdict::known;
  }

  std::optional<std::int64_t> integer(ValueId id) const {
    return values_.kind(id) == ValueKind::integer ? std::optional(values_.integer(id)) : std::nullopt;
  }

  bool is_none(ValueId id) const { return values_.kind(id) == ValueKind::none; }

  /// A tuple's items; empty for what is none.
  std::span<const ValueId> tuple(ValueId id) const {
    return values_.kind(id) == ValueKind::tuple ? values_.items(id) : std::span<const ValueId>();
  }

  /// dtype(class, False, True) of numbers that numpy has not: how they are, its own package knows.
  bool is_of_other_type(ValueId id) const {
    const auto arguments = call_arguments(values_, id);
    return !arguments.empty() && values_.kind(arguments[0]) == ValueKind::global &&
           judge_global(values_.module(arguments[0]), values_.name(arguments[0])) == Verdict::unknown;
  }

  std::optional<DtypeCode> code_of(ValueId type) const {
    if (values_.kind(type) == ValueKind::global) {
      const std::string_view name = values_.name(type);
      return name == "record" || name == "void" ? std::optional(DtypeCode{'V', 0}) : std::nullopt;
    }
    return values_.is_string(type) ? dtype_code(values_.text(type)) : std::nullopt;
  }

  /// None where the state is not one that numpy writes.
  std::optional<Elements> elements_of(ValueId dtype) {
    // (type, align, copy): without a copy, everybody's dtype would be given the state.
    const auto arguments = call_arguments(values_, dtype);
    if (arguments.size() != 3) return std::nullopt;
    const ValueKind copy = values_.kind(arguments[2]);
    if ((copy != ValueKind::boolean && copy != ValueKind::integer) || values_.integer(arguments[2]) == 0)
      return std::nullopt;
    const auto code = code_of(arguments[0]);
    const Effect& effect = values_.effect(values_.first_effect(dtype));
    if (!code || effect.kind != EffectKind::build || effect.next != 0) return std::nullopt;
    return elements_of(*code, tuple(values_.items(effect)[0]), effect.time);
  }

  /// (version, byte order, subarray, names, fields, size, alignment, flags[, metadata])
  std::optional<Elements> elements_of(const DtypeCode& code, std::span<const ValueId> state, Time time) {
    if (state.size() != 8 && state.size() != 9) return std::nullopt;
    const auto version = integer(state[0]), size = integer(state[5]), alignment = integer(state[6]);
    auto flags = integer(state[7]);
    if (flags && *flags < 0 && *flags >= INT8_MIN) *flags += 256;  // numpy before 2 writes a signed byte
    if (!version || (*version != 3 && *version != 4) || !size || !alignment || !flags) return std::nullopt;
    if (!is_order(state[1], code.kind)) return std::nullopt;
    const bool is_plain = is_none(state[2]) && is_none(state[3]) && is_none(state[4]);
    // numpy asks what unit they are of without a look whether they are of any.
    if ((code.kind == 'M' || code.kind == 'm') && (*version != 4 || state.size() != 9 || tuple(state[8]).size() != 2))
      return std::nullopt;
    if (std::string_view("SUVa").find(code.kind) == std::string_view::npos) {
      const bool objects = code.kind == 'O';
      if (!is_plain || *size != -1 || *alignment != -1) return std::nullopt;
      if (objects ? *flags != flags_of_object : !are_without_objects(*flags)) return std::nullopt;
      return Elements{code.size, objects};
    }
    constexpr std::int64_t most_aligned = 64;
    if (*size < 0 || *size > INT32_MAX || *alignment < 1 || *alignment > most_aligned) return std::nullopt;
    if (!std::has_single_bit(static_cast<std::uint64_t>(*alignment))) return std::nullopt;
    const auto bytes = static_cast<std::uint64_t>(*size);
    if (code.kind == 'U' && bytes % sizeof(char32_t) != 0) return std::nullopt;
    if (is_plain) return are_without_objects(*flags) ? std::optional(Elements{bytes, false}) : std::nullopt;
    if (code.kind != 'V') return std::nullopt;
    const bool has_fields = is_none(state[2]);
    const auto parts = has_fields ? fields(state[4], time) : subarray(state);
    if (!parts || (has_fields && !are_names_of(state[3], state[4]))) return std::nullopt;
    if (has_fields ? parts->size > bytes : parts->size != bytes) return std::nullopt;
    const bool owns_up = owns_up_to_objects(*flags, has_fields);
    const bool says_more = has_fields && owns_up;  // of fields that were chosen from others, numpy keeps the flags
    if (parts->objects ? !owns_up : !says_more && !are_without_objects(*flags)) return std::nullopt;
    if (has_fields && !are_read_by_themselves(*flags)) return std::nullopt;
    return Elements{bytes, parts->objects || says_more, !has_fields};
  }

  /// Objects are in no order, and numpy calls itself without end where they are said to be.
  bool is_order(ValueId order, char kind) const {
    if (!values_.is_string(order)) return false;
    const std::string_view text = values_.text(order);
    return kind == 'O' ? text == "|" : text.size() == 1 && without_order(text).empty();
  }

  /// Of a dtype inside another one.
  std::optional<Elements> part(ValueId id) const {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    return std::nullopt;
  }

  /// {name: (dtype, offset[, title])}: how far they reach.
  std::optional<Elements> fields(ValueId dict, Time time) {
    if (values_.kind(dict) != ValueKind::dict) return std::nullopt;
    const auto [found, fresh] = fields_.try_emplace(dict);
    auto& [elements, last] = found->second;
    if (fresh) {
      elements = fields(dict);
      for (auto handle = values_.first_effect(dict); handle != 0; handle = values_.effect(handle).next)
        last = values_.effect(handle).time;
    }
    return last > time ? std::nullopt : elements;  // numpy has looked, and keeps the dict
  }

  std::optional<Elements> fields(ValueId dict) const {
    Elements all;
    std::vector<std::tuple<std::uint64_t, std::uint64_t, ValueId>> places;  // begin, end, dtype
    for (const MappingEntry& entry : mapping_pairs(values_, dict)) {
      const auto field = tuple(entry.value);
      if (field.size() != 2 && field.size() != 3) return std::nullopt;
      const auto elements = part(field[0]);
      const auto offset = integer(field[1]);
      if (!elements || !offset || *offset < 0) return std::nullopt;
      const auto begin = static_cast<std::uint64_t>(*offset);
      const auto end = checked_add(begin, elements->size);
      if (!end) return std::nullopt;
      places.emplace_back(begin, *end, field[0]);
      all.size = std::max(all.size, *end);
      all.objects = all.objects || elements->objects;
    }
    if (!all.objects) return all;
    // An address must be no part of a number. (A title is the same field again.)
    std::sort(places.begin(), places.end());
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (std::size_t i = 1; i < places.size(); ++i)
      if (std::get<0>(places[i]) < std::get<1>(places[i - 1])) return std::nullopt;
    return all;
  }

  /// Whether each name is a field, and each field has a name or is another's title.
  bool are_names_of(ValueId names, ValueId dict) {
    const auto [known, fresh] = named_.try_emplace({names, dict}, false);
    if (fresh) known->second = compare_names(names, dict);
    return known->second;
  }

  bool compare_names(ValueId names, ValueId dict) const {
    if (values_.kind(names) != ValueKind::tuple) return false;
    std::set<std::string_view> left;
    for (const ValueId name : values_.items(names))
      if (!values_.is_string(name) || !left.insert(values_.text(name)).second) return false;
    for (const MappingEntry& entry : mapping_entries(values_, dict)) {
      if (!values_.is_string(entry.key)) return false;
      const auto field = tuple(entry.value);
      const bool is_title = field.size() == 3 && values_.is_string(field[2], values_.text(entry.key));
      if (left.erase(values_.text(entry.key)) == 0 && !is_title) return false;
    }
    return left.empty();
  }

  /// (dtype, shape)
  std::optional<Elements> subarray(std::span<const ValueId> state) const {
    constexpr std::size_t most_dimensions = 64;
    const auto subarray = tuple(state[2]);
    if (subarray.size() != 2 || !is_none(state[3]) || !is_none(state[4])) return std::nullopt;
    const auto elements = part(subarray[0]);
    const bool is_tuple = values_.kind(subarray[1]) == ValueKind::tuple;
    const auto shape = is_tuple ? tuple(subarray[1]) : subarray.subspan(1);
    if (!elements || shape.size() > most_dimensions) return std::nullopt;
    Elements all = *elements;
    for (const ValueId extent : shape) {
      const auto count = integer(extent);
      if (!count || *count < 0) return std::nullopt;
      const auto bytes = checked_mul(all.size, static_cast<std::uint64_t>(*count));
      if (!bytes) return std::nullopt;
      all.size = *bytes;
    }
    return all;
  }

  /// What has a dtype or the memory of an array before that has its state, has it afterwards too.
  void find_used_before(std::vector<ValueId>& found) const {
    if (built_.empty()) return;
    const auto look_at = [&](ValueId item, Time time) {
      const auto built = built_.find(item);
      if (built != built_.end() && time < built->second) found.push_back(item);
    };
    for (ValueId id = first_; id < values_.size(); ++id) {
      for (const ValueId item : values_.items(id)) look_at(item, values_.made(id));
      for (auto handle = values_.first_effect(id); handle != 0; handle = values_.effect(handle).next)
        for (const ValueId item : values_.items(values_.effect(handle))) look_at(item, values_.effect(handle).time);
    }
  }

  const ValueGraph& values_;
  ValueId first_;
  std::unordered_map<ValueId, Elements> known_;
  std::unordered_map<ValueId, std::pair<std::optional<Elements>, Time>> fields_;  ///< and when it was last filled
  std::unordered_map<ValueId, Time> built_;
  std::map<std::pair<ValueId, ValueId>, bool> named_;
  /// Of a list whether it is appended to alone, and how many items it has behind each time.
  std::unordered_map<ValueId, std::pair<bool, std::vector<std::pair<Time, std::uint64_t>>>> appended_;
};

}  // namespace

std::vector<ValueId> unsound_states(const ValueGraph& values, ValueId first) {
  return NumpyStates(values, first).unsound();
}

}  // namespace ckpt::pickle
