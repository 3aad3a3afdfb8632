#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ckpt/value.h"

namespace ckpt::pickle {

struct EmitOptions {
  int source_protocol = 2;  ///< of the pickle the graph was read from
  /// None: the source's, each value in the opcode family it had; else that protocol's own spelling of everything.
  std::optional<int> protocol;
  /// Values outside the root that the source made and dropped (Program::discarded).
  std::vector<ValueId> discarded;
  /// Gets the persistent values in the order in which loading asks for them.
  std::vector<ValueId>* asked_for = nullptr;
};

/// The graph below `root` as a pickle. Loading it does what loading the source did: the same calls in the same order,
/// each given arguments in the state they had then; sharing and cycles as in the graph.
/// A pickle written by CPython's pickler comes back byte for byte, but for calls whose result it drops (an object whose
/// arguments lead back to it), which may come at another place, and the frames of protocols 4 and 5, which are
/// optional and left out.
/// Throws Error: unsupported (what the protocol cannot say), limit_exceeded.
std::string emit(const ValueGraph& graph, ValueId root, const EmitOptions& options = {});

}  // namespace ckpt::pickle
