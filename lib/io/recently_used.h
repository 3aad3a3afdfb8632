#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>

namespace ckpt {

/// Keeps alive what was used last; what it drops lives on with whoever uses it just then. Any thread may call it.
class RecentlyUsed {
 public:
  explicit RecentlyUsed(std::size_t most) : most_(most) {}

  void use(const std::shared_ptr<const void>& thing);
  void drop(const std::shared_ptr<const void>& thing);

 private:
  std::mutex mutex_;
  std::size_t most_;
  std::list<std::shared_ptr<const void>> used_;  ///< the last one first
};

}  // namespace ckpt
