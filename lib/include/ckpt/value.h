#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/export.h"

namespace ckpt {

/// The index of a value in its ValueGraph. Two places that hold the same id hold the same Python object. (Of None,
/// True, False, small integers and the empty tuple Python has one each, whether they have one id here or several.)
using ValueId = std::uint32_t;
inline constexpr ValueId no_value = 0xFFFFFFFF;

/// What a value is. Calls are symbolic: an `object` says what would be called with what, and nothing calls it.
enum class ValueKind : std::uint8_t {
  none,
  boolean,
  integer,      ///< fits 64 bits
  big_integer,  ///< any size: see ValueGraph::text
  real,
  str,  ///< UTF-8, lone surrogates allowed (as Python's "surrogatepass")
  bytes,
  bytearray,
  py2_str,  ///< Python 2's str: bytes that torch decodes as it is told to
  list,
  tuple,
  dict,
  set,
  frozenset,
  global,      ///< module and name
  extension,   ///< a code of copyreg's extension registry
  persistent,  ///< an id that the file's container gives meaning to; items()[0] is the id
  object,      ///< a call; items() are the callable, its positional arguments (see CallKind) and keyword arguments
};

/// How an object is made, and what items() holds after the callable (or class) at 0.
enum class CallKind : std::uint8_t {
  reduce,     ///< items()[1]: a tuple of arguments
  newobj,     ///< items()[1]: a tuple, passed to cls.__new__
  newobj_ex,  ///< items()[1]: a tuple, items()[2]: a dict
  inst,       ///< items()[1…]: the arguments themselves (protocol 0's INST)
  obj,        ///< items()[1…]: the arguments themselves (protocol 1's OBJ)
};

/// A change made to a value after it was made, in the order of the program that made it.
enum class EffectKind : std::uint8_t {
  append,     ///< items: what is appended (or passed to extend)
  set_items,  ///< items: key, value, key, value …
  add_items,  ///< items: members of a set
  build,      ///< items: one state, for __setstate__ or __dict__
};

/// When something happened: a step of the program that made the graph. 0 for what an edit made.
using Time = std::uint32_t;

struct Effect {
  EffectKind kind{};
  std::uint8_t form = 0;  ///< how the source spelt it; 0 leaves that to the writer
  /// Applied after other values had been begun, to a value fetched again for it; else right where the value was made.
  bool late = false;
  ValueId target = no_value;
  Time time = 0;
  std::uint32_t first = 0, count = 0;  ///< its span in the graph's list of children
  std::uint32_t next = 0;              ///< handle of the target's next effect; 0 ends the list
  std::uint32_t last = 0;              ///< of the target's first effect: handle of its last one
};

/// A Python object graph, kept exactly, run never: identity (sharing, cycles), order, and what changed an object after
/// it was made. Values live in the graph by index, so that nothing recurses and copying the graph is copying arrays.
///
///     ValueGraph g;
///     const ValueId d = g.make_container(ValueKind::dict);
///     g.add_effect(d, EffectKind::set_items, std::array{g.make_str("lr"), g.make_real(0.1)});
///
/// Accessors expect a value of the right kind and an id of this graph; readers check with kind() first. What text(),
/// module(), name() and items() give is a view that any change of the graph (make_*, add_*, set_* …) may invalidate.
class CKPT_API ValueGraph {
 public:
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  /// How many values there are, and places in which one stands: what a walk meets that goes through each of them once.
  [[nodiscard]] std::size_t extent() const { return nodes_.size() + children_.size(); }
  /// Bytes of all texts and names.
  [[nodiscard]] std::size_t text_size() const { return text_.size(); }
  [[nodiscard]] ValueKind kind(ValueId id) const { return nodes_[id].kind; }

  /// str, or Python 2's: a name, whichever wrote it.
  [[nodiscard]] bool is_string(ValueId id) const {
    return kind(id) == ValueKind::str || kind(id) == ValueKind::py2_str;
  }
  /// That name. Throws as text().
  [[nodiscard]] bool is_string(ValueId id, std::string_view name) const { return is_string(id) && text(id) == name; }

