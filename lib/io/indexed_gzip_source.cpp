#include "io/indexed_gzip_source.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "io/checksum.h"
#include "io/gunzip_damaged.h"
#include "io/gzip_header.h"
#include "io/gzip_member.h"
#include "io/inflating_share.h"
#include "io/slice_source.h"
#include "io/workers.h"

namespace ckpt {
namespace {

/// Members that are inflated ahead of a forward reading: each takes up to a MiB with its compressed bytes.
constexpr std::size_t most_ahead = 24;

/// Threads that read it take turns.
class IndexedGzipSource final : public ByteSource {
 public:
  /// What is wrong with a member keeps it from being read, or `salvages` what is left of it.
  IndexedGzipSource(ByteSourcePtr file, GzipIndex index, bool salvages)
      : ByteSource(file->source_name()), file_(std::move(file)), index_(std::move(index)), salvages_(salvages) {
    begins_.reserve(index_.members.size() + 1);
    std::uint64_t compressed = 0, inflated = 0;
    for (const GzipMember& member : index_.members) {
      begins_.push_back({compressed, inflated});
      compressed += member.compressed;
      inflated += member.inflated;
    }
    begins_.push_back({compressed, inflated});
  }

  [[nodiscard]] std::string folder() const override { return file_->folder(); }
  [[nodiscard]] std::uint64_t size() const override { return begins_.back().inflated; }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (offset >= size()) return 0;
    const std::lock_guard lock(mutex_);
    const std::size_t wanted = std::min<std::uint64_t>(out.size(), size() - offset);
    std::size_t have = 0;
    while (have < wanted) {
      const std::size_t number = member_at(offset + have);
      const Block& block = inflated(number);
      const auto from = static_cast<std::size_t>(offset + have - begins_[number].inflated);
      const std::size_t count = std::min<std::size_t>(index_.members[number].inflated - from, wanted - have);
      std::memcpy(out.data() + have, block.inflated.data() + from, count);
      have += count;
    }
    return have;
  }

  void expect(std::uint64_t offset, std::uint64_t size) const override {
    if (size == 0 || offset >= this->size()) return;
    const std::lock_guard lock(mutex_);
    expected_ = {member_at(offset), member_at(offset + std::min(size, this->size() - offset) - 1)};
    try {
      start_ahead(expected_.first, std::min(expected_.last, expected_.first + ahead_ - 1));
    } catch (const Error&) {
      // What is wrong with it, reading says.
    }
  }

  [[nodiscard]] std::optional<GzipRun> run(std::uint64_t begin, std::uint64_t size) const {
    if (salvages_ || size == 0 || begin >= this->size() || size > this->size() - begin) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const std::size_t first = member_at(begin), last = member_at(begin + size - 1);
    if (begins_[first].inflated != begin || begins_[last + 1].inflated != begin + size) return std::nullopt;
    return GzipRun{file_.get(), begins_[first].compressed, std::span(index_.members).subspan(first, last - first + 1),
                   index_.level};
  }

  /// Reads all of it once, for what is wrong with it.
  void find_damage(FaultList& faults) {
    const std::lock_guard lock(mutex_);
    if (index_.shift != 0)
      faults.note(Error(ErrorCode::corrupt, std::to_string(std::abs(index_.shift)) + " bytes " +
                                                (index_.shift < 0 ? "are missing" : "too many stand") +
                                                " before the index of gzip members")
                      .in(name()));
    for (std::size_t number = 0; number < index_.members.size(); ++number) {
      const Block& block = inflated(number);
      if (block.fault) faults.note(*block.fault);
      if (block.fault && !block.is_whole) damaged_.push_back(number);
    }
  }

  [[nodiscard]] bool has_checksums(std::uint64_t begin, std::uint64_t size) const {
    if (size == 0) return true;
    const std::lock_guard lock(mutex_);
    const auto first = std::lower_bound(damaged_.begin(), damaged_.end(), member_at(begin));
    return first == damaged_.end() || *first > member_at(begin + size - 1);
  }

 private:
  static constexpr std::size_t no_member = SIZE_MAX;
  struct Block {
    std::size_t number = no_member;
    std::vector<std::byte> compressed, inflated;
    std::optional<Error> fault;  ///< of one that is salvaged
    bool is_whole = true;        ///< whatever is wrong lies beside the bytes that it holds
    Workers::TaskPtr task;       ///< null once its work is known to be done
  };
  using BlockPtr = std::shared_ptr<Block>;
  struct Range {
    std::size_t first = no_member, last = 0;
  };

