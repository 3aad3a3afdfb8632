#include "ckpt/recover.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/zip_reader.h"
#include "foreign.h"
#include "format.h"
#include "io/checksum.h"
#include "io/gunzip_damaged.h"
#include "io/indexed_gzip_source.h"
#include "io/keyed_hash.h"
#include "model/calls.h"
#include "opened.h"
#include "ops/drop_values.h"
#include "ops/prune.h"

namespace ckpt {
namespace {

/// What is left of a storage.
struct Remains {
  Survival survival = Survival::whole;
  bool is_checked = false;
  std::uint64_t present = 0;
};

/// Reads all of it.
Remains look_at(const Storage& storage) {
  Remains remains;
  std::uint32_t crc = 0;
  std::vector<std::byte> chunk(static_cast<std::size_t>(std::min<std::uint64_t>(storage.nbytes, limits::copy_chunk)));
  while (storage.bytes != nullptr && remains.present < storage.nbytes) {
    const std::uint64_t left = storage.nbytes - remains.present;
    const std::size_t got = storage.bytes->read_at(
        remains.present, std::span(chunk).first(static_cast<std::size_t>(std::min<std::uint64_t>(left, chunk.size()))));
    if (got == 0) break;
    crc = crc32(crc, std::span(chunk).first(got));
    remains.present += got;
  }
  if (remains.present < storage.nbytes) {
    remains.survival = remains.present == 0 ? Survival::lost : Survival::partial;
  } else if (storage.nbytes > 0) {
    const auto recorded = storage.bytes->recorded_crc32();
    const std::optional<bool> is_right = recorded ? recorded == crc : has_gzip_checksums(*storage.bytes);
    remains.is_checked = is_right == true;
    if (is_right == false) remains.survival = Survival::damaged;
  }
  return remains;
}

/// Adds up what the tensor, and the parts that it has, lie in.
void add_remains(const Tensor& tensor, const std::vector<Storage>& storages, const std::vector<Remains>& remains,
                 RecoveredTensor& sum) {
  std::vector<const Tensor*> open{&tensor};
  while (!open.empty()) {
    const Tensor& next = *open.back();
    open.pop_back();
    for (const Tensor::Part& part : next.parts) open.push_back(&part.tensor);
    if (!next.storage) continue;
    const Remains& left = remains[*next.storage];
    sum.survival = std::max(sum.survival, left.survival);
    sum.is_checked = sum.is_checked && (left.is_checked || storages[*next.storage].nbytes == 0);
    sum.nbytes += storages[*next.storage].nbytes;
    sum.present += left.present;
  }
}

class Recoverer {
 public:
  explicit Recoverer(const ByteSourcePtr& source)
      : source_(source), context_(ReadContext::of(*source)), faults_(std::make_shared<FaultList>()) {
    context_.findings = &result_.findings;
  }

  Recovery run() {
    open();
    Salvage salvage = salvage_file();
    result_.checkpoint = std::move(salvage.checkpoint);
    result_.is_certain = salvage.is_certain;
    Checkpoint& checkpoint = result_.checkpoint;
    checkpoint.file = source_->name();
    checkpoint.gzip = opened_.gzip_layers() > 0;
    checkpoint.source = opened_.bytes;
    checkpoint.archive = opened_.archive;
    context_.remark_dangers(checkpoint.globals);
    std::vector<Remains> remains;
    for (Storage& storage : checkpoint.storages) {
      if (storage.nbytes == 0) storage.bytes = memory_source({}, storage.key);  // wherever it was, it is whole
      remains.push_back(look_at(storage));
    }
    std::vector<ValueId> named = survey(salvage.doubts, remains);
    if (!salvage.is_checked && !is_vouched_for()) doubt_strays();
    take_out(salvage.doubts, remains, named);
    for (const RecoveredTensor& tensor : result_.tensors)
      if (tensor.survival == Survival::whole && !tensor.is_checked && tensor.nbytes > 0) ++result_.unchecked;
    // Inflated bytes are wrong from the damage on, and where that is, only checksums of parts tell. A stream that ends
    // too soon may be damaged where its end was said.
    const bool is_checked = salvage.is_checked && result_.unchecked == 0;
    if (!is_checked && !faults_->faults().empty()) result_.is_certain = false;
    return std::move(result_);
  }

 private:
  void open() {
    const auto gunzip = [&](ByteSourcePtr compressed, std::uint64_t most) {
      return gunzip_damaged(std::move(compressed), faults_, most);
    };
    opened_ = open_layers(source_, gunzip);
    // What tells gzip may be what is damaged; the index is at the other end.
    if (opened_.format == nullptr && opened_.compressed.empty() && index_to_read_by(*source_, true))
      opened_ = open_layers(source_, gunzip, true);
    static_cast<void>(opened_.bytes->size());  // what is wrong with gzip is known once all of it has been inflated
    static_cast<void>(opened_.outermost().size());
    for (const Error& fault : faults_->faults()) context_.report(fault, "");
    if (faults_->goes_on()) context_.remark("more is wrong with gzip than is listed here");
    if (opened_.archive) context_.remark(archive_remark(opened_));
  }

