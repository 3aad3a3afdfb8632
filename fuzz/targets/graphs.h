#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ckpt/value.h"

/// Whether two object graphs say the same, identity included.
namespace ckpt::fuzz {

class GraphPair {
 public:
  /// Decides what pairs of persistent values are without looking at their ids: nothing said (nullopt) looks at them.
  using Persistent = std::function<std::optional<bool>(ValueId a, ValueId b)>;

  GraphPair(const ValueGraph& a, const ValueGraph& b, Persistent persistent = {})
      : a_(a), b_(b), persistent_(std::move(persistent)) {}

  /// Walks both from these values on. Returns what differs, empty where nothing does. Values met before must meet each
  /// other again.
  std::string difference(ValueId a, ValueId b) { return difference(std::vector{a}, std::vector{b}); }
  /// Likewise from several; the effects that came at `until` (in each graph's time) or later do not count.
  std::string difference(std::vector<ValueId> a, std::vector<ValueId> b, Time until_a = forever,
                         Time until_b = forever);

  /// Calls and changes to what calls made, in order, of all that these values reach: the same ones, and each saw the
  /// same. difference() comes before it. Nothing is said of large graphs.
  std::string difference_of_events(const std::vector<ValueId>& a, const std::vector<ValueId>& b);

 private:
  static constexpr Time forever = 0xFFFFFFFF;
  struct Event;

  std::string compare(ValueId a, ValueId b, Time until_a, Time until_b);
  std::string compare_operands(std::span<const ValueId> a, std::span<const ValueId> b, const char* what);
  static std::vector<Event> events(const ValueGraph& graph, const std::vector<ValueId>& roots);

  const ValueGraph& a_;
  const ValueGraph& b_;
  Persistent persistent_;
  std::vector<ValueId> there_, back_;
  std::vector<std::pair<ValueId, ValueId>> open_;
};

}  // namespace ckpt::fuzz
