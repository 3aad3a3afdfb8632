#include "pickle/dtype_states.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "ckpt/state_dict.h"
#include "io/bytes.h"
#include "model/calls.h"
#include "pickle/call_policy.h"

namespace ckpt::pickle {
namespace {

/// numpy's flags of elements: that they are counted references, that arrays of them are pickled as lists, that they are
/// pointers, that they are read and written by functions of their own. 63 is what object has. Which of the others are
/// set goes by numpy's version.
constexpr std::int64_t holds_objects = 1 | 2, is_pointer = 4, has_functions = 32 | 64, of_object = 63;

/// What is known of elements.
struct Elements {
  std::uint64_t size = 0;
  bool objects = false;
};

class Dtypes {
 public:
  Dtypes(const ValueGraph& values, ValueId first) : values_(values), first_(first) {}

  std::vector<ValueId> unsound() {
    for (ValueId id = first_; id < values_.size(); ++id)
      if (is_dtype(id)) built_.emplace(id, values_.effect(values_.first_effect(id)).time);
    std::vector<std::pair<Time, ValueId>> in_order;  // what one is made of has its state before it has
    for (const auto& [id, time] : built_) in_order.emplace_back(time, id);
    std::sort(in_order.begin(), in_order.end());
    std::vector<ValueId> found;
    for (const auto& [time, id] : in_order) {
      const auto elements = elements_of(id);
      if (elements) known_.emplace(id, *elements);
      if (!elements && !is_of_other_type(id)) found.push_back(id);
    }
    find_used_before(found);
    return found;
  }

 private:
  bool is_dtype(ValueId id) const {
    if (values_.kind(id) != ValueKind::object || values_.first_effect(id) == 0) return false;
    const auto [module, name] = callable(values_, id);
    return call_risk(module, name) == CallRisk::believes_state;
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
           !values_.module(arguments[0]).starts_with("numpy");
  }

  /// "f8", "O8", "U3": of the letter `kind` and `size`.
  struct Code {
    char kind = 0;
    std::uint64_t size = 0;
  };

  std::optional<Code> code_of(ValueId type) const {
    if (values_.kind(type) == ValueKind::global) {
      const std::string_view name = values_.name(type);
      return name == "record" || name == "void" ? std::optional(Code{'V', 0}) : std::nullopt;
    }
    if (!values_.is_string(type)) return std::nullopt;
    std::string_view text = values_.text(type);
    if (!text.empty() && std::string_view("<>=|").find(text[0]) != std::string_view::npos) text.remove_prefix(1);
    Code code;
    if (text.size() < 2 || std::string_view("biufcmMOSUVa").find(text[0]) == std::string_view::npos)
      return std::nullopt;
    code.kind = text[0];
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + 1, end, code.size);
    if (error != std::errc{} || stop != end) return std::nullopt;
    return code;
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
  std::optional<Elements> elements_of(const Code& code, std::span<const ValueId> state, Time time) {
    if (state.size() != 8 && state.size() != 9) return std::nullopt;
    const auto version = integer(state[0]), size = integer(state[5]), alignment = integer(state[6]);
    const auto flags = integer(state[7]);
    if (!version || (*version != 3 && *version != 4) || !size || !alignment || !flags) return std::nullopt;
    const bool is_plain = is_none(state[2]) && is_none(state[3]) && is_none(state[4]);
    if (std::string_view("SUVa").find(code.kind) == std::string_view::npos) {
      const bool objects = code.kind == 'O';
      if (!is_plain || *size != -1 || *alignment != -1) return std::nullopt;
      if (objects ? *flags != of_object : !is_without_objects(*flags)) return std::nullopt;
      return Elements{code.size, objects};
    }
    constexpr std::int64_t most_aligned = 64;
    if (*size < 0 || *size > INT32_MAX || *alignment < 1 || *alignment > most_aligned) return std::nullopt;
    if (!std::has_single_bit(static_cast<std::uint64_t>(*alignment))) return std::nullopt;
    const auto bytes = static_cast<std::uint64_t>(*size);
    if (is_plain) return is_without_objects(*flags) ? std::optional(Elements{bytes, false}) : std::nullopt;
    if (code.kind != 'V') return std::nullopt;
    const bool has_fields = is_none(state[2]);
    const auto parts = has_fields ? fields(state[4], time) : subarray(state);
    if (!parts || (has_fields ? parts->size > bytes : parts->size != bytes)) return std::nullopt;
    const bool owns_up = (*flags & holds_objects) == holds_objects && (!has_fields || (*flags & is_pointer) == 0);
    if (parts->objects ? !owns_up : !is_without_objects(*flags)) return std::nullopt;
    return Elements{bytes, parts->objects};
  }

  static bool is_without_objects(std::int64_t flags) {
    return flags >= 0 && (flags & (holds_objects | is_pointer | has_functions)) == 0;
  }

  /// Of a dtype inside another one.
  std::optional<Elements> part(ValueId id) const {
    if (const auto found = known_.find(id); found != known_.end()) return found->second;
    return std::nullopt;
  }

  /// {name: (dtype, offset[, title])}: how far they reach.
  std::optional<Elements> fields(ValueId dict, Time time) {
    if (values_.kind(dict) != ValueKind::dict) return std::nullopt;
    for (auto handle = values_.first_effect(dict); handle != 0; handle = values_.effect(handle).next)
      if (values_.effect(handle).time > time) return std::nullopt;  // numpy has looked, and keeps the dict
    const auto [found, fresh] = fields_.try_emplace(dict);
    if (fresh) found->second = fields(dict);
    return found->second;
  }

  std::optional<Elements> fields(ValueId dict) const {
    Elements all;
    for (const MappingEntry& entry : mapping_pairs(values_, dict)) {
      const auto field = tuple(entry.value);
      if (field.size() != 2 && field.size() != 3) return std::nullopt;
      const auto elements = part(field[0]);
      const auto offset = integer(field[1]);
      if (!elements || !offset || *offset < 0) return std::nullopt;
      const auto end = checked_add(static_cast<std::uint64_t>(*offset), elements->size);
      if (!end) return std::nullopt;
      all.size = std::max(all.size, *end);
      all.objects = all.objects || elements->objects;
    }
    return all;
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

  /// An array that has a dtype before it has its state has it afterwards too.
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
  std::unordered_map<ValueId, std::optional<Elements>> fields_;
  std::unordered_map<ValueId, Time> built_;
};

}  // namespace

std::vector<ValueId> unsound_dtypes(const ValueGraph& values, ValueId first) { return Dtypes(values, first).unsound(); }

}  // namespace ckpt::pickle
