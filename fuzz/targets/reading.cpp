#include "targets/reading.h"

#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "ckpt/state_dict.h"
#include "ckpt/tensor_ops.h"
#include "io/stream.h"
#include "targets/input.h"

namespace ckpt::fuzz {
namespace {

constexpr std::uint64_t most = 64 << 20;

/// Reads each storage to its end.
void read_storages(const Checkpoint& checkpoint) {
  for (const Storage& storage : checkpoint.storages) {
    if (!storage.bytes) continue;
    require(storage.nbytes <= most || storage.bytes->size() <= most, "a storage larger than its file");
    std::uint64_t size = 0;
    stream_all(*storage.bytes, [&](auto piece) { size += piece.size(); });
    if (size != storage.nbytes) throw Error(ErrorCode::corrupt, "a storage's bytes are another number");
  }
}

/// What the commands do with a checkpoint. Each may refuse; none may do worse.
void use(const Checkpoint& checkpoint) {
  const auto unnamed = error_of([&] {
    std::vector<std::string> warnings;
    for (const NamedTensor& named : tensor_names(checkpoint, &warnings)) device_of(checkpoint, *named.tensor);
  });
  // Its cap is a second away, under sanitizers ten, and all that ask for names would end there.
  if (unnamed && unnamed->code() == ErrorCode::limit_exceeded) return;
  error_of([&] {
    for (const StateDict& found : find_state_dicts(checkpoint)) state_dict_metadata(checkpoint.values, found.value);
  });
  error_of([&] {
    if (logical_bytes(checkpoint) <= worth_hashing) digest(checkpoint);
  });
  error_of([&] {
    if (logical_bytes(checkpoint) <= worth_hashing) digest(checkpoint, "auto");
  });
  error_of([&] {
    const Checkpoint unpacked = unpack_modules(checkpoint);
    require(!find_modules(checkpoint).empty() || unpacked.values.size() == checkpoint.values.size(),
            "nothing to unpack");
    tensor_names(unpacked);
  });
  error_of([&] {
    if (logical_bytes(checkpoint) > worth_hashing) return;
    const std::string before = digest(checkpoint).total;
    Checkpoint edited = dedupe(compact(make_contiguous(checkpoint).first).first).first;
    require(digest(edited).total == before, "an edit of how tensors lie has changed what they are");
    digest(cast(std::move(edited), DType::bfloat16).first);
  });
  error_of([&] { strip_optimizer(rename(checkpoint, {{"[aeiou]", "x"}, {"^", "y."}}).first); });
  error_of([&] { strip_prefix(checkpoint); });
  error_of([&] { add_prefix(remap(checkpoint, DeviceMap::all_to("cpu"))); });
}

}  // namespace

void exercise(const Format& format, const ByteSourcePtr& source) {
  if (!recognises(format, *source)) return;
  std::vector<Finding> findings;
  const std::uint64_t cap = limits::pickle_cap(source->size());
  const auto failed =
      error_of([&] { format.read(source, {.pickle_cap = cap, .findings = &findings, .folder = source->folder()}); });
  const bool faults = std::any_of(findings.begin(), findings.end(), [](const Finding& f) { return f.fault; });

  Checkpoint checkpoint;
  const auto refused =
      error_of([&] { checkpoint = format.read(source, {.pickle_cap = cap, .folder = source->folder()}); });
  require(refused || !failed, "it reads, but verify() fails");
  if (failed || faults) {
    if (refused) return;
  } else {
    require(!refused,
            std::string("verify() finds no fault, but it does not read: ") + (refused ? refused->what() : ""));
    const auto short_of = error_of([&] { read_storages(checkpoint); });
    require(!short_of,
            std::string("verify() finds no fault, but a storage does not read: ") + (short_of ? short_of->what() : ""));
  }
  use(checkpoint);
}

std::optional<Rewritten> rewritten(const Checkpoint& before, const WriteOptions& options) {
  MemorySink sink;
  if (error_of([&] { write(before, sink, options); })) return std::nullopt;
  Rewritten found{sink.bytes(), {}};
  const auto error = error_of([&] { found.checkpoint = read(memory_source(found.bytes, "written")); });
  if (error && error->code() == ErrorCode::limit_exceeded) return std::nullopt;  // the cap goes by the size of the file
  require(!error, "what was written as " + options.format + " does not read: " + (error ? error->what() : ""));
  require(found.checkpoint.format == options.format,
          "what was written as " + options.format + " is " + found.checkpoint.format);
  return found;
}

std::optional<Rewritten> rewritten_tensors(const Checkpoint& before, const std::string& format) {
  auto after = rewritten(before, {.format = format});
  if (after) require(digest(before).total == digest(after->checkpoint).total, "a tensor is another in " + format);
  return after;
}

}  // namespace ckpt::fuzz
