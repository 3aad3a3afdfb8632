#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/export.h"
#include "ckpt/storage.h"
#include "ckpt/tensor.h"
#include "ckpt/value.h"

namespace ckpt {

/// What policy says of a global (docs/design.md).
enum class Verdict : std::uint8_t { known, unknown, dangerous };

/// "known", "unknown" or "dangerous".
CKPT_API std::string_view verdict_name(Verdict verdict);

/// A name that the pickle would import, and where: a byte of the file, as it is inside gzip (of the pickle itself where
/// that lies deflated in a zip).
struct GlobalUse {
  std::string module;
  std::string name;
  Verdict verdict = Verdict::unknown;
  std::uint64_t offset = 0;
  std::string file = {};  ///< of several that were merged; empty: Checkpoint::file
};

/// A range of a storage under a key of its own, as legacy files have it; in elements of the storage.
struct StorageView {
  std::string key;
  std::uint64_t offset = 0, size = 0;
};

/// What a persistent id in the graph stands for: a storage, or a range of it (legacy storage views).
struct StorageUse {
  std::uint32_t storage = 0;                ///< index into Checkpoint::storages
  std::shared_ptr<const StorageView> view;  ///< null: the whole storage
};

struct Checkpoint;
class DeviceMap;

/// The state dict that an object would give: what torch.nn.Module.state_dict() returns.
struct StateEntries {
  std::vector<std::pair<std::string, ValueId>> tensors;  ///< by name, in order
  std::vector<std::string> modules;  ///< for `_metadata`: every module's name, the empty one first; all of version 1
  std::string format;                ///< what a state dict of this kind is saved as: "torch"
};

/// What only the format that read a checkpoint understands (other members of its archive, its sys_info) and what it
/// needs to write the same file again. Formats derive their own; nobody else looks inside.
class CKPT_API FormatDetails {
 public:
  virtual ~FormatDetails();

  /// Checks what the reader left until all else has been read. Returns what a user should know, as
  /// Checkpoint::warnings. Throws Error: corrupt, truncated.
  [[nodiscard]] virtual std::vector<std::string> finish() const;

  /// The class of the module that the file is, tied to the names that it has by the code beside it: no part of it can
  /// be taken and no key renamed, but for its state dict. None where the file is no such module.
  [[nodiscard]] virtual std::optional<std::string> whole_module() const;

  /// Of such a module: its state dict. Throws Error: what reading throws, corrupt, limit_exceeded.
  [[nodiscard]] virtual StateEntries state_entries(const Checkpoint& checkpoint) const;

  /// What a remap leaves as it is though it names a device, each a sentence without a full stop. Throws Error: what
  /// reading throws.
  [[nodiscard]] virtual std::vector<std::string> out_of_reach(const DeviceMap& map) const;

  /// The code that stands beside the object and is run with it, by the names of its files. Throws Error: what reading
  /// throws.
  [[nodiscard]] virtual std::map<std::string, ByteSourcePtr> code() const;
};

/// A checkpoint: one object graph, the storages its tensors live in, and where it all came from.
///
///     ckpt::Checkpoint c = ckpt::load("model.pt.gz");
///     c = ckpt::remap(std::move(c), ckpt::DeviceMap::all_to("cpu"));
///     ckpt::save(c, "model.cpu.pt");
///
/// A value type: a copy is independent and shares only the (immutable) bytes of storages, which threads may read at
/// once (ckpt/byte_source.h). Edits (ckpt/ops.h) take a checkpoint and return a new one: the source never changes.
struct Checkpoint {
  ValueGraph values;
  ValueId root = no_value;  ///< none: there is nothing, and nothing to write
  /// In the order of their bytes in the file, which is the order to read them in.
  std::vector<Storage> storages;
  /// One for each object of the graph that builds a tensor; see tensor_names() for their names.
  std::vector<Tensor> tensors;
  /// By persistent value, ascending.
  std::vector<std::pair<ValueId, StorageUse>> storage_uses;
  /// Values made and thrown away by the program (POP), calls among them: kept, in order, so that nothing is lost.
  std::vector<ValueId> discarded;
  /// Every name the pickle would import, once each, in order of appearance. By these, save() and write() refuse what is
  /// dangerous: who puts another name into `values` lists it here.
  std::vector<GlobalUse> globals;

  std::string file;     ///< as the user named it
  std::string format;   ///< "torch", "torch-legacy" …
  bool gzip = false;    ///< the file was gzip-compressed
  bool pickled = true;  ///< the source's objects stand in a pickle
  int protocol = 2;     ///< of that pickle; of one to be written, where there is none
  std::shared_ptr<const FormatDetails> details;
  ByteSourcePtr source;               ///< the file's bytes, inflated where it was compressed
  ByteSourcePtr archive;              ///< the tar archive that the file is a member of; null where it is none
  std::vector<ByteSourcePtr> beside;  ///< the other files that it is made of; their names are paths
  /// Paths of what was read and is of more than this checkpoint, or of no use without the rest: an archive, the files
  /// of a folder. save() replaces none of them.
  std::vector<std::string> parts;
  /// Texts that its format keeps beside the tensors, by name, in the file's order; a number or a list is JSON.
  std::vector<std::pair<std::string, std::string>> metadata;
  /// What a user should know, though the file reads: each a sentence without a full stop.
  std::vector<std::string> warnings;
};

/// The paths of all files that it was read from; some may come twice.
CKPT_API std::vector<std::string> files_of(const Checkpoint& checkpoint);

/// FormatDetails::whole_module() of the file that the checkpoint was read from.
CKPT_API std::optional<std::string> whole_module(const Checkpoint& checkpoint);

/// What the persistent value `id` stands for; null where that is no storage.
CKPT_API const StorageUse* find_storage_use(const Checkpoint& checkpoint, ValueId id);

/// Reads what is left of a compressed source, so that its checksums are compared and a cut is noticed; free otherwise,
/// and of one that is read by its index. Only then is it known that the whole of such a file is sound. Returns what a
/// user should know besides Checkpoint::warnings. Throws Error (corrupt, truncated).
CKPT_API std::vector<std::string> finish_reading(const Checkpoint& checkpoint);

/// A tensor under one of its names. A tensor that the object holds twice has two names.
struct NamedTensor {
  std::string name;
  const Tensor* tensor = nullptr;  ///< owned by the checkpoint
};

/// All names of all tensors, in the file's order: the path in the object joined by dots, non-string keys by Python's
/// str(), positions of lists and tuples as numbers, attributes by name; a bare tensor's name is empty. A name that
/// occurs again gets "#2", "#3" …, and `warnings`, if given, a line.
/// Throws Error (limit_exceeded) where shared containers multiply past ckpt/limits.h.
CKPT_API std::vector<NamedTensor> tensor_names(const Checkpoint& checkpoint,
                                               std::vector<std::string>* warnings = nullptr);

/// How many of its tensors have a name, each counted once. Throws what tensor_names() throws.
CKPT_API std::size_t count_tensors(const Checkpoint& checkpoint);

/// The tag of the tensor's storage, "meta" for meta tensors; of a tensor of parts, that of its values; empty where the
/// file does not tell.
CKPT_API std::string device_of(const Checkpoint& checkpoint, const Tensor& tensor);

}  // namespace ckpt
