#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/export.h"
#include "ckpt/formats.h"

/// What a damaged file still holds.
///
///     const ckpt::Recovery found = ckpt::recover(ckpt::open_file("cut.pt"));
///     if (found.has_checkpoint()) ckpt::save(found.checkpoint, "saved.pt");
namespace ckpt {

/// What is left of a tensor's bytes.
enum class Survival : std::uint8_t {
  whole,    ///< all of them, and the CRC-32 that is recorded for them, or for a part of gzip with them, is theirs
  damaged,  ///< all of them, but some are wrong: the CRC-32 is another
  partial,  ///< the first few
  lost,     ///< none, or nobody knows which
};

/// "whole", "damaged", "partial", "lost"
CKPT_API std::string_view survival_name(Survival survival);

struct RecoveredTensor {
  std::string name;
  TensorInfo info;  ///< of a tensor that could not be decoded, nothing
  Survival survival = Survival::whole;
  bool is_checked = false;    ///< whole, and a CRC-32 says so
  std::uint64_t nbytes = 0;   ///< of the storages that it lies in
  std::uint64_t present = 0;  ///< of those, how many are left
  bool is_replaced = false;   ///< not whole, in a list, a tuple or an object: None stands there
  std::string why;            ///< lost though its bytes may be there; else empty
};

struct CKPT_API Recovery {
  /// All that is whole, ready to be saved; the rest has been taken out as docs/cli.md says. No root: there is nothing.
  Checkpoint checkpoint;
  std::vector<RecoveredTensor> tensors;  ///< every one that the file still names, in its order
  std::vector<Finding> findings;         ///< what is wrong with the file
  /// False: names or values other than tensors' bytes may be wrong or are lost, or the file held more, of which no name
  /// is left.
  bool is_certain = true;
  std::uint64_t unchecked = 0;  ///< whole tensors that no CRC-32 vouches for

  [[nodiscard]] bool has_checkpoint() const { return checkpoint.root != no_value; }
  /// Every tensor is whole, and there were no others.
  [[nodiscard]] bool is_complete() const;
};

/// Reads what is left of a file that is cut or damaged, in gzip that may be so as well: every byte of every storage is
/// read once, in a few MiB of memory. A file that is sound is recovered whole, unless no checksum covers its pickle and
/// a storage in it is no tensor's: that may be damage. Throws Error: unsupported (a format of which nothing is
/// recovered), corrupt, truncated (not even a name is left), limit_exceeded, io.
CKPT_API Recovery recover(const ByteSourcePtr& source);

}  // namespace ckpt
