#pragma once

#include <string>
#include <vector>

namespace training {

/// What an epoch came to. Losses and accuracies of training are means over it, while the weights moved.
struct Epoch {
  double training_loss = 0, training_accuracy = 0;
  double validation_loss = 0, validation_accuracy = 0;
};

/// A picture (SVG) of loss and accuracy by epoch. Accuracy runs from 0 to 1; loss from 0 to 1, or further where it must
/// be. Losses that are not finite leave a gap.
std::string curves_svg(const std::string& title, const std::vector<Epoch>& epochs);

/// Writes it, whole or not at all.
void save_curves(const std::string& path, const std::string& title, const std::vector<Epoch>& epochs);

}  // namespace training
