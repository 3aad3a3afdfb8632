#include "ops/value_view.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckpt/state_dict.h"
#include "model/python_names.h"
#include "model/python_str.h"
#include "ops/value_children.h"

namespace ckpt {
namespace {

constexpr std::size_t longest_text = 60;

/// Cut between two characters.
std::string shortened(std::string text) {
  if (text.size() <= longest_text) return text;
  std::size_t end = longest_text - 1;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

/// The bytes that the characters of `utf8` stand for in Latin-1; none where one is past 255.
std::optional<std::string> to_latin1(std::string_view utf8) {
  std::string bytes;
  for (std::size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      bytes.push_back(utf8[i]);
    } else {
      if (lead > 0xC3 || i + 1 == utf8.size()) return std::nullopt;
      bytes.push_back(static_cast<char>((lead & 3U) << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3FU)));
    }
  }
  return bytes;
}

/// Little-endian two's complement without bytes that only repeat the sign.
std::string_view trimmed_integer(std::string_view bytes) {
  const auto sign = [&](std::size_t i) { return (static_cast<unsigned char>(bytes[i]) & 0x80) != 0; };
  while (bytes.size() > 1 && bytes.back() == (sign(bytes.size() - 2) ? '\xFF' : '\0')) bytes.remove_suffix(1);
  return bytes;
}

std::string big_integer_text(std::string_view bytes) {
  const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80) != 0;
  return std::string(negative ? "a negative" : "an") + " integer of " + std::to_string(bytes.size() * 8) + " bits";
}

std::string real_identity(double value) {
  return std::isnan(value) ? "nan" : std::to_string(std::bit_cast<std::uint64_t>(value));
}

}  // namespace

/// Builds one view.
class ViewBuilder {
 public:
  ViewBuilder(const ValueViews& views, ValueId id)
      : views_(views), checkpoint_(views.checkpoint_), values_(views.checkpoint_.values) {
    view_.value = id;
  }

  ValueView build() {
    for (int wrappers = 0; wrappers < most_wrappers; ++wrappers)
      if (!step()) break;
    return std::move(view_);
  }

 private:
  using Family = ValueView::Family;
  static constexpr int most_wrappers = 8;

  /// False when the view is finished; true where view_.value is now another value to look at.
  bool step();
  bool persistent();
  bool object();
  bool known_call(std::string_view name, std::span<const ValueId> arguments);
  void any_call(ValueId callable, std::span<const ValueId> arguments, ValueId keywords);

  bool atom(std::string type, std::string identity) {
    view_.type = std::move(type);
    view_.atom = std::move(identity);
    return false;
  }

  void container(Family family, std::string type) {
    view_.family = family;
    view_.type = std::move(type);
  }

  std::span<const ValueId> tuple(ValueId id) const {
    return values_.kind(id) == ValueKind::tuple ? values_.items(id) : std::span<const ValueId>();
  }

  bool text_atom(ValueId id) {
    const bool is_bytes = values_.kind(id) == ValueKind::bytes || values_.kind(id) == ValueKind::bytearray;
    const char* const type = values_.kind(id) == ValueKind::bytearray ? "bytearray" : is_bytes ? "bytes" : "str";
    view_.text = values_.text(id);
    return atom(type, "");
  }

  const ValueViews& views_;
  const Checkpoint& checkpoint_;
  const ValueGraph& values_;
  ValueView view_;
};

bool ViewBuilder::step() {
  const ValueId id = view_.value;
  ChildCollector children(values_, view_.children);
  switch (values_.kind(id)) {
    case ValueKind::none:
      return atom("NoneType", "");
    case ValueKind::boolean:
      return atom("bool", values_.boolean(id) ? "1" : "0");
    case ValueKind::integer:
      return atom("int", std::to_string(values_.integer(id)));
    case ValueKind::big_integer:
      return atom("int", "x" + std::string(trimmed_integer(values_.text(id))));
    case ValueKind::real:
      return atom("float", real_identity(values_.real(id)));
    case ValueKind::str:
    case ValueKind::py2_str:
    case ValueKind::bytes:
    case ValueKind::bytearray:
      return text_atom(id);
    case ValueKind::global:
      return atom("global", views_.global_name(id));
    case ValueKind::extension:
      return atom("extension", std::to_string(values_.integer(id)));
    case ValueKind::list:
    case ValueKind::tuple:
      container(Family::sequence, values_.kind(id) == ValueKind::list ? "list" : "tuple");
      children.add_positions(values_.items(id));
      break;
    case ValueKind::set:
    case ValueKind::frozenset:
      container(Family::set, values_.kind(id) == ValueKind::set ? "set" : "frozenset");
      children.add_members(values_.items(id));
      break;
    case ValueKind::dict:
      container(Family::mapping, "dict");
      children.add_mapping(id);
      break;
    case ValueKind::persistent:
      return persistent();
    case ValueKind::object:
      return object();
  }
  children.add_effects(id, view_.family == Family::mapping);
  return false;
}

