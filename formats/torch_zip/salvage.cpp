#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/quoted_name.h"
#include "container/zip_format.h"
#include "container/zip_kind.h"
#include "container/zip_salvage.h"
#include "io/checksum.h"
#include "io/gunzip_damaged.h"
#include "io/keyed_hash.h"
#include "io/stream.h"
#include "model/order_storages.h"
#include "pickled_tensors/archive.h"
#include "pickled_tensors/read_pickle.h"
#include "pickled_tensors/tensors.h"
#include "torch_zip/torch_zip.h"

namespace ckpt::torch {
namespace {

using zip::SalvagedMember;

bool is_pickle(const std::string& name) {
  const std::size_t slash = name.find('/');
  return slash != std::string::npos && name.substr(slash + 1) == pickle_name;
}

/// Whether a checksum may be recorded so, with a damaged byte at most: of other bytes' it is hardly ever so.
bool is_record_of(std::uint32_t recorded, std::uint32_t crc) {
  const std::uint32_t differs = recorded ^ crc;
  return std::ranges::any_of(std::array{0U, 8U, 16U, 24U},
                             [&](unsigned at) { return (differs & ~(0xFFU << at)) == 0; });
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
  using Members = NameMap<SalvagedMember>;

  void walk() {
    const zip::Expected expected{[&](const std::string& name) {
                                   return is_pickle(name) || sizes_.contains(name) ||
                                          name == root_ + std::string(byte_order_name);
                                 },
                                 [&](const std::string& name) {
                                   const auto found = sizes_.find(name);
                                   return found == sizes_.end() ? std::nullopt : std::optional(found->second);
                                 }};
    zip::SalvageWalk walk(source_, context_);
    is_listed_ = walk.has_directory();
    Members later;
    while (auto member = walk.next(expected)) {
      if (member->checksums.size() > 1) ++disagreements_;
      if (root_.empty() && is_pickle(member->name)) read_pickle(*member);
      const bool is_ours = !root_.empty() && member->name == root_ + std::string(pickle_name);
      const bool is_again = !later.empty() || (is_ours && members_.contains(member->name));
      add(*member, is_again ? later : members_);
    }
    has_gaps_ = walk.has_gaps();
    // One record that is damaged is nothing. More are those of another archive, of which this one was written over.
    if (disagreements_ > 1) result_.is_certain = false;
    if (!later.empty()) join(later);
    if (const auto begin = walk.another_behind()) tell_of_another(*begin);
  }

  void add(const SalvagedMember& member, Members& members) {
    const auto [place, fresh] = members.try_emplace(member.name, member);
    if (fresh) return;
    tell_of_second(member);
    SalvagedMember& first = place->second;
    if (is_same(first, member) || (fits(first) && !fits(member))) return;
    if (fits(first)) contested_.insert(member.name);
    first = member;
  }

  void tell_of_second(const SalvagedMember& member) const {
    report(zip::corrupt("a second member named " + quoted_name(member.name), member.header_offset)
               .expected("each name once"));
  }

  void tell_of_another(std::uint64_t begin) {
    report(zip::corrupt("another archive begins", begin).expected("one, of one checkpoint"));
    result_.is_certain = false;
  }

  /// Whether it may be what the pickle calls for, by its size.
  [[nodiscard]] bool fits(const SalvagedMember& member) const {
    const auto found = sizes_.find(member.name);
    return found == sizes_.end() || !member.is_stored || member.compressed_size == found->second;
  }

  [[nodiscard]] std::uint32_t checksum_of(const SalvagedMember& member, std::uint64_t size) const {
    return check_all(*slice(source_, member.data_offset, size, member.name));
  }

  [[nodiscard]] bool is_same(const SalvagedMember& a, const SalvagedMember& b) const {
    return a.compressed_size == b.compressed_size && a.is_stored == b.is_stored &&
           checksum_of(a, a.compressed_size) == checksum_of(b, b.compressed_size);
  }

  /// Whether a member that broke off is what another begins with.
  [[nodiscard]] bool is_begun(const SalvagedMember& broken, const SalvagedMember& whole) const {
    return !broken.ends_as_told && broken.compressed_size < whole.compressed_size &&
           broken.is_stored == whole.is_stored &&
           checksum_of(broken, broken.compressed_size) == checksum_of(whole, broken.compressed_size);
  }

  /// Another archive begins behind this one: the same again, if all that both have is the same; else one whose
  /// storages are not this pickle's.
  void join(Members& later) {
    std::uint64_t begin = UINT64_MAX;
    bool is_one = true;
    for (const auto& [name, member] : later) {
      begin = std::min(begin, member.header_offset);
      const auto found = members_.find(name);
      is_one = is_one && !contested_.contains(name) &&
               (found == members_.end() || is_same(found->second, member) || is_begun(found->second, member));
    }
    if (!is_one) {
      tell_of_another(begin);
      return;
    }
    tell_of_second(later.at(root_ + std::string(pickle_name)));
    for (auto& [name, member] : later) members_.insert_or_assign(name, member);
  }

  void report(Error error) const { context_.report(error.in(source_->name()), ""); }

  /// The pickle, where it is one bit that keeps its checksum from being right; else null.
  [[nodiscard]] ByteSourcePtr with_bit_mended(const SalvagedMember& member, const std::string& name) const {
    constexpr std::uint64_t most = 256 * limits::kib;  // of more, chance alone finds a bit too often
    const bool is_whole = member.is_stored && member.ends_as_told && member.checksums.size() == 1;
    if (!is_whole || member.compressed_size > most) return nullptr;
    std::vector<std::byte> content(static_cast<std::size_t>(member.compressed_size));
    source_->read_exactly(member.data_offset, content);
    const auto bit = flipped_bit(crc32(0, content), member.checksums.front(), content.size());
    if (!bit) return nullptr;
    const std::uint64_t place = *bit / 8;
    content[static_cast<std::size_t>(place)] ^= std::byte{1} << (*bit % 8);
    report(zip::corrupt("a bit of the pickle is another one than its CRC-32 tells", member.data_offset + place)
               .expected("what it is read as here"));
    return memory_source(std::move(content), name);
  }

  /// Comes before the storages where torch wrote the archive, and tells how long each of them is.
  void read_pickle(const SalvagedMember& member) {
    root_ = member.name.substr(0, member.name.size() - pickle_name.size());
    const auto faults = std::make_shared<FaultList>();
    ByteSourcePtr bytes = zip::read(member, source_, faults, context_);
    try {
      check_all(*bytes);
      result_.is_checked = bytes->recorded_crc32().has_value();
      // Bytes may be missing from within it.
      if (!result_.is_checked && !member.ends_as_told) result_.is_certain = false;
      if (member.checksums.size() > 1) result_.is_certain = false;  // of two pickles, one is the storages'
    } catch (const Error& error) {
      context_.report(error, "");
      if (const ByteSourcePtr mended = with_bit_mended(member, bytes->name())) {
        bytes = mended;
        result_.is_checked = true;
      } else {
        result_.is_certain = false;
      }
    }
    if (begins_as_script(*bytes) && !is_listed_as_checkpoint())
      throw Error(ErrorCode::unsupported, "this was a TorchScript file")
          .expected("what torch.save writes")
          .in(source_->name())
          .hint("its code cannot be made up for: fetch the file again");
    const ObjectEnd end = salvage_object(*bytes, 0, checkpoint_, result_.doubts, context_);
    for (const Error& fault : faults->faults()) context_.report(fault, "");
    if (end.broken) {
      context_.report(*end.broken, "");
      result_.is_certain = false;
    }
    if (member.is_stored)
      for (GlobalUse& global : checkpoint_.globals) global.offset += member.data_offset;
    for (const Storage& storage : checkpoint_.storages) sizes_.emplace(storage_name(storage), storage.nbytes);
    if (!is_listed_) doubt_what_stands_before(member);
  }

  /// Storages that have been met by then may be those of another archive, whose pickle is damaged.
  void doubt_what_stands_before(const SalvagedMember& pickle) {
    const auto is_storage = [&](const auto& entry) { return sizes_.contains(entry.first); };
    if (std::none_of(members_.begin(), members_.end(), is_storage)) return;
    report(zip::corrupt("the pickle stands behind storages, which may be another checkpoint's", pickle.header_offset)
               .expected("them behind it"));
    result_.is_certain = false;
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
      if (found == members_.end()) continue;
      storage.bytes = bytes_of(found->second, storage);
      // Where its checksum is, there is damage, which may have begun before.
      if (storage.bytes != nullptr && !found->second.is_closed && found->second.checksums.empty())
        result_.is_certain = false;
    }
    order_storages(checkpoint_, begins);
    tell_of_others();
    tell_of_strangers();
  }

