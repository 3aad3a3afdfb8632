#include <algorithm>
#include <utility>

#include "container/zip_writer.h"
#include "io/bytes.h"
#include "io/swapped_source.h"
#include "model/position_index.h"
#include "pickle/emitter.h"
#include "pickled_tensors/archive.h"
#include "pickled_tensors/read_pickle.h"
#include "pickled_tensors/storage_ids.h"
#include "torch_zip/details.h"
#include "torch_zip/torch_zip.h"

namespace ckpt::torch {
namespace {

using Member = ZipDetails::Member;

/// Members that are known from the start.
class ListedDetails final : public ZipDetails {
 public:
  std::vector<Member> members;

  [[nodiscard]] std::optional<Member> member(std::size_t index) const override {
    return index < members.size() ? std::optional(members[index]) : std::nullopt;
  }
  [[nodiscard]] bool has_storage(std::string_view key) const override {
    return std::ranges::any_of(members,
                               [&](const Member& one) { return one.kind == Member::Kind::storage && one.name == key; });
  }
};

/// What torch 2.11 writes around a pickle and its storages, for checkpoints that come from elsewhere: little-endian.
/// The serialization id is torch's hash of the members; any 40 digits serve, and these are always the same.
std::shared_ptr<const ZipDetails> default_details(const std::vector<WrittenStorage>& storages) {
  const auto record = [](const std::string& name, std::string_view text) {
    const auto bytes = as_bytes(text);
    return Member{Member::Kind::record, name, memory_source({bytes.begin(), bytes.end()}, name)};
  };
  auto details = std::make_shared<ListedDetails>();
  details->root = "archive";
  details->members = {{Member::Kind::pickle, "data.pkl", nullptr},
                      record(std::string(format_version_name), "1"),
                      record(".storage_alignment", "64"),
                      record("byteorder", "little")};
  for (const WrittenStorage& storage : storages)
    details->members.push_back({Member::Kind::storage, storage.source_key, nullptr});
  details->members.push_back(record("version", "3\n"));
  details->members.push_back(record(".data/serialization_id", std::string(40, '0')));
  return details;
}

/// The source's own arrangement where it is a torch zip; else a new one.
std::shared_ptr<const ZipDetails> arrange(const Checkpoint& checkpoint, const std::vector<WrittenStorage>& storages) {
  auto own = std::dynamic_pointer_cast<const ZipDetails>(checkpoint.details);
  return own != nullptr ? own : default_details(storages);
}

/// Whether the storages stand as torch.save puts them: the first is '0', and they lie in the order in which loading
/// asks for them. From the record .format_version on, torch reckons their places by that instead of looking
/// (torch/serialization.py, _get_offset, for map_location="meta" and where mmap does not read the directory); a file
/// of which it is not so has no such record. Written are the source's storages in their order, then what an edit made.
bool stand_as_asked_for(const ValueGraph& values, const std::vector<ValueId>& asked_for,
                        const std::vector<WrittenStorage>& storages, const PositionIndex& by_key) {
  std::size_t next = 0;
  for (const ValueId id : asked_for) {
    const auto of_storage = decode_storage_id(values, values.items(id)[0]);
    if (!of_storage) continue;
    const std::string& key = of_storage->key;
    if (next < storages.size() && storages[next].storage.key == key) {
      ++next;
      continue;
    }
    const std::uint32_t place =
        by_key.find(hash_of(key), [&](std::uint32_t other) { return storages[other].storage.key == key; });
    if (place >= next) return false;
  }
  return next == storages.size() && (storages.empty() || storages.front().storage.key == "0");
}

}  // namespace

WriteReceipt write_zip(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options) {
  refuse_dangerous(checkpoint, options.allow_unsafe);
  const std::vector<WrittenStorage> storages = encode_storage_ids(checkpoint, IdForm::zip);
  checkpoint.tensors = std::vector<Tensor>();  // braces alone would keep the room
  checkpoint.storages = std::vector<Storage>();
  checkpoint.storage_uses = std::vector<std::pair<ValueId, StorageUse>>();
  std::vector<ValueId> asked_for;
  std::string pickle = pickle::emit(checkpoint.values, checkpoint.root,
                                    {checkpoint.protocol, options.protocol, checkpoint.discarded, &asked_for});
  PositionIndex by_written_key;
  by_written_key.reserve(storages.size());
  for (std::uint32_t i = 0; i < storages.size(); ++i)
    by_written_key.add(hash_of(storages[i].storage.key), i, [](std::uint32_t) { return false; });
  const bool in_order = stand_as_asked_for(checkpoint.values, asked_for, storages, by_written_key);
  asked_for = std::vector<ValueId>();
  checkpoint.values = {};

  PositionIndex by_key;
  by_key.reserve(storages.size());
  for (std::uint32_t i = 0; i < storages.size(); ++i)
    by_key.add(hash_of(storages[i].source_key), i, [&](std::uint32_t) { return false; });
  const auto details = arrange(checkpoint, storages);
  // Of a torch zip all storages have one byte order, and its record says which.
  const bool keeps_order = details == checkpoint.details;
  const bool has_all = std::ranges::all_of(storages, [&](const WrittenStorage& written) {
    return !keeps_order || details->has_storage(written.source_key);
  });
  ZipWriter zip(sink, details->alignment);
  WriteReceipt receipt;
  receipt.reserve(storages.size());
  const std::string folder = details->root + "/" + std::string(storage_folder);
  const auto add = [&](const Storage& storage) {
    const bool swap = !keeps_order && storage.byte_order == ByteOrder::big;
    receipt[storage.key] =
        zip.add(folder + storage.key, swap ? *swapped(storage.bytes, dtype_swap_size(storage.dtype)) : *storage.bytes);
  };
  for (std::size_t i = 0; const auto member = details->member(i); ++i) {
    switch (member->kind) {
      case Member::Kind::pickle:
        zip.add(details->root + "/data.pkl", as_bytes(pickle));
        pickle = std::string();
        break;
      case Member::Kind::storage: {
        const std::uint32_t found = by_key.find(
            hash_of(member->name), [&](std::uint32_t other) { return storages[other].source_key == member->name; });
        if (found == PositionIndex::nowhere) break;  // an edit has left it out
        add(storages[found].storage);
        break;
      }
      case Member::Kind::record:
        if (member->name == format_version_name && !(in_order && has_all)) break;
        zip.add(details->root + "/" + member->name, *member->bytes);
        break;
    }
  }
  // Those that an edit has made, and the source's arrangement does not know.
  for (const WrittenStorage& written : storages)
    if (!receipt.contains(written.storage.key)) add(written.storage);
  zip.finish();
  return receipt;
}

}  // namespace ckpt::torch
