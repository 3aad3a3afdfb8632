#include <algorithm>
#include <unordered_set>

#include "container/zip_kind.h"
#include "container/zip_reader.h"
#include "io/keyed_hash.h"
#include "torch_common/read_pickle.h"
#include "torch_common/tensors.h"
#include "torch_zip/forward.h"
#include "torch_zip/layout.h"
#include "torch_zip/torch_zip.h"

namespace ckpt::torch {
namespace {

std::shared_ptr<ZipDetails> describe(const Checkpoint& checkpoint, const ZipReader& zip, const std::string& root) {
  auto details = std::make_shared<ListedDetails>();
  details->root = root;
  details->members.reserve(zip.members().size());
  std::unordered_set<std::string_view, KeyedHash> keys;
  keys.reserve(checkpoint.storages.size());
  for (const Storage& storage : checkpoint.storages) keys.insert(storage.key);
  for (const ZipMember& member : zip.members()) {
    const std::string_view name = std::string_view(member.name).substr(root.size() + 1);
    const bool is_storage = name.starts_with(storage_folder) && keys.contains(name.substr(storage_folder.size()));
    details->members.push_back(describe_member(name, is_storage, [&] { return zip.read(member); }));
    if (name == alignment_name)
      details->alignment = parse_alignment(read_text(*zip.read(member))).value_or(details->alignment);
  }
  return details;
}

}  // namespace

bool probe_zip(const ByteSource& source) { return zip_kind(source) == ZipKind::checkpoint; }

Checkpoint read_zip(const ByteSourcePtr& source, const ReadContext& context) {
  if (context.findings == nullptr && !source->size_is_known())
    if (auto checkpoint = read_forward(source, context)) return std::move(*checkpoint);

  const ZipReader zip = ZipReader::open(source, context);
  const std::string root = find_root(zip, *source);
  Checkpoint checkpoint;
  checkpoint.file = source->name();
  checkpoint.format = zip_format.name;
  const ZipMember& pickle = *zip.find(root + "/" + std::string(pickle_name));
  read_object(*memory_source(read_all(*zip.read(pickle), context.pickle_cap), source->name() + ": " + pickle.name), 0,
              context.pickle_cap, checkpoint, &context);
  if (pickle.method == 0)
    for (GlobalUse& global : checkpoint.globals) global.offset += pickle.data_offset;
  refuse_views(checkpoint);
  attach_storages(checkpoint, zip, read_byte_order(zip, root, *source), *source, context,
                  [&](const Storage& storage) { return root + "/" + std::string(storage_folder) + storage.key; });
  decode_tensors(checkpoint);
  checkpoint.details = describe(checkpoint, zip, root);
  if (context.findings != nullptr)
    for (const ZipMember& member : zip.members())
      context.check_bytes(*zip.read(member), "member '" + member.name + "'");
  for (std::string& warning : archive_warnings(zip)) checkpoint.warnings.push_back(std::move(warning));
  return checkpoint;
}

}  // namespace ckpt::torch
