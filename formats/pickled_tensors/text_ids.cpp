#include "pickled_tensors/text_ids.h"

#include <charconv>
#include <vector>

namespace ckpt::torch {
namespace {

/// Reads the text from left to right; `failed` once something is not as expected.
class Reader {
 public:
  Reader(ValueGraph& values, std::string_view text) : values_(values), rest_(text) {}

  std::optional<ValueId> id() {
    std::vector<ValueId> items;
    expect("(");
    while (!failed_ && !rest_.starts_with(')')) {
      if (!items.empty()) expect(", ");
      items.push_back(item());
      if (items.size() > 6) failed_ = true;
    }
    expect(")");
    if (failed_ || !rest_.empty() || items.size() < 5) return std::nullopt;
    return values_.make_tuple(items);
  }

 private:
  void expect(std::string_view token) {
    if (rest_.starts_with(token))
      rest_.remove_prefix(token.size());
    else
      failed_ = true;
  }

  std::string_view until(std::string_view end) {
    const auto at = rest_.find(end);
    if (at == std::string_view::npos) {
      failed_ = true;
      return {};
    }
    const std::string_view found = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return found;
  }

  ValueId number() {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (error != std::errc{}) failed_ = true;
    rest_.remove_prefix(static_cast<std::size_t>(stop - rest_.data()));
    return values_.make_integer(value);
  }

  ValueId view() {  // (key, offset, size)
    expect("(");
    expect("'");
    const ValueId key = values_.make_str(until("'"));
    expect(", ");
    const ValueId offset = number();
    expect(", ");
    const ValueId size = number();
    expect(")");
    const ValueId items[] = {key, offset, size};
    return values_.make_tuple(items);
  }

  ValueId item() {
    constexpr std::string_view type = "<class '";
    if (rest_.starts_with(type)) {
      expect(type);
      const std::string_view name = until("'>");
      const auto dot = name.rfind('.');
      if (dot == std::string_view::npos) failed_ = true;
      return failed_ ? values_.make_none() : values_.make_global(name.substr(0, dot), name.substr(dot + 1));
    }
    if (rest_.starts_with('\'')) {
      expect("'");
      return values_.make_str(until("'"));
    }
    if (rest_.starts_with("None")) {
      expect("None");
      return values_.make_none();
    }
    return rest_.starts_with('(') ? view() : number();
  }

  ValueGraph& values_;
  std::string_view rest_;
  bool failed_ = false;
};

}  // namespace

std::optional<ValueId> parse_text_id(ValueGraph& values, std::string_view text) { return Reader(values, text).id(); }

}  // namespace ckpt::torch
