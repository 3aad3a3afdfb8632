#pragma once

#include <optional>
#include <vector>

#include "ckpt/checkpoint.h"
#include "format.h"
#include "model/end_of_file.h"
#include "pickled_tensors/legacy_magic.h"

namespace ckpt::torch {

/// The files that torch.save wrote from 0.2 to 1.5, and still writes with _use_new_zipfile_serialization=False:
/// pickles of a magic number, a version, sys_info, the object and the list of storage keys, then for each key an
/// element count of 8 bytes and the elements, all little-endian; docs/formats/torch-legacy.md.
extern const Format legacy_format;

bool probe_legacy(const ByteSource& source);
std::uint64_t end_of_legacy(const ByteSourcePtr& source, const ReadContext& context);
Checkpoint read_legacy(const ByteSourcePtr& source, const ReadContext& context);
/// Of a file that is cut or damaged. Throws Error: where no object is found in it.
Salvage salvage_legacy(const ByteSourcePtr& source, const ReadContext& context);
WriteReceipt write_legacy(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options);

inline constexpr std::int64_t legacy_version = 1001;

/// What a legacy file holds beside its object and storages.
class LegacyDetails final : public FormatDetails, public OpenEnd {
 public:
  std::vector<std::byte> header;  ///< the pickles before the object, as they stand in the file
  std::optional<EndOfFile> end;   ///< where that is known when all else has been read

  [[nodiscard]] std::vector<std::string> finish() const override {
    return end ? end->finish() : std::vector<std::string>();
  }
  [[nodiscard]] bool goes_on() const override { return end && end->goes_on(); }
};

}  // namespace ckpt::torch