bool ViewBuilder::persistent() {
  if (checkpoint_.storage_uses.contains(view_.value)) {
    container(Family::storage, "storage");
    return false;
  }
  // ('module', class, file, source): a legacy file's way to name the class of a whole module.
  const ValueId id = values_.items(view_.value)[0];
  const auto parts = tuple(id);
  if (parts.size() > 1 && values_.is_string(parts[0]) && values_.text(parts[0]) == "module") {
    view_.value = parts[1];
    return true;
  }
  container(Family::object, "persistent id");
  ChildCollector(values_, view_.children).add("r", "id", id);
  return false;
}

bool ViewBuilder::object() {
  if (views_.tensor(view_.value) != nullptr) {
    container(Family::tensor, "tensor");
    return false;
  }
  const auto items = values_.items(view_.value);
  const CallKind call = values_.call(view_.value);
  const bool listed = call == CallKind::inst || call == CallKind::obj;
  const auto arguments = listed ? items.subspan(1) : tuple(items[1]);
  const bool plain = listed || values_.kind(items[1]) == ValueKind::tuple;
  const std::string name = views_.global_name(items[0]);
  ChildCollector children(values_, view_.children);
  if (is_mapping(values_, view_.value)) {
    container(Family::mapping, name == "builtins.dict" ? "dict" : name);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
      if (values_.kind(arguments[i]) == ValueKind::dict)
        children.add_mapping(arguments[i]);  // Counter({…})
      else if (values_.kind(arguments[i]) != ValueKind::list)  // Python 2's pairs are entries
        children.add("r", std::to_string(i), arguments[i]);
    }
    children.add_mapping(view_.value);
    children.add_effects(view_.value, true);
    return false;
  }
  if (call == CallKind::reduce && plain && !name.empty() && values_.first_effect(view_.value) == 0 &&
      known_call(name, arguments))
    return false;
  if (call == CallKind::reduce && plain && (name == "builtins.set" || name == "builtins.frozenset")) {
    container(Family::set, name.substr(name.find('.') + 1));
    if (!arguments.empty()) {
      children.add_members(values_.items(arguments[0]));
      children.add_effects(arguments[0], false);
    }
  } else if (plain && name == "copyreg._reconstructor" && arguments.size() == 3) {
    // Protocols 0 and 1: (class, base, state of the base). The base of most is object, with nothing to keep.
    const ValueKind base = values_.kind(arguments[2]);
    const bool holds = base == ValueKind::dict || base == ValueKind::list;
    any_call(arguments[0], base == ValueKind::none || holds ? std::span<const ValueId>() : arguments.subspan(2),
             no_value);
    if (base == ValueKind::dict) children.add_mapping(arguments[2]);
    if (base == ValueKind::list) children.add_positions(values_.items(arguments[2]));
    if (base == ValueKind::list) children.add_effects(arguments[2], false);
  } else if (plain && name == "copyreg.__newobj__" && !arguments.empty()) {
    any_call(arguments[0], arguments.subspan(1), no_value);
  } else if (plain) {
    any_call(items[0], arguments, call == CallKind::newobj_ex && items.size() > 2 ? items[2] : no_value);
  } else {
    any_call(items[0], items.subspan(1), no_value);
  }
  children.add_effects(view_.value, false);
  return false;
}

