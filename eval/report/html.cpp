#include <array>
#include <cstdio>

#include "metrics/interval.h"
#include "report/html_parts.h"
#include "report/markup.h"
#include "report/report.h"

namespace ckpt::eval {
namespace {

std::string section(const std::string& heading, const std::string& body) {
  return body.empty() ? "" : "<section><h2>" + heading + "</h2>" + body + "</section>\n";
}

std::string checks_text(const Result& result, const Verdict& verdict) {
  std::string out = "<ul class=\"checks\">";
  for (const Verdict::Check& check : verdict.checks)
    out += std::string("<li class=\"") + (check.passed ? "pass" : "fail") + "\">" + escape_markup(check.sentence) +
           "</li>";
  for (const std::string& warning : result.warnings) out += "<li class=\"warn\">" + escape_markup(warning) + "</li>";
  return out + "</ul>";
}

/// The accuracy as a bar, with its interval.
std::string scale_text(const Result& result) {
  const Interval interval = wilson(result.counts.correct, result.counts.samples);
  const double accuracy = result.counts.samples == 0 ? 0 : result.counts.accuracy();
  std::array<char, 160> buffer{};
  std::snprintf(buffer.data(), buffer.size(),
                "<i style=\"width:%.3f%%\"></i><b style=\"left:%.3f%%;width:%.3f%%\"></b>", accuracy * 100,
                interval.low * 100, (interval.high - interval.low) * 100);
  return std::string("<div class=\"scale\">") + buffer.data() + "</div>";
}

std::string row_text(const std::string& name, const std::string& body) {
  return "<tr><th>" + name + "</th><td>" + body + "</td></tr>";
}

std::string details_text(const Result& result) {
  std::string out = "<table>";
  for (const Row& row : machine_rows(result))
    out += row_text(row.name, escape_markup(row.value + (row.detail.empty() ? "" : ": " + row.detail)));
  out += row_text("data", escape_markup(result.data));
  if (result.shard)
    out += row_text("shard", std::to_string(result.shard->index) + " of " + std::to_string(result.shard->count));
  out += row_text("weights", "<code>" + escape_markup(result.digest) + "</code>");
  out += row_text("samples", "<code>" + escape_markup(result.data_digest) + "</code>");
  return out + row_text("version", "ckpt " + escape_markup(result.version)) + "</table>";
}

}  // namespace

std::string html_text(const Result& result, const Verdict& verdict) {
  const Row accuracy = accuracy_row(result);
  const std::string name = escape_markup(result.model);
  std::string out =
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; "
      "style-src 'unsafe-inline'\"><title>" +
      name + ": " + accuracy.value + "</title>\n<style>";
  out += html_style();
  out += "</style></head><body><main>\n<header><div><h1>" + name + "</h1><p class=\"soft\">" +
         escape_markup(result.arch) + " on " + escape_markup(result.data) + "</p></div><p class=\"big\">" +
         accuracy.value + "</p></header>\n<section>" + scale_text(result) + "<p class=\"soft\">" +
         escape_markup(accuracy.detail) + "</p>" + checks_text(result, verdict) + "</section>\n<div class=\"two\">";
  const std::string confusion = html_confusion(result);
  const std::string classes = section("Accuracy of classes", html_class_bars(result));
  const bool few = result.signature.classes <= 12;  // so few that they stand beside the matrix
  out += section("Confusion", confusion);
  out += "<div class=\"stack\">" + section("Confused most often", html_confused(result)) +
         section("Accuracy of positions", html_position_bars(result)) + (few ? classes : "") + "</div></div>\n" +
         (few ? "" : classes);
  if (!result.worst.empty()) out += section("Worst samples", html_worst(result));
  return out + section("The run", details_text(result)) + "</main></body></html>\n";
}

}  // namespace ckpt::eval
