#include "torchscript/relocate.h"

#include <deque>
#include <map>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/utf8.h"
#include "io/bytes.h"
#include "pickle/opcodes.h"
#include "pickle/scanner.h"

namespace ckpt::torchscript {
namespace {

using namespace pickle;

/// Longer texts are no locations.
constexpr std::size_t longest_location = 256;
/// More than the instructions between a location and the BINPERSID of its id: the number of elements and TUPLE, and
/// after each a PUT, which Python writes and libtorch does not.
constexpr std::size_t window = 8;

bool is_put(std::uint8_t code) { return code == BINPUT || code == LONG_BINPUT; }
bool is_get(std::uint8_t code) { return code == BINGET || code == LONG_BINGET; }
bool is_number(std::uint8_t code) { return code == BININT1 || code == BININT2 || code == BININT || code == LONG1; }

void write_text(std::string& out, std::string_view text) {
  out.push_back(static_cast<char>(BINUNICODE));
  append_le(out, static_cast<std::uint32_t>(text.size()));
  out += text;
}

class Relocation {
 public:
  Relocation(const ByteSource& source, const LocationOf& location_of) : scanner_(source, 0), location_of_(location_of) {
    bytes_.resize(source.size());
    source.read_exactly(0, bytes_);
  }

  std::string run() {
    for (bool more = true; more;) {
      const Op op = scanner_.next();
      if (op.code == FRAME) continue;  // its size would be another; readers do without
      if (op.code == BINPERSID) mark_location();
      Instruction next{op.code, op.offset, scanner_.offset(), op.integer, std::nullopt, std::nullopt};
      if (op.code == BINUNICODE && op.text.size() <= longest_location) next.text = op.text;
      recent_.push_back(std::move(next));
      if (recent_.size() > window) settle();
      more = op.code != STOP;
    }
    while (!recent_.empty()) settle();
    return std::move(out_);
  }

 private:
  struct Instruction {
    std::uint8_t code = 0;
    std::uint64_t begin = 0, end = 0;
    std::int64_t index = 0;               ///< of the memo
    std::optional<std::string> text;      ///< what it pushes, where that may be a location
    std::optional<std::string> in_place;  ///< the location to push instead
  };
  /// A text in the memo, as it was and as it is written.
  struct Kept {
    std::string was, is;
  };

  /// A BINPERSID comes next: the location stands before the number of elements and the TUPLE.
  void mark_location() {
    const auto target = location_of_(persistent_++);
    if (!target) return;
    std::size_t behind = recent_.size();
    const auto before = [&]() -> Instruction* {
      while (behind > 0 && is_put(recent_[behind - 1].code)) --behind;
      return behind == 0 ? nullptr : &recent_[--behind];
    };
    const Instruction *const tuple = before(), *const number = before();
    Instruction* const location = before();
    const bool usual = location != nullptr && tuple->code == TUPLE && is_number(number->code);
    const bool is_text =
        usual && (is_get(location->code) ? memo_holds_text(location->index) : location->text.has_value());
    if (!is_text)
      throw Error(ErrorCode::unsupported, "the pickle spells the id of a storage as neither libtorch nor Python does")
          .expected("a location, the number of elements, TUPLE, BINPERSID")
          .at(recent_.empty() ? 0 : recent_.back().begin);
    if (!is_utf8(*target))
      throw Error(ErrorCode::unsupported,
                  "another pickle of the archive says that the storage is where no text can say")
          .expected("one location of a storage, in UTF-8")
          .at(location->begin);
    location->in_place = *target;
  }

  /// Whether a GET of it pushes a text that may be a location; the PUT may not be settled yet.
  bool memo_holds_text(std::int64_t index) const {
    for (std::size_t i = recent_.size(); i-- > 0;)
      if (is_put(recent_[i].code) && recent_[i].index == index)
        return i > 0 ? recent_[i - 1].text.has_value() : pushed_.has_value();
    return memo_.contains(index);
  }

  /// Writes the oldest instruction: by now it is known whether it pushes a location.
  void settle() {
    const Instruction op = std::move(recent_.front());
    recent_.pop_front();
    std::optional<Kept> pushed;
    if (op.code == BINUNICODE && op.text) {
      pushed = Kept{*op.text, op.in_place.value_or(*op.text)};
      pushed->was == pushed->is ? copy(op) : write_text(out_, pushed->is);
    } else if (is_get(op.code)) {
      const auto kept = memo_.find(op.index);
      const std::string* const wanted = kept == memo_.end() ? nullptr : op.in_place ? &*op.in_place : &kept->second.was;
      wanted == nullptr || *wanted == kept->second.is ? copy(op) : write_text(out_, *wanted);
    } else {
      if (is_put(op.code)) {
        if (pushed_)
          memo_[op.index] = *pushed_;
        else
          memo_.erase(op.index);
      }
      copy(op);
    }
    pushed_ = std::move(pushed);
  }

  void copy(const Instruction& op) { out_ += as_text(bytes_).substr(op.begin, op.end - op.begin); }

  Scanner scanner_;
  const LocationOf& location_of_;
  std::vector<std::byte> bytes_;
  std::size_t persistent_ = 0;
  std::deque<Instruction> recent_;
  std::map<std::int64_t, Kept> memo_;
  std::optional<Kept> pushed_;  ///< by the instruction settled last
  std::string out_;
};

}  // namespace

std::string relocate(const ByteSource& pickle, const LocationOf& location_of) {
  return Relocation(pickle, location_of).run();
}

}  // namespace ckpt::torchscript
