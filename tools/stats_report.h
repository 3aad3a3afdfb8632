#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/stats.h"

/// What `ckpt stats` found, put into words, JSON and pictures.
namespace ckpt::tools {

struct StatsReport {
  std::string file, format;
  bool gzip = false;
  CheckpointStats stats;
};

/// The columns that figures are shown in; of several tensors together.
inline constexpr std::string_view figure_columns[] = {"min", "max",   "mean",     "std",
                                                      "L2",  "zeros", "NaN, Inf", "histogram"};

/// A cell for each of them; dashes where there are no figures.
std::vector<std::string> figure_cells(const std::optional<Figures>& figures, DType dtype);
/// "3 NaN, 1 +Inf, 2 -Inf"; empty where all is finite.
std::string not_finite_text(std::uint64_t nan, std::uint64_t positive_infinity, std::uint64_t negative_infinity);
std::string not_finite_text(const Figures& figures);
/// Of floats four digits, of integers all.
std::string number_text(long double number, DType dtype);

/// The object that figures are in every JSON, or null.
std::string figures_json(const std::optional<Figures>& figures, DType dtype);

/// `large`: a paragraph a tensor with its histogram line by line, in place of a table.
void print_stats(const StatsReport& report, bool large, bool quiet);
void print_stats_json(const StatsReport& report);
/// An SVG by itself, which follows the viewer's choice of light or dark.
std::string stats_svg(const StatsReport& report);

}  // namespace ckpt::tools
