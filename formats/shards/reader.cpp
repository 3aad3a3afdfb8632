#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "ckpt/assemble.h"
#include "ckpt/error.h"
#include "io/bytes.h"
#include "io/keyed_hash.h"
#include "model/joined_metadata.h"
#include "named_tensors/losses.h"
#include "named_tensors/shard_names.h"
#include "named_tensors/sources.h"
#include "ops/tensor_bytes.h"
#include "pickle/global_uses.h"
#include "shards/index.h"
#include "shards/shards.h"

namespace ckpt::shards {
namespace {

std::string shard_called(const std::string& name) { return "shard '" + name + "'"; }

/// Reads shard after shard and holds each against the index.
class Joiner {
 public:
  Joiner(Index index, const ReadContext& context) : index_(std::move(index)), context_(context) {
    if (!index_.weight_map) return;
    for (const auto& [name, shard] : *index_.weight_map) place_of_.emplace(name, shard);
  }

  Checkpoint run() {
    std::vector<bool> was_read(index_.shards.size(), false);
    for (std::uint32_t i = 0; i < index_.shards.size(); ++i) was_read[i] = read_shard(i);
    report_missing(was_read);
    if (missing_ > most_missing)
      context_.report(Error(ErrorCode::truncated, std::to_string(missing_ - most_missing) + " more shards are missing")
                          .expected("them beside the others"),
                      "");
    if (std::find(was_read.begin(), was_read.end(), false) == was_read.end()) warn_of_size();
    place_of_ = {};  // of tens of thousands of names, before as much again is made
    shard_of_ = {};
    index_.weight_map.reset();
    Checkpoint checkpoint = assemble(std::move(tensors_));
    checkpoint.beside = std::move(files_);
    checkpoint.metadata = metadata_.take();
    // Whoever loads the shards runs their pickles, though nothing of them is left here.
    pickle::GlobalUses(checkpoint.globals).add(globals_);
    checkpoint.warnings = std::move(warnings_);
    return checkpoint;
  }

 private:
  static constexpr std::size_t most_missing = 100;  // that are told one by one

  bool read_shard(std::uint32_t shard) {
    const std::string& name = index_.shards[shard];
    const ByteSourcePtr source = context_.open_beside(name);
    if (source == nullptr) {
      if (++missing_ > most_missing) return false;
      context_.report(Error(ErrorCode::truncated, shard_called(name) + " is missing")
                          .expected("it beside the others")
                          .hint("fetch it into " + shell_word(context_.folder) + ", or fetch all of them again"),
                      "");
      return false;
    }
    files_.push_back(source);
    if (context_.met != nullptr) context_.met->beside.emplace_back(shard_called(name), source);
    ReadContext context = context_;
    context.pickle_cap = limits::pickle_cap(source->size());
    context.inflated_cap = limits::inflated_cap(source->size());
    try {
      Checkpoint checkpoint = context.open(source, shard_called(name));
      for (std::string& warning : checkpoint.warnings)
        warnings_.push_back(shard_called(name) + ": " + std::move(warning));
      for (const std::string& warning : finish_reading(checkpoint))
        warnings_.push_back(shard_called(name) + ": " + warning);
      uses_.add(checkpoint.globals);
      add(checkpoint, shard);
    } catch (Error& error) {
      if (error.code() == ErrorCode::unsupported) throw;
      context_.report(error, "");
      return false;
    }
    return true;
  }

  void add(const Checkpoint& checkpoint, std::uint32_t shard) {
    const std::string& name = index_.shards[shard];
    const std::vector<NamedTensor> names = tensor_names(checkpoint);
    std::vector<TensorSource> sources;
    try {
      named_tensors::refuse_other_values(checkpoint);
      sources = named_tensors::tensor_sources(checkpoint, names);
    } catch (Error& error) {
      const std::string way = error.hint().starts_with("--") ? " OTHER.pt " + error.hint() : " OTHER.pt";
      throw error.within(shard_called(name))
          .hint("ckpt convert " + shell_word(checkpoint.file) + way +
                "; ckpt merge OTHER.pt SHARD… OUT joins it with the others");
    }
    warn_of_unnamed(names, sources, shard);
    Repeated repeated;
    for (TensorSource& source : sources) add_tensor(std::move(source), shard, repeated);
    report_repeated(repeated, shard);
    for (const std::string& loss : named_tensors::losses_beside_elements(checkpoint))
      if (std::find(warnings_.begin(), warnings_.end(), loss) == warnings_.end()) warnings_.push_back(loss);
    metadata_.add(checkpoint.metadata, shard_called(name), warnings_);
  }

  /// Tensors of a shard that are another's.
  struct Repeated {
    std::size_t count = 0;
    std::string first, other;  ///< its name, and the other shard's
  };

  void add_tensor(TensorSource tensor, std::uint32_t shard, Repeated& repeated) {
    const auto place = place_of_.find(tensor.name);
    const bool elsewhere = place != place_of_.end() && place->second != shard;
    const auto [first, fresh] = shard_of_.try_emplace(tensor.name, shard);
    if (elsewhere || !fresh) {
      if (repeated.count++ == 0) repeated = {1, tensor.name, index_.shards[elsewhere ? place->second : first->second]};
      if (fresh) shard_of_.erase(first);
      return;
    }
    tensors_.push_back(std::move(tensor));
  }

