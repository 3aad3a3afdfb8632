#include <array>
#include <cstdio>

#include "console/render.h"
#include "metrics/tally.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/png_uri.h"

namespace ckpt::eval {
namespace {

constexpr std::size_t most_bars = 100;

std::string bar_text(const std::string& name, const Tally& tally) {
  std::array<char, 32> width{};
  std::snprintf(width.data(), width.size(), "%.2f", tally.samples == 0 ? 0 : tally.accuracy() * 100);
  return "<div class=\"bar\" title=\"" + tally_text(tally) + "\"><span>" + escape_markup(name) +
         "</span><div><i style=\"width:" + width.data() + "%\"></i></div><span>" +
         (tally.samples == 0 ? "-" : percent_text(tally.accuracy())) + "</span></div>";
}

std::string truth_text(float truth) {
  return truth < 0.0001F ? "below 0.01 %" : percent_text(static_cast<double>(truth));
}

std::string figure_text(const Result& result, const Picture& picture) {
  const std::string label = escape_markup(result.signature.text(picture.label.data()));
  const std::string read = escape_markup(result.signature.text(picture.read.data()));
  std::string out = "<figure>";
  const std::string uri = picture.width == 0 ? std::string() : png_uri(picture);
  if (uri.empty())
    out += "<div class=\"none\">no picture</div>";
  else
    out += "<img alt=\"sample " + std::to_string(picture.index) + ", " + label + "\" src=\"" + uri + "\">";
  out += "<figcaption><b class=\"label\">" + label + "</b> read as <b class=\"" + (label == read ? "label" : "read") +
         "\">" + read + "</b><br><span class=\"soft\">sample " + tools::count_text(picture.index) + ", truth " +
         truth_text(picture.truth) + "</span></figcaption></figure>";
  return out;
}

}  // namespace

std::string html_position_bars(const Result& result) {
  if (result.signature.positions < 2) return {};
  std::string out = "<div class=\"bars\">";
  std::size_t number = 0;
  for (const Tally& tally : per_position(result.signature, result.counts))
    out += bar_text("position " + std::to_string(++number), tally);
  return out + "</div>";
}

std::string html_class_bars(const Result& result) {
  std::string out;
  const std::vector<Tally> tallies = per_class(result.signature, result.counts);
  if (tallies.size() > most_bars) {
    out += "<table>";
    for (const Row& row : class_rows(result, 20))
      out += "<tr><th>" + escape_markup(row.name) + "</th><td class=\"number\">" + row.value + "</td><td>" +
             row.detail + "</td></tr>";
    return out + "</table>";
  }
  out += "<div class=\"bars\">";
  for (std::size_t at = 0; at < tallies.size(); ++at)
    out += bar_text(result.signature.class_name(static_cast<std::int64_t>(at)), tallies[at]);
  return out + "</div>";
}

std::string html_worst(const Result& result) {
  std::string out = "<div class=\"worst\">";
  for (const Picture& picture : result.worst) out += figure_text(result, picture);
  return out + "</div>";
}

}  // namespace ckpt::eval
