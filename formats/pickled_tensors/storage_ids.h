#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "format.h"
#include "model/storage_types.h"

/// The persistent ids by which torch's pickles name storages:
///   ('storage', torch.FloatStorage, key, location, elements)             in zip files
///   ('storage', torch.FloatStorage, key, location, elements, view)       in legacy files; view: None or (key, offset,
///   size)
/// (torch/serialization.py, persistent_id and persistent_load).
namespace ckpt::torch {

struct StorageId {
  StorageType type;
  std::string key;
  std::string location;
  std::uint64_t elements = 0;
  std::optional<StorageView> view;  ///< none: the whole storage
  std::uint64_t nbytes = 0;         ///< elements × element size
};

/// None where the id is not a storage's (a module's source, in legacy files). Throws Error (corrupt, unsupported)
/// where it begins as one and is broken.
std::optional<StorageId> decode_storage_id(const ValueGraph& values, ValueId id);

/// Decodes all persistent values that the graph has from `first` on and adds to checkpoint.storage_uses and
/// checkpoint.storages (without bytes, in order of appearance). A storage's key there is `folder` and the id's own.
/// Throws Error (corrupt) where two ids contradict each other, or one is broken; `doubts`, where given, take those.
void collect_storages(Checkpoint& checkpoint, ValueId first = 0, std::string_view folder = {},
                      Doubts* doubts = nullptr);

/// Which of the two forms to write.
enum class IdForm { zip, legacy };

/// What a writer writes for one storage, in the order it writes them.
struct WrittenStorage {
  std::string source_key;  ///< in the checkpoint: a storage's, or a view's that becomes one
  Storage storage;         ///< with the key it has in that file; for a view that the form cannot say, the slice of it
};

/// Brings every persistent id of the checkpoint's graph into `form`, with the storages' present
/// locations, and returns the storages to write. Ids that say so already stay as they are. In zip form a legacy storage
/// view becomes a storage of its own, as it does when PyTorch saves it again, and module containers give way to the
/// class they contain.
/// Throws Error (unsupported) where the form has no class for a storage.
std::vector<WrittenStorage> encode_storage_ids(Checkpoint& checkpoint, IdForm form);

}  // namespace ckpt::torch
