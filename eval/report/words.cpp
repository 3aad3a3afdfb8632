#include "report/words.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <utility>

#include "console/render.h"
#include "metrics/interval.h"

namespace ckpt::eval {
namespace {

std::string decimal(double number, int digits) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.*f", digits, number);
  return buffer.data();
}

Row tally_row(std::string name, const Tally& tally) {
  return {std::move(name), tally.samples == 0 ? "-" : percent_text(tally.accuracy()), tally_text(tally)};
}

double whole_time(const Seconds& seconds) { return seconds.start + seconds.read + seconds.upload + seconds.run; }

}  // namespace

std::string percent_text(double fraction, int digits) {
  if (!std::isfinite(fraction)) return "unknown";
  const double percent = fraction * 100;
  for (; digits < most_decimals; ++digits) {
    const std::string text = decimal(percent, digits);
    const bool none = text.find_first_not_of("-0.") == std::string::npos;
    if ((!none || percent == 0) && (std::stod(text) != 100 || percent == 100)) break;
  }
  return decimal(percent, digits) + " %";
}

std::string seconds_text(double seconds) { return decimal(seconds, seconds < 99.995 ? 2 : 0) + " s"; }

std::string tally_text(const Tally& tally) {
  return tools::count_text(tally.correct) + " of " + tools::count_text(tally.samples);
}

double samples_per_second(const Result& result) {
  if (!(result.seconds.run > 0)) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(result.counts.samples) / result.seconds.run;
}

Row accuracy_row(const Result& result) {
  const Interval interval = wilson(result.counts.correct, result.counts.samples);
  std::string detail = tally_text({result.counts.correct, result.counts.samples}) + ", 95 % interval " +
                       percent_text(interval.low) + " to " + percent_text(interval.high);
  if (result.counts.not_finite > 0)
    detail += ", " + tools::count_text(result.counts.not_finite) + " with NaN or infinity among the outputs";
  return {"accuracy", percent_text(result.counts.accuracy()), detail};
}

std::vector<Row> machine_rows(const Result& result) {
  std::vector<Row> out;
  const double speed = samples_per_second(result);
  const Seconds& seconds = result.seconds;
  out.push_back({"samples a second",
                 std::isnan(speed) ? "unknown" : tools::count_text(static_cast<std::uint64_t>(std::llround(speed))),
                 "while the model ran"});
  out.push_back({"time", seconds_text(whole_time(seconds)),
                 "start " + seconds_text(seconds.start) + ", read " + seconds_text(seconds.read) + ", upload " +
                     seconds_text(seconds.upload) + ", run " + seconds_text(seconds.run)});
  out.push_back({"memory", tools::size_text(result.host_peak),
                 result.gpu_peak > 0 ? "at most; of the GPU " + tools::size_text(result.gpu_peak) : "at most"});
  std::string detail = result.machine;
  if (result.ranks > 1) detail += (detail.empty() ? "" : ", ") + tools::count_text(result.ranks) + " ranks";
  out.push_back({"device", result.device, detail});
  return out;
}

/// A row each; of many, those of the lowest accuracy.
template <class Name>
std::vector<Row> lowest_rows(const std::vector<Tally>& tallies, std::size_t most, const std::string& rest, Name name) {
  std::vector<std::size_t> order(tallies.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const bool some = tallies.size() > most;
  if (some) {
    // A class that the data does not have is no low one.
    const auto key = [&](std::size_t at) { return tallies[at].samples == 0 ? 2 : tallies[at].accuracy(); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    order.resize(most);
  }
  std::vector<Row> out;
  for (const std::size_t at : order) out.push_back(tally_row(name(at), tallies[at]));
  if (some) out.push_back({rest, "", tools::count_text(tallies.size() - most) + ", none of them lower"});
  return out;
}

std::vector<Row> class_rows(const Result& result, std::size_t most) {
  return lowest_rows(per_class(result.signature, result.counts), most, "other classes", [&](std::size_t at) {
    return "class " + result.signature.class_name(static_cast<std::int64_t>(at));
  });
}

std::vector<Row> part_rows(const Result& result, std::size_t most) {
  if (result.signature.positions < 2) return class_rows(result, most);
  return lowest_rows(per_position(result.signature, result.counts), most, "other positions",
                     [](std::size_t at) { return "position " + std::to_string(at + 1); });
}

}  // namespace ckpt::eval
