#include "ops/value_view.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "ckpt/shape.h"
#include "model/module_reader.h"
#include "model/python_names.h"
#include "model/python_str.h"
#include "model/walk.h"
#include "ops/view_builder.h"

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

ViewBuilder::ViewBuilder(const ValueViews& views, ValueId id)
    : views_(views),
      checkpoint_(views.checkpoint_),
      values_(views.checkpoint_.values),
      children_(values_, view_.children) {
  view_.value = id;
}

void ViewBuilder::text_atom(ValueId id) {
  const ValueKind kind = values_.kind(id);
  atom(kind == ValueKind::bytes ? "bytes" : kind == ValueKind::bytearray ? "bytearray" : "str", "");
  view_.text = values_.text(id);
}

ValueView ViewBuilder::build() {
  const ValueId id = view_.value;
  const ValueKind kind = values_.kind(id);
  switch (kind) {
    case ValueKind::none:
      atom("NoneType", "");
      break;
    case ValueKind::boolean:
      atom("bool", values_.boolean(id) ? "1" : "0");
      break;
    case ValueKind::integer:
      atom("int", std::to_string(values_.integer(id)));
      break;
    case ValueKind::big_integer:
      atom("int", "x" + std::string(trimmed_integer(values_.text(id))));
      break;
    case ValueKind::real:
      atom("float", real_identity(values_.real(id)));
      break;
    case ValueKind::str:
    case ValueKind::py2_str:
    case ValueKind::bytes:
    case ValueKind::bytearray:
      text_atom(id);
      break;
    case ValueKind::global:
      atom("global", views_.global_name(id));
      break;
    case ValueKind::extension:
      atom("extension", std::to_string(values_.integer(id)));
      break;
    case ValueKind::list:
    case ValueKind::tuple:
      container(Family::sequence, kind == ValueKind::list ? "list" : "tuple");
      view_.elements.assign(values_.items(id).begin(), values_.items(id).end());
      for (const ValueId item : appended_to(values_, id)) view_.elements.push_back(item);
      break;
    case ValueKind::set:
    case ValueKind::frozenset:
      container(Family::set, kind == ValueKind::set ? "set" : "frozenset");
      children_.add_members(values_.items(id));
      children_.add_effects(id, false);
      break;
    case ValueKind::dict:
      container(Family::mapping, "dict");
      children_.add_mapping(id);
      children_.add_effects(id, true);
      break;
    case ValueKind::persistent:
      persistent();
      break;
    case ValueKind::object:
      object();
      break;
  }
  return std::move(view_);
}

void ViewBuilder::persistent() {
  if (find_storage_use(checkpoint_, view_.value) != nullptr) return container(Family::storage, "storage");
  if (const std::string name = views_.global_name(view_.value); !name.empty()) return atom("global", name);
  container(Family::object, "persistent id");
  children_.add("r", "id", values_.items(view_.value)[0]);
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
  if (const ValueId with_source = class_with_source(values, id); with_source != no_value) id = with_source;
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
    return "tensor " + std::string(dtype_name(found->info.dtype)) + " " + shape_text(found->info.shape);
  }
  const ValueView view = of(id);
  const std::string_view characters = std::string_view(view.text.empty() ? view.atom : view.text).substr(0, 256);
  switch (view.family) {
    case ValueView::Family::storage: {
      const StorageUse& use = *find_storage_use(checkpoint_, view.value);
      return "storage of " + std::to_string(checkpoint_.storages[use.storage].nbytes) + " bytes";
    }
    case ValueView::Family::atom:
      if (values.kind(view.value) == ValueKind::big_integer) return big_integer_text(values.text(view.value));
      if (view.type == "global" || view.type == "extension") return shortened(view.type + " " + view.atom);
      if (view.type == "bytes") return shortened("b" + quote_string(characters));
      if (view.type == "bytearray") return shortened("bytearray(b" + quote_string(characters) + ")");
      if (view.type == "str") return shortened(quote_string(characters, false));
      return shortened(atom_repr(values, view.value));
    case ValueView::Family::object: {
      const std::size_t bytes = view.text.empty() ? view.atom.size() : view.text.size();
      return bytes == 0 ? view.type : view.type + " of " + std::to_string(bytes) + " bytes";
    }
    default:
      break;
  }
  if (values.kind(view.value) == ValueKind::tuple) {
    std::string whole = python_str(values, view.value);
    if (whole.size() <= longest_text && whole.find("<object>") == std::string::npos) return whole;
  }
  const auto is_item = [](const ViewChild& child) { return child.match.front() == 'k' || child.match.front() == 'p'; };
  const auto count = std::count_if(view.children.begin(), view.children.end(), is_item);
  return view.type + " of " + std::to_string(static_cast<std::size_t>(count) + view.elements.size());
}

}  // namespace ckpt
