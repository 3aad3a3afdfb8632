#include "io/inflating_source.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt {

struct InflatingSource::Work {
  std::unique_ptr<Decoder> decoder;
  bool broken = false;  // the decoder threw, and stands nowhere until it is restored

  // window[0, held) are the bytes that end where the decoder stands.
  static constexpr std::size_t capacity = history_bytes + window_bytes;
  std::unique_ptr<std::byte[]> window = std::make_unique_for_overwrite<std::byte[]>(capacity);
  std::size_t held = 0;

  void drop_old() {
    if (held <= history_bytes) return;
    std::memmove(window.get(), window.get() + (held - history_bytes), history_bytes);
    held = history_bytes;
  }
  void remember(std::span<const std::byte> given_out) {
    held = std::min(given_out.size(), history_bytes);
    std::memcpy(window.get(), given_out.data() + (given_out.size() - held), held);
  }

  [[nodiscard]] std::uint64_t window_begin() const { return decoder->output() - held; }
};

struct InflatingSource::Positions {
  std::vector<std::unique_ptr<const DecoderPosition>> kept;  // by output offset; the beginning needs none
  std::uint64_t spacing = first_spacing;

  /// The latest one at or before `offset`; null for the beginning.
  [[nodiscard]] const DecoderPosition* nearest(std::uint64_t offset) const {
    const auto after = std::upper_bound(kept.begin(), kept.end(), offset,
                                        [](std::uint64_t o, const auto& position) { return o < position->output; });
    return after == kept.begin() ? nullptr : std::prev(after)->get();
  }

  void keep(Decoder& decoder) {
    const std::uint64_t latest = kept.empty() ? 0 : kept.back()->output;
    if (decoder.output() < latest + spacing) return;
    kept.push_back(std::make_unique<const DecoderPosition>(decoder.position()));
    if (kept.size() <= most_positions) return;
    thin();
  }

  void thin() {
    spacing *= 2;
    for (std::size_t i = 0; 2 * i + 1 < kept.size(); ++i) kept[i] = std::move(kept[2 * i + 1]);
    kept.resize(kept.size() / 2);
  }
};

InflatingSource::InflatingSource(std::string name, AtEnd at_end, Faults faults, std::shared_ptr<InflatingShare> shared)
    : ByteSource(std::move(name)), at_end_(at_end), faults_(std::move(faults)), shared_(std::move(shared)) {}
InflatingSource::~InflatingSource() { give_back(); }

void InflatingSource::give_back() const {
  if (const auto work = work_.lock(); work && shared_) shared_->buffers.drop(work);
  kept_work_.reset();
  work_.reset();
}

void InflatingSource::ended(std::uint64_t) const {}

std::shared_ptr<InflatingSource::Work> InflatingSource::work() const {
  if (!positions_) positions_ = std::make_unique<Positions>();
  std::shared_ptr<Work> work = work_.lock();
  if (!work) {
    work = std::make_shared<Work>();
    work->decoder = start();
    work_ = work;
  }
  if (shared_)
    shared_->buffers.use(work);
  else
    kept_work_ = work;
  return work;
}

std::size_t InflatingSource::produce(Work& work, std::span<std::byte> out) const {
  // What is checked and copied in one go should still be in the cache when its CRC is taken.
  const std::size_t most = std::min(out.size(), limits::copy_chunk);
  const auto here = [&] {
    const DecoderPosition& at = work.decoder->position();
    return InflatingPlace{at.input, at.output + at.inflater.held()};
  };
  const InflatingPlace begin = here();
  const auto spend = [&] { (shared_ ? shared_->budget : budget_).spend(begin, here(), farthest_, name()); };
  work.broken = true;
  std::size_t count = 0;
  try {
    count = work.decoder->produce(out.first(most));
  } catch (const Error& error) {
    spend();
    if (!note(error)) throw;
    measured_ = work.decoder->output();
    return 0;
  }
  spend();
  work.broken = false;
  if (count == 0) {
    measured_ = work.decoder->output();
    ended(work.decoder->position().input);
  }
  positions_->keep(*work.decoder);
  return count;
}