  Salvage salvage_file() {
    if (opened_.refusal) throw *opened_.refusal;  // members of one checkpoint could be taken for another's
    if (const auto& faults = faults_->faults(); !faults.empty() && opened_.bytes->size() == 0)
      throw faults.front();  // nothing of what was compressed is left
    if (opened_.format != nullptr && opened_.format->salvage != nullptr)
      return opened_.format->salvage(opened_.bytes, context_);
    if (opened_.format != nullptr && reads()) refuse();
    // Its first bytes may be what is damaged.
    const std::size_t known = result_.findings.size();
    std::optional<Error> cause;
    for (const Format* format : format_table()) {
      if (format->salvage == nullptr) continue;
      try {
        Salvage salvage = format->salvage(opened_.bytes, context_);
        if (!salvage.checkpoint.tensors.empty()) return salvage;
      } catch (const Error& error) {
        if (is_of_the_machine(error)) throw;
        if (!cause && error.code() != ErrorCode::unsupported) cause = error;
      }
      result_.findings.resize(known);
    }
    if (opened_.format != nullptr) refuse();
    if (opened_.bytes->size() > 0 && has_gzip_checksums(*slice(opened_.bytes, 0, 1, "")) == false)
      throw faults_->faults().front();                   // of what it begins with
    if (cause && !is_zip(*opened_.bytes)) throw *cause;  // else it is a sound archive of something else
    throw foreign_file(*opened_.bytes);
  }

  /// Whether it is a sound file of the format that recognises it, as far as that can tell.
  [[nodiscard]] bool reads() const {
    try {
      static_cast<void>(opened_.format->read(opened_.bytes, ReadContext::of(*source_)));
      return true;
    } catch (const Error& error) {
      if (is_of_the_machine(error)) throw;
      return false;
    }
  }

  [[noreturn]] void refuse() const {
    throw Error(ErrorCode::unsupported, "nothing is recovered of " + std::string(opened_.format->name) + " files")
        .expected("a file of " + recovered_formats())
        .hint("ckpt verify " + shell_word(source_->name()) + " lists what is wrong with it");
  }

  static std::string recovered_formats() {
    std::string names;
    for (const Format* format : format_table())
      if (format->salvage != nullptr) names += (names.empty() ? "" : ", ") + std::string(format->name);
    return names;
  }

  /// What is left of each named tensor. Returns their values.
  std::vector<ValueId> survey(const Doubts& doubts, const std::vector<Remains>& remains) {
    std::vector<ValueId> values;
    std::unordered_map<ValueId, const Error*> doubtful;
    for (const Doubt& doubt : doubts) doubtful.emplace(doubt.value, doubt.error.get());
    for (const NamedTensor& named : tensor_names(result_.checkpoint)) {
      RecoveredTensor& tensor = result_.tensors.emplace_back();
      tensor.name = named.name;
      tensor.info = named.tensor->info;
      tensor.is_checked = true;
      add_remains(*named.tensor, result_.checkpoint.storages, remains, tensor);
      values.push_back(named.tensor->value);
      if (const auto found = doubtful.find(named.tensor->value); found != doubtful.end()) {
        tensor.survival = Survival::lost;
        tensor.why = found->second->what();
      }
      tensor.is_checked = tensor.is_checked && tensor.survival == Survival::whole && tensor.nbytes > 0;
    }
    return values;
  }

  /// Whether a checksum covers all of the file's bytes: gzip's.
  [[nodiscard]] bool is_vouched_for() const { return opened_.gzip_layers() > 0 && faults_->faults().empty(); }

  /// Storages that nothing leads to, or a call that makes no tensor: what it calls for may be what is damaged.
  void doubt_strays() {
    const Checkpoint& checkpoint = result_.checkpoint;
    const ValueGraph& values = checkpoint.values;
    std::vector<bool> reached(values.size());
    mark_reached(values, checkpoint.root, reached);
    std::unordered_set<ValueId> strays, tensors;
    for (const auto& [id, use] : checkpoint.storage_uses)
      if (!reached[id]) strays.insert(id);
    for (const Tensor& tensor : checkpoint.tensors) tensors.insert(tensor.value);
    for (ValueId id = 0; id < values.size(); ++id)
      if (values.kind(id) == ValueKind::object && !tensors.contains(id))
        for (const ValueId given : call_arguments(values, id))
          if (find_storage_use(checkpoint, given) != nullptr) strays.insert(given);
    if (strays.empty()) return;
    result_.is_certain = false;
    context_.report(
        Error(ErrorCode::corrupt, std::to_string(strays.size()) + (strays.size() == 1 ? " storage" : " storages") +
                                      " that no tensor lies in, as far as is known"),
        "");
  }

