#include "console/text.h"
#include "report/report.h"
#include "report/words.h"

namespace ckpt::eval {
namespace {

/// "fnn on data/MNIST/raw", and which part of it.
std::string what_ran(const Result& result) {
  std::string out =
      tools::printable(result.model) + ": " + tools::printable(result.arch) + " on " + tools::printable(result.data);
  if (result.counts.samples != result.data_samples)
    out +=
        ", " + tools::count_text(result.counts.samples) + " of its " + tools::count_text(result.data_samples, "sample");
  return out;
}

}  // namespace

std::string table_text(const Result& result, const Verdict& verdict, const tools::Colours& colours) {
  const Row accuracy = accuracy_row(result);
  tools::Table table({accuracy.name, accuracy.value, accuracy.detail}, tools::Table::Last::left);
  for (const std::vector<Row>& rows : {part_rows(result, 12), machine_rows(result)})
    for (const Row& row : rows)
      table.add({tools::printable(row.name), tools::printable(row.value), tools::printable(row.detail)});
  std::string out = what_ran(result) + "\n\n" + table.text(colours);
  out += '\n';
  for (const Verdict::Check& check : verdict.checks)
    out += (check.passed ? "passed" : colours.red("FAILED")) + ": " + check.sentence + "\n";
  return out;
}

}  // namespace ckpt::eval
