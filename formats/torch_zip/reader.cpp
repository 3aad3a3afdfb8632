#include <algorithm>
#include <unordered_set>

#include "ckpt/error.h"
#include "container/zip_reader.h"
#include "io/keyed_hash.h"
#include "torch_common/read_pickle.h"
#include "torch_common/tensors.h"
#include "torch_zip/forward.h"
#include "torch_zip/layout.h"
#include "torch_zip/torch_zip.h"

namespace ckpt::torch {
namespace {

ByteOrder read_byte_order(const ZipReader& zip, const std::string& root, const ByteSource& source) {
  const ZipMember* const member = zip.find(root + "/" + std::string(byte_order_name));
  if (member == nullptr) return ByteOrder::little;  // torch before 2.0 wrote none
  return parse_byte_order(read_text(*zip.read(*member)), member->data_offset, source);
}

/// Gives each storage its member, in the order of the file, and renumbers the uses accordingly.
void attach_storages(Checkpoint& checkpoint, const ZipReader& zip, const std::string& root, const ByteSource& source,
                     const ReadContext& context) {
  const ByteOrder order = read_byte_order(zip, root, source);
  const auto count = checkpoint.storages.size();
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_offset;
  for (std::uint32_t i = 0; i < count; ++i) {
    Storage& storage = checkpoint.storages[i];
    storage.byte_order = order;
    std::uint64_t begin = 0;
    storage.bytes = find_storage(zip, root, storage, source, context, begin);
    by_offset.emplace_back(begin, i);
  }
  std::sort(by_offset.begin(), by_offset.end());
  std::vector<std::uint32_t> place(count);
  std::vector<Storage> ordered;
  ordered.reserve(count);
  for (const auto& [offset, index] : by_offset) {
    place[index] = static_cast<std::uint32_t>(ordered.size());
    ordered.push_back(std::move(checkpoint.storages[index]));
  }
  checkpoint.storages = std::move(ordered);
  for (auto& [id, use] : checkpoint.storage_uses) use.storage = place[use.storage];
}

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

bool probe_zip(const ByteSource& source) { return is_zip(source); }

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
  attach_storages(checkpoint, zip, root, *source, context);
  decode_tensors(checkpoint);
  checkpoint.details = describe(checkpoint, zip, root);
  if (context.findings != nullptr)
    for (const ZipMember& member : zip.members())
      context.check_bytes(*zip.read(member), "member '" + member.name + "'");
  for (std::string& warning : archive_warnings(zip)) checkpoint.warnings.push_back(std::move(warning));
  return checkpoint;
}

}  // namespace ckpt::torch
