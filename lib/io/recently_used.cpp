#include "io/recently_used.h"

#include <algorithm>
#include <iterator>

namespace ckpt {

// What is dropped goes when the lock is given back: its destructor may lead here.

void RecentlyUsed::use(const std::shared_ptr<const void>& thing) {
  std::list<std::shared_ptr<const void>> dropped;
  const std::lock_guard lock(mutex_);
  const auto found = std::find(used_.begin(), used_.end(), thing);
  if (found != used_.end()) return used_.splice(used_.begin(), used_, found);
  used_.push_front(thing);
  if (used_.size() > most_) dropped.splice(dropped.begin(), used_, std::prev(used_.end()));
}

void RecentlyUsed::drop(const std::shared_ptr<const void>& thing) {
  std::list<std::shared_ptr<const void>> dropped;
  const std::lock_guard lock(mutex_);
  const auto found = std::find(used_.begin(), used_.end(), thing);
  if (found != used_.end()) dropped.splice(dropped.begin(), used_, found);
}

}  // namespace ckpt
