#include "pickle_mutator.h"

#include <algorithm>
#include <random>
#include <string_view>

namespace ckpt::fuzz {
namespace {

using Random = std::minstd_rand;

constexpr std::uint8_t proto = 0x80, frame = 0x95, stop = '.';
constexpr std::size_t most_changes = 3, longest_range = 16, room = 256;
constexpr std::string_view without_operand =
    "(012NQRbd]}aelostu)\x81\x85\x86\x87\x88\x89\x8f\x90\x91\x92\x93\x94\x97\x98";

/// What follows an opcode: bytes of a fixed number, lines, or a count of so many bytes and what it counts.
struct Shape {
  enum { fixed, lines, counted, unknown } kind = unknown;
  std::size_t size = 0;
  bool operator==(const Shape&) const = default;
};

Shape shape_of(std::uint8_t code) {
  const auto is_one_of = [&](std::string_view codes) { return codes.find(static_cast<char>(code)) != codes.npos; };
  if (code == stop || is_one_of(without_operand)) return {Shape::fixed, 0};
  if (is_one_of("Kqh\x80\x82")) return {Shape::fixed, 1};
  if (is_one_of("M\x83")) return {Shape::fixed, 2};
  if (is_one_of("Jrj\x84")) return {Shape::fixed, 4};
  if (is_one_of("G\x95")) return {Shape::fixed, 8};
  if (is_one_of("ILFSVPgp")) return {Shape::lines, 1};
  if (is_one_of("ci")) return {Shape::lines, 2};
  if (is_one_of("UC\x8a\x8c")) return {Shape::counted, 1};
  if (is_one_of("TBX\x8b")) return {Shape::counted, 4};
  if (is_one_of("\x8d\x8e\x96")) return {Shape::counted, 8};
  return {};
}

struct Instruction {
  std::uint8_t code = 0;
  Bytes operand;  ///< without the count; with the ends of lines
};
using Pickle = std::vector<Instruction>;

/// The instructions from `at` on, up to STOP, behind which `at` stands then; none where they do not come to one.
std::optional<Pickle> take_apart(const Bytes& bytes, std::size_t& at) {
  Pickle pickle;
  while (at < bytes.size()) {
    const std::uint8_t code = bytes[at++];
    const Shape shape = shape_of(code);
    std::uint64_t size = shape.size;
    if (shape.kind == Shape::unknown) return std::nullopt;
    if (shape.kind == Shape::counted) {
      if (bytes.size() - at < shape.size) return std::nullopt;
      size = 0;
      for (std::size_t i = shape.size; i-- > 0;) size = size << 8 | bytes[at + i];
      at += shape.size;
    } else if (shape.kind == Shape::lines) {
      std::size_t end = at;
      for (std::size_t ended = 0; ended < shape.size; ++end) {
        if (end == bytes.size()) return std::nullopt;
        ended += bytes[end] == '\n';
      }
      size = end - at;
    }
    if (bytes.size() - at < size) return std::nullopt;
    const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    pickle.push_back({code, Bytes(begin, begin + static_cast<std::ptrdiff_t>(size))});
    at += size;
    if (code == stop) return pickle;
  }
  return std::nullopt;
}

void append_number(Bytes& out, std::uint64_t number, std::size_t width) {
  for (std::size_t i = 0; i < width; ++i) out.push_back(static_cast<std::uint8_t>(i < 8 ? number >> 8 * i : 0));
}

Bytes put_together(const Pickle& pickle) {
  const auto length_of = [](const Instruction& instruction) {
    const Shape shape = shape_of(instruction.code);
    return 1 + (shape.kind == Shape::counted ? shape.size : 0) + instruction.operand.size();
  };
  Bytes out;
  for (std::size_t i = 0; i < pickle.size(); ++i) {
    const auto& [code, operand] = pickle[i];
    const Shape shape = shape_of(code);
    out.push_back(code);
    if (shape.kind == Shape::counted) append_number(out, operand.size(), shape.size);
    if (code == frame) {
      std::uint64_t length = 0;
      for (std::size_t j = i + 1; j < pickle.size() && pickle[j].code != frame; ++j) length += length_of(pickle[j]);
      append_number(out, length, shape.size);
    } else {
      out.insert(out.end(), operand.begin(), operand.end());
    }
  }
  return out;
}

void change_operand(Instruction& instruction, Mutate mutate) {
  const Shape shape = shape_of(instruction.code);
  Bytes& operand = instruction.operand;
  const std::size_t size = operand.size();
  if (shape == Shape{Shape::fixed, 0}) {
    instruction.code = static_cast<std::uint8_t>(without_operand[instruction.code % without_operand.size()]);
    return;
  }
  const bool may_grow = shape.kind != Shape::fixed;
  operand.resize(may_grow ? size + room : size);
  operand.resize(mutate(operand.data(), size, operand.size()));
  if (shape.kind == Shape::fixed) operand.resize(shape.size);
  if (shape == Shape{Shape::counted, 1}) operand.resize(std::min<std::size_t>(operand.size(), 255));
  if (shape.kind != Shape::lines) return;
  const auto ends = static_cast<std::size_t>(std::count(operand.begin(), operand.end(), '\n'));
  for (std::size_t i = ends; i < shape.size; ++i) operand.push_back('\n');
  std::size_t kept = 0;
  for (std::size_t ended = 0; ended < shape.size; ++kept) ended += operand[kept] == '\n';
  operand.resize(kept);
}

/// All but the last instruction, STOP, is there to be changed.
void change(Pickle& pickle, Random& random, Mutate mutate) {
  const std::size_t size = pickle.size() - 1;
  if (size == 0) return;
  const auto place = [&](std::size_t index) { return pickle.begin() + static_cast<std::ptrdiff_t>(index); };
  const std::size_t one = random() % size, other = random() % size;
  const std::size_t many = std::min(size - one, 1 + random() % longest_range);
  switch (random() % 9) {
    case 0:
      pickle.erase(place(one));
      break;
    case 1:
      pickle.erase(place(one), place(one + many));
      break;
    case 2:
      std::swap(pickle[one], pickle[other]);
      break;
    case 3: {
      const Pickle copied(place(one), place(one + many));
      pickle.insert(place(other), copied.begin(), copied.end());
      break;
    }
    case 4: {
      const std::size_t which = random() % without_operand.size();
      pickle.insert(place(one), {static_cast<std::uint8_t>(without_operand[which]), {}});
      break;
    }
    case 5:
    case 6:  // what others of that shape are given: texts, numbers, places in the memo
      for (std::size_t i = 0; i < size; ++i) {
        const Instruction& from = pickle[(other + i) % size];
        if (shape_of(from.code) != shape_of(pickle[one].code) || from.operand == pickle[one].operand) continue;
        pickle[one].operand = Bytes(from.operand);
        break;
      }
      break;
    default:
      change_operand(pickle[one], mutate);
  }
}

}  // namespace

std::optional<Bytes> mutated_pickle(const Bytes& bytes, unsigned seed, Mutate mutate) {
  std::vector<std::size_t> begins;
  std::vector<Pickle> pickles;
  std::size_t at = 0;
  while (at < bytes.size() && (at == 0 || bytes[at] == proto)) {  // a legacy file has several, one after another
    const std::size_t begin = at;
    auto pickle = take_apart(bytes, at);
    if (!pickle) {
      at = begin;
      break;
    }
    begins.push_back(begin);
    pickles.push_back(std::move(*pickle));
  }
  if (pickles.empty()) return std::nullopt;
  Random random(seed + 1);
  const std::size_t which = random() % pickles.size();
  for (std::size_t changes = 1 + random() % most_changes; changes > 0; --changes)
    change(pickles[which], random, mutate);
  const std::size_t end = which + 1 < begins.size() ? begins[which + 1] : at;
  Bytes out(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(begins[which]));
  const Bytes changed = put_together(pickles[which]);
  out.insert(out.end(), changed.begin(), changed.end());
  out.insert(out.end(), bytes.begin() + static_cast<std::ptrdiff_t>(end), bytes.end());
  return out;
}

}  // namespace ckpt::fuzz
