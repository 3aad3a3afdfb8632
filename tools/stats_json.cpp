#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "ckpt/dtype.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/text.h"
#include "stats_report.h"

namespace ckpt::tools {
namespace {

std::string string_json(std::string_view text) { return visible_json(nlohmann::ordered_json(valid_utf8(text)).dump()); }

/// The shortest text that reads back as the same double; JSON has none for what is not finite.
std::string real_json(double number) {
  if (!std::isfinite(number)) return "null";
  std::array<char, 32> buffer{};
  const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number);
  return {buffer.data(), result.ptr};
}

/// Of the integers that a double cannot hold, all digits.
std::string extreme_json(long double number, DType dtype) {
  if (dtype != DType::int64 && dtype != DType::uint64) return real_json(static_cast<double>(number));
  if (std::isnan(number)) return "null";
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.0Lf", number);
  return buffer.data();
}

template <class T>
std::string list_json(const std::vector<T>& numbers) {
  std::string out = "[";
  for (std::size_t i = 0; i < numbers.size(); ++i) out.append(i == 0 ? "" : ",").append(std::to_string(numbers[i]));
  return out + "]";
}

std::string histogram_json(const Histogram& histogram) {
  if (histogram.counts.empty()) return "null";
  return "{\"min\":" + real_json(histogram.min) + ",\"max\":" + real_json(histogram.max) +
         ",\"counts\":" + list_json(histogram.counts) + "}";
}

}  // namespace

std::string figures_json(const std::optional<Figures>& figures, DType dtype) {
  if (!figures) return "null";
  return "{\"elements\":" + std::to_string(figures->elements) + ",\"zeros\":" + std::to_string(figures->zeros) +
         ",\"nan\":" + std::to_string(figures->nan) +
         ",\"positive_infinity\":" + std::to_string(figures->positive_infinity) +
         ",\"negative_infinity\":" + std::to_string(figures->negative_infinity) +
         ",\"min\":" + extreme_json(figures->min, dtype) + ",\"max\":" + extreme_json(figures->max, dtype) +
         ",\"mean\":" + real_json(figures->mean) + ",\"std\":" + real_json(figures->std) +
         ",\"l2\":" + real_json(figures->norm) + ",\"histogram\":" + histogram_json(figures->histogram) + "}";
}

// By hand and piece by piece, as inspect's: of tens of thousands of tensors a tree would take ten times their size.
void print_stats_json(const StatsReport& report) {
  print("{\"file\":" + string_json(report.file) + ",\"format\":" + string_json(report.format) + ",\"compression\":\"" +
        std::string(compression_name(report.gzip)) + "\",\"tensors\":[");
  for (const TensorStats& tensor : report.stats.tensors) {
    if (&tensor != &report.stats.tensors.front()) print(",");
    print("{\"name\":" + string_json(tensor.name) + ",\"dtype\":\"" + std::string(dtype_name(tensor.dtype)) +
          "\",\"shape\":" + list_json(tensor.shape) + ",\"stats\":" + figures_json(tensor.figures, tensor.dtype) + "}");
  }
  print("],\"floating\":{\"tensors\":" + std::to_string(report.stats.floating_tensors) +
        ",\"stats\":" + figures_json(report.stats.floating, DType::float64) + "}}\n");
}

}  // namespace ckpt::tools
