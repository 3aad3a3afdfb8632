#pragma once

#include <optional>
#include <vector>

#include "ckpt/modules.h"

namespace ckpt {

/// A checkpoint, or, where it holds whole modules, a copy that holds their state dicts.
class Unpacked {
 public:
  /// `packed` must outlive this. Throws what unpack_modules() throws.
  explicit Unpacked(const Checkpoint& packed) : packed_(packed), modules_(find_modules(packed)) {
    if (!modules_.empty()) copy_ = unpack_modules(packed);
  }
  [[nodiscard]] const Checkpoint& get() const { return copy_ ? *copy_ : packed_; }
  [[nodiscard]] const std::vector<Module>& modules() const { return modules_; }

 private:
  const Checkpoint& packed_;
  std::vector<Module> modules_;
  std::optional<Checkpoint> copy_;
};

}  // namespace ckpt
