#include "metrics/signature.h"

#include <string>

#include "ckpt/error.h"
#include "ckpt/limits.h"

namespace ckpt::eval {

void check_signature(const Signature& signature) {
  constexpr auto most = static_cast<std::int64_t>(limits::confusion_cells);
  const std::int64_t positions = signature.positions, classes = signature.classes;
  // Divided, as the product may wrap.
  const bool counted =
      positions >= 1 && classes >= 1 && classes <= most / classes && positions <= most / (classes * classes);
  if (counted && static_cast<std::uint64_t>(positions) <= limits::answer_positions) return;
  throw Error(ErrorCode::limit_exceeded,
              "outputs of " + std::to_string(positions) + " by " + std::to_string(classes) + " (positions, classes)")
      .expected("at least one of each, no more than " + std::to_string(most) +
                " cells of confusion (positions * classes * classes), and " + std::to_string(limits::answer_positions) +
                " positions")
      .hint("of so many classes a table cannot be kept, so that ckpt eval counts fewer only");
}

}  // namespace ckpt::eval
