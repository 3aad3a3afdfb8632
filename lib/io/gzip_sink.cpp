#include <algorithm>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "ckpt/cores.h"
#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/deflater.h"
#include "io/gzip_index.h"
#include "io/gzip_member.h"
#include "io/indexed_gzip_source.h"
#include "io/output.h"
#include "io/workers.h"

namespace ckpt {
namespace {

constexpr int last_level = 9;
/// What is announced has members of its own from this size on.
constexpr std::uint64_t least_part = 64 * limits::kib;
/// Blocks that are compressed at a time: each takes some 1.5 MiB.
constexpr std::size_t most_blocks = 24;

/// A member in the making.
struct Block {
  std::unique_ptr<Deflater> deflater;
  std::unique_ptr<std::byte[]> bytes;
  std::size_t held = 0;  ///< of those that come
  std::size_t size = 0;  ///< of those that are being compressed
  std::vector<std::byte> compressed;
  GzipMember member;
  Workers::TaskPtr task;

  void compress(int level) {
    if (!deflater) deflater = make_deflater(level);
    member = write_gzip_member({bytes.get(), size}, *deflater, compressed);
  }
  void copy(const GzipRun& run, std::uint64_t begin, const GzipMember& its) {
    read_gzip_member(run, begin, its, compressed);
    member = its;
  }
};

class GzipSink final : public ByteSink {
 public:
  GzipSink(ByteSink& target, const GzipOptions& options)
      : ByteSink(target.name()),
        target_(target),
        options_(options),
        index_{{}, options.level},
        blocks_(options.threads == 1 ? 1 : std::min(2 * options.threads + 1, most_blocks)),
        workers_(options.threads - 1) {}

  ~GzipSink() override {
    if (committed_) return;
    try {
      if (!failure_) collect_all();
    } catch (...) {  // what comes behind a member that is missing is of no use
    }
    try {
      target_.write(as_bytes("\x1f\x8b"));  // of a member that does not come: what ends here is cut off
    } catch (...) {                         // so it is where the target fails
    }
  }

  void commit() override {
    attempt([&] {
      if (now().held > 0 || offset() == 0) submit();
      collect_all();
      if (index_.members.size() > 1 && index_.members.size() <= limits::gzip_members) write_gzip_index(index_, target_);
    });
    committed_ = true;
  }

 private:
  /// The one that is filled. Throws Error (invalid_argument) after commit().
  [[nodiscard]] Block& now() {
    if (committed_) throw committed_already(name());
    return blocks_[submitted_ % blocks_.size()];
  }

  std::span<std::byte> prepare() override {
    Block& block = now();
    if (block.task) collect();
    if (!block.bytes) attempt([&] { block.bytes = std::make_unique_for_overwrite<std::byte[]>(gzip_block_bytes); });
    std::size_t room = gzip_block_bytes - block.held;
    if (part_left_ > 0) room = std::min<std::uint64_t>(room, part_left_);
    return {block.bytes.get() + block.held, room};
  }

  void append_prepared(std::size_t count) override {
    Block& block = now();
    block.held += count;
    const bool part_ends = part_left_ > 0 && (part_left_ -= count) == 0;
    if (block.held == gzip_block_bytes || part_ends) submit();
  }

  void announce(std::uint64_t size) override {
    if (size < least_part) return;
    if (now().held > 0) submit();
    part_left_ = size;
  }

  std::optional<std::uint32_t> append_part(const ByteSource& source, std::uint64_t begin, std::uint64_t size) override {
    if (size < least_part) return std::nullopt;
    const auto run = gzip_run(source, begin, size);
    if (!run || !(options_.copies || run->level == options_.level)) return std::nullopt;
    if (now().held > 0) submit();
    collect_all();
    if (run->level != options_.level) index_.level = 0;
    crc32_ = 0;
    try {
      std::uint64_t at = run->begin;
      for (const GzipMember& member : run->members) {
        submit([&run, at, &member](Block& block) { block.copy(*run, at, member); });
        at += member.compressed;
      }
      collect_all();
    } catch (...) {
      abandon();  // the source may go
      throw;
    }
    return crc32_;
  }

  /// Hands the block that has been filled to whoever compresses it.
  void submit() {
    Block& block = now();
    block.size = std::exchange(block.held, 0);
    submit([level = options_.level](Block& filled) { filled.compress(level); });
  }

  /// The next block's member is what `make` makes, on any thread.
  template <class Make>
  void submit(Make make) {
    attempt([&] {
      Block& block = now();
      if (block.task) collect();
      block.task = workers_.start([&block, make] { make(block); });
      ++submitted_;
    });
  }

  /// Writes the oldest block that has been submitted.
  void collect() {
    Block& block = blocks_[collected_ % blocks_.size()];
    const Workers::TaskPtr task = std::exchange(block.task, nullptr);
    ++collected_;
    attempt([&] {
      workers_.finish(task);
      const auto member = std::span(block.compressed).first(block.member.compressed);
      target_.write(member);
      index_.members.push_back(block.member);
      crc32_ = crc32_of_both(crc32_, gzip_trailer(member).crc32, block.member.inflated);
    });
  }
  void collect_all() {
    while (collected_ < submitted_) collect();
  }
  /// What has failed once fails for good: bytes are missing.
  template <class Work>
  void attempt(Work work) {
    if (failure_) std::rethrow_exception(failure_);
    try {
      work();
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
  }
  /// Returns when nobody works on a block any more; none of them is written.
  void abandon() {
    for (; collected_ < submitted_; ++collected_) {
      Block& block = blocks_[collected_ % blocks_.size()];
      try {
        workers_.finish(std::exchange(block.task, nullptr));
      } catch (...) {  // another failed before
      }
    }
  }

  ByteSink& target_;
  GzipOptions options_;
  GzipIndex index_;
  std::uint64_t part_left_ = 0;  ///< bytes of what was announced that have not come yet
  std::uint64_t submitted_ = 0, collected_ = 0;
  std::uint32_t crc32_ = 0;  ///< of what the members that have been collected hold, since append_part() began
  bool committed_ = false;
  std::exception_ptr failure_;
  std::vector<Block> blocks_;
  Workers workers_;  ///< ends before what it works on
};

}  // namespace

std::unique_ptr<ByteSink> gzip_sink(ByteSink& target, const GzipOptions& options) {
  if (options.level < 1 || options.level > last_level) {
    throw Error(ErrorCode::invalid_argument, "gzip level " + std::to_string(options.level)).expected("1 to 9");
  }
  GzipOptions chosen = options;
  if (chosen.threads == 0) chosen.threads = usable_cores();
  return std::make_unique<GzipSink>(target, chosen);
}

}  // namespace ckpt
