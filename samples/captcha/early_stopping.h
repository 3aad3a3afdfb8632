#pragma once

#include <optional>

namespace captcha {

/// When to stop: at the 21st epoch in a row whose validation accuracy is not strictly higher than the best before it.
///
///     if (stopping.is_best(accuracy)) save();
///     if (stopping.over()) break;
class EarlyStopping {
 public:
  static constexpr int patience = 21;

  /// Whether this epoch is the best so far; the first one is. NaN never is.
  bool is_best(double accuracy) {
    if (accuracy > best_.value_or(-1)) {
      best_ = accuracy;
      waited_ = 0;
      return true;
    }
    ++waited_;
    return false;
  }
  [[nodiscard]] bool over() const { return waited_ >= patience; }
  [[nodiscard]] double best() const { return best_.value_or(0); }

 private:
  std::optional<double> best_;
  int waited_ = 0;
};

}  // namespace captcha