  /// `named`: the values of result_.tensors.
  void take_out(const Doubts& doubts, const std::vector<Remains>& remains, const std::vector<ValueId>& named) {
    Checkpoint& checkpoint = result_.checkpoint;
    std::vector<bool> gone(checkpoint.values.size());
    for (const Tensor& tensor : checkpoint.tensors) {
      RecoveredTensor sum;
      add_remains(tensor, checkpoint.storages, remains, sum);
      gone[tensor.value] = sum.survival != Survival::whole;
    }
    for (const auto& [id, use] : checkpoint.storage_uses)
      if (remains[use.storage].survival != Survival::whole) gone[id] = true;
    const bool is_sound = result_.is_complete() && !has_faults(result_.findings);
    for (const Doubt& doubt : doubts)
      if (!doubt.is_foreign || !is_sound) gone[doubt.value] = true;
    const bool is_root_gone = gone[checkpoint.root];
    // A pickle that breaks off leaves values behind that were never put anywhere.
    const bool is_cut = !result_.is_certain || std::find(gone.begin(), gone.end(), true) != gone.end();
    if (is_cut && !is_root_gone) {
      Dropped dropped = drop_values(std::move(checkpoint), std::move(gone));
      checkpoint = std::move(dropped.checkpoint);
      for (std::size_t i = 0; i < named.size(); ++i) result_.tensors[i].is_replaced = dropped.replaced[named[i]];
      tell_other_losses(dropped, named);
      lose_the_unnamed(named, dropped.names);
    }
    const auto is_saved = [](const RecoveredTensor& tensor) {
      return tensor.survival == Survival::whole && tensor.nbytes > 0;
    };
    const bool is_any = std::any_of(result_.tensors.begin(), result_.tensors.end(), is_saved);
    if (is_root_gone || (!is_any && !result_.is_complete())) checkpoint.root = no_value;
  }

  /// Values that went and are no tensors that have a name: a damaged id, a storage by itself, a call that is given a
  /// tensor.
  void tell_other_losses(const Dropped& dropped, const std::vector<ValueId>& named) {
    const std::unordered_set<ValueId> told(named.begin(), named.end());
    std::uint64_t lost = 0;
    for (ValueId id = 0; id < dropped.replaced.size(); ++id)
      if ((dropped.replaced[id] || dropped.removed[id]) && !told.contains(id)) ++lost;
    if (lost == 0) return;
    result_.is_certain = false;
    context_.report(
        Error(ErrorCode::corrupt, lost == 1 ? "a value that is no tensor is lost"
                                            : std::to_string(lost) + " values that are no tensors are lost"),
        "");
  }

  /// Whole tensors that nothing leads to any more. Of one with several names some may go: those that are not in
  /// `names`, which holds the ones that are left by value.
  void lose_the_unnamed(const std::vector<ValueId>& named,
                        std::unordered_map<ValueId, std::vector<std::string>>& names) {
    std::vector<std::size_t> others;
    std::unordered_map<ValueId, std::unordered_multiset<std::string, KeyedHash>> left_by_value;
    for (auto& [value, left] : names)
      left_by_value[value] = {std::make_move_iterator(left.begin()), std::make_move_iterator(left.end())};
    for (std::size_t i = 0; i < named.size(); ++i) {
      if (result_.tensors[i].survival != Survival::whole) continue;
      auto& left = left_by_value[named[i]];
      const auto own = left.find(result_.tensors[i].name);
      if (own == left.end())
        others.push_back(i);
      else
        left.erase(own);
    }
    for (const std::size_t i : others) {
      auto& left = left_by_value[named[i]];
      if (!left.empty()) {  // under a name that another had
        left.erase(left.begin());
        continue;
      }
      result_.tensors[i].survival = Survival::lost;
      result_.tensors[i].why = "what it is built of, or lies in, is lost";
    }
  }

  ByteSourcePtr source_;
  ReadContext context_;
  Faults faults_;  ///< of gzip
  Opened opened_;
  Recovery result_;
};

}  // namespace

std::string_view survival_name(Survival survival) {
  switch (survival) {
    case Survival::whole:
      return "whole";
    case Survival::damaged:
      return "damaged";
    case Survival::partial:
      return "partial";
    case Survival::lost:
      return "lost";
  }
  return "";
}

bool Recovery::is_complete() const {
  if (tensors.empty() && has_faults(findings)) return false;
  return is_certain && std::all_of(tensors.begin(), tensors.end(),
                                   [](const RecoveredTensor& tensor) { return tensor.survival == Survival::whole; });
}

Recovery recover(const ByteSourcePtr& source) {
  try {
    return Recoverer(source).run();
  } catch (Error& error) {
    throw error.in(source->name());
  }
}

}  // namespace ckpt
