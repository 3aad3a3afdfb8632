#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"

/// What the members `storages` and `tensors` of a torch tar hold (torch/serialization.py, legacy_load).
namespace ckpt::torch::tar {

/// (key, location, class) as a pickle, a count of 8 bytes, the elements.
struct StorageRecord {
  std::string module, name;  ///< of the class
  DType dtype{};
  std::string location;
  std::uint64_t elements = 0, nbytes = 0;
  std::uint64_t at = 0;  ///< of the elements, in the member
};

/// (key, key of a storage, offset, elements): a range of a storage that is a storage, too.
struct ViewRecord {
  std::string root;
  std::uint64_t offset = 0, size = 0;
};

/// (key, key of its storage, class) as a pickle, then dimensions, sizes, strides and offset as numbers.
struct TensorRecord {
  std::string storage;
  TensorInfo info;
};

/// By key. Python takes the keys' numbers from their text, so that '7' and 7 are the same.
struct Records {
  std::map<std::string, StorageRecord> storages;
  std::map<std::string, ViewRecord> views;
  bool tell_views = true;  ///< false: the list of views is missing, as some other writers leave it out
  std::map<std::string, TensorRecord> tensors;
  std::vector<GlobalUse> globals;  ///< of all those pickles, at bytes of the archive
  std::uint64_t last = 0;          ///< where the last of them begins there, which may be refused
};

/// `at`: where the member's bytes begin in the archive. `cap`: bytes that its pickles may take, all together. Throw
/// Error: corrupt, truncated, unsupported, limit_exceeded.
void read_storages(const ByteSource& member, std::uint64_t at, std::uint64_t cap, Records& records);
void read_tensors(const ByteSource& member, std::uint64_t at, std::uint64_t cap, Records& records);

/// A key as text; none where the value is no key.
std::string key_text(const ValueGraph& values, ValueId id);

}  // namespace ckpt::torch::tar
