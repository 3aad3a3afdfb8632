#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

/// One model of several checkpoints of it: a model soup, the mean of a run's last checkpoints, an exponential average.
///
///     auto [soup, report] = ckpt::average({ckpt::load("1.pt"), ckpt::load("2.pt")});
///     ckpt::save(soup, "soup.pt");
namespace ckpt {

struct AverageOptions {
  /// One a checkpoint; what counts is their share of the sum. None: the mean.
  std::vector<double> weights;
  /// average = decay * average + (1 - decay) * next, beginning with the first checkpoint. Not with weights.
  std::optional<double> decay;
};

/// Another checkpoint whose state dict has another path than the last one's.
struct AveragedElsewhere {
  std::string file, path, last_path;
};

struct AverageReport {
  std::size_t tensors = 0;        ///< that were averaged
  std::vector<std::string> kept;  ///< names of those in state dicts that are the last checkpoint's: integers, bools …
  std::vector<std::string> dtypes;  ///< names of those that other checkpoints have in another dtype
  std::vector<AveragedElsewhere> elsewhere;
};

/// The last checkpoint with the floating and complex tensors of its state dicts averaged: under the same paths in
/// all; where it has one, in a checkpoint without such a path the one that `auto` (ckpt/ops.h) finds. Sums are in
/// float64, in the order of the checkpoints, and rounded at the end, to the last one's dtype as cast() rounds.
/// Everything else is the last one's: integer, bool, quantised and sparse tensors, other values, what shares a storage
/// where the others share it as well. Bytes are computed when they are read; some 256 KiB a checkpoint are held. What a
/// compressed checkpoint but the last has behind its tensors is read at once. Throws Error: unsupported, with a detail
/// for each key, shape or kind of number that does not fit; invalid_argument (weights, decay, no state dict or several
/// that are not under the same paths); limit_exceeded (views that stand for far more bytes than there are).
CKPT_API std::pair<Checkpoint, AverageReport> average(std::vector<Checkpoint> checkpoints,
                                                      const AverageOptions& options = {});

}  // namespace ckpt
