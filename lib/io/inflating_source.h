#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "ckpt/byte_source.h"
#include "io/decoder.h"
#include "io/faults.h"
#include "io/inflating_share.h"

namespace ckpt {

/// Random access over a Decoder. Forward is a matter of inflating; back is to the nearest of a few positions that were
/// kept on the way, a fixed number of them at a spacing that doubles as the stream goes on, and inflating from there.
/// A small window of the latest bytes makes many small reads cheap; large reads go straight to the caller. Going back
/// too often is an Error (limits::reinflated_cap). Threads take turns.
class InflatingSource : public ByteSource {
 public:
  /// Inflated at a time for small reads, and kept behind that: a reader that took more than it needed may step back.
  static constexpr std::size_t window_bytes = 128 * 1024;
  static constexpr std::size_t history_bytes = 64 * 1024;
  /// Bytes from one kept position to the next, as long as there are few; and where buffers were given back.
  static constexpr std::uint64_t first_spacing = std::uint64_t{256} << 10, wide_spacing = std::uint64_t{4} << 20;
  /// Inflated for the first read of a stream, of which few bytes may be asked for.
  static constexpr std::size_t first_window_bytes = 16 * 1024;
  static constexpr std::size_t most_positions = 64;

  ~InflatingSource() override;
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override;

 protected:
  /// Whether buffers and positions are given back when the end is met (they cost some 500 KiB, and more with positions
  /// kept): right for the members of an archive, of which there may be tens of thousands. Positions stay where much of
  /// the stream is passed over after that, to be read here and there.
  enum class AtEnd { keep, release };

  /// `faults`: where given, the stream ends where it cannot be inflated any further, and what is wrong is added there;
  /// else that is thrown. `shared`: where given, keeps the buffers, of which those that it drops are filled again, and
  /// counts what is inflated.
  InflatingSource(std::string name, AtEnd at_end, Faults faults = nullptr,
                  std::shared_ptr<InflatingShare> shared = nullptr);

  [[nodiscard]] virtual std::unique_ptr<Decoder> start() const = 0;
  /// Told each time the end is met, with the position in the compressed bytes that the decoder stopped at.
  virtual void ended(std::uint64_t position) const;
  /// Inflates to the end and returns the size.
  std::uint64_t measure() const;
  [[nodiscard]] std::optional<std::uint64_t> measured() const;

 private:
  struct Work;
  struct Positions;

  void go_to(Work& work, std::uint64_t offset) const;
  std::size_t produce(Work& work, std::span<std::byte> out) const;
  bool note(const Error& error) const;
  bool fill_window(Work& work) const;
  void look_ahead(Work& work) const;
  std::shared_ptr<Work> work() const;
  void give_back() const;

  AtEnd at_end_;
  Faults faults_;
  std::shared_ptr<InflatingShare> shared_;
  mutable std::mutex mutex_;  ///< of what follows
  mutable std::weak_ptr<Work> work_;
  mutable std::shared_ptr<Work> kept_work_;  ///< where nobody keeps it for several
  mutable std::unique_ptr<Positions> positions_;
  mutable InflatingBudget budget_;   ///< where none is shared
  mutable InflatingPlace farthest_;  ///< that it was inflated to
  mutable bool goes_back_ = false;
  mutable std::optional<std::uint64_t> measured_;
};

}  // namespace ckpt
