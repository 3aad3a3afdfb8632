#include <algorithm>
#include <atomic>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/tar_reader.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"
#include "pickle/global_uses.h"
#include "pickle/literals.h"
#include "pickle/policy.h"
#include "pickle/scanner.h"
#include "pickled_tensors/read_pickle.h"
#include "pickled_tensors/tensors.h"
#include "torch_legacy/chain.h"
#include "torch_legacy/parts.h"
#include "torch_legacy/torch_legacy.h"

namespace ckpt::torch {
namespace {

/// A storage's elements; the count before them is compared when they are first read, so that a compressed file is not
/// inflated to its end just to be opened.
class CountedStorage final : public ByteSource {
 public:
  CountedStorage(ByteSourcePtr file, std::uint64_t offset, const Storage& storage)
      : ByteSource(file->name() + ": storage '" + storage.key + "'"),
        file_(std::move(file)),
        offset_(offset),
        size_(storage.nbytes),
        elements_(storage.nbytes / dtype_size(storage.dtype)) {}

  [[nodiscard]] std::uint64_t size() const override { return size_; }

  [[nodiscard]] bool is_concurrent() const override { return file_->is_concurrent(); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    check_count();
    if (offset >= size_) return 0;
    return file_->read_at(offset_ + count_bytes + offset,
                          out.first(std::min<std::uint64_t>(out.size(), size_ - offset)));
  }

  void check_count() const {
    if (checked_) return;
    std::array<std::byte, count_bytes> bytes;
    file_->read_exactly(offset_, bytes);
    const auto count = load_le<std::uint64_t>(bytes.data());
    if (count != elements_)
      throw Error(ErrorCode::corrupt, "the file counts " + std::to_string(count) + " elements")
          .expected(std::to_string(elements_) + ", as the pickle says")
          .at(offset_)
          .in(name());
    checked_ = true;
  }

 private:
  ByteSourcePtr file_;
  std::uint64_t offset_, size_, elements_;
  mutable std::atomic<bool> checked_ = false;
};

bool is_used(const Checkpoint& checkpoint, const std::string& key) {
  return std::any_of(checkpoint.storages.begin(), checkpoint.storages.end(),
                     [&](const Storage& storage) { return storage.key == key; });
}

/// Lays the storages out one after the other in the order of the keys.
std::uint64_t attach_storages(Checkpoint& checkpoint, const ByteSourcePtr& source, const std::vector<std::string>& keys,
                              std::uint64_t offset) {
  NameViewMap<std::uint32_t> by_key;
  for (std::uint32_t i = 0; i < checkpoint.storages.size(); ++i) by_key[checkpoint.storages[i].key] = i;
  std::vector<std::uint32_t> place(checkpoint.storages.size());
  std::vector<Storage> ordered;
  for (const std::string& key : keys) {
    const auto found = by_key.find(key);
    if (found == by_key.end())
      throw Error(ErrorCode::corrupt,
                  "the list of keys names storage '" + key + "'" +
                      (is_used(checkpoint, key) ? " more than once" : ", which the object does not use"))
          .expected("each storage of the object, once")
          .in(source->name());
    place[found->second] = static_cast<std::uint32_t>(ordered.size());
    Storage storage = checkpoint.storages[found->second];
    by_key.erase(found);
    const auto counted = std::make_shared<CountedStorage>(source, offset, storage);
    // Of an empty storage nothing is ever read that would compare the count.
    if (storage.nbytes == 0 && source->size_is_known() && in_bounds(offset, count_bytes, source->size()))
      counted->check_count();
    storage.bytes = counted;
    const auto end = behind_storage(offset, storage.nbytes);
    if (!end)
      throw Error(ErrorCode::corrupt, "storage '" + key + "' reaches past 2^64 bytes").at(offset).in(source->name());
    offset = *end;
    ordered.push_back(std::move(storage));
  }
  if (!by_key.empty())
    throw Error(ErrorCode::corrupt,
                "the object uses storage '" + std::string(by_key.begin()->first) + "', which the list of keys lacks")
        .expected("every storage in the list")
        .at(offset)
        .in(source->name());
  checkpoint.storages = std::move(ordered);
  for (auto& [id, use] : checkpoint.storage_uses) use.storage = place[use.storage];
  return offset;
}

/// Everything but the elements. Returns where the file ends. `globals`: those of the pickles around the object.
std::uint64_t read_parts(const ByteSourcePtr& source, const ReadContext& context, Checkpoint& checkpoint,
                         std::vector<GlobalUse>& globals) {
  const std::uint64_t cap = context.pickle_cap;
  const std::uint64_t object = read_header(*source, cap, checkpoint, globals);
  std::uint64_t offset = read_object(*source, object, cap, checkpoint, &context);
  const auto keys = read_keys(*source, offset, cap, globals);
  const std::uint64_t end = attach_storages(checkpoint, source, keys, offset);
  decode_tensors(checkpoint);
  return end;
}

}  // namespace

bool probe_legacy(const ByteSource& source) {
  constexpr std::uint64_t probed_bytes = 4 * limits::kib;  // what is no pickle may announce gigabytes
  pickle::Scanner scanner(source, 0, probed_bytes);
  for (int steps = 0; steps < 6; ++steps) {
    const pickle::Op op = scanner.next();
    if (op.code == pickle::PROTO || op.code == pickle::FRAME) continue;
    if (op.code == pickle::LONG1 || op.code == pickle::LONG4) return op.text == legacy_magic;
    if (op.code != pickle::LONG && op.code != pickle::INT) return false;
    std::string_view digits = op.text;
    if (digits.ends_with('L')) digits.remove_suffix(1);
    const auto bytes = pickle::decimal_to_bytes(digits);
    return bytes && std::string_view(*bytes).starts_with(legacy_magic);
  }
  return false;
}

std::uint64_t end_of_legacy(const ByteSourcePtr& source, const ReadContext& context) {
  Checkpoint checkpoint;
  std::vector<GlobalUse> globals;
  return read_parts(source, context, checkpoint, globals);
}

Checkpoint read_legacy(const ByteSourcePtr& source, const ReadContext& context) {
  if (is_tar(*source))
    throw Error(ErrorCode::corrupt, "the file is a tar archive as well").expected("one of both").in(source->name());
  Checkpoint checkpoint;
  checkpoint.file = source->name();
  checkpoint.format = legacy_format.name;
  std::vector<GlobalUse> globals;
  std::uint64_t end = 0;
  try {
    end = read_parts(source, context, checkpoint, globals);
  } catch (Error& error) {
    name_dangers(error, globals);
    throw;
  }
  pickle::GlobalUses(checkpoint.globals).add(globals);
  for (const Storage& storage : checkpoint.storages)
    context.check_bytes(*storage.bytes, "storage '" + storage.key + "'");
  if (context.findings == nullptr && !source->size_is_known()) {  // its end is found when it is read
    auto details = std::make_shared<LegacyDetails>(dynamic_cast<const LegacyDetails&>(*checkpoint.details));
    details->end = EndOfFile(source, end, "the last storage");
    checkpoint.details = std::move(details);
  } else if (source->size() < end) {
    context.report(Error(ErrorCode::truncated, "the file ends at byte " + std::to_string(source->size()))
                       .expected(std::to_string(end) + " bytes")
                       .at(source->size())
                       .in(source->name()),
                   "");
  } else {
    leave_out(checkpoint, source->size() - end, "the last storage");
  }
  return checkpoint;
}

}  // namespace ckpt::torch
