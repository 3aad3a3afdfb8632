#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ckpt/error.h"
#include "container/zip_writer.h"
#include "io/bytes.h"
#include "pickled_tensors/read_pickle.h"
#include "pickled_tensors/storage_ids.h"
#include "torchscript/details.h"
#include "torchscript/layout.h"
#include "torchscript/meta.h"
#include "torchscript/model_json.h"
#include "torchscript/relocate.h"
#include "torchscript/torchscript.h"

namespace ckpt::torchscript {
namespace {

const ScriptDetails& script_of(const Checkpoint& checkpoint) {
  const auto* const details = dynamic_cast<const ScriptDetails*>(checkpoint.details.get());
  if (details != nullptr) return *details;
  throw Error(ErrorCode::unsupported, "a TorchScript file holds a model's code, which this checkpoint has not")
      .expected("a TorchScript file to make another of")
      .in(checkpoint.file)
      .hint("--format torch writes the tensors; torch.jit.script(model) in Python, with the model's source, the rest");
}

/// Persistent ids that name a storage by another location than it has now, in the order of the pickle's instructions.
class Moves {
 public:
  Moves(const Checkpoint& checkpoint, const ScriptDetails::Pickle& pickle) {
    const ValueGraph& values = checkpoint.values;
    for (ValueId id = pickle.first; id < pickle.behind; ++id) {
      if (values.kind(id) != ValueKind::persistent) continue;
      locations_.emplace_back();
      const StorageUse* const use = find_storage_use(checkpoint, id);
      if (use == nullptr) continue;
      const std::string& location = checkpoint.storages[use->storage].location;
      if (torch::decode_storage_id(values, values.items(id)[0])->location == location) continue;
      locations_.back() = location;
      any_ = true;
    }
  }
  [[nodiscard]] bool any() const { return any_; }
  [[nodiscard]] std::optional<std::string> operator()(std::size_t index) const { return locations_[index]; }

 private:
  std::vector<std::optional<std::string>> locations_;
  bool any_ = false;
};

/// What a pickle or model.json becomes; none where it stays as it is.
std::map<std::string, std::string> edited_members(const Checkpoint& checkpoint, const ScriptDetails& details) {
  std::map<std::string, std::string> edited;
  for (const ScriptDetails::Pickle& pickle : details.pickles) {
    const Moves moves(checkpoint, pickle);
    if (!moves.any()) continue;
    const ByteSourcePtr bytes = in_memory(*details.zip, *details.zip->find(pickle.member), limits::pickle_bytes);
    try {
      edited[pickle.member] = relocate(*bytes, moves);
    } catch (Error& error) {
      throw error.in(bytes->name()).hint("--weights-only writes its state dict, with any device");
    }
  }
  const std::string model = details.root + "/" + std::string(model_name);
  if (const ZipMember* const member = details.zip->find(model)) {
    std::map<std::string, std::string> devices;
    for (const Storage& storage : checkpoint.storages) devices[storage.key] = storage.location;
    edited[model] = with_devices(*details.zip->read(*member), devices);
  }
  return edited;
}

}  // namespace

WriteReceipt write_script(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options) {
  const ScriptDetails& details = script_of(checkpoint);
  torch::refuse_dangerous(checkpoint, options.allow_unsafe);
  if (options.protocol.value_or(2) != 2)
    throw Error(ErrorCode::unsupported, "a TorchScript file in pickle protocol " + std::to_string(*options.protocol))
        .expected("2, the one that libtorch reads")
        .in(checkpoint.file)
        .hint("leave --protocol out");
  if (std::any_of(checkpoint.storages.begin(), checkpoint.storages.end(), is_meta))
    throw Error(ErrorCode::invalid_argument,
                "a TorchScript file whose tensors are on the device meta, with their bytes")
        .expected("a device to load them to")
        .in(checkpoint.file)
        .hint("--weights-only writes its state dict");
  const auto edited = edited_members(checkpoint, details);
  std::map<std::string, std::string> storages;
  for (const Storage& storage : checkpoint.storages) storages[details.root + "/" + storage.key] = storage.key;
  ZipWriter zip(sink, details.alignment);
  WriteReceipt receipt;
  for (const ZipMember& member : details.zip->members()) {
    const auto other = edited.find(member.name);
    // A source of its own each time: an inflating one that is kept would keep its buffers.
    const std::uint32_t crc = other == edited.end() ? zip.add(member.name, *details.zip->read(member))
                                                    : zip.add(member.name, as_bytes(other->second));
    if (const auto storage = storages.find(member.name); storage != storages.end()) receipt[storage->second] = crc;
  }
  zip.finish();
  return receipt;
}

}  // namespace ckpt::torchscript
