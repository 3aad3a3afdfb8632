#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/export.h"

namespace ckpt {

/// A device as location tags name it: "cpu", "cuda:0", "mps". Tags of files are kept as they are; only devices that a
/// user names are parsed.
///
/// Returns the tag that torch itself would write for `text`: "cuda" is "cuda:0", "mps" stays "mps", "cpu" stays "cpu".
/// Known types: cpu, cuda, mps, xpu, hpu, npu, xla, ipu, mtia, maia, privateuseone, meta (torch/serialization.py,
/// register_package). Throws Error (invalid_argument) for anything else, with what is known.
CKPT_API std::string location_tag(std::string_view text);

/// What `torch.load(map_location=…)` does to location tags, as data.
///
///     DeviceMap to_cpu = DeviceMap::all_to("cpu");
///     DeviceMap table;  table.add("cuda:0=cuda:1");  table.add("*=cpu");
///
/// A source is an exact tag, a type alone ("cuda": all of its devices), or "*" (every other). Exact tags win over
/// types, types over "*"; what nothing matches stays as it is, as with a dict given to map_location.
class CKPT_API DeviceMap {
 public:
  DeviceMap() = default;
  /// One device for everything: map_location="cpu".
  static DeviceMap all_to(std::string_view device);

  /// Adds "SRC=DST". Throws Error (invalid_argument).
  void add(std::string_view rule);

  [[nodiscard]] bool empty() const { return rules_.empty(); }
  /// The tag that replaces `location`; `location` itself where no rule matches.
  [[nodiscard]] std::string map(const std::string& location) const;
  /// Sources of rules that match none of `locations`, as the user wrote them.
  [[nodiscard]] std::vector<std::string> unmatched(const std::vector<std::string>& locations) const;

 private:
  [[nodiscard]] const std::pair<std::string, std::string>* rule_for(const std::string& location) const;

  std::vector<std::pair<std::string, std::string>> rules_;
};

}  // namespace ckpt