  [[nodiscard]] ByteSourcePtr bytes_of(const SalvagedMember& member, const Storage& storage) {
    ByteSourcePtr bytes = zip::read(member, source_, std::make_shared<FaultList>(), context_);
    const bool is_checked = !member.checksums.empty() || has_gzip_checksums(*bytes) == true;
    if (contested_.contains(member.name) || (member.is_displaced && !is_checked)) return nullptr;
    // What stands beside the bytes vouches for them, and what stands elsewhere does not: both may be another member's.
    if (const auto crc = bytes->recorded_crc32(); crc && !is_record_of(member.checksums.front(), *crc)) {
      result_.is_certain = false;
      bytes = slice(bytes, 0, bytes->size(), bytes->name());
    }
    if (bytes->size() <= storage.nbytes) return bytes;
    report(zip::corrupt("member " + quoted_name(member.name) + " holds " + std::to_string(bytes->size()) + " bytes",
                        member.data_offset)
               .expected(std::to_string(storage.nbytes) + ", as the pickle says"));
    return member.is_stored ? whole_elements(bytes, storage) : nullptr;
  }

  /// torch.save writes all of a storage whose bytes are no whole number of elements, and torch.load refuses it.
  [[nodiscard]] static ByteSourcePtr whole_elements(const ByteSourcePtr& bytes, const Storage& storage) {
    const auto first = [&](std::uint64_t size, std::optional<std::uint32_t> crc = std::nullopt) {
      return slice(bytes, 0, size, bytes->name(), crc);
    };
    if (bytes->size() - storage.nbytes >= dtype_size(storage.dtype)) return nullptr;
    if (bytes->recorded_crc32() != check_all(*first(bytes->size()))) return nullptr;
    return first(storage.nbytes, check_all(*first(storage.nbytes)));
  }