/// Whether damage is to be noted, and the stream to end there.
bool InflatingSource::note(const Error& error) const {
  // A method of compression that nobody has used since 1992 is damage too.
  const bool damage = error.code() == ErrorCode::corrupt || error.code() == ErrorCode::truncated ||
                      error.code() == ErrorCode::unsupported;
  if (faults_ == nullptr || !damage) return false;
  faults_->note(error);
  return true;
}

bool InflatingSource::fill_window(Work& work) const {
  work.drop_old();
  const std::size_t most = work.decoder->output() == 0 ? first_window_bytes : window_bytes;
  const std::size_t count = produce(work, {work.window.get() + work.held, most});
  work.held += count;
  return count != 0;
}

// A reader that takes exactly what there is must meet the checks at the end all the same, so one byte more is tried.
// What is wrong with bytes that nobody has asked for yet is for the next read to say.
void InflatingSource::look_ahead(Work& work) const {
  try {
    if (work.held == Work::capacity) work.drop_old();
    work.held += produce(work, {work.window.get() + work.held, 1});
  } catch (const Error& error) {
    work.held = 0;
    if (error.code() == ErrorCode::io || work.decoder->phase() == Decoder::Phase::trailer) throw;
  }
}

void InflatingSource::go_to(Work& work, std::uint64_t offset) const {
  const bool behind = work.broken || offset < work.window_begin();
  const DecoderPosition* near = positions_->nearest(offset);
  const bool ahead = near != nullptr && near->output > work.decoder->output();
  if (behind || ahead) {
    if (near != nullptr)
      work.decoder->restore(*near);
    else
      work.decoder = start();
    work.broken = false;
    work.held = 0;
  }
  goes_back_ = goes_back_ || (measured_ && offset >= work.decoder->output() + wide_spacing);
  while (offset > work.decoder->output()) {
    if (!fill_window(work)) return;
  }
}

std::size_t InflatingSource::read_at(std::uint64_t offset, std::span<std::byte> out) const {
  const std::lock_guard lock(mutex_);
  if (out.empty() || (measured_ && offset >= *measured_)) return 0;
  const std::shared_ptr<Work> held = this->work();
  Work& work = *held;
  go_to(work, offset);
  std::size_t have = 0;
  while (have < out.size() && offset + have <= work.decoder->output()) {
    const std::uint64_t position = offset + have;
    const std::size_t ready = work.decoder->output() - position;
    if (ready != 0) {
      const std::size_t count = std::min(ready, out.size() - have);
      std::memcpy(out.data() + have, work.window.get() + (position - work.window_begin()), count);
      have += count;
      continue;
    }
    if (out.size() - have >= window_bytes / 2) {
      const std::size_t count = produce(work, out.subspan(have));
      if (count == 0) break;
      work.remember(out.subspan(have, count));
      have += count;
    } else if (!fill_window(work)) {
      break;
    }
  }
  if (have == out.size() && offset + have == work.decoder->output()) look_ahead(work);
  if (at_end_ == AtEnd::release && work.decoder->phase() == Decoder::Phase::ended && !work.broken &&
      offset + have == work.decoder->output()) {
    give_back();
    if (!goes_back_) positions_.reset();
    while (positions_ && positions_->spacing < wide_spacing) positions_->thin();
  }
  return have;
}

std::uint64_t InflatingSource::measure() const {
  const std::lock_guard lock(mutex_);
  if (!measured_) {
    go_to(*this->work(), UINT64_MAX);
  }
  return *measured_;
}

std::optional<std::uint64_t> InflatingSource::measured() const {
  const std::lock_guard lock(mutex_);
  return measured_;
}

}  // namespace ckpt
