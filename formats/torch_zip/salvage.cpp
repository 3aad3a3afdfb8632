#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "container/zip_format.h"
#include "container/zip_kind.h"
#include "container/zip_salvage.h"
#include "io/checksum.h"
#include "io/keyed_hash.h"
#include "io/stream.h"
#include "torch_common/archive.h"
#include "torch_common/read_pickle.h"
#include "torch_common/tensors.h"
#include "torch_zip/torch_zip.h"

namespace ckpt::torch {
namespace {

using zip::SalvagedMember;

bool is_pickle(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash != std::string::npos && name.substr(slash + 1) == pickle_name;
}

class Salvager {
 public:
  Salvager(const ByteSourcePtr& source, const ReadContext& context)
      : source_(source), context_(context), checkpoint_(result_.checkpoint) {}

  Salvage run() {
    checkpoint_.file = source_->name();
    checkpoint_.format = zip_format.name;
    walk();
    if (root_.empty()) refuse_nameless();
    find_storages();
    decode_tensors(checkpoint_, &result_.doubts);
    return std::move(result_);
  }

 private:
  void walk() {
    const zip::Expected expected{[&](const std::string& name) { return is_pickle(name) || sizes_.contains(name); },
                                 [&](const std::string& name) {
                                   const auto found = sizes_.find(name);
                                   return found == sizes_.end() ? std::nullopt : std::optional(found->second);
                                 }};
    zip::SalvageWalk walk(source_, context_);
    while (auto member = walk.next(expected)) {
      if (root_.empty() && is_pickle(member->name)) read_pickle(*member);
      const auto [place, fresh] = members_.try_emplace(member->name, *member);
      if (!fresh)
        report(zip::corrupt("a second member named " + zip::quoted(member->name), member->header_offset)
                   .expected("each name once"));
    }
  }

  void report(Error error) const { context_.report(error.in(source_->name()), ""); }

  /// Comes before the storages where torch wrote the archive, and tells how long each of them is.
  void read_pickle(const SalvagedMember& member) {
    root_ = member.name.substr(0, member.name.size() - pickle_name.size());
    const auto faults = std::make_shared<FaultList>();
    const ByteSourcePtr bytes = zip::read(member, source_, faults, context_);
    try {
      check_all(*bytes);
      result_.is_checked = bytes->recorded_crc32().has_value();
      // Bytes may be missing from within it.
      if (!result_.is_checked && !member.ends_as_told) result_.is_certain = false;
    } catch (const Error& error) {
      context_.report(error, "");
      result_.is_certain = false;
    }
    if (begins_as_script(*bytes) && !is_listed_as_checkpoint())
      throw Error(ErrorCode::unsupported, "this was a TorchScript file")
          .expected("what torch.save writes")
          .in(source_->name());
    const ObjectEnd end = salvage_object(*bytes, 0, checkpoint_, result_.doubts, context_);
    for (const Error& fault : faults->faults()) context_.report(fault, "");
    if (end.broken) {
      context_.report(*end.broken, "");
      result_.is_certain = false;
    }
    if (member.is_stored)
      for (GlobalUse& global : checkpoint_.globals) global.offset += member.data_offset;
    for (const Storage& storage : checkpoint_.storages) sizes_.emplace(storage_name(storage), storage.nbytes);
  }

  [[nodiscard]] bool is_listed_as_checkpoint() const {
    return zip_names(*source_) && zip_kind(*source_) == ZipKind::checkpoint;
  }

  [[nodiscard]] std::string storage_name(const Storage& storage) const {
    return root_ + std::string(storage_folder) + storage.key;
  }

  [[noreturn]] void refuse_nameless() const {
    const std::size_t count = members_.size();
    if (count == 0)
      throw Error(ErrorCode::unsupported, "no member of an archive is left").expected("one").in(source_->name());
    throw Error(ErrorCode::corrupt, "data.pkl is lost, and with it every name, shape and dtype; " +
                                        std::to_string(count) + " other members are there")
        .expected("the object's pickle")
        .in(source_->name())
        .hint("only an earlier copy of the file can help: without its pickle, bytes cannot be told apart");
  }

  void find_storages() {
    const ByteOrder order = byte_order();
    std::vector<std::uint64_t> begins;
    for (Storage& storage : checkpoint_.storages) {
      storage.byte_order = order;
      const auto found = members_.find(storage_name(storage));
      begins.push_back(found == members_.end() ? 0 : found->second.data_offset);
      if (found != members_.end()) storage.bytes = bytes_of(found->second, storage);
    }
    order_storages(checkpoint_, begins);
    tell_of_others();
  }

  [[nodiscard]] ByteSourcePtr bytes_of(const SalvagedMember& member, const Storage& storage) const {
    if (member.is_displaced && member.checksums.empty()) return nullptr;
    ByteSourcePtr bytes = zip::read(member, source_, std::make_shared<FaultList>(), context_);
    if (bytes->size() <= storage.nbytes) return bytes;
    report(zip::corrupt("member " + zip::quoted(member.name) + " holds " + std::to_string(bytes->size()) + " bytes",
                        member.data_offset)
               .expected(std::to_string(storage.nbytes) + ", as the pickle says"));
    return nullptr;
  }

  ByteOrder byte_order() {
    const auto found = members_.find(root_ + std::string(byte_order_name));
    if (found == members_.end()) return ByteOrder::little;  // as before torch 2.0
    try {
      return parse_byte_order(read_text(*zip::read(found->second, source_, std::make_shared<FaultList>(), context_)),
                              found->second.data_offset, *source_);
    } catch (const Error& error) {
      context_.report(error, "");
      // The two words have not the same length.
      const bool is_big = found->second.size == std::string_view("big").size();
      if (!is_big && found->second.size != std::string_view("little").size()) result_.is_certain = false;
      return is_big ? ByteOrder::big : ByteOrder::little;
    }
  }

  /// Storages of tensors whose names are lost.
  void tell_of_others() const {
    std::uint64_t count = 0, bytes = 0;
    for (const auto& [name, member] : members_) {
      if (!name.starts_with(root_ + std::string(storage_folder)) || sizes_.contains(name)) continue;
      ++count;
      bytes += member.compressed_size;
    }
    if (count == 0) return;
    std::string what = std::to_string(count) + (count == 1 ? " storage, " : " storages, ") + std::to_string(bytes) +
                       " bytes, that nothing left of the pickle names";
    if (result_.is_certain) return context_.remark(std::move(what));
    report(Error(ErrorCode::corrupt, std::move(what)));
  }

  ByteSourcePtr source_;
  const ReadContext& context_;
  Salvage result_;
  Checkpoint& checkpoint_;
  std::string root_;  ///< with its slash; empty until the pickle has been met
  std::unordered_map<std::string, std::uint64_t, KeyedHash> sizes_;  ///< of storages, by their member's name
  std::unordered_map<std::string, SalvagedMember, KeyedHash> members_;
};

}  // namespace

Salvage salvage_zip(const ByteSourcePtr& source, const ReadContext& context) { return Salvager(source, context).run(); }

}  // namespace ckpt::torch
