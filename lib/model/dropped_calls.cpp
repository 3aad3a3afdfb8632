#include "model/dropped_calls.h"

#include <numeric>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt {
namespace {

/// Whether a call could leave a trace in it.
bool may_change(ValueKind kind) {
  switch (kind) {
    case ValueKind::bytearray:
    case ValueKind::list:
    case ValueKind::dict:
    case ValueKind::set:
    case ValueKind::persistent:
    case ValueKind::object:
      return true;
    default:
      return false;
  }
}

}  // namespace

DroppedCalls::DroppedCalls(const ValueGraph& values, std::vector<ValueId> discarded, std::string file)
    : values_(values),
      discarded_(std::move(discarded)),
      is_discarded_(discarded_.begin(), discarded_.end()),
      file_(std::move(file)) {
  if (discarded_.empty()) return;
  begin_.resize(values.size() + 1);
  for (ValueId id = 0; id < values.size(); ++id) values.each_operand(id, [&](ValueId item) { ++begin_[item + 1]; });
  std::partial_sum(begin_.begin(), begin_.end(), begin_.begin());
  holders_.resize(begin_.back());
  std::vector<std::uint32_t> next(begin_.begin(), begin_.end() - 1);
  for (ValueId id = 0; id < values.size(); ++id)
    values.each_operand(id, [&](ValueId item) { holders_[next[item]++] = id; });
}

std::vector<ValueId> DroppedCalls::that_change(std::span<const ValueId> held) {
  if (discarded_.empty()) return {};
  std::unordered_set<ValueId> stays(held.begin(), held.end()), leads;
  std::vector<ValueId> open;  // of those that lead, whose holders have not been looked at
  const auto lead = [&](ValueId id) {
    count_step();
    if (leads.insert(id).second) open.push_back(id);
  };
  for (const ValueId id : held)
    if (may_change(values_.kind(id))) lead(id);
  std::vector<ValueId> below;
  const auto stay = [&](ValueId id) {
    count_step();
    if (!stays.insert(id).second) return;
    below.push_back(id);
    if (may_change(values_.kind(id))) lead(id);
  };
  while (!open.empty()) {
    const ValueId id = open.back();
    open.pop_back();
    for (std::uint32_t i = begin_[id]; i < begin_[id + 1]; ++i) lead(holders_[i]);
    if (!is_discarded_.contains(id)) continue;
    stay(id);
    while (!below.empty()) {
      const ValueId at = below.back();
      below.pop_back();
      values_.each_operand(at, stay);
    }
  }
  std::vector<ValueId> found;
  for (const ValueId id : discarded_)
    if (leads.contains(id)) found.push_back(id);
  return found;
}

void DroppedCalls::count_step() {
  const std::uint64_t most = limits::walk_step_cap(values_.extent());
  if (++steps_ > most)
    throw Error(ErrorCode::limit_exceeded,
                "looking for calls that change what is written takes more than " + std::to_string(most) + " steps")
        .in(file_);
}

}  // namespace ckpt
