#include "gguf/metadata.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "model/python_str.h"

namespace ckpt::gguf {
namespace {

/// Of types that always take as many bytes; 0 for the others.
std::uint64_t size_of(ValueType type) {
  switch (type) {
    case ValueType::uint8:
    case ValueType::int8:
    case ValueType::boolean:
      return 1;
    case ValueType::uint16:
    case ValueType::int16:
      return 2;
    case ValueType::uint32:
    case ValueType::int32:
    case ValueType::float32:
      return 4;
    case ValueType::uint64:
    case ValueType::int64:
    case ValueType::float64:
      return 8;
    default:
      return 0;
  }
}

std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string real_text(double value, const std::string& repr) { return std::isfinite(value) ? repr : quoted(repr); }

/// A value that holds no others, as JSON.
std::string scalar_text(Fields& fields, ValueType type) {
  switch (type) {
    case ValueType::uint8:
      return std::to_string(fields.number<std::uint8_t>());
    case ValueType::int8:
      return std::to_string(fields.number<std::int8_t>());
    case ValueType::uint16:
      return std::to_string(fields.number<std::uint16_t>());
    case ValueType::int16:
      return std::to_string(fields.number<std::int16_t>());
    case ValueType::uint32:
      return std::to_string(fields.number<std::uint32_t>());
    case ValueType::int32:
      return std::to_string(fields.number<std::int32_t>());
    case ValueType::float32: {
      const float value = std::bit_cast<float>(fields.number<std::uint32_t>());
      return real_text(value, float32_repr(value));
    }
    case ValueType::boolean:
      return fields.number<std::uint8_t>() == 0 ? "false" : "true";
    case ValueType::uint64:
      return std::to_string(fields.number<std::uint64_t>());
    case ValueType::int64:
      return std::to_string(fields.number<std::int64_t>());
    case ValueType::float64: {
      const double value = std::bit_cast<double>(fields.number<std::uint64_t>());
      return real_text(value, float_repr(value));
    }
    default:
      return quoted(fields.text());
  }
}

/// An array, which may hold arrays.
class ArrayText {
 public:
  ArrayText(Fields& fields, std::uint64_t most) : fields_(fields), most_(most) {}

  std::optional<std::string> read() {
    enter();
    while (!open_.empty()) {
      Level& at = open_.back();
      if (at.left == 0) {
        if (!is_full()) text_ += ']';
        open_.pop_back();
        continue;
      }
      if (is_full() && size_of(at.type) > 0) {
        skip_rest(at);
        continue;
      }
      --at.left;
      if (at.type == ValueType::array)
        enter();
      else if (is_full())
        fields_.skip(fields_.size());  // the bytes of a string
      else
        put(scalar_text(fields_, at.type));
    }
    if (is_full()) return std::nullopt;
    return std::move(text_);
  }

 private:
  struct Level {
    ValueType type{};
    std::uint64_t left = 0;
  };

  [[nodiscard]] bool is_full() const { return text_.size() > most_; }

  void put(std::string_view text) {
    if (!text_.empty() && text_.back() != '[') text_ += ", ";
    text_ += text;
  }

  void enter() {
    if (open_.size() == limits::gguf_nesting)
      throw Error(ErrorCode::limit_exceeded, "arrays in arrays, more than " + std::to_string(open_.size()) + " deep")
          .at(fields_.offset());
    const ValueType type = read_type(fields_);
    const std::uint64_t count = fields_.size();
    if (!is_full()) put("[");
    open_.push_back({type, count});
  }

  void skip_rest(Level& at) {
    const auto bytes = checked_mul(at.left, size_of(at.type));
    if (!bytes)
      throw Error(ErrorCode::corrupt, "an array of " + std::to_string(at.left) + " elements").at(fields_.offset());
    fields_.skip(*bytes);
    at.left = 0;
  }

  Fields& fields_;
  std::uint64_t most_;
  std::vector<Level> open_;
  std::string text_;
};

}  // namespace

ValueType read_type(Fields& fields) {
  const std::uint64_t at = fields.offset();
  const auto type = fields.number<std::uint32_t>();
  if (type > static_cast<std::uint32_t>(ValueType::float64))
    throw Error(ErrorCode::corrupt, "a value of type " + std::to_string(type)).expected("0 to 12").at(at);
  return static_cast<ValueType>(type);
}

std::optional<std::string> read_value(Fields& fields, ValueType type, std::uint64_t most) {
  if (type == ValueType::array) return ArrayText(fields, most).read();
  if (type == ValueType::string) return fields.text();
  return scalar_text(fields, type);
}

}  // namespace ckpt::gguf
