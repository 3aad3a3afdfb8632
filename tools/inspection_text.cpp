#include <algorithm>

#include "ckpt/dtype.h"
#include "ckpt/shape.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/text.h"
#include "inspection.h"
#include "stats_report.h"

namespace ckpt::tools {
namespace {

constexpr std::size_t shown_storages = 5;

std::string heading(const Inspection& inspection, const Colours& colours) {
  const Checkpoint& checkpoint = *inspection.checkpoint;
  return colours.bold(inspection.file == "-" ? "standard input" : printable(inspection.file)) + ": " +
         checkpoint.format + (checkpoint.gzip ? ", gzip, " : ", ") + size_text(inspection.file_bytes) + " on disk" +
         (checkpoint.pickled ? ", pickle protocol " + std::to_string(checkpoint.protocol) : "") + "\n";
}

std::string dtype_text(const TensorInfo& info) {
  const std::string dtype(dtype_name(info.dtype));
  return info.layout == Layout::strided ? dtype : dtype + " " + std::string(layout_name(info.layout));
}

void print_tensors(const Inspection& inspection, const Colours& colours) {
  if (inspection.rows.empty()) return;
  std::vector<std::string_view> heading{"name", "dtype", "shape", "device", "bytes"};
  if (inspection.with_figures) heading.insert(heading.end(), std::begin(figure_columns), std::end(figure_columns));
  Table table(heading, inspection.with_figures ? Table::Last::left : Table::Last::right);
  for (std::size_t i = 0; i < inspection.rows.size(); ++i) {
    const TensorRow& row = inspection.rows[i];
    const TensorInfo& info = row.tensor->info;
    const std::string device = device_of(inspection, row);
    std::vector<std::string> cells{
        row.name.empty() ? (inspection.rows.size() == 1 ? "(the tensor itself)" : "\"\"") : printable(row.name),
        dtype_text(info), shape_text(info.shape), device.empty() ? "-" : printable(device), std::to_string(row.nbytes)};
    if (inspection.with_figures)
      for (std::string& cell : figure_cells(inspection.figures[i], info.dtype)) cells.push_back(std::move(cell));
    table.add(std::vector<std::string_view>(cells.begin(), cells.end()));
  }
  print("\n");
  table.print(colours);
}

std::string totals(const Inspection& inspection) {
  std::string out = "\n" + count_text(inspection.tensors, "tensor");
  if (inspection.tensors != inspection.rows.size()) {
    out += " (under " + count_text(inspection.rows.size(), "name") + ")";
  }
  return out + ", " + count_text(inspection.parameters, "parameter") + ", " + size_text(inspection.logical_bytes) +
         "; " + count_text(inspection.checkpoint->storages.size(), "storage") + " in the file, " +
         size_text(inspection.storage_bytes) + "\n";
}

std::string hint(const std::string& text) { return "  hint: " + text + "\n"; }

std::string devices(const Inspection& inspection) {
  if (inspection.devices.size() < 2) return "";
  const bool has_meta = std::any_of(inspection.devices.begin(), inspection.devices.end(),
                                    [](const auto& device) { return device.first == "meta"; });
  std::string out = "tensors lie on " + count_text(inspection.devices.size(), "device") + ": ";
  for (std::size_t i = 0; i < inspection.devices.size(); ++i) {
    const auto& [device, tensors] = inspection.devices[i];
    out += (i == 0 ? "" : ", ") + printable(device) + " (" + count_text(tensors) + ")";
  }
  if (inspection.devices.size() == (has_meta ? 2 : 1)) return out + "\n";  // what has no elements lies nowhere
  return out + "\n" + hint("ckpt convert " + printable(shell_word(inspection.file)) + " OUT --to cpu");
}

std::string wasteful(const Inspection& inspection) {
  std::string out;
  const std::size_t shown = std::min(inspection.wasteful.size(), shown_storages);
  for (std::size_t i = 0; i < shown; ++i) {
    const WastefulStorage& storage = inspection.wasteful[i];
    out += "\"" + printable(storage.tensor) + "\"" +
           (storage.others == 0 ? " uses " : " and " + count_text(storage.others, "other") + " use ") +
           size_text(storage.used) + " of a storage of " + size_text(storage.held) + ", which the file holds whole\n";
  }
  const std::size_t more = inspection.wasteful.size() - shown;
  return more == 0 ? out : out + "and so do tensors in " + count_text(more, "other storage") + "\n";
}

std::string prefix_note(const StateDictSummary& state_dict) {
  if (state_dict.prefix.empty()) return "";
  const std::string how_many =
      state_dict.prefixed_keys == state_dict.keys ? "all" : count_text(state_dict.prefixed_keys);
  return ", " + how_many + (how_many == "1" ? " of them starts" : " of them start") + " with \"" + state_dict.prefix +
         "\"";
}

std::string state_dicts(const Inspection& inspection) {
  std::string out, prefix;
  for (const StateDictSummary& state_dict : inspection.state_dicts) {
    const std::string name = state_dict.path.empty() ? "(root)" : printable(state_dict.path);
    out += "state dict " + name + ": " + count_text(state_dict.keys, "key") + prefix_note(state_dict) + "\n";
    if (prefix.empty()) prefix = state_dict.prefix;
  }
  if (prefix.empty()) return out;
  const std::string option = prefix == "module." ? "" : " --prefix " + prefix;
  return out + hint("ckpt strip-prefix " + printable(shell_word(inspection.file)) + " OUT" + option);
}

std::string modules(const Inspection& inspection) {
  std::string out;
  for (const Module& module : inspection.modules)
    out += "module " + (module.path.empty() ? "(root)" : printable(module.path)) + ": " +
           (module.class_name.empty() ? "of a class that is not told" : printable(module.class_name)) + "\n";
  if (inspection.weights_only.empty()) return out;
  return out + hint("ckpt convert " + printable(shell_word(inspection.file) + " OUT " + inspection.weights_only) +
                    " writes what its state_dict() gives");
}

std::string other_parts(const Inspection& inspection) {
  constexpr std::size_t shown_keys = 8;
  std::string out;
  for (const OptimizerState& optimizer : inspection.optimizers)
    out += "optimizer " + (optimizer.path.empty() ? "(root)" : printable(optimizer.path)) + ": state of " +
           count_text(optimizer.parameters, "parameter") +
           (optimizer.groups == 0 ? "" : ", " + count_text(optimizer.groups, "group")) + "\n";
  if (inspection.others.empty()) return out;
  out += "other values: ";
  const std::size_t shown = std::min(inspection.others.size(), shown_keys);
  for (std::size_t i = 0; i < shown; ++i) out += (i == 0 ? "" : ", ") + printable(inspection.others[i]);
  return out + (inspection.others.size() == shown ? "\n"
                                                  : " and " + count_text(inspection.others.size() - shown) + " more\n");
}

std::string globals(const Inspection& inspection, const Colours& colours) {
  const auto& all = inspection.checkpoint->globals;
  const auto count = [&](Verdict verdict) {
    return std::count_if(all.begin(), all.end(), [&](const GlobalUse& global) { return global.verdict == verdict; });
  };
  const auto unknown = count(Verdict::unknown), dangerous = count(Verdict::dangerous);
  if (all.empty()) return "globals: none\n";
  std::string out = "globals: " + std::to_string(count(Verdict::known)) + " known";
  if (unknown > 0) out += ", " + std::to_string(unknown) + " unknown";
  if (dangerous > 0) out += ", " + colours.red(std::to_string(dangerous) + " dangerous");
  out += "\n";
  for (const GlobalUse& global : all) {
    if (global.verdict == Verdict::known) continue;
    const std::string name = printable(global.module + "." + global.name);
    const std::string line = (global.verdict == Verdict::dangerous ? "dangerous: " : "unknown: ") + name;
    out += "  " + (global.verdict == Verdict::dangerous ? colours.red(line) : line) + " (at byte " +
           std::to_string(global.offset) + ")\n";
  }
  return out;
}

std::string metadata(const Inspection& inspection) {
  constexpr std::size_t shown_entries = 20, shown_bytes = 80;
  // What printable() spells out it does by the character: one that was cut through is spelt too.
  const auto& all = inspection.checkpoint->metadata;
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), shown_entries); ++i) {
    const std::string_view text = all[i].second;
    out += "metadata " + printable(all[i].first) + ": " + printable(text.substr(0, shown_bytes)) +
           (text.size() > shown_bytes ? "... (" + size_text(text.size()) + ")" : "") + "\n";
  }
  if (all.size() > shown_entries)
    out += "and " + count_text(all.size() - shown_entries) + " more (--json has them all)\n";
  return out;
}

}  // namespace

void print_inspection(const Inspection& inspection) {
  const Colours colours;
  print(heading(inspection, colours));
  print_tensors(inspection, colours);
  print(totals(inspection) + devices(inspection) + wasteful(inspection) + state_dicts(inspection) +
        modules(inspection) + other_parts(inspection) + metadata(inspection) + globals(inspection, colours));
  for (const std::string& warning : inspection.warnings) print(colours.yellow("warning: ") + printable(warning) + "\n");
}

}  // namespace ckpt::tools