  [[nodiscard]] bool boolean(ValueId id) const { return integer(id) != 0; }
  [[nodiscard]] std::int64_t integer(ValueId id) const { return std::bit_cast<std::int64_t>(nodes_[id].data); }
  [[nodiscard]] double real(ValueId id) const { return std::bit_cast<double>(nodes_[id].data); }
  /// Of str, bytes, bytearray, py2_str: the bytes. Of big_integer: two's complement, little-endian. A far text is read
  /// when it is first asked for, and stays in memory. Throws Error, for far texts alone: what reading throws.
  [[nodiscard]] std::string_view text(ValueId id) const {
    const Node& node = nodes_[id];
    if (!has_text(node.kind)) return "";
    return node.detail == far ? far_text_of(node.data.first) : text_at(node.data);
  }
  /// Where a far text's bytes are; null for every other value.
  [[nodiscard]] ByteSourcePtr far_text(ValueId id) const;
  /// Of a global; empty for every other kind.
  [[nodiscard]] std::string_view module(ValueId id) const { return text_at(name_of(id).module); }
  [[nodiscard]] std::string_view name(ValueId id) const { return text_at(name_of(id).name); }
  /// Of list, tuple, dict (key, value …), frozenset: what it was made with; effects come on top. Of object and
  /// persistent: see there. Empty for other kinds.
  [[nodiscard]] std::span<const ValueId> items(ValueId id) const {
    const Span* const span = items_span(id);
    return span == nullptr ? std::span<const ValueId>() : std::span(children_.data() + span->first, span->count);
  }
  [[nodiscard]] CallKind call(ValueId id) const { return static_cast<CallKind>(nodes_[id].detail); }

  /// A value's effects in order: `for (auto e = g.first_effect(id); e; e = g.effect(e).next)`; 0 ends.
  [[nodiscard]] std::uint32_t first_effect(ValueId id) const { return nodes_[id].first_effect; }
  [[nodiscard]] const Effect& effect(std::uint32_t handle) const { return effects_[handle - 1]; }
  [[nodiscard]] std::span<const ValueId> items(const Effect& effect) const {
    return {children_.data() + effect.first, effect.count};
  }

  /// Calls use(item) for the value's items, then for those of its effects, in order.
  template <class Use>
  void each_operand(ValueId id, Use&& use) const {
    for (const ValueId item : items(id)) use(item);
    for (auto handle = first_effect(id); handle != 0; handle = effect(handle).next)
      for (const ValueId item : items(effect(handle))) use(item);
  }

  /// How the source spelt the value (a pickle opcode); 0 leaves that to the writer.
  [[nodiscard]] std::uint8_t form(ValueId id) const { return nodes_[id].form; }
  /// Whether the source gave it a place in the memo.
  [[nodiscard]] bool memoized(ValueId id) const { return nodes_[id].memoized; }
  /// The step of the program that made this value.
  [[nodiscard]] Time made(ValueId id) const { return nodes_[id].made; }

  /// Makes room for what a pickle of so many bytes usually makes, so that little of it is moved as it grows.
  void reserve_for(std::size_t pickle_bytes);
  /// Takes all values out, and keeps their memory for others.
  void clear();

  ValueId make_none();
  ValueId make_boolean(bool value);
  ValueId make_integer(std::int64_t value);
  ValueId make_big_integer(std::string_view little_endian_twos_complement);
  ValueId make_real(double value);
  /// str, bytes, bytearray or py2_str.
  ValueId make_text(ValueKind kind, std::string_view text);
  ValueId make_str(std::string_view text) { return make_text(ValueKind::str, text); }
  /// A text that stays in its source until somebody asks for it: an array's bytes need not be in memory to be a value.
  /// Of a str, they must have been found to be UTF-8.
  ValueId make_far_text(ValueKind kind, ByteSourcePtr bytes);
  /// list, tuple, dict (key, value …), set or frozenset.
  ValueId make_container(ValueKind kind, std::span<const ValueId> items = {});
  ValueId make_tuple(std::span<const ValueId> items) { return make_container(ValueKind::tuple, items); }
  ValueId make_global(std::string_view module, std::string_view name);
  ValueId make_extension(std::int64_t code);
  ValueId make_persistent(ValueId id);
  /// `items`: see CallKind.
  ValueId make_object(CallKind call, std::span<const ValueId> items);