  /// The member that holds the byte at `offset`.
  [[nodiscard]] std::size_t member_at(std::uint64_t offset) const {
    const auto holds = [&](std::size_t number) {
      return begins_[number].inflated <= offset && offset < begins_[number + 1].inflated;
    };
    for (const std::size_t near : {latest_, latest_ + 1})
      if (near < index_.members.size() && holds(near)) return near;
    const auto after =
        std::upper_bound(begins_.begin(), begins_.end(), offset,
                         [](std::uint64_t o, const InflatingPlace& begin) { return o < begin.inflated; });
    return static_cast<std::size_t>(after - begins_.begin()) - 1;
  }

  const Block& inflated(std::size_t number) const {
    const bool forward = number == latest_ + 1 || (number == latest_ && forward_);
    forward_ = forward;
    latest_ = number;
    BlockPtr block = find(number);
    const bool expected = expected_.first <= number && number <= expected_.last;
    const std::size_t end = expected ? expected_.last : forward ? index_.members.size() - 1 : number;
    start_ahead(number + 1, std::min(end, number + ahead_));
    if (!block) {
      block = place_for(number);
      settle(*block, number, [&] { inflate(*block, number); });
    } else if (const Workers::TaskPtr task = std::exchange(block->task, nullptr)) {
      settle(*block, number, [&] { workers_.finish(task); });
    }
    return *block;
  }

  void start_ahead(std::size_t first, std::size_t last) const {
    for (std::size_t number = first; number <= last; ++number)
      if (!find(number)) start(number);
  }

  /// Has a member inflated on another thread.
  void start(std::size_t number) const {
    const BlockPtr block = place_for(number);
    // Nobody waits for one whose place has been given to another by then.
    block->task = workers_.start([this, place = std::weak_ptr(block), number] {
      if (const BlockPtr wanted = place.lock()) inflate(*wanted, number);
    });
    block->number = number;
  }

  [[nodiscard]] BlockPtr find(std::size_t number) const {
    for (const BlockPtr& block : blocks_)
      if (block && block->number == number) return block;
    return nullptr;
  }

  /// In the place of the block that is farthest behind, or farthest ahead; it is no member's yet.
  BlockPtr place_for(std::size_t number) const {
    budget_.spend(begins_[number], begins_[number + 1], farthest_, name());
    const auto distance = [&](const BlockPtr& block) {
      return block->number < latest_ ? SIZE_MAX - block->number : block->number - latest_;
    };
    const auto nearer = [&](const BlockPtr& a, const BlockPtr& b) { return distance(a) < distance(b); };
    const bool full = blocks_.size() == ahead_ + 2;
    if (!full) blocks_.push_back(std::make_shared<Block>());
    BlockPtr& block = full ? *std::max_element(blocks_.begin(), blocks_.end(), nearer) : blocks_.back();
    // Its buffers are used again, unless a thread may be at work on them.
    if (block->task) block = std::make_shared<Block>();
    block->number = no_member;
    block->fault.reset();
    block->compressed.resize(index_.members[number].compressed);
    block->inflated.resize(index_.members[number].inflated);
    return block;
  }

  /// On any thread.
  void inflate(Block& block, std::size_t number) const {
    const std::uint64_t begin = read_member(number, block.compressed);
    try {
      inflate_gzip_member(block.compressed, block.inflated, begin);
    } catch (Error& error) {
      if (!salvages_) throw;
      block.fault = error.within(named(number)).in(name());
      block.is_whole = salvage_gzip_member(block.compressed, block.inflated);
    }
  }

  /// Returns where it begins: where the index says, or as far from there as the index is from where it ought to be.
  std::uint64_t read_member(std::size_t number, std::vector<std::byte>& compressed) const {
    const std::uint64_t begin = begins_[number].compressed, moved = begin + static_cast<std::uint64_t>(index_.shift);
    if (index_.shift != 0 && moved < file_->size()) {
      const std::size_t got = file_->read_at(moved, compressed);
      if (got == compressed.size() && crc32(0, compressed) == index_.members[number].crc32) return moved;
    }
    if (index_.shift == 0)
      file_->read_exactly(begin, compressed);
    else
      static_cast<void>(file_->read_at(begin, compressed));  // of bytes that are not there checksums tell
    return begin;
  }

  static std::string named(std::size_t number) { return "gzip member " + std::to_string(number + 1); }

  /// Does the work by which the block gets a member's bytes.
  template <class Work>
  void settle(Block& block, std::size_t number, Work work) const {
    block.number = no_member;
    try {
      work();
    } catch (Error& error) {
      if (!error.file().empty()) throw;  // it is the file that cannot be read
      throw error.within(named(number)).in(name());
    }
    block.number = number;
  }