/// Calls that are how an older protocol spells an atom. False for all others.
bool ViewBuilder::known_call(std::string_view name, std::span<const ValueId> arguments) {
  const bool first_is_text = !arguments.empty() && values_.is_string(arguments[0]);
  const bool latin1 = arguments.size() == 2 && values_.is_string(arguments[1]) &&
                      (values_.text(arguments[1]) == "latin1" || values_.text(arguments[1]) == "latin-1");
  const auto take = [&](const char* type, std::optional<std::string> bytes) {
    if (bytes) atom(type, std::move(*bytes));
    return bytes.has_value();
  };
  if (name == "_codecs.encode" && first_is_text && latin1) return take("bytes", to_latin1(values_.text(arguments[0])));
  if (name == "builtins.bytes" && arguments.empty()) return take("bytes", "");
  if (name == "builtins.bytearray") {
    if (arguments.empty()) return take("bytearray", "");
    if (first_is_text && latin1) return take("bytearray", to_latin1(values_.text(arguments[0])));
    if (arguments.size() != 1) return false;
    // Bytes, however spelt, but no bytearray again: that would go as deep as the file likes.
    const bool is_call = values_.kind(arguments[0]) == ValueKind::object;
    if (is_call && views_.global_name(values_.items(arguments[0])[0]) == name) return false;
    const ValueView inner = views_.of(arguments[0]);
    return inner.type == "bytes" && take("bytearray", inner.atom + std::string(inner.text));
  }
  if (name == "builtins.getattr" && arguments.size() == 2 && values_.is_string(arguments[1])) {
    const std::string holder = views_.global_name(arguments[0]);
    return !holder.empty() && take("global", holder + "." + std::string(values_.text(arguments[1])));
  }
  return false;
}

void ViewBuilder::any_call(ValueId callable, std::span<const ValueId> arguments, ValueId keywords) {
  ChildCollector children(values_, view_.children);
  const std::string name = views_.global_name(callable);
  container(Family::object, name.empty() ? "a call" : name);
  if (name.empty()) children.add("c", "callable", callable);
  children.add_arguments(arguments);
  if (keywords != no_value && is_mapping(values_, keywords)) children.add_attributes(keywords);
}

ValueViews::ValueViews(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {
  tensor_of_.assign(checkpoint.values.size(), 0);
  for (std::uint32_t i = 0; i < checkpoint.tensors.size(); ++i) tensor_of_[checkpoint.tensors[i].value] = i + 1;
}

ValueView ValueViews::of(ValueId id) const { return ViewBuilder(*this, id).build(); }

const Tensor* ValueViews::tensor(ValueId id) const {
  return tensor_of_[id] == 0 ? nullptr : &checkpoint_.tensors[tensor_of_[id] - 1];
}

std::string ValueViews::global_name(ValueId id) const {
  const ValueGraph& values = checkpoint_.values;
  if (values.kind(id) != ValueKind::global) return {};
  std::pair<std::string, std::string> name(values.module(id), values.name(id));
  if (checkpoint_.protocol < 3) name = to_python3(name.first, name.second);
  // numpy 2 gave its module another name, and reads both.
  constexpr std::string_view numpy2 = "numpy._core";
  if (name.first.starts_with(numpy2)) name.first = "numpy.core" + name.first.substr(numpy2.size());
  return name.first + "." + name.second;
}

std::string ValueViews::text(ValueId id) const {
  const ValueGraph& values = checkpoint_.values;
  if (const Tensor* const found = tensor(id)) {
    std::string shape;
    for (const std::int64_t size : found->info.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(size);
    return "tensor " + std::string(dtype_name(found->info.dtype)) + " [" + shape + "]";
  }
  const ValueView view = of(id);
  const std::string_view characters = std::string_view(view.text.empty() ? view.atom : view.text).substr(0, 256);
  switch (view.family) {
    case ValueView::Family::storage: {
      const StorageUse& use = checkpoint_.storage_uses.at(view.value);
      return "storage of " + std::to_string(checkpoint_.storages[use.storage].nbytes) + " bytes";
    }
    case ValueView::Family::atom:
      if (values.kind(view.value) == ValueKind::big_integer) return big_integer_text(values.text(view.value));
      if (view.type == "global" || view.type == "extension") return shortened(view.type + " " + view.atom);
      if (view.type == "bytes") return shortened("b" + quote_string(characters));
      if (view.type == "bytearray")
        return shortened("bytearray(b" + quote_string(characters) + ")");
      if (view.type == "str") return shortened(quote_string(characters, false));
      return shortened(atom_repr(values, view.value));
    case ValueView::Family::object:
      return view.type;
    default:
      break;
  }
  if (values.kind(view.value) == ValueKind::tuple) {
    const std::string whole = python_str(values, view.value);
    if (whole.size() <= longest_text && whole.find("<object>") == std::string::npos) return whole;
  }
  const auto is_item = [](const ViewChild& child) { return child.match.front() == 'k' || child.match.front() == 'p'; };
  const auto count = std::count_if(view.children.begin(), view.children.end(), is_item);
  return view.type + " of " + std::to_string(count);
}

}  // namespace ckpt
