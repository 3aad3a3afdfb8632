#include "program/delivery.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "ckpt/assemble.h"
#include "ckpt/formats.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/same_file.h"
#include "console/text_file.h"
#include "report/report.h"
#include "report/statements.h"

namespace ckpt::eval {
namespace {

template <class Number>
ByteSourcePtr bytes_of(const std::vector<Number>& numbers, const std::string& name) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(Number));
  if (!bytes.empty()) std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return memory_source(std::move(bytes), name);
}

/// npz: logits [samples, positions, classes], or [samples, classes] where there is one position; labels and predictions
/// likewise.
void write_outputs(const Result& result, const std::string& file) {
  const auto samples = static_cast<std::int64_t>(result.counts.samples);
  const Signature& signature = result.signature;
  std::vector<std::int64_t> each{samples};
  if (signature.positions > 1) each.push_back(signature.positions);
  std::vector<std::int64_t> outputs = each;
  outputs.push_back(signature.classes);
  SaveOptions options;
  options.format = "npz";
  const SaveReport report = save(
      assemble(
          {{.name = "logits", .dtype = DType::float32, .shape = outputs, .bytes = bytes_of(result.outputs, "logits")},
           {.name = "labels",
            .dtype = DType::int32,
            .shape = each,
            .bytes = bytes_of(result.predictions.labels, "labels")},
           {.name = "predictions",
            .dtype = DType::int32,
            .shape = each,
            .bytes = bytes_of(result.predictions.predicted, "predictions")}}),
      file, options);
  tools::note_removed(report.removed);
}

/// Writes what `text` makes, where a file is asked for.
template <class Make>
void put(const std::optional<std::string>& file, const Make& text) {
  if (!file) return;
  // What goes to standard output goes there with all else that does.
  if (*file == "-")
    tools::print(text());
  else
    tools::write_text_file(*file, text());
}

bool is_report(const std::string& file) {
  constexpr std::string_view begin = "<?xml";
  std::string head(begin.size(), '\0');
  std::ifstream in(file, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  return head == begin;
}

/// Whether there is something in the file that a report would replace.
bool holds_something_else(const std::string& file) {
  std::error_code unknown;
  return file != "-" && std::filesystem::is_regular_file(file, unknown) &&
         std::filesystem::file_size(file, unknown) > 0 && !is_report(file);
}

bool replaces_baseline(const Verdict& verdict, const OutputSettings& settings) {
  if (!verdict.baseline) return false;
  const auto* const rolling = settings.rolling(verdict.baseline->kind);
  return rolling != nullptr && *rolling && tools::is_same_file(verdict.baseline->file, **rolling);
}

}  // namespace

int deliver(Result result, const Bars& bars, const OutputSettings& given) {
  const Verdict verdict = judge(result, bars);
  if (verdict.baseline && verdict.baseline->same_data == false) {
    result.warnings.push_back("the baseline " + verdict.baseline->file + " was measured on other data");
    tools::print_warning(result.warnings.back());
  }
  OutputSettings settings = given;
  // A gate that failed once would let the same model through the next time.
  if (!verdict.passed() && replaces_baseline(verdict, given)) {
    (verdict.baseline->kind == BaselineKind::json ? settings.json : settings.predictions).reset();
    tools::print_warning(verdict.baseline->file + " stays as it was: it is the baseline of a model that failed");
  }
  put(settings.json, [&] { return json_text(result, verdict); });
  put(settings.junit, [&] { return junit_text(result, verdict); });
  put(settings.markdown, [&] { return markdown_text(result, verdict); });
  put(settings.report, [&] { return html_text(result, verdict); });
  put(settings.predictions, [&] { return csv_text(result); });
  if (settings.outputs) write_outputs(result, *settings.outputs);

  if (!settings.takes_standard_output()) {
    tools::print(table_text(result, verdict, tools::Colours()));
  } else {
    for (const Verdict::Check& check : verdict.checks)
      if (!check.passed) tools::print_warning(check.sentence);
  }
  return verdict.passed() ? tools::exit_done : tools::exit_no;
}

void deliver_failure(const std::string& model, const Error& error, const OutputSettings& settings, bool spares) {
  if (!spares && settings.junit && holds_something_else(*settings.junit))
    return tools::print_warning(*settings.junit + " is no JUnit report, and was left as it is");
  put(settings.junit, [&] { return junit_text(model, error); });
}

}  // namespace ckpt::eval
