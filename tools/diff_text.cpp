#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <map>
#include <utility>

#include "ckpt/dtype.h"
#include "ckpt/shape.h"
#include "console/render.h"
#include "console/text.h"
#include "diff_report.h"

namespace ckpt::tools {
namespace {

constexpr std::size_t shown = 20;

/// The first of a list, a line each, and how many more there are.
template <class T>
std::string lines(const std::vector<T>& all, const std::function<std::string(const T&)>& line) {
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), shown); ++i) out += "  " + line(all[i]) + "\n";
  if (all.size() > shown) out += "  and " + count_text(all.size() - shown) + " more (--json lists all)\n";
  return out;
}

std::string name_text(const std::string& name) { return name.empty() ? "\"\"" : printable(name); }

std::string number_text(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.6g", value);
  return buffer.data();
}

std::string lone_text(const std::vector<LoneTensor>& lone, const std::string& file) {
  if (lone.empty()) return "";
  return "only in " + printable(file) + ": " + count_text(lone.size(), "tensor") + "\n" +
         lines<LoneTensor>(lone, [](const LoneTensor& tensor) {
           const TensorInfo& info = tensor.tensor->info;
           return name_text(tensor.name) + "  " + std::string(dtype_name(info.dtype)) + " " + shape_text(info.shape);
         });
}

std::string renamed_text(const DiffReport& report) {
  const CheckpointDiff& diff = report.diff;
  if (diff.renamed.empty()) return "";
  std::string out = "renamed: " + count_text(diff.renamed.size(), "tensor");
  if (diff.prefix) {
    const auto& [lead, a, b] = *diff.prefix;
    const auto quoted = [](const std::string& prefix) { return "\"" + printable(prefix) + "\""; };
    const std::string where = lead.empty() ? "" : " (after " + quoted(lead) + ")";
    if (a.empty())
      out += ", all by the prefix " + quoted(b) + " of " + printable(report.file_b) + where + "\n";
    else if (b.empty())
      out += ", all by the prefix " + quoted(a) + " of " + printable(report.file_a) + where + "\n";
    else
      out += ", all by their prefix: " + quoted(a) + " -> " + quoted(b) + where + "\n";
  } else {
    out += "\n" + lines<RenamedTensor>(diff.renamed, [](const RenamedTensor& pair) {
             return name_text(pair.a) + " -> " + name_text(pair.b);
           });
  }
  const std::string hint = prefix_hint(report);
  return hint.empty() ? out : out + "  hint: " + printable(hint) + "\n";
}

std::string values_text(const ValueDifference& values) {
  std::string out = count_text(values.different) + " of " + count_text(values.elements, "element") +
                    (values.different == 1 ? " differs" : " differ");
  if (values.largest_error && values.different > values.not_finite)
    out += ", largest error " + number_text(*values.largest_error) + ", mean " + number_text(*values.mean_error);
  if (values.not_finite > 0) out += ", " + count_text(values.not_finite) + " by NaN or infinity";
  return out + "; first at " + shape_text(values.first) + ": " + values.first_a + " -> " + values.first_b;
}

std::string tensors_text(const std::vector<TensorDifference>& tensors) {
  const auto told_here = [](const TensorDifference& t) {
    return t.shape || t.layout || t.values || !t.not_compared.empty();
  };
  std::vector<TensorDifference> differing;
  std::copy_if(tensors.begin(), tensors.end(), std::back_inserter(differing), told_here);
  if (differing.empty()) return "";
  return "values: " + count_text(differing.size(), "tensor") + "\n" +
         lines<TensorDifference>(differing, [](const TensorDifference& tensor) {
           std::string out = name_text(tensor.name) + ":";
           std::string separator = " ";
           const auto add = [&](const std::string& what) { out += std::exchange(separator, "; ") + what; };
           if (tensor.shape) add("shape " + shape_text(tensor.shape->a) + " -> " + shape_text(tensor.shape->b));
           if (tensor.layout) add("layout " + tensor.layout->a + " -> " + tensor.layout->b);
           if (!tensor.not_compared.empty()) add("not compared: " + tensor.not_compared);
           if (tensor.values) add(values_text(*tensor.values));
           return out;
         });
}

/// "devices: 57 tensors cuda:0 -> cpu", a pair a line: conversions change them all alike.
std::string changes_text(const std::string& what, const std::vector<TensorDifference>& tensors,
                         std::optional<Changed<std::string>> TensorDifference::*member) {
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> names;
  for (const TensorDifference& tensor : tensors)
    if (const auto& change = tensor.*member) names[{change->a, change->b}].push_back(tensor.name);
  const auto shown_word = [](const std::string& word) { return word.empty() ? "(none)" : printable(word); };
  std::string out;
  for (const auto& [change, of] : names)
    out += what + ": " + count_text(of.size(), "tensor") + " " + shown_word(change.first) + " -> " +
           shown_word(change.second) + ": " + list_text(of, of.size()) + "\n";
  return out;
}

std::string sharing_text(const DiffReport& report) {
  const auto& sharing = report.diff.sharing;
  if (sharing.empty()) return "";
  return "shared storage: " + count_text(sharing.size(), "group") + "\n" +
         lines<SharingDifference>(sharing, [&](const SharingDifference& group) {
           const std::string &here = group.shared_in_a ? report.file_a : report.file_b,
                             &there = group.shared_in_a ? report.file_b : report.file_a;
           return list_text(group.names, group.names.size()) + " are together in " + printable(here) + ", apart in " +
                  printable(there);
         });
}

std::string other_text(const DiffReport& report) {
  const auto& other = report.diff.other;
  if (other.empty()) return "";
  return "other values: " + count_text(other.size()) + "\n" +
         lines<OtherDifference>(other, [&](const OtherDifference& value) {
           const std::string path = value.path.empty() ? "(root)" : printable(value.path);
           if (!value.b) return path + ": only in " + printable(report.file_a) + ": " + printable(*value.a);
           if (!value.a) return path + ": only in " + printable(report.file_b) + ": " + printable(*value.b);
           return path + ": " + printable(*value.a) + " -> " + printable(*value.b);
         });
}

std::string remarks_text(const std::vector<std::string>& reordered) {
  std::vector<std::string> paths(reordered);
  for (std::string& path : paths) path = path.empty() ? "(root)" : path;
  if (paths.empty()) return "";
  return "remark: keys stand in another order in " + list_text(paths, paths.size()) + "\n";
}

std::string summary(const DiffReport& report) {
  std::string out = count_text(report.diff.compared, "tensor") + " compared";
  const bool others = std::find(report.ignored.begin(), report.ignored.end(), "other") == report.ignored.end();
  if (others) out += ", " + count_text(report.diff.values_compared, "other value");
  for (std::size_t i = 0; i < report.ignored.size(); ++i) out += (i == 0 ? "; ignored: " : ", ") + report.ignored[i];
  return out;
}

}  // namespace

std::string diff_text(const DiffReport& report, bool quiet) {
  const CheckpointDiff& diff = report.diff;
  std::string out =
      lone_text(diff.only_a, report.file_a) + lone_text(diff.only_b, report.file_b) + renamed_text(report) +
      tensors_text(diff.tensors) + changes_text("dtype", diff.tensors, &TensorDifference::dtype) +
      changes_text("device", diff.tensors, &TensorDifference::device) + sharing_text(report) + other_text(report);
  if (quiet) return out;
  out += remarks_text(diff.reordered);
  if (diff.same()) return out + "no difference: " + summary(report) + "\n";
  return out + summary(report) + "\n";
}

}  // namespace ckpt::tools
