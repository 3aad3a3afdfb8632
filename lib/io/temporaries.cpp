#include "io/temporaries.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>

#include "ckpt/error.h"
#include "ckpt/file_sink.h"

namespace ckpt {
namespace {

// A signal handler can neither lock nor allocate: the table is fixed, and a slot's state says what may be touched.
enum class SlotState : int { free, taken, registered };

struct Slot {
  std::atomic<SlotState> state = SlotState::free;
  int folder = -1;
  std::array<char, 64> name{};
  std::atomic<bool> is_folder = false;
  std::atomic<int> inside = -1;  ///< the folder, once it has files
  std::atomic<const TemporaryFile*> files = nullptr;
};

static_assert(std::atomic<SlotState>::is_always_lock_free && std::atomic<const TemporaryFile*>::is_always_lock_free);

std::array<Slot, 64> slots;
std::atomic<std::uint64_t> names_made{0};

Slot& slot_at(int index) { return slots[static_cast<std::size_t>(index)]; }

int take_slot() {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    SlotState expected = SlotState::free;
    if (slots[i].state.compare_exchange_strong(expected, SlotState::taken)) return static_cast<int>(i);
  }
  throw Error(ErrorCode::limit_exceeded,
              "more than " + std::to_string(slots.size()) + " files are being written at once")
      .on_output();
}

/// Async-signal-safe.
void remove_entry(const Slot& slot) {
  const int inside = slot.inside;
  for (const TemporaryFile* file = slot.files; file != nullptr; file = file->next)
    ::unlinkat(inside, file->name.c_str(), 0);
  ::unlinkat(slot.folder, slot.name.data(), slot.is_folder ? AT_REMOVEDIR : 0);
}

}  // namespace

bool is_temporary_name(std::string_view name) {
  const auto take = [&](std::string_view text) {
    const bool there = name.starts_with(text);
    if (there) name.remove_prefix(text.size());
    return there;
  };
  const auto take_number = [&] {
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    name.remove_prefix(digits);
    return digits > 0;
  };
  return take(".ckpt-") && take_number() && take("-") && take_number() && name == ".tmp";
}

TemporaryName::TemporaryName(int folder) : slot_(take_slot()) {
  Slot& slot = slot_at(slot_);
  slot.folder = folder;
  slot.is_folder = false;
  slot.files = nullptr;
  do {
    std::snprintf(slot.name.data(), slot.name.size(), ".ckpt-%ld-%llu.tmp", static_cast<long>(::getpid()),
                  static_cast<unsigned long long>(names_made++));
  } while (::faccessat(folder, slot.name.data(), F_OK, AT_SYMLINK_NOFOLLOW) == 0);
  slot.state = SlotState::registered;
}

TemporaryName::~TemporaryName() { release(); }

const char* TemporaryName::name() const { return slot_at(slot_).name.data(); }

void TemporaryName::becomes_folder() { slot_at(slot_).is_folder = true; }

void TemporaryName::add_file(int inside, const std::string& name) {
  Slot& slot = slot_at(slot_);
  slot.inside = inside;
  files_.push_back({name, slot.files});
  slot.files = &files_.back();
}

void TemporaryName::remove() { remove_entry(slot_at(slot_)); }

void TemporaryName::release() {
  if (slot_ >= 0) slot_at(slot_).state = SlotState::free;
  slot_ = -1;
}

void discard_temporaries() noexcept {
  for (Slot& slot : slots) {
    SlotState expected = SlotState::registered;
    if (slot.state.compare_exchange_strong(expected, SlotState::taken)) remove_entry(slot);
  }
}

}  // namespace ckpt
