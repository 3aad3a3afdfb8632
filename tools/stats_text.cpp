#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "bars.h"
#include "ckpt/dtype.h"
#include "ckpt/shape.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/text.h"
#include "stats_report.h"

namespace ckpt::tools {
namespace {

constexpr std::size_t sparkline_width = 20, lines = 20, bar_width = 40;

std::string shown_name(const TensorStats& tensor, std::size_t rows) {
  if (tensor.name.empty()) return rows == 1 ? "(the tensor itself)" : "\"\"";
  return printable(tensor.name);
}

std::string dashed(const std::string& text) { return text.empty() ? "-" : text; }

void add_row(Table& table, std::vector<std::string> cells, const std::optional<Figures>& figures, DType dtype) {
  for (std::string& cell : figure_cells(figures, dtype)) cells.push_back(std::move(cell));
  table.add(std::vector<std::string_view>(cells.begin(), cells.end()));
}

void print_table(const CheckpointStats& stats, const Colours& colours) {
  std::vector<std::string_view> heading{"name", "dtype", "shape"};
  heading.insert(heading.end(), std::begin(figure_columns), std::end(figure_columns));
  Table table(heading, Table::Last::left);
  for (const TensorStats& tensor : stats.tensors) {
    const std::string name = shown_name(tensor, stats.tensors.size());
    add_row(table, {name, std::string(dtype_name(tensor.dtype)), shape_text(tensor.shape)}, tensor.figures,
            tensor.dtype);
  }
  if (stats.floating_tensors > 1)
    add_row(table, {"(all " + count_text(stats.floating_tensors) + " floating)", "", ""}, stats.floating,
            DType::float64);
  table.print(colours);
}

void print_histogram(const Histogram& histogram, DType dtype, bool utf8) {
  const std::vector<std::uint64_t> counts = merged(histogram.counts, lines);
  if (counts.empty()) return;
  const std::uint64_t largest = *std::max_element(counts.begin(), counts.end());
  const std::size_t bins = histogram.counts.size(), each = merged_bins(bins, lines);
  std::vector<double> places;  // the last line may be of fewer bins than the others; from min to max may be no double
  for (std::size_t i = 0; i <= counts.size(); ++i)
    places.push_back(std::lerp(histogram.min, histogram.max,
                               static_cast<double>(std::min(i * each, bins)) / static_cast<double>(bins)));
  const bool whole = std::all_of(places.begin(), places.end(), [](double place) { return place == std::floor(place); });
  std::vector<std::string> edges;
  for (const double place : places)
    edges.push_back(number_text(place, is_integral(dtype) && !whole ? DType::float64 : dtype));
  std::size_t widest = 0;
  for (const std::string& edge : edges) widest = std::max(widest, edge.size());
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::string from(widest - edges[i].size(), ' '), to(widest - edges[i + 1].size(), ' ');
    const std::string drawn = bar(counts[i], largest, bar_width, utf8);
    print("  " + from + edges[i] + " .. " + to + edges[i + 1] + "  " + drawn + (drawn.empty() ? "" : " ") +
          count_text(counts[i]) + "\n");
  }
}

void print_paragraph(const std::string& name, const std::string& about, const Figures& figures, DType dtype,
                     const Colours& colours, bool utf8) {
  print("\n" + colours.bold(name) + (about.empty() ? "" : ": " + about) + ", " +
        count_text(figures.elements, "element") + "\n");
  print("  min " + number_text(figures.min, dtype) + ", max " + number_text(figures.max, dtype) + ", mean " +
        number_text(figures.mean, DType::float64) + ", std " + number_text(figures.std, DType::float64) + ", L2 " +
        number_text(figures.norm, DType::float64) + "\n");
  print("  " + count_text(figures.zeros, "zero") +
        (figures.not_finite() > 0 ? ", " + colours.red(not_finite_text(figures)) : ", all finite") + "\n");
  print_histogram(figures.histogram, dtype, utf8);
}

}  // namespace

std::string number_text(long double number, DType dtype) {
  std::array<char, 64> buffer{};
  if (std::isnan(number)) return "-";
  if (is_integral(dtype))
    std::snprintf(buffer.data(), buffer.size(), "%.0Lf", number);
  else
    std::snprintf(buffer.data(), buffer.size(), "%.4Lg", number);
  return buffer.data();
}

std::string not_finite_text(std::uint64_t nan, std::uint64_t positive_infinity, std::uint64_t negative_infinity) {
  std::string text;
  const auto add = [&](std::uint64_t count, std::string_view what) {
    if (count > 0) text += (text.empty() ? "" : ", ") + count_text(count) + " " + std::string(what);
  };
  add(nan, "NaN");
  add(positive_infinity, "+Inf");
  add(negative_infinity, "-Inf");
  return text;
}

std::string not_finite_text(const Figures& figures) {
  return not_finite_text(figures.nan, figures.positive_infinity, figures.negative_infinity);
}

std::vector<std::string> figure_cells(const std::optional<Figures>& figures, DType dtype) {
  if (!figures) return std::vector<std::string>(std::size(figure_columns), "-");
  return {number_text(figures->min, dtype),
          number_text(figures->max, dtype),
          number_text(figures->mean, DType::float64),
          number_text(figures->std, DType::float64),
          number_text(figures->norm, DType::float64),
          count_text(figures->zeros),
          figures->not_finite() == 0 ? "0" : not_finite_text(*figures),
          dashed(sparkline(merged(figures->histogram.counts, sparkline_width), is_utf8_locale()))};
}

void print_stats(const StatsReport& report, bool large, bool quiet) {
  const Colours colours;
  const CheckpointStats& stats = report.stats;
  print(colours.bold(report.file == "-" ? "standard input" : printable(report.file)) + ": " + report.format +
        (report.gzip ? ", gzip\n" : "\n"));
  if (stats.tensors.empty()) return print(quiet ? "" : "\nno tensor\n");
  if (!large) {
    print("\n");
    return print_table(stats, colours);
  }
  const bool utf8 = is_utf8_locale();
  for (const TensorStats& tensor : stats.tensors) {
    const std::string about = std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape);
    const std::string name = shown_name(tensor, stats.tensors.size());
    if (tensor.figures)
      print_paragraph(name, about, *tensor.figures, tensor.dtype, colours, utf8);
    else
      print("\n" + colours.bold(name) + ": " + about + ", no numbers in the file\n");
  }
  if (stats.floating_tensors > 1)
    print_paragraph("all " + count_text(stats.floating_tensors) + " floating tensors", "", stats.floating,
                    DType::float64, colours, utf8);
}

}  // namespace ckpt::tools
