#include "pickle/pickle_testing.h"

#include <map>

#include "ckpt/byte_source.h"
#include "io/bytes.h"

namespace ckpt::pickle_testing {
namespace {

ByteSourcePtr source_of(std::string_view code) {
  const auto bytes = as_bytes(code);
  return memory_source({bytes.begin(), bytes.end()}, "test.pkl");
}

/// Small graphs only: it recurses.
class Text {
 public:
  explicit Text(const ValueGraph& graph) : graph_(graph) {}

  std::string of(ValueId id) {
    const ValueKind kind = graph_.kind(id);
    const bool plain = kind <= ValueKind::real || kind == ValueKind::str || kind == ValueKind::bytes ||
                       kind == ValueKind::py2_str || (kind == ValueKind::global && graph_.first_effect(id) == 0) ||
                       kind == ValueKind::extension;
    if (plain) return made(id);
    const auto [met, is_new] = numbers_.emplace(id, numbers_.size());
    const bool is_empty_tuple = kind == ValueKind::tuple && graph_.items(id).empty();  // Python has only one
    if (!is_new) return is_empty_tuple ? "()" : "#" + std::to_string(met->second);
    std::string text = made(id);
    for (auto handle = graph_.first_effect(id); handle != 0; handle = graph_.effect(handle).next)
      text += changed(graph_.effect(handle));
    return text;
  }

 private:
  std::string joined(std::span<const ValueId> items) {
    std::string text;
    for (const ValueId item : items) text += (text.empty() ? "" : ", ") + of(item);
    return text;
  }

  std::string pairs(std::span<const ValueId> items) {
    std::string text;
    for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
      text += text.empty() ? "" : ", ";
      text += of(items[i]) + ": ";
      text += of(items[i + 1]);
    }
    return text;
  }

  std::string made(ValueId id) {
    const ValueKind kind = graph_.kind(id);
    const bool has_text = kind == ValueKind::big_integer || (kind >= ValueKind::str && kind <= ValueKind::py2_str);
    const std::string text(has_text ? graph_.text(id) : "");
    switch (kind) {
      case ValueKind::none:
        return "None";
      case ValueKind::boolean:
        return graph_.boolean(id) ? "True" : "False";
      case ValueKind::integer:
        return std::to_string(graph_.integer(id));
      case ValueKind::big_integer:
        return "int of " + std::to_string(text.size()) + " bytes";
      case ValueKind::real:
        return "float " + std::to_string(graph_.real(id));
      case ValueKind::str:
        return "'" + text + "'";
      case ValueKind::bytes:
        return "b'" + text + "'";
      case ValueKind::bytearray:
        return "bytearray '" + text + "'";
      case ValueKind::py2_str:
        return "py2 '" + text + "'";
      case ValueKind::list:
        return "[" + joined(graph_.items(id)) + "]";
      case ValueKind::tuple:
        return "(" + joined(graph_.items(id)) + ")";
      case ValueKind::dict:
        return "{" + pairs(graph_.items(id)) + "}";
      case ValueKind::set:
        return "set()";
      case ValueKind::frozenset:
        return "frozenset(" + joined(graph_.items(id)) + ")";
      case ValueKind::global:
        return std::string(graph_.module(id)) + "." + std::string(graph_.name(id));
      case ValueKind::extension:
        return "extension " + std::to_string(graph_.integer(id));
      case ValueKind::persistent:
        return "persistent(" + joined(graph_.items(id)) + ")";
      case ValueKind::object:
        return call(id);
    }
    return "?";
  }

  std::string call(ValueId id) {
    static constexpr const char* hows[] = {"", ".new", ".new_ex", ".inst", ".obj"};
    const auto items = graph_.items(id);
    std::string text = of(items[0]);
    text += hows[static_cast<std::size_t>(graph_.call(id))];
    const std::string arguments = joined(items.subspan(1));
    const bool is_tuple = items.size() == 2 && graph_.kind(items[1]) == ValueKind::tuple && arguments.front() == '(';
    return text + (is_tuple && graph_.call(id) <= CallKind::newobj ? arguments : "(" + arguments + ")");
  }

  std::string changed(const Effect& effect) {
    const auto items = graph_.items(effect);
    const std::string late = effect.late ? "late " : "";
    switch (effect.kind) {
      case EffectKind::append:
        return "+=" + late + "(" + joined(items) + ")";
      case EffectKind::set_items:
        return "+=" + late + "{" + pairs(items) + "}";
      case EffectKind::add_items:
        return "|=" + late + "(" + joined(items) + ")";
      case EffectKind::build:
        return "<-" + late + joined(items);
    }
    return "?";
  }

  const ValueGraph& graph_;
  std::map<ValueId, std::size_t> numbers_;
};

std::string emitted(std::string_view code, std::optional<int> protocol) {
  const Loaded loaded = load(code);
  return pickle::emit(loaded.graph, loaded.program.root, {loaded.program.protocol, protocol, loaded.program.discarded});
}

}  // namespace

std::string le(std::uint64_t value, int size) {
  std::string bytes;
  for (int i = 0; i < size; ++i) bytes.push_back(static_cast<char>(value >> (8 * i)));
  return bytes;
}

std::string repeated(std::string_view part, std::size_t count) {
  std::string all;
  all.reserve(part.size() * count);
  for (std::size_t i = 0; i < count; ++i) all += part;
  return all;
}

Loaded load(std::string_view code) {
  Loaded loaded;
  const ByteSourcePtr source = source_of(code);
  loaded.program = pickle::run(*source, 0, loaded.graph);
  return loaded;
}

std::string text_of(const ValueGraph& graph, ValueId id) { return Text(graph).of(id); }

std::string text_of(std::string_view code) {
  const Loaded loaded = load(code);
  return text_of(loaded.graph, loaded.program.root);
}

std::string again(std::string_view code) { return emitted(code, std::nullopt); }

std::string in_protocol(std::string_view code, int protocol) { return emitted(code, protocol); }

std::optional<Error> error_of_loading(std::string_view code) {
  try {
    load(code);
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

}  // namespace ckpt::pickle_testing