  ByteSourcePtr file_;
  GzipIndex index_;
  std::vector<InflatingPlace> begins_;  ///< of each member, and of what follows the last
  mutable std::mutex mutex_;            ///< of what follows
  mutable InflatingBudget budget_;
  mutable InflatingPlace farthest_;  ///< that anything was inflated to
  mutable std::vector<BlockPtr> blocks_;
  mutable std::size_t latest_ = no_member - 1;  ///< the member that was read last
  mutable Range expected_;                      ///< members
  mutable bool forward_ = false;                ///< it followed the one before
  bool salvages_;
  std::vector<std::size_t> damaged_;  ///< members of which not all is left, in order
  mutable Workers workers_;           ///< ends before what it works on
  std::size_t ahead_ = std::min(2 * workers_.threads() + 2, most_ahead);
};

std::shared_ptr<IndexedGzipSource> open_by(GzipIndex index, ByteSourcePtr compressed, std::uint64_t most,
                                           bool salvages) {
  auto source = std::make_shared<IndexedGzipSource>(std::move(compressed), std::move(index), salvages);
  if (source->size() > most) throw inflates_past(most).in(source->name());
  return source;
}

/// What a source is, or is a slice of.
struct Part {
  const IndexedGzipSource* whole = nullptr;
  std::uint64_t begin = 0, size = 0;
};

std::optional<Part> part_by_index(const ByteSource& source) {
  const auto part = slice_of(source);
  const auto* const whole = dynamic_cast<const IndexedGzipSource*>(part ? part->whole : &source);
  if (whole == nullptr) return std::nullopt;
  return part ? Part{whole, part->begin, part->size} : Part{whole, 0, whole->size()};
}

}  // namespace

std::optional<GzipIndex> index_to_read_by(const ByteSource& file, bool damaged) {
  return file.is_concurrent() ? read_gzip_index(file, damaged) : std::nullopt;
}

ByteSourcePtr gunzip_by_index(ByteSourcePtr compressed, std::uint64_t most) {
  if (auto index = index_to_read_by(*compressed)) return open_by(std::move(*index), std::move(compressed), most, false);
  return gunzip(std::move(compressed), most);
}

ByteSourcePtr gunzip_damaged_by(GzipIndex index, ByteSourcePtr compressed, const Faults& faults, std::uint64_t most) {
  const auto source = open_by(std::move(index), std::move(compressed), most, true);
  source->find_damage(*faults);
  return source;
}

std::optional<bool> has_gzip_checksums(const ByteSource& source) {
  const auto part = part_by_index(source);
  return part ? std::optional(part->whole->has_checksums(part->begin, part->size)) : std::nullopt;
}

std::optional<GzipRun> gzip_run(const ByteSource& source, std::uint64_t begin, std::uint64_t size) {
  const auto part = part_by_index(source);
  if (!part || begin > part->size || size > part->size - begin) return std::nullopt;
  return part->whole->run(part->begin + begin, size);
}

void read_gzip_member(const GzipRun& run, std::uint64_t begin, const GzipMember& member,
                      std::vector<std::byte>& bytes) {
  if (bytes.size() < member.compressed) bytes.resize(member.compressed);
  const std::span<std::byte> compressed = std::span(bytes).first(member.compressed);
  run.file->read_exactly(begin, compressed);
  const std::uint32_t has = crc32(0, compressed);
  if (has != member.crc32)
    throw Error(ErrorCode::corrupt, "a gzip member has CRC-32 " + hexadecimal(has))
        .expected(hexadecimal(member.crc32) + ", as the file's index says")
        .at(begin)
        .in(run.file->name());
  if (gzip_trailer(compressed).inflated != member.inflated || !is_plain_gzip_member(compressed)) {
    std::vector<std::byte> inflated(member.inflated);
    try {
      inflate_gzip_member(compressed, inflated, begin);
    } catch (Error& error) {
      throw error.in(run.file->name());
    }
  }
}

void check_gzip_members(const ByteSource& file, const std::function<void(const Error&)>& report) {
  constexpr std::size_t most = 100;  // that are told one by one
  const auto index = index_to_read_by(file);
  if (!index) return;
  const GzipRun all{&file, 0, index->members, index->level};
  std::vector<std::byte> bytes;
  std::uint64_t begin = 0;
  std::size_t wrong = 0;
  for (const GzipMember& member : all.members) {
    try {
      read_gzip_member(all, begin, member, bytes);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt) throw;
      if (++wrong <= most) report(error);
    }
    begin += member.compressed;
  }
  if (wrong > most)
    report(Error(ErrorCode::corrupt, std::to_string(wrong - most) + " more gzip members are wrong")
               .expected("what the file's index says")
               .in(file.name()));
}

}  // namespace ckpt
