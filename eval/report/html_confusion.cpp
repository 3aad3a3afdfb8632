#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <vector>

#include "console/render.h"
#include "metrics/tally.h"
#include "report/html_parts.h"
#include "report/markup.h"

namespace ckpt::eval {
namespace {

constexpr std::int64_t most_classes = 100;
constexpr std::size_t few_classes = 12;  // so few that a cell has room for its number

std::string decimal(double number) {
  std::array<char, 64> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.3g", number);
  return buffer.data();
}

std::string text_at(double x, double y, const std::string& attributes, const std::string& text) {
  return "<text x=\"" + decimal(x) + "\" y=\"" + decimal(y) + "\" " + attributes + ">" + text + "</text>";
}

std::string name_of(const Result& result, std::size_t index) {
  return escape_markup(result.signature.class_name(static_cast<std::int64_t>(index)));
}

/// One cell of the heat map, `side` wide.
std::string cell_text(const Result& result, std::size_t label, std::size_t read, std::uint64_t count, double share,
                      double side, double left, double top) {
  // Errors are rare: a square root shows one in a thousand, which a plain share would not.
  const double depth = 0.2 + 0.8 * std::sqrt(share);
  const double x = left + side * static_cast<double>(read), y = top + side * static_cast<double>(label);
  const std::string number = tools::count_text(count);
  std::string out = std::string("<g><title>") + name_of(result, label) + " read as " + name_of(result, read) + ": " +
                    number + "</title><rect class=\"" + (label == read ? "right" : "wrong") + "\" x=\"" +
                    decimal(x + side * 0.03) + "\" y=\"" + decimal(y + side * 0.03) + "\" width=\"" +
                    decimal(side * 0.94) + "\" height=\"" + decimal(side * 0.94) + "\" rx=\"" + decimal(side * 0.08) +
                    "\" fill-opacity=\"" + decimal(depth) + "\"/>";
  const bool room = static_cast<std::size_t>(result.signature.classes) <= few_classes;
  if (room)
    out +=
        text_at(x + side / 2, y + side / 2,
                std::string("class=\"cell\"") + (depth > 0.55 ? " style=\"fill:var(--card)\"" : "") + " font-size=\"" +
                    (number.size() > 5 ? "11" : "13") + "\" text-anchor=\"middle\" dominant-baseline=\"central\"",
                number);
  return out + "</g>";
}

}  // namespace

std::string html_confusion(const Result& result) {
  if (result.signature.classes < 1 || result.signature.classes > most_classes) return {};
  const auto classes = static_cast<std::size_t>(result.signature.classes);
  const std::vector<std::uint64_t> confusion = summed_confusion(result.signature, result.counts);
  const std::vector<Tally> tallies = per_class(result.signature, result.counts);
  constexpr double left = 40, top = 40, inner = 600;
  const double side = inner / static_cast<double>(classes);
  const std::string size = " font-size=\"" + decimal(std::clamp(side * 0.6, 6.0, 13.0)) + "\"";
  std::string out = "<svg viewBox=\"0 0 644 644\" role=\"img\" aria-label=\"confusion matrix\">";
  out += text_at(left + inner / 2, 13, "font-size=\"12\" text-anchor=\"middle\"", "read as");
  out += text_at(
      13, top + inner / 2,
      "font-size=\"12\" text-anchor=\"middle\" transform=\"rotate(-90 13 " + decimal(top + inner / 2) + ")\"", "label");
  out += "<rect class=\"grid\" x=\"40\" y=\"40\" width=\"600\" height=\"600\" rx=\"4\"/>";
  for (std::size_t at = 0; at < classes; ++at) {
    const double middle = side * (static_cast<double>(at) + 0.5);
    out += text_at(left + middle, top - 7, "text-anchor=\"middle\"" + size, name_of(result, at));
    out += text_at(left - 6, top + middle, "text-anchor=\"end\" dominant-baseline=\"central\"" + size,
                   name_of(result, at));
  }
  for (std::size_t label = 0; label < classes; ++label)
    for (std::size_t read = 0; read < classes; ++read)
      if (const std::uint64_t count = confusion[label * classes + read]; count > 0)
        out += cell_text(result, label, read, count,
                         static_cast<double>(count) / static_cast<double>(tallies[label].samples), side, left, top);
  return out + "</svg>";
}

std::string html_confused(const Result& result) {
  const auto classes = static_cast<std::size_t>(result.signature.classes);
  const std::vector<std::uint64_t> confusion = summed_confusion(result.signature, result.counts);
  std::vector<std::size_t> order;
  for (std::size_t at = 0; at < confusion.size(); ++at)
    if (confusion[at] > 0 && at / classes != at % classes) order.push_back(at);
  const std::size_t count = std::min<std::size_t>(order.size(), 10);
  std::partial_sort(
      order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
      [&](std::size_t a, std::size_t b) { return confusion[a] != confusion[b] ? confusion[a] > confusion[b] : a < b; });
  std::string out;
  for (std::size_t i = 0; i < count; ++i)
    out += "<tr><td><b class=\"label\">" + name_of(result, order[i] / classes) + "</b> read as <b class=\"read\">" +
           name_of(result, order[i] % classes) + "</b></td><td class=\"number\">" +
           tools::count_text(confusion[order[i]]) + "</td></tr>";
  return out.empty() ? out : "<table>" + out + "</table>";
}

}  // namespace ckpt::eval
