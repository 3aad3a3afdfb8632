#include <algorithm>
#include <array>
#include <cstdio>

#include "ckpt/dtype.h"
#include "ckpt/shape.h"
#include "console/render.h"
#include "console/text.h"
#include "stats_report.h"

namespace ckpt::tools {
namespace {

constexpr std::size_t columns = 3, shown_tensors = 300;
constexpr double margin = 28, gap = 16, card_width = 300, card_height = 168;
constexpr double page_width = 2 * margin + columns * card_width + (columns - 1) * gap;
constexpr double heading_height = 84, plot_height = 70, padding = 14;

constexpr std::string_view style =
    "<style>\n"
    "svg{--page:#f6f7f9;--card:#fff;--line:#dfe3e8;--text:#1c2430;--soft:#657083;--bar:#3b6fd4;--mean:#d9730d;"
    "--bad:#c62828;background:var(--page);font-family:system-ui,-apple-system,'Segoe UI',Roboto,sans-serif}\n"
    "@media (prefers-color-scheme:dark){svg{--page:#12161c;--card:#1b212a;--line:#2c3540;--text:#e6eaf0;"
    "--soft:#93a0b2;--bar:#6c9cf5;--mean:#f0a04b;--bad:#ff7b72}}\n"
    ".page{fill:var(--page)}.card{fill:var(--card);stroke:var(--line)}.bar{fill:var(--bar)}"
    ".axis{stroke:var(--line)}.mean{stroke:var(--mean);stroke-width:1.5;stroke-dasharray:3 2}\n"
    "text{fill:var(--text);font-size:11px}.title{font-size:20px;font-weight:600}.name{font-size:12.5px;font-weight:600}"
    ".soft{fill:var(--soft)}.bad{fill:var(--bad);font-weight:600}.end{text-anchor:end}.middle{text-anchor:middle}\n"
    "</style>\n";

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  }
  return out;
}

/// At most `most` characters: of a long name the end tells more than the beginning.
std::string shortened(const std::string& name, std::size_t most) {
  std::string shown = printable(name);
  if (display_width(shown) <= most) return shown;
  std::size_t from = shown.size() - most + 1;
  while (from < shown.size() && (static_cast<unsigned char>(shown[from]) & 0xC0) == 0x80) ++from;
  return "…" + shown.substr(from);
}

std::string coordinate(double value) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.2f", value);
  std::string text(buffer.data());
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

std::string text_at(double x, double y, std::string_view classes, const std::string& text) {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\"" +
         (classes.empty() ? "" : " class=\"" + std::string(classes) + "\"") + ">" + escaped(text) + "</text>\n";
}

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

std::string rectangle(const Box& box, std::string_view classes, std::string_view corner) {
  return "<rect x=\"" + coordinate(box.x) + "\" y=\"" + coordinate(box.y) + "\" width=\"" + coordinate(box.width) +
         "\" height=\"" + coordinate(box.height) + "\" rx=\"" + std::string(corner) + "\" class=\"" +
         std::string(classes) + "\"/>\n";
}

std::string upright(double x, double top, double bottom, std::string_view classes) {
  return "<path d=\"M" + coordinate(x) + " " + coordinate(top) + "V" + coordinate(bottom) + "\" class=\"" +
         std::string(classes) + "\"/>\n";
}

/// All bars are one path: a thousand tensors make a file that a browser still takes.
std::string bars(const std::vector<std::uint64_t>& counts, const Box& box) {
  const auto largest = static_cast<double>(*std::max_element(counts.begin(), counts.end()));
  const double width = box.width / static_cast<double>(counts.size()), bottom = box.y + box.height;
  std::string path;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] == 0) continue;
    const double height = std::max(1.0, static_cast<double>(counts[i]) / largest * box.height);
    path += "M" + coordinate(box.x + width * static_cast<double>(i)) + " " + coordinate(bottom) + "v-" +
            coordinate(height) + "h" + coordinate(std::max(0.5, width - 0.6)) + "v" + coordinate(height) + "z";
  }
  return "<path d=\"" + path + "\" class=\"bar\"/>\n";
}

