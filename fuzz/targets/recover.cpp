#include "ckpt/recover.h"

#include <algorithm>

#include "ckpt/formats.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

/// What is whole is written, and reads back.
void check_written(const Recovery& found) {
  for (const Storage& storage : found.checkpoint.storages)
    require(storage.nbytes == 0 || (storage.bytes && storage.bytes->size() >= storage.nbytes),
            "a storage that is not whole is left");
  const auto after = rewritten(found.checkpoint, {.format = "torch", .allow_unsafe = true});
  if (!after) return;
  const auto whole = std::count_if(found.tensors.begin(), found.tensors.end(),
                                   [](const auto& tensor) { return tensor.survival == Survival::whole; });
  require(tensor_names(after->checkpoint).size() == static_cast<std::size_t>(whole),
          "other tensors are written than are whole");
}

}  // namespace

int fuzz_recover(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr source = source_of(data, size);
  Recovery found;
  const auto error = error_of([&] { found = recover(source); });
  if (!error && found.has_checkpoint()) check_written(found);
  std::string format;
  if (error_of([&] { format = detect(source).format; }) || (format != "torch" && format != "torch-legacy")) return 0;
  bool is_sound = false;
  error_of([&] {
    const auto findings = verify(source);
    // Of a file without checksums, bytes too many may stand anywhere.
    is_sound = std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
      return finding.fault || finding.what.find("follow the last storage") != std::string::npos;
    });
  });
  if (!is_sound) return 0;
  require(!error, std::string("a sound file is not recovered: ") + (error ? error->what() : ""));
  // What made a tensor of a storage may be what is damaged.
  const auto is_doubt = [](const Finding& finding) {
    return finding.what.find("that no tensor lies in") != std::string::npos;
  };
  if (std::ranges::any_of(found.findings, is_doubt)) return 0;
  require(found.is_complete() && found.has_checkpoint(), "not all of a sound file is recovered");
  return 0;
}

}  // namespace ckpt::fuzz
