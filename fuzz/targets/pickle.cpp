#include "io/bytes.h"
#include "pickle/emitter.h"
#include "pickle/machine.h"
#include "targets/graphs.h"
#include "targets/input.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

struct Loaded {
  explicit Loaded(const ByteSourcePtr& source) : program(pickle::run(*source, 0, graph)) {}

  [[nodiscard]] std::vector<ValueId> roots() const {
    std::vector<ValueId> all{program.root};
    all.insert(all.end(), program.discarded.begin(), program.discarded.end());
    return all;
  }
  [[nodiscard]] std::string emit(std::optional<int> protocol) const {
    return pickle::emit(graph, program.root, {program.protocol, protocol, program.discarded});
  }

  ValueGraph graph;
  pickle::Program program;
};

/// None where it is past the reader's caps.
std::optional<Loaded> load_again(const std::string& code, const std::string& what) {
  const auto bytes = as_bytes(code);
  try {
    Loaded loaded(memory_source({bytes.begin(), bytes.end()}, "emitted"));
    require(loaded.program.end == code.size(), what + ": the emitted pickle ends elsewhere");
    return loaded;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::limit_exceeded) return std::nullopt;
    broken(what + ": the emitted pickle does not run: " + error.what());
  }
}

/// Emits it as its source spelt it; what comes out runs to the same. Returns what came out.
std::string check_kept(const Loaded& source) {
  std::string code;
  if (const auto error = error_of([&] { code = source.emit(std::nullopt); })) {
    require(error->code() == ErrorCode::limit_exceeded, std::string("what ran does not emit: ") + error->what());
    return {};
  }
  const std::optional<Loaded> again = load_again(code, "as it was");
  require(again.has_value(), "what was read cannot be read again");
  GraphPair pair(source.graph, again->graph);
  const std::string differs = pair.difference(source.program.root, again->program.root);
  require(differs.empty(), "what was emitted says another thing: " + differs);
  const std::string events = pair.difference_of_events(source.roots(), again->roots());
  require(events.empty(), "what was emitted does another thing: " + events);
  return code;
}

void check_protocol(const Loaded& source, int protocol) {
  std::string code;
  if (error_of([&] { code = source.emit(protocol); })) return;  // what that protocol cannot say
  const std::string what = "protocol " + std::to_string(protocol);
  const std::optional<Loaded> again = load_again(code, what);
  if (!again) return;  // what that protocol says in more bytes than are read
  require(again->program.protocol == protocol || protocol < 2, what + " is not what it says");
  check_kept(*again);
}

}  // namespace

int fuzz_pickle(const std::uint8_t* data, std::size_t size) {
  std::optional<Loaded> source;
  if (error_of([&] { source.emplace(source_of(data, size)); })) return 0;
  const auto emit_again = [](const std::string& code) {
    return load_again(code, "as it was").value().emit(std::nullopt);
  };
  if (const std::string code = check_kept(*source); !code.empty())
    require(settles(code, emit_again), "emitted again and again, it is always another");
  check_protocol(*source, static_cast<int>(size % 6));
  return 0;
}

}  // namespace ckpt::fuzz
