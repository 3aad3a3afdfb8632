#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/modules.h"
#include "ckpt/state_dict.h"
#include "ckpt/stats.h"

namespace ckpt::tools {

/// A tensor under one of its names, as a row of inspect's table.
struct TensorRow {
  std::string name;
  const Tensor* tensor = nullptr;      ///< owned by the checkpoint
  std::optional<std::size_t> storage;  ///< by first appearance in the list
  std::uint64_t nbytes = 0;            ///< logical: elements by their size, parts together
};

struct StateDictSummary {
  std::string path;  ///< empty for the root
  std::size_t keys = 0;
  std::string prefix;             ///< a wrapper's prefix that keys start with ("module."), or empty
  std::size_t prefixed_keys = 0;  ///< how many of them
};

/// A storage that is far larger than what its tensors use of it.
struct WastefulStorage {
  std::string tensor;      ///< the name of the largest tensor in it
  std::size_t others = 0;  ///< tensors in it beside that, each view once
  std::uint64_t used = 0, held = 0;
};

/// All that inspect shows, before it is put into words or JSON. Refers to its checkpoint, which must outlive it.
struct Inspection {
  std::string file;
  std::uint64_t file_bytes = 0;  ///< on disk
  const Checkpoint* checkpoint = nullptr;
  std::vector<TensorRow> rows;
  bool with_figures = false;
  std::vector<std::optional<Figures>> figures;  ///< with those, of each row; of a sparse tensor, those of its values
  std::size_t tensors = 0;                      ///< different ones among the rows
  std::uint64_t parameters = 0, logical_bytes = 0;           ///< of the different ones
  std::uint64_t storage_bytes = 0;                           ///< of all storages
  std::vector<std::pair<std::string, std::size_t>> devices;  ///< and how many rows lie there, most first
  std::vector<WastefulStorage> wasteful;
  std::vector<StateDictSummary> state_dicts;
  std::vector<Module> modules;
  std::string weights_only;  ///< weights_only_options()
  std::vector<OptimizerState> optimizers;
  std::vector<std::string> others;  ///< keys of the root below which there is none of these
  std::vector<std::string> warnings;
};

/// Empty where the file does not tell.
std::string device_of(const Inspection& inspection, const TensorRow& row);

/// `keys`: globs; only tensors whose name one of them matches are listed and counted.
Inspection inspect_checkpoint(const Checkpoint& checkpoint, std::string file, std::uint64_t file_bytes,
                              const std::vector<std::string>& keys);

/// Reads all that is listed, for the figures of each row. Throws what stats() throws.
void add_figures(Inspection& inspection, const std::vector<std::string>& keys);

/// Logical bytes of a tensor, parts together; the largest number where they pass it.
std::uint64_t logical_bytes(const Tensor& tensor);

/// To standard output, piece by piece: for people, or as one JSON object on one line.
void print_inspection(const Inspection& inspection);
void print_inspection_json(const Inspection& inspection);

}  // namespace ckpt::tools
