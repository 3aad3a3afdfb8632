#include <array>
#include <string_view>
#include <vector>

#include "io/bytes.h"
#include "scan/walk.h"

/// Arrays of numpy's: whether they are pickles, and what stands behind them.
namespace ckpt::scanning {
namespace {

/// "T" by itself, which is a dtype of texts that are objects: "<T", "i4,T".
bool says_texts(std::string_view text) {
  const auto is_part_of_name = [&](std::size_t i) {
    const char c = i < text.size() ? static_cast<char>(text[i] | 0x20) : ' ';
    return (c >= 'a' && c <= 'z') || (i < text.size() && text[i] == '_');
  };
  for (std::size_t i = text.find('T'); i != std::string_view::npos; i = text.find('T', i + 1))
    if (!is_part_of_name(i - 1) && !is_part_of_name(i + 1)) return true;
  return false;
}

/// Whether the line that says what an array is may mean objects: "|O", and numpy knows the name as well; or texts of
/// any length. Escapes may spell each, and so may texts that Python joins, or that numpy takes apart: where it has a
/// tuple of name and dtype, it takes "aT" as well. numpy writes none of those.
bool may_say_objects(std::string_view line) {
  struct Open {
    char bracket;
    bool has_text = false, has_comma = false;
  };
  std::vector<Open> open;
  if (line.find_first_of("O\\#") != std::string_view::npos || line.find("object") != std::string_view::npos)
    return true;
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'; };
  char last = ' ';  // that is no space
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '\'' || c == '"') {
      if (std::string_view("{[(,:").find(last) == std::string_view::npos) return true;  // behind a text, or a prefix
      const std::size_t end = std::min(line.find(c, i + 1), line.size());
      if (says_texts(line.substr(i + 1, end - (i + 1)))) return true;
      i = end;
      const bool stands_where_written =
          !open.empty() && (open.back().bracket == '(' || (open.back().bracket == '{' && open.size() == 1));
      if (!stands_where_written) return true;
      open.back().has_text = true;
    } else if (c == '(' || c == '[' || c == '{') {
      open.push_back({c});
    } else if (!open.empty() && c == ',') {
      open.back().has_comma = true;
    } else if (!open.empty() && (c == ')' || c == ']' || c == '}')) {
      if (c == ')' && open.back().has_text && !open.back().has_comma) return true;  // no tuple
      open.pop_back();
    }
    if (!is_space(c)) last = c;
  }
  return false;
}

}  // namespace

/// "\x93NUMPY", a version, a length, a line of Python that says what follows: of objects, it is a pickle.
void Walk::open_array(const Part& part) {
  result_.recognised = true;
  if (part.depth >= limits::nesting) throw too_deep();
  std::array<std::byte, 12> fixed{};
  part.bytes->read_exactly(0, fixed);
  const bool is_first = fixed[6] == std::byte{1};
  const std::uint64_t begin = is_first ? 10 : 12;
  const std::uint64_t length = is_first ? load_le<std::uint16_t>(&fixed[8]) : load_le<std::uint32_t>(&fixed[8]);
  if (length > limits::numpy_header_bytes)
    throw Error(ErrorCode::limit_exceeded, "an array's header of " + std::to_string(length) + " bytes")
        .expected("at most " + std::to_string(limits::numpy_header_bytes));
  std::vector<std::byte> line(static_cast<std::size_t>(length));
  part.bytes->read_exactly(begin, line);
  const bool has_objects = may_say_objects(as_text(line));
  const std::uint64_t data = begin + length;
  const std::uint64_t size = part.bytes->size_is_known() ? part.bytes->size() : UINT64_MAX;
  if (data >= size) return;
  Part elements = part_in_place(part, slice(part.bytes, data, size - data, part.bytes->name()), data,
                                has_objects ? Role::pickle : Role::storage, has_objects ? "objects of an array" : "");
  elements.may_be_archive = false;
  if (has_objects) return visit(elements);
  follow_pickles(elements, false, false);
  // Whoever loads from one stream again and again gets behind its end.
  const std::uint64_t end = find_format("npy")->end(part.bytes, context_);
  if (end < size) open_rest(part, end);
}

}  // namespace ckpt::scanning