std::string plot(const Figures& figures, DType dtype, const Box& box) {
  const Histogram& histogram = figures.histogram;
  const double bottom = box.y + box.height;
  std::string out = "<path d=\"M" + coordinate(box.x) + " " + coordinate(bottom) + "h" + coordinate(box.width) +
                    "\" class=\"axis\"/>\n";
  if (histogram.counts.empty()) return out;
  out += bars(histogram.counts, box);
  // Halves, as the range may be past what a double holds.
  const double place = (figures.mean / 2 - histogram.min / 2) / (histogram.max / 2 - histogram.min / 2);
  if (place >= 0 && place <= 1) out += upright(box.x + place * box.width, box.y - 3, bottom, "mean");
  out += text_at(box.x, bottom + 13, "soft", number_text(histogram.min, dtype));
  out += text_at(box.x + box.width, bottom + 13, "soft end", number_text(histogram.max, dtype));
  return out;
}

std::string figures_line(const Figures& figures) {
  return "mean " + number_text(figures.mean, DType::float64) + " · std " + number_text(figures.std, DType::float64) +
         " · L2 " + number_text(figures.norm, DType::float64);
}

std::string card(const std::string& name, const std::string& about, const std::optional<Figures>& figures, DType dtype,
                 const Box& box) {
  const double left = box.x + padding, inside = box.width - 2 * padding;
  const auto letters = static_cast<std::size_t>(inside / 7.2);
  std::string out = "<g>\n<title>" + escaped(name) + "</title>\n" + rectangle(box, "card", "8");
  out += text_at(left, box.y + 21, "name", shortened(name, letters));
  out += text_at(left, box.y + 37, "soft", about);
  if (!figures) return out + text_at(left, box.y + 90, "soft", "no numbers in the file") + "</g>\n";
  out += plot(*figures, dtype, {left, box.y + 50, inside, box.height - 50 - 48});
  out += text_at(left, box.y + box.height - 12, "", figures_line(*figures));
  const std::string bad = not_finite_text(*figures);
  if (!bad.empty())
    out += text_at(left + inside, box.y + 37, "bad end", bad);
  else if (figures->zeros > 0)
    out += text_at(left + inside, box.y + 37, "soft end", count_text(figures->zeros, "zero"));
  return out + "</g>\n";
}

std::string about(const TensorStats& tensor) {
  return std::string(dtype_name(tensor.dtype)) + " " + shape_text(tensor.shape);
}

}  // namespace

std::string stats_svg(const StatsReport& report) {
  const CheckpointStats& stats = report.stats;
  const std::size_t shown = std::min(stats.tensors.size(), shown_tensors);
  std::string body;
  double y = heading_height;
  if (stats.floating_tensors > 1) {
    const Box box{margin, y, page_width - 2 * margin, card_height + plot_height};
    body += card("All " + count_text(stats.floating_tensors) + " floating tensors",
                 count_text(stats.floating.elements, "element"), stats.floating, DType::float64, box);
    y += box.height + gap;
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const TensorStats& tensor = stats.tensors[i];
    const double x = margin + static_cast<double>(i % columns) * (card_width + gap);
    body += card(tensor.name.empty() ? "(the tensor itself)" : tensor.name, about(tensor), tensor.figures, tensor.dtype,
                 {x, y, card_width, card_height});
    if (i % columns == columns - 1 || i + 1 == shown) y += card_height + gap;
  }
  if (shown < stats.tensors.size()) {
    body += text_at(margin, y + 12, "soft", "and " + count_text(stats.tensors.size() - shown, "more tensor"));
    y += 2 * gap;
  }
  const double height = y - gap + margin;
  const std::string size = "width=\"" + coordinate(page_width) + "\" height=\"" + coordinate(height) + "\"";
  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" " + size + " viewBox=\"0 0 " + coordinate(page_width) +
                    " " + coordinate(height) + "\">\n" + std::string(style);
  out += "<title>" + escaped(report.file) + "</title>\n<rect width=\"100%\" height=\"100%\" class=\"page\"/>\n";
  out += text_at(margin, 40, "title", shortened(report.file, 80));
  out += text_at(margin, 62, "soft",
                 report.format + (report.gzip ? ", gzip" : "") + "; " + count_text(stats.tensors.size(), "tensor") +
                     ". Bars: elements in bins between the least and the greatest; the dashed line is the mean.");
  return out + body + "</svg>\n";
}

}  // namespace ckpt::tools
