#include <memory>
#include <string>

#include "container/zip_kind.h"
#include "container/zip_reader.h"
#include "model/end_of_file.h"
#include "pickled_tensors/archive.h"
#include "pickled_tensors/tensors.h"
#include "torchscript/details.h"
#include "torchscript/layout.h"
#include "torchscript/meta.h"
#include "torchscript/model_reader.h"
#include "torchscript/pickles.h"
#include "torchscript/torchscript.h"

namespace ckpt::torchscript {

bool probe_script(const ByteSource& source) { return zip_kind(source) == ZipKind::script; }

Checkpoint read_script(const ByteSourcePtr& source, const ReadContext& context) {
  auto details = std::make_shared<ScriptDetails>();
  details->zip = std::make_shared<const ZipReader>(ZipReader::open(source, context));
  const ZipReader& zip = *details->zip;
  details->root = find_root(zip, *source);
  if (const ZipMember* const told = zip.find(details->root + "/" + std::string(torch::alignment_name)))
    details->alignment = torch::parse_alignment(torch::read_text(*zip.read(*told))).value_or(details->alignment);

  Checkpoint checkpoint;
  if (zip.find(details->root + "/" + std::string(model_name)) != nullptr) {
    checkpoint = read_model(*details, *source, context);
  } else {
    checkpoint.file = source->name();
    read_pickles(checkpoint, *details, context);
    torch::attach_storages(
        checkpoint, zip, torch::read_byte_order(zip, details->root, *source), *source, context,
        [&](const Storage& storage) { return is_meta(storage) ? std::string() : details->root + "/" + storage.key; });
    torch::decode_tensors(checkpoint);
    drop_meta_storages(checkpoint);
  }
  checkpoint.file = source->name();
  checkpoint.format = script_format.name;
  judge_script_globals(checkpoint);
  checkpoint.details = details;
  if (context.findings != nullptr)
    for (const ZipMember& member : zip.members())
      context.check_bytes(*zip.read(member), "member '" + member.name + "'");
  checkpoint.warnings = archive_warnings(zip);
  if (zip.trailing_bytes() > 0) keep_rest(checkpoint);
  return checkpoint;
}

}  // namespace ckpt::torchscript
