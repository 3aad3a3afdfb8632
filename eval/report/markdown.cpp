#include <string_view>

#include "report/markup.h"
#include "report/report.h"
#include "report/words.h"

namespace ckpt::eval {
namespace {

/// Text that stands for itself, in a table too: Markdown passes HTML's character references through.
std::string plain(const std::string& text) {
  std::string out;
  for (const char c : escape_markup(text)) {
    if (std::string_view("\\`*_{}[]|~$@!").find(c) != std::string_view::npos)
      out += "&#" + std::to_string(static_cast<int>(c)) + ";";
    else
      out += c;
  }
  return out;
}

void append_row(std::string& out, const Row& row) {
  out += "| " + plain(row.name) + " | " + plain(row.value) + " | " + plain(row.detail) + " |\n";
}

}  // namespace

std::string markdown_text(const Result& result, const Verdict& verdict) {
  const Row accuracy = accuracy_row(result);
  std::string out =
      std::string("### ") + (verdict.passed() ? "✅ " : "❌ ") + plain(result.model) + ": " + accuracy.value + "\n\n";
  for (const Verdict::Check& check : verdict.checks)
    out += std::string("- ") + (check.passed ? "✅ " : "❌ ") + plain(check.sentence) + "\n";
  for (const std::string& warning : result.warnings) out += "- ⚠️ " + plain(warning) + "\n";
  out += "\n| " + plain(result.arch) + " on " + plain(result.data) + " | | |\n|---|--:|---|\n";
  append_row(out, accuracy);
  for (const Row& row : machine_rows(result)) append_row(out, row);
  out += "\n<details><summary>Accuracy of the parts</summary>\n\n| part | accuracy | |\n|---|--:|---|\n";
  for (const Row& row : part_rows(result, 20)) append_row(out, row);
  return out + "\n</details>\n\nWeights `" + plain(result.digest) + "`, data `" + plain(result.data_digest) +
         "`, ckpt " + plain(result.version) + "\n";
}

}  // namespace ckpt::eval
