#include "metrics/signature.h"

#include <string>

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt::eval {

void check_signature(const Signature& signature) {
  constexpr auto most = static_cast<std::int64_t>(limits::confusion_cells);
  const std::int64_t positions = signature.positions, classes = signature.classes;
  // Divided, as the product may wrap.
  if (positions >= 1 && classes >= 1 && classes <= most / classes && positions <= most / (classes * classes)) return;
  throw Error(ErrorCode::limit_exceeded,
              "outputs of " + std::to_string(positions) + " by " + std::to_string(classes) + " (positions, classes)")
      .expected("at least one of each, and no more than " + std::to_string(most) +
                " cells of confusion (positions * classes * classes)")
      .hint("of so many classes a table cannot be kept, so that ckpt eval counts fewer only");
}

}  // namespace ckpt::eval
