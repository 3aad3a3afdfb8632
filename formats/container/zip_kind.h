#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"

namespace ckpt {

/// What a zip archive holds, by the names of its members: several formats share the container.
enum class ZipKind : std::uint8_t {
  none,        ///< no zip
  checkpoint,  ///< a data.pkl; also an archive that is too damaged to tell
  script,      ///< constants.pkl or model.json beside a version: TorchScript
  arrays,      ///< .npy files
  other,
};

/// Whether a pickle begins, at `offset`, as the object's of a script: it is of a class of the archive's own code. Any
/// other may, too. Throws Error: io.
bool begins_as_script(const ByteSource& source, std::uint64_t offset = 0);

/// Throws Error: io.
ZipKind zip_kind(const ByteSource& source);

/// The names of all members; none where the archive is cut short or damaged. Throws Error: io.
std::optional<std::vector<std::string>> zip_names(const ByteSource& source);

}  // namespace ckpt