  /// One finding a shard.
  void report_repeated(const Repeated& repeated, std::uint32_t shard) {
    if (repeated.count == 0) return;
    const std::string more = repeated.count > 1 ? ", and " + std::to_string(repeated.count - 1) + " more," : "";
    Error error(ErrorCode::corrupt, "tensor '" + repeated.first + "'" + more + " is in it");
    error.expected("it in " + shard_called(repeated.other) + " alone");
    context_.report(error.within(shard_called(index_.shards[shard])), "");
  }

  /// A name that shares the storage of one that the index names is another name of the same weights, as in save_model.
  void warn_of_unnamed(const std::vector<NamedTensor>& names, const std::vector<TensorSource>& sources,
                       std::uint32_t shard) {
    if (!index_.weight_map) return;
    std::map<const ByteSource*, bool> named;
    for (const TensorSource& source : sources) named[source.bytes.get()] |= place_of_.contains(source.name);
    std::size_t unnamed = 0;
    const std::string* first = nullptr;
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (named[sources[i].bytes.get()]) continue;
      if (unnamed++ == 0) first = &names[i].name;
    }
    if (unnamed > 0)
      warnings_.push_back(shard_called(index_.shards[shard]) + " has '" + *first + "'" +
                          (unnamed > 1 ? " and " + std::to_string(unnamed - 1) + " more" : "") +
                          ", which the index does not name");
  }

  /// One finding a shard.
  void report_missing(const std::vector<bool>& was_read) {
    if (!index_.weight_map) return;
    std::vector<std::pair<std::size_t, const std::string*>> missing(index_.shards.size());
    for (const auto& [name, shard] : *index_.weight_map)
      if (was_read[shard] && !shard_of_.contains(name) && missing[shard].first++ == 0) missing[shard].second = &name;
    for (std::size_t shard = 0; shard < missing.size(); ++shard) {
      const auto [count, first] = missing[shard];
      if (count == 0) continue;
      context_.report(Error(ErrorCode::corrupt, shard_called(index_.shards[shard]) + " has no tensor '" + *first + "'" +
                                                    (count > 1 ? ", nor " + std::to_string(count - 1) + " more" : ""))
                          .expected("what the index says of it")
                          .hint("index and shards are not of one checkpoint: fetch all of them again"),
                      "");
    }
    warn_of_others();
  }

  /// Files that the shards' own names say there are, and the index does not.
  void warn_of_others() {
    std::optional<ShardName> shard;
    for (const std::string& name : index_.shards)
      if (!shard) shard = parse_shard_name(name);
    if (!shard) return;
    for (shard->number = 1; shard->number <= shard->count; ++shard->number) {
      const std::string name = shard_name(*shard);
      if (std::binary_search(index_.shards.begin(), index_.shards.end(), name)) continue;
      if (context_.path_beside(name))
        warnings_.push_back(shard_called(name) + " lies there, and the index names nothing in it: it is not read");
    }
  }

  /// Writers count a tensor or its storage, and what is tied once or twice.
  void warn_of_size() {
    if (!index_.total_size) return;
    std::uint64_t logical = 0, stored = 0, once = 0;
    std::map<const ByteSource*, bool> seen;
    for (const TensorSource& tensor : tensors_) {
      const std::uint64_t bytes =
          logical_bytes({.dtype = tensor.dtype, .shape = tensor.shape, .stride = tensor.stride});
      logical += bytes;
      if (std::exchange(seen[tensor.bytes.get()], true)) continue;
      stored += tensor.bytes->size();
      once += bytes;
    }
    const std::uint64_t total = *index_.total_size;
    if (total == logical || total == stored || total == once) return;
    warnings_.push_back("the index says that the tensors have " + std::to_string(total) + " bytes; they have " +
                        std::to_string(once));
  }

  Index index_;
  const ReadContext& context_;
  NameViewMap<std::uint32_t> place_of_;  ///< as the index says
  NameMap<std::uint32_t> shard_of_;      ///< as it is
  std::vector<TensorSource> tensors_;
  JoinedMetadata metadata_;
  std::vector<std::string> warnings_;
  std::size_t missing_ = 0;  ///< shards
  std::vector<GlobalUse> globals_;
  pickle::GlobalUses uses_{globals_};
  std::vector<ByteSourcePtr> files_;
};

}  // namespace

bool probe(const ByteSource& source, const Flavour& flavour) {
  const auto others = names_others(source, safetensors_flavour.suffix);  // which torch loads
  return others && *others == (&flavour == &torch_flavour);
}

Checkpoint read(const ByteSourcePtr& source, const ReadContext& context, const Flavour& flavour) {
  if (context.depth > 0)
    throw Error(ErrorCode::unsupported, "an index of shards within another file").expected("a checkpoint in one file");
  Checkpoint checkpoint = Joiner(read_index(*source, context.pickle_cap), context).run();
  checkpoint.file = source->name();
  checkpoint.format = flavour.format;
  return checkpoint;
}

}  // namespace ckpt::shards
