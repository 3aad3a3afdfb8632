#pragma once

#include <map>
#include <string>
#include <vector>

#include "ckpt/formats.h"
#include "ckpt/ops.h"

namespace ckpt::tools {

/// What `ckpt digest` printed, as text or as JSON.
struct DigestList {
  std::string total;
  std::vector<std::string> names;                  ///< in the list's order; of JSON sorted
  std::multimap<std::string, std::string> sha256;  ///< by name; two names may be spelt alike
  bool json = false;                               ///< whether names are spelt as in JSON
};

/// Throws Error, with the command that makes such a list as its hint: io, unsupported (what `file` holds is none).
/// `checked`: the file that is to be compared with it, for the hint.
DigestList read_digest_list(const std::string& file, const std::string& checked);

/// The tensors' names as a list spells them; of JSON each once: of a name that comes again, "NAME#2" and so on.
std::vector<std::string> listed_names(const CheckpointDigest& digest, bool json);

/// What is not as the list has it: tensors that differ, are missing, or are not in the list, and the total.
std::vector<Finding> compare_digests(const DigestList& list, const CheckpointDigest& digest);

}  // namespace ckpt::tools
