#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ckpt/diff.h"
#include "io/keyed_hash.h"
#include "ops/value_view.h"

namespace ckpt {

/// Walks two object graphs side by side and notes in a CheckpointDiff what differs in them beside the tensors that have
/// names of their own. Nothing recurses; values that hold themselves are compared once.
class OtherValues {
 public:
  /// Tensors, and storages outside of tensors, that the walk meets in both and that have no name: a quantizer's scales.
  struct Unnamed {
    std::string path;
    ValueId a, b;
    const Tensor* tensor_a;  ///< null for a storage, of both
    const Tensor* tensor_b;
  };

  /// What is compared of two tensors that are compared by name, beside their elements.
  enum class Facts {
    all,
    content,  ///< what stands for elements where there are none of their own: a DTensor's local tensor
    quantizer
  };

  /// `named_a`, `named_b`: values of tensors that have names. `common`: the names that both files have; it must outlive
  /// this.
  OtherValues(const Checkpoint& a, const Checkpoint& b, std::unordered_set<ValueId> named_a,
              std::unordered_set<ValueId> named_b, const NameViewSet& common, CheckpointDiff& found);

  /// These two tensors are compared by name, wherever else they stand.
  void add_match(ValueId a, ValueId b);
  void compare_roots();
  void compare_facts(const std::string& name, ValueId a, ValueId b, Facts facts);

  /// Met since the last call.
  std::vector<Unnamed> take_unnamed() { return std::exchange(unnamed_, {}); }

 private:
  /// What two tensors say otherwise, told under the first name that they have: a stretch of what was found, and how
  /// much of its paths is that name.
  struct Told {
    std::size_t prefix = 0, first = 0, end = 0;
  };
  struct Pair {
    std::string label;
    ValueId a, b;
  };
  /// A pair of containers whose children are being compared: first the pairs, then elements by their positions.
  struct Open {
    std::size_t path_size;
    std::vector<Pair> pairs;
    std::vector<ValueId> elements_a, elements_b;  ///< as many of both
    std::size_t next = 0;
  };

  void compare_dropped();
  void run();
  void visit(ValueId a, ValueId b);
  /// Pairs the children of two values; `ordered`: another order is worth a remark.
  void open(const std::vector<ViewChild>& a, const std::vector<ViewChild>& b, bool ordered);
  void open_elements(std::vector<ValueId> a, std::vector<ValueId> b);
  bool pair_by_match(const std::vector<ViewChild>& a, const std::vector<ViewChild>& b, std::vector<Pair>& pairs);
  void add_pair(const ViewChild& a, const ViewChild& b, std::vector<Pair>& pairs) const;
  void note_again(const Told& told, const std::string& name);
  void note(std::string path, std::optional<std::string> a, std::optional<std::string> b);
  void note_lone(const std::string& label, ValueId value, bool in_a);
  [[nodiscard]] std::string below(const std::string& label) const;
  std::string text(const ValueViews& views, ValueId id);
  void count_path(const std::string& path);
  void count_steps(std::uint64_t steps);

  const Checkpoint& a_;
  const Checkpoint& b_;
  ValueViews views_a_, views_b_;
  std::unordered_set<ValueId> named_a_, named_b_;
  const NameViewSet& common_;
  CheckpointDiff& found_;
  std::unordered_set<std::uint64_t> matches_, met_;  ///< pairs of values
  std::unordered_map<std::uint64_t, Told> told_;     ///< by pair of values
  std::vector<Open> open_;
  std::string path_;
  std::vector<Unnamed> unnamed_;
  std::uint64_t path_bytes_ = 0, steps_ = 0;
};

}  // namespace ckpt
