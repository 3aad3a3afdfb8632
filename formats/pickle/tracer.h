#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "pickle/memo.h"
#include "pickle/scanner.h"
#include "pickle/trace.h"

/// The machine behind trace(): stack, memo and control in trace.cpp, texts and names in trace_names.cpp, calls in
/// trace_calls.cpp.
namespace ckpt::pickle {

class Tracer {
 public:
  Tracer(ByteSourcePtr source, std::uint64_t offset, const TraceOptions& options)
      : source_(std::move(source)),
        scanner_(*source_, offset, options.cap, limits::scan_name_bytes + 1),
        options_(options),
        memo_(options.values) {}

  Trace run();

 private:
  /// All that is kept of a value: what it is to a call, and which one.
  enum class Kind : std::uint8_t {
    plain,   ///< neither a name nor callable: a number, a container
    result,  ///< what a call makes, or a container's id stands for; index: the name that was called, or none
    again,   ///< the same where it may be in other hands already
    name,
    text,
    tuple,  ///< of which any item is none of the first
  };
  struct Cell {
    Kind kind = Kind::plain;
    std::uint32_t index = 0;
  };
  static bool is_object(Cell cell) { return cell.kind == Kind::result || cell.kind == Kind::again; }
  /// Of a plain value: a list, dict or set, which is no tuple of arguments.
  static constexpr Cell container{Kind::plain, 1};
  static constexpr std::uint32_t none = (1U << 29) - 1;
  static std::uint32_t packed(Cell cell) { return cell.index << 3 | static_cast<std::uint32_t>(cell.kind); }
  static Cell unpacked(std::uint32_t bits) { return {static_cast<Kind>(bits & 7U), bits >> 3}; }

  enum class Form : std::uint8_t { bytes, str, encoded };  ///< encoded: a str of which Latin-1 makes bytes
  struct Text {
    std::uint64_t at = 0, size = 0;
    std::uint64_t pooled_at = 0;
    bool pooled = false;
    bool in_place = false;    ///< its bytes stand in the source at `at` as they are
    bool is_changed = false;  ///< since: it is not what it was
    Form form = Form::bytes;
  };
  struct Tuple {
    std::uint32_t size = 0;
    std::uint32_t objects = 0;  ///< how far those go that calls make: behind the last one
    bool acts = false;          ///< any item, or one of a tuple among them, has whatever attributes the file gives it
    Cell first, second;
  };

  [[noreturn]] static void fail(std::string what, ErrorCode code = ErrorCode::corrupt);
  void count_to(std::size_t count) const;
  void run_to_stop();
  bool step(const Op& op);
  static bool takes_items(const TracedName& name, std::uint8_t code);
  void step_effect(const Op& op);
  void step_memo(const Op& op);
  void step_container(const Op& op);
  void step_literal(const Op& op);
  void step_name(const Op& op);
  void step_call(const Op& op);

  void push(Cell cell);
  std::span<const std::uint32_t> pop(std::size_t count);
  std::span<const std::uint32_t> pop_to_mark();
  std::span<const std::uint32_t> take_from(std::size_t floor);
  Cell top() const;
  void put(std::uint64_t index);
  void get(std::uint64_t index);

  void push_text(const Op& op, Form form);
  void push_line(const Op& op);
  void add_text(Text text, std::string_view pooled);
  static std::uint32_t objects_among(std::span<const std::uint32_t> items);
  Cell tuple_of(std::span<const std::uint32_t> items);
  void import(const Op& op, std::string_view module, std::string_view name);
  void import_dangerous(const Op& op, std::string_view module, std::string_view name);
  void suspect(const Op& op, std::string_view module, std::string_view name, Verdict verdict = Verdict::dangerous);
  void import_cut_name();
  void import_from_stack(const Op& op);
  /// None for what is computed. Throws for what is no text.
  std::optional<std::string_view> word(Cell cell) const;
  std::string_view pooled(const Text& text) const;
  void reach(std::uint32_t name, std::uint8_t code);
  void call(const Op& op, Cell callable, std::span<const std::uint32_t> arguments);
  Cell shared(Cell cell);
  void build(const Op& op, Cell target, Cell state);
  [[nodiscard]] bool acts(Cell cell) const;
  [[nodiscard]] bool any_acts(std::span<const std::uint32_t> items) const;
  void refuse_keywords(std::uint32_t type);
  void apply(std::uint32_t callable, const Tuple& arguments);
  void refuse(std::uint32_t name);
  [[nodiscard]] bool is_told_numpys(std::span<const std::uint32_t> arguments) const;
  void judge_call(const Op& op, std::uint32_t name, std::span<const std::uint32_t> arguments);
  void step_persistent(Cell id);
  void judge_appliers();
  bool encodes(std::uint32_t name, const Tuple& arguments);
  /// False where no bytes can be had of it.
  bool give(std::uint32_t name, std::uint32_t text);
  ByteSourcePtr bytes_of(const Text& text) const;

  ByteSourcePtr source_;
  Scanner scanner_;
  TraceOptions options_;
  Trace trace_;
  std::vector<std::uint32_t> stack_, operands_;
  std::vector<std::size_t> marks_;
  std::int64_t protocol_ = 0;
  Memo memo_;
  std::vector<Text> texts_;
  std::string pool_;
  std::vector<Tuple> tuples_;
  std::map<std::pair<std::string, std::string>, std::uint32_t> names_;
  std::map<std::tuple<std::uint32_t, std::uint64_t, Form>, bool> given_;  ///< by name and text; what give() says
  bool has_odd_keys_ = false;  ///< the memo may have what is not known to be there
};

}  // namespace ckpt::pickle
