#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/device.h"
#include "ckpt/error.h"
#include "ckpt/export.h"
#include "ckpt/state_dict.h"

/// Pure operations: each takes a checkpoint by value and returns the edited one. Move in what is no longer needed,
/// copy what is; storages are shared either way. Where a checkpoint has no root, what looks for something below it
/// throws invalid_argument; all else finds nothing and gives the checkpoint back.
namespace ckpt {

/// Rewrites the location tags of storages (all of them, an optimizer's too) as `map` says, and the device of tensors
/// that name one beside their storage, as map_location does. Moves no bytes and touches no other string.
CKPT_API Checkpoint remap(Checkpoint checkpoint, const DeviceMap& map);

/// What a prefix operation did, for the line that says so.
struct PrefixReport {
  std::size_t state_dicts = 0;
  std::vector<std::string> passed_over;  ///< of add_prefix(): paths of those that are no model's (models_of())
  std::size_t changed = 0;               ///< keys that were renamed
  std::size_t unchanged = 0;             ///< keys that were not
  std::vector<std::string> left;         ///< the first few of those that were not
  /// Another prefix that every key of the state dict with most keys shares ("_orig_mod."), if nothing was renamed.
  std::string shared_prefix;
};

inline constexpr std::string_view data_parallel_prefix = "module.";
/// What wrappers put before every key: DataParallel, torch.compile, DeepSpeed, FSDP, Lightning and plain trainers.
inline constexpr std::string_view wrapper_prefixes[] = {data_parallel_prefix,    "_orig_mod.", "_forward_module.",
                                                        "_fsdp_wrapped_module.", "model.",     "net."};

/// Takes `prefix` once from the keys that start with it, in every state dict and its _metadata, as
/// torch.nn.modules.utils.consume_prefix_in_state_dict_if_present does: there the name of the wrapped module itself
/// ("module") becomes the empty name and replaces the old one. Order stays.
/// Throws Error (invalid_argument): an empty prefix; two keys that would become one, naming both.
CKPT_API std::pair<Checkpoint, PrefixReport> strip_prefix(Checkpoint checkpoint,
                                                          std::string_view prefix = data_parallel_prefix);

/// Puts `prefix` before every key of every state dict that is a model's (of all where none is), before a model's keys
/// in Parts::mixed, and in _metadata before every name but the empty one, which stays and is followed by the wrapped
/// module's own entry. Throws Error (invalid_argument): an empty prefix.
CKPT_API std::pair<Checkpoint, PrefixReport> add_prefix(Checkpoint checkpoint,
                                                        std::string_view prefix = data_parallel_prefix);

/// Replaces every match of an RE2 regular expression in a key; \1 to \9 in the replacement are groups, \0 the match.
struct RenameRule {
  std::string pattern, replacement;
};

struct RenameReport {
  std::size_t state_dicts = 0;
  std::size_t changed = 0, unchanged = 0;  ///< keys
  std::vector<std::size_t> idle;           ///< rules that matched no key, by their place
};

/// Renames the keys of every state dict, and a model's in Parts::mixed, by each rule in turn, and the modules of its
/// _metadata as their tensors are.
/// Throws Error (invalid_argument): a rule that is no regular expression or names a group that it has not; two keys
/// that would become one, naming both.
CKPT_API std::pair<Checkpoint, RenameReport> rename(Checkpoint checkpoint, const std::vector<RenameRule>& rules);

struct StripOptimizerReport {
  std::vector<std::string> removed;  ///< paths of the states that are gone
  std::vector<std::string> left;  ///< of those that an object, or a list with other things, holds too: they stay there
};

/// Takes away every optimizer's state (find_optimizer_states()) with the key that it stands under, or the list that
/// holds nothing else. Throws Error (invalid_argument): nothing but such a state is there.
CKPT_API std::pair<Checkpoint, StripOptimizerReport> strip_optimizer(Checkpoint checkpoint);

/// The command that takes one prefix, puts another, or both: for a hint. "OUT" stands for the file to write.
CKPT_API std::string prefix_command(const std::string& file, const std::string& strip, const std::string& add);

/// The state dict at `root`, a path; "auto" finds the one that a user would mean without saying so, as digest() does,
/// but in no module: unpack_modules() (ckpt/modules.h) first. Throws Error (invalid_argument) where none lies there,
/// and where "auto" finds none or cannot choose.
CKPT_API StateDict find_state_dict(const Checkpoint& checkpoint, std::string_view root = "auto");

/// The value at `root` as the whole object: a path as tensor_names() has them, empty for all of it, or "auto" for the
/// state dict that digest() finds; a whole module counts as what unpack_modules() (ckpt/modules.h) makes of it. What
/// only the rest held goes with it: tensors, storages, globals. Throws Error: invalid_argument where nothing lies
/// there, and where "auto" finds no state dict or cannot choose; unsupported (a part of a TorchScript file).
CKPT_API Checkpoint take_root(Checkpoint checkpoint, std::string_view root);

/// Globs over the paths of mappings' entries, tensors and other values alike; `*` crosses dots (docs/cli.md).
struct Selection {
  std::vector<std::string> keep;  ///< what matches stays, with all below it and the mappings on the way; none: all
  std::vector<std::string> drop;  ///< of that, what matches goes, with all below it
};

/// Globs that match nothing.
struct SelectionReport {
  std::vector<std::string> idle_keep, idle_drop;
};

/// Takes entries out of mappings and, with them, what nothing else holds: tensors, storages, globals. What stays keeps
/// types, order, sharing and protocol. What stands in a list, a tuple or an object has no key of its own, so that it
/// stays where the entry around it does. Throws Error: invalid_argument (`drop` matches such a one, or one of several
/// names of an entry and not the others; `keep` leaves no tensor), unsupported (a part of a TorchScript file).
CKPT_API std::pair<Checkpoint, SelectionReport> select(Checkpoint checkpoint, const Selection& selection);

/// Tensors that no name leads to, in the file's order, each called "(of storage KEY)": attributes of tensors
/// (param.main_grad), keys of dicts, what an object is given where its class says how. digest() and stats() pass over
/// them. Without the parts of others, and the numbers of quantised ones. Throws what tensor_names()
/// throws.
CKPT_API std::vector<NamedTensor> unnamed_tensors(const Checkpoint& checkpoint);

/// SHA-256 of one tensor's contiguous little-endian bytes.
struct TensorDigest {
  std::string name;
  std::string sha256;  ///< 64 hexadecimal digits
};

struct CheckpointDigest {
  std::string total;                  ///< over lines of SHA-256, dtype, shape and name (docs/cli.md), sorted bytewise
  std::vector<TensorDigest> tensors;  ///< in file order; parts of sparse tensors as NAME.indices, NAME.values …
};

/// The same for the same weights, whatever container, compression or device holds them. `root`: names below this path
/// only, relative to it; "auto" finds the state dict at the root or under state_dict, model_state_dict, model or net,
/// else the only one, modules being unpacked (ckpt/modules.h). `keys`: globs; only tensors whose name one of them
/// matches, none: all. Meta tensors have no bytes and are left out. Tensors are hashed on all cores where several
/// threads may read them. Throws Error: limit_exceeded (a view that expands past ckpt/limits.h), invalid_argument
/// (root), and what reading throws.
CKPT_API CheckpointDigest digest(const Checkpoint& checkpoint, std::string_view root = {},
                                 const std::vector<std::string>& keys = {});

/// Refuses what digest() refuses, reading no bytes: views below `root`, one by one and together, that would take far
/// more memory than their storages if they were copied out. Throws Error: limit_exceeded, invalid_argument (root).
CKPT_API void check_views(const Checkpoint& checkpoint, std::string_view root = {});

/// Elements of one tensor that are no finite number. Of complex ones the real and the imaginary part count apart.
struct NonFinite {
  std::string name;                                   ///< a part of a sparse tensor's: NAME.values …
  std::uint64_t nan = 0, positive = 0, negative = 0;  ///< NaN, +Inf, -Inf
  std::vector<std::int64_t> first;                    ///< index of the first of them
};

/// Every tensor of a floating or complex dtype that holds NaN or infinities, once, in the file's order, those without a
/// name last; none where all is finite. Each storage is read once, forward. A view counts its own elements alone, an
/// expanded one as often as it shows them. What cannot be looked at goes to `unread`, an Error each (unsupported: a
/// device's tensor that is held as a numpy array), or is thrown where that is null. Throws Error (limit_exceeded): too
/// many views lie across their storages.
CKPT_API std::vector<NonFinite> find_non_finite(const Checkpoint& checkpoint, std::vector<Error>* unread = nullptr);

}  // namespace ckpt
