#include "scan/salvage.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "ckpt/error.h"
#include "format.h"

namespace ckpt::scanning {
namespace {

class Salvage final : public ByteSource {
 public:
  explicit Salvage(ByteSourcePtr inflated) : ByteSource(inflated->source_name()), inflated_(std::move(inflated)) {}

  [[nodiscard]] std::uint64_t size() const override { return inflated_->size(); }
  [[nodiscard]] bool size_is_known() const override { return inflated_->size_is_known(); }

  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    if (why_ && offset + 1 >= fails_) throw Error(*why_);  // and not inflate it all again
    if (out.size() > 1 && offset + 1 < fails_)
      out = out.first(std::min<std::uint64_t>(out.size(), fails_ - 1 - offset));
    for (;;) {
      try {
        return inflated_->read_at(offset, out);
      } catch (const Error& error) {
        if (is_of_the_machine(error) || out.empty()) throw;
        fails_ = std::min(fails_, offset + out.size());
        if (out.size() == 1) {
          why_ = error;
          throw;
        }
        out = out.first(out.size() / 2);
      }
    }
  }

 private:
  ByteSourcePtr inflated_;
  mutable std::uint64_t fails_ = UINT64_MAX;  ///< a read that ends here is known to fail
  mutable std::optional<Error> why_;          ///< of a byte by itself
};

}  // namespace

ByteSourcePtr salvage(ByteSourcePtr inflated) { return std::make_shared<Salvage>(std::move(inflated)); }

}  // namespace ckpt::scanning
