#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "container/quoted_name.h"
#include "container/zip_kind.h"
#include "container/zip_reader.h"
#include "io/stream.h"
#include "model/end_of_file.h"
#include "pickled_tensors/read_pickle.h"
#include "pickled_tensors/tensors.h"
#include "torch_zip/forward.h"
#include "torch_zip/layout.h"
#include "torch_zip/torch_zip.h"

namespace ckpt::torch {
namespace {

/// The archive's own members, which its list tells; `byteorder` before the storages, wherever it stands: in gzip, what
/// is written is read from its first byte on.
class ArchiveDetails final : public ZipDetails {
 public:
  ArchiveDetails(ZipReader zip, const std::string& folder, std::vector<bool> holds_storage)
      : zip_(std::move(zip)), holds_storage_(std::move(holds_storage)) {
    root = folder;
    if (const ZipMember* const told = zip_.find(root + "/" + std::string(alignment_name)))
      alignment = parse_alignment(read_text(*zip_.read(*told))).value_or(alignment);
    if (const ZipMember* const order = zip_.find(root + "/byteorder"))
      byte_order_ = static_cast<std::size_t>(order - zip_.members().data());
    first_storage_ = static_cast<std::size_t>(std::ranges::find(holds_storage_, true) - holds_storage_.begin());
  }

  [[nodiscard]] std::optional<Member> member(std::size_t index) const override {
    if (index >= zip_.members().size()) return std::nullopt;
    if (index == first_storage_ && index < byte_order_)
      index = byte_order_;
    else if (index > first_storage_ && index <= byte_order_)
      --index;
    const ZipMember& listed = zip_.members()[index];
    return describe_member(std::string_view(listed.name).substr(root.size() + 1), holds_storage_[index],
                           [&] { return zip_.read(listed); });
  }

  [[nodiscard]] bool has_storage(std::string_view key) const override {
    const ZipMember* const found = zip_.find(root + "/" + std::string(storage_folder) + std::string(key));
    return found != nullptr && holds_storage_[static_cast<std::size_t>(found - zip_.members().data())];
  }

 private:
  ZipReader zip_;
  std::vector<bool> holds_storage_;
  std::size_t byte_order_ = 0, first_storage_ = 0;
};

/// The pickle, its checksum compared. What is stored as it is need not be in memory as a whole.
ByteSourcePtr pickle_bytes(const ZipReader& zip, const ZipMember& pickle, const ByteSourcePtr& source,
                           const ReadContext& context) {
  const ByteSourcePtr bytes = zip.read(pickle);
  const std::string name = source->name() + ": " + pickle.name;
  if (pickle.method != 0 || pickle.size > context.pickle_cap || !source->size_is_known())
    return memory_source(read_all(*bytes, context.pickle_cap), name);
  check_all(*bytes);
  return slice(source, pickle.data_offset, pickle.size, name);
}

Checkpoint read_members(const ZipReader& zip, const ByteSourcePtr& source, const ReadContext& context) {
  const std::string root = find_root(zip, *source);
  Checkpoint checkpoint;
  checkpoint.file = source->name();
  checkpoint.format = zip_format.name;
  const ZipMember& pickle = *zip.find(root + "/" + std::string(pickle_name));
  read_object(*pickle_bytes(zip, pickle, source, context), 0, context.pickle_cap, checkpoint, &context);
  if (pickle.method == 0)
    for (GlobalUse& global : checkpoint.globals) global.offset += pickle.data_offset;
  refuse_views(checkpoint);
  const std::string folder = root + "/" + std::string(storage_folder);
  checkpoint.details = std::make_shared<ArchiveDetails>(
      zip, root,
      attach_storages(checkpoint, zip, read_byte_order(zip, root, *source), *source, context,
                      [&](const Storage& storage) { return folder + storage.key; }));
  decode_tensors(checkpoint);
  return checkpoint;
}

/// Where findings are collected: reads each member, but those of a name that is `known` to be broken.
void check_members(const ZipReader& zip, const ReadContext& context, std::string_view known) {
  if (context.findings == nullptr) return;
  for (const ZipMember& member : zip.members())
    if (known.empty() || !member.name.ends_with(known))
      context.check_bytes(*zip.read(member), "member " + quoted_name(member.name));
}

}  // namespace

bool probe_zip(const ByteSource& source) { return zip_kind(source) == ZipKind::checkpoint; }

Checkpoint read_zip(const ByteSourcePtr& source, const ReadContext& context) {
  if (context.findings == nullptr && !source->size_is_known())
    if (auto checkpoint = read_forward(source, context)) return std::move(*checkpoint);

  const ZipReader zip = ZipReader::open(source, context);
  try {
    Checkpoint checkpoint = read_members(zip, source, context);
    check_members(zip, context, "");
    for (std::string& warning : archive_warnings(zip)) checkpoint.warnings.push_back(std::move(warning));
    if (zip.trailing_bytes() > 0) keep_rest(checkpoint);
    return checkpoint;
  } catch (const Error& error) {
    if (context.findings == nullptr || is_of_the_machine(error)) throw;
    const auto known = static_cast<std::ptrdiff_t>(context.findings->size());
    check_members(zip, context, pickle_name);
    // The member that is to blame says so again.
    const auto same = [&](const Finding& finding) { return finding.what == error.what(); };
    context.findings->erase(std::remove_if(context.findings->begin() + known, context.findings->end(), same),
                            context.findings->end());
    throw;
  }
}

}  // namespace ckpt::torch