  ByteOrder byte_order() {
    const auto found = members_.find(root_ + std::string(byte_order_name));
    if (found == members_.end() && !has_lost_order()) return ByteOrder::little;  // as before torch 2.1
    if (found == members_.end() || contested_.contains(found->first)) {
      report(Error(ErrorCode::corrupt, "no byte order of the numbers is left").expected("little, as it mostly is"));
      result_.is_certain = false;
      return ByteOrder::little;
    }
    try {
      return parse_byte_order(read_text(*zip::read(found->second, source_, std::make_shared<FaultList>(), context_)),
                              found->second.data_offset, *source_);
    } catch (const Error& error) {
      context_.report(error, "");
      const SalvagedMember& member = found->second;
      const auto may_be = [&](std::string_view word) {
        const std::uint32_t crc = crc32(0, std::as_bytes(std::span(word)));
        const bool stands_there = member.is_stored && member.compressed_size == word.size();
        return std::ranges::count(member.checksums, crc) > 0 ||
               (stands_there && checksum_of(member, word.size()) == crc);
      };
      const bool may_be_big = may_be("big"), may_be_little = may_be("little");
      if (may_be_big != may_be_little) return may_be_big ? ByteOrder::big : ByteOrder::little;
      result_.is_certain = false;
      return member.size == std::string_view("big").size() ? ByteOrder::big : ByteOrder::little;
    }
  }

  /// Whether what says the byte order was there, which no directory tells: what else is written since it is; room for
  /// it; what it may have been.
  [[nodiscard]] bool has_lost_order() const {
    const auto is_strange = [&](const auto& entry) {
      const std::string_view name = std::string_view(entry.first).substr(std::min(root_.size(), entry.first.size()));
      return name.size() == byte_order_name.size() && name.find('/') == std::string_view::npos;
    };
    if (is_listed_) return false;
    return has_gaps_ || members_.contains(root_ + ".format_version") ||
           members_.contains(root_ + ".storage_alignment") || std::any_of(members_.begin(), members_.end(), is_strange);
  }

  /// Of torch's own archives.
  [[nodiscard]] bool is_record(std::string_view name) const {
    if (!name.starts_with(root_)) return false;
    name.remove_prefix(root_.size());
    return name == pickle_name || name == byte_order_name || is_version(name) || name.starts_with(".") ||
           name.starts_with(storage_folder);
  }

  void tell_of_strangers() const {
    std::uint64_t count = 0;
    std::string_view first;
    for (const auto& [name, member] : members_)
      if (!is_record(name) && (count++ == 0 || name < first)) first = name;
    if (count > 0)
      context_.remark(std::to_string(count) + (count == 1 ? " member, " : " members, such as ") + quoted_name(first) +
                      ", that torch.save does not write, " + (count == 1 ? "is" : "are") + " left out");
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
  std::string root_;              ///< with its slash; empty until the pickle has been met
  NameMap<std::uint64_t> sizes_;  ///< of storages, by their member's name
  Members members_;
  NameSet contested_;                ///< names of members that are two, of which either may be it
  std::uint64_t disagreements_ = 0;  ///< members that have two checksums
  bool is_listed_ = false;           ///< by a directory
  bool has_gaps_ = false;            ///< a member may be missing between others
};

}  // namespace

Salvage salvage_zip(const ByteSourcePtr& source, const ReadContext& context) { return Salvager(source, context).run(); }

}  // namespace ckpt::torch