  std::uint32_t add_effect(ValueId target, EffectKind kind, std::span<const ValueId> items, std::uint8_t form = 0,
                           Time time = 0, bool late = false);
  /// Makes a value another, wherever it is held: a persistent one, or a call. Effects that it has stay.
  void become_persistent(ValueId value, ValueId id);
  void become_object(ValueId value, CallKind call, std::span<const ValueId> items);
  void rename_global(ValueId global, std::string_view module, std::string_view name);
  /// For one that another has taken the place of, and nothing holds any more.
  void become_none(ValueId value) { nodes_[value] = {}; }
  void set_form(ValueId id, std::uint8_t form) { nodes_[id].form = form; }
  void set_memoized(ValueId id) { nodes_[id].memoized = true; }
  void set_made(ValueId id, Time made) { nodes_[id].made = made; }

  /// Replaces one operand of a value, or of an effect, where it stands.
  void set_item(ValueId id, std::size_t index, ValueId item);
  void set_effect_item(std::uint32_t handle, std::size_t index, ValueId item);
  /// Replaces all operands; they may be more or fewer than before.
  void set_items(ValueId id, std::span<const ValueId> items);
  void set_effect_items(std::uint32_t handle, std::span<const ValueId> items);

 private:
  /// A run of children_ or of text_.
  struct Span {
    std::uint32_t first = 0, count = 0;
  };
  /// Small on purpose: a checkpoint has some ten values a tensor, and tens of thousands of tensors.
  struct Node {
    ValueKind kind{};
    std::uint8_t form = 0;
    std::uint8_t detail = 0;
    bool memoized = false;
    Time made = 0;
    std::uint32_t first_effect = 0;
    /// By kind: the bits of an integer or a real; the run of a text or of items; a global's place in names_.
    Span data;
  };
  /// What a global has beside its node: it alone holds text, and may hold items too.
  struct Name {
    Span module, name, items;
  };

  /// A text and, once it was asked for, its bytes.
  struct FarText {
    explicit FarText(ByteSourcePtr from) : source(std::move(from)) {}
    ByteSourcePtr source;
    std::once_flag is_read;  // copies of a graph may be used by several threads
    std::vector<std::byte> bytes;
  };
  /// What `detail` of a text's node says of a far one.
  static constexpr std::uint8_t far = 1;

  static bool has_text(ValueKind kind) {
    return kind == ValueKind::big_integer || (kind >= ValueKind::str && kind <= ValueKind::py2_str);
  }
  [[nodiscard]] std::string_view far_text_of(std::uint32_t place) const;
  [[nodiscard]] std::string_view text_at(Span span) const { return {text_.data() + span.first, span.count}; }
  [[nodiscard]] Name name_of(ValueId id) const {
    return kind(id) == ValueKind::global ? names_[nodes_[id].data.first] : Name{};
  }
  /// Null for a value that holds no others.
  [[nodiscard]] const Span* items_span(ValueId id) const {
    const Node& node = nodes_[id];
    if (node.kind == ValueKind::global) return &names_[node.data.first].items;
    return node.kind < ValueKind::list || node.kind == ValueKind::extension ? nullptr : &node.data;
  }

  ValueId add(ValueKind kind, Span data, std::uint8_t detail = 0);
  Span add_children(std::span<const ValueId> items);
  Span add_text(std::string_view text);
  void replace(Span& span, std::span<const ValueId> items);

  std::vector<Node> nodes_;
  std::vector<ValueId> children_;
  std::vector<Effect> effects_;
  std::vector<Name> names_;
  std::string text_;
  std::vector<std::shared_ptr<FarText>> far_;  ///< copies of a graph share what was read
};

}  // namespace ckpt
