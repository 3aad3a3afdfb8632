#include "foreign_shapes.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "io/bytes.h"

namespace ckpt {
namespace {

using namespace std::string_view_literals;

bool is_printable(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; });
}

/// Fields of a protobuf message, as far as they are looked at.
class Message {
 public:
  explicit Message(std::string_view bytes) : left_(bytes) {}

  /// The byte in front of the next field: number << 3 | wire type.
  bool take_tag(unsigned char tag) {
    if (left_.empty() || static_cast<unsigned char>(left_.front()) != tag) return false;
    left_.remove_prefix(1);
    return true;
  }
  std::optional<std::uint64_t> take_number() {
    std::uint64_t number = 0;
    for (int shift = 0; shift < 63 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      number |= std::uint64_t{byte & 0x7fU} << shift;
      if (byte < 0x80) return number;
    }
    return std::nullopt;
  }
  /// A field of bytes, cut where what is looked at ends.
  std::optional<std::string_view> take_bytes() {
    const auto length = take_number();
    if (!length) return std::nullopt;
    const std::string_view bytes = left_.substr(0, *length);
    left_.remove_prefix(bytes.size());
    return bytes;
  }
  [[nodiscard]] std::string_view left() const { return left_; }

 private:
  std::string_view left_;
};

constexpr ForeignKind onnx{"an ONNX model", "in Python: onnx.load(path); the weights are its graph.initializer"},
    core_ml{"a Core ML model", "in Python: coremltools.models.MLModel(path)"},
    saved_model{"the graph of a TensorFlow SavedModel", "in Python: tf.saved_model.load(FOLDER)"},
    frozen_graph{"a TensorFlow graph", "in Python: tf.compat.v1.GraphDef.FromString(bytes)"},
    caffe{"a Caffe model", "the program caffe, or its Python package"},
    tensorflow_index{"the index of a TensorFlow checkpoint", "in Python: tf.train.load_checkpoint(PREFIX)"},
    flax{"a msgpack file (Flax)", "in Python: flax.serialization.msgpack_restore(bytes)"},
    paddle{"a file of Paddle's parameters", "in Python: paddle.load(path), or paddle.static.load_inference_model"},
    torch7{"a file of Torch7 (Lua)",
           "in Python: torchfile.load(path), or torch 0.4's torch.utils.serialization.load_lua"},
    zeros{"nothing but zeros at its beginning", "a copy or download that was never finished: fetch the file again"};

/// A model of ONNX and one of Core ML begin alike: a version, then a name or a message.
const ForeignKind* versioned_message(std::string_view head) {
  Message message(head);
  if (!message.take_tag(0x08)) return nullptr;
  const auto version = message.take_number();
  if (!version || *version == 0 || *version > 64) return nullptr;
  if (message.take_tag(0x12)) {
    const auto second = message.take_bytes();
    if (!second || second->empty()) return nullptr;
    if (*version == 1 && second->front() == 0x0a) return &saved_model;
    if (second->front() == 0x0a) return &core_ml;
    return is_printable(*second) ? &onnx : nullptr;
  }
  const bool graph_or_opset = message.take_tag(0x3a) || message.take_tag(0x42);
  return graph_or_opset && message.take_bytes() ? &onnx : nullptr;
}

/// A graph of TensorFlow begins with a node, a model of Caffe with its own name.
const ForeignKind* named_message(std::string_view head) {
  Message message(head);
  if (!message.take_tag(0x0a)) return nullptr;
  const auto first = message.take_bytes();
  if (!first || first->empty()) return nullptr;
  if (is_printable(*first) && message.left().starts_with("\xa2\x06"sv)) return &caffe;
  Message node(*first);
  if (!node.take_tag(0x0a)) return nullptr;
  const auto name = node.take_bytes();
  if (!name || name->empty() || !is_printable(*name) || !node.take_tag(0x12)) return nullptr;
  const auto operation = node.take_bytes();
  return operation && !operation->empty() && is_printable(*operation) ? &frozen_graph : nullptr;
}

/// A map whose first key is a short text.
bool is_msgpack(std::string_view head) {
  if (head.size() < 4) return false;
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(head[i]); };
  const std::size_t key = at(0) == 0xde ? 3 : 1;
  if (key == 1 && (at(0) < 0x81 || at(0) > 0x8f)) return false;
  if (at(key) < 0xa1 || at(key) > 0xbf) return false;
  const std::size_t length = at(key) & 31U;
  return head.size() > key + 1 + length && is_printable(head.substr(key + 1, length)) && at(key + 1 + length) >= 0x80;
}

/// A tensor without name: no version, no levels, no version, the size of a description, which begins with a type.
bool is_paddle(std::string_view head) {
  return head.size() > 20 && head.substr(0, 16) == std::string_view("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 16) &&
         load_le<std::uint32_t>(as_bytes(head).data() + 16) - 1 < 256 && head[20] == 0x08;
}

/// An object with "V 1", or a table whose first key is a number or a text; in the binary and in the ASCII form.
bool is_torch7(std::string_view head) {
  if (head.starts_with("4\n1\n3\nV 1\n")) return true;
  if (head.starts_with("\4\0\0\0\1\0\0\0\3\0\0\0V 1"sv)) return true;
  return head.starts_with("\3\0\0\0\1\0\0\0"sv) && head.size() > 16 && (head[12] == 1 || head[12] == 2) &&
         head.substr(13, 3) == "\0\0\0"sv;
}

bool is_leveldb_table(const ByteSource& source) {
  constexpr std::string_view magic = "\x57\xfb\x80\x8b\x24\x75\x47\xdb";
  if (!source.size_is_known() || source.size() < 48) return false;
  std::array<std::byte, magic.size()> end{};
  return source.read_at(source.size() - magic.size(), end) == magic.size() && as_text(end) == magic;
}

}  // namespace

const ForeignKind* foreign_shape(std::string_view head, const ByteSource& source) {
  if (const ForeignKind* const found = versioned_message(head)) return found;
  if (const ForeignKind* const found = named_message(head)) return found;
  if (is_torch7(head)) return &torch7;
  if (is_msgpack(head)) return &flax;
  if (is_paddle(head)) return &paddle;
  if (is_leveldb_table(source)) return &tensorflow_index;
  if (head.size() >= 64 && head.find_first_not_of('\0') == std::string_view::npos) return &zeros;
  return nullptr;
}

}  // namespace ckpt
