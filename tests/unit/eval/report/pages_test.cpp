// Reports as other programs read them: Python's parsers of XML and HTML.
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/wait.h>

#include <array>

#include "eval/results.h"
#include "io/io_testing.h"
#include "report/png_uri.h"
#include "report/report.h"

namespace ckpt::eval {
namespace {

using eval_testing::captchas;
using eval_testing::digits;

/// What a Python program prints that is given `text` as the file sys.argv[1].
std::string python(const std::string& program, const std::string& text) {
  const io_testing::TemporaryFolder folder;
  io_testing::put_file(folder / "program.py", program);
  io_testing::put_file(folder / "text", text);
  const std::string command = "python3 '" + (folder / "program.py") + "' '" + (folder / "text") + "' 2>&1";
  FILE* const pipe = ::popen(command.c_str(), "r");
  std::string out;
  std::array<char, 4096> buffer{};
  while (const std::size_t size = std::fread(buffer.data(), 1, buffer.size(), pipe)) out.append(buffer.data(), size);
  return ::pclose(pipe) == 0 ? out : "failed: " + out;
}

constexpr const char* junit_reader = R"(
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
suite, = root
print(root.tag, suite.tag, suite.get("name"), suite.get("tests"), suite.get("failures"))
for case in suite.iter("testcase"):
    failure = case.find("failure")
    print(case.get("name"), "|", "passed" if failure is None else failure.get("message"))
)";

// Checks what a page must be, and prints what can be counted in it.
constexpr const char* page_reader = R"(
import base64, re, struct, sys, zlib
from html.parser import HTMLParser
class Page(HTMLParser):
    void = {"meta", "img", "br"}
    def __init__(self):
        super().__init__()
        self.open, self.counts, self.sizes = [], {}, []
    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        names = dict(attributes)
        assert tag not in ("script", "link", "iframe", "object", "embed", "base"), tag
        for name, value in attributes:
            assert not name.startswith("on"), name
            assert name not in ("href", "srcset", "action", "data"), name
        if "src" in names:
            kind, data = names["src"].split(",", 1)
            assert kind == "data:image/png;base64", kind
            self.sizes.append(decode(base64.b64decode(data, validate=True)))
        if tag not in self.void:
            self.open.append(tag)
    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()
    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag
def decode(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, pixels = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at:at + 8])
        data = png[at + 8:at + 8 + size]
        assert struct.unpack(">I", png[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + data)
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", data[:10])
        if kind == b"IDAT":
            pixels += data
        at += 12 + size
    assert depth == 8
    assert len(zlib.decompress(pixels)) == height * (1 + width * {0: 1, 2: 3}[colour])
    return f"{width}x{height}x{ {0: 1, 2: 3}[colour]}"
text = open(sys.argv[1], encoding="utf-8").read()
assert text.startswith("<!doctype html>")
for address in re.findall(r"(?:https?:|//|url\(|@import)[^\s]*", re.sub(r"data:[^\"]*", "", text)):
    raise AssertionError(address)
page = Page()
page.feed(text)
page.close()
assert not page.open, page.open
print(page.counts.get("img", 0), *sorted(set(page.sizes)), "rect", page.counts.get("rect", 0),
      "figure", page.counts.get("figure", 0))
)";

TEST(JUnit, is_read_by_pythons_parser) {
  Bars bars;
  bars.min_accuracy = 0.99;
  EXPECT_EQ(python(junit_reader, junit_text(digits(), judge(digits(), bars))),
            "testsuites testsuite ckpt eval fnn.pt.gz 3 1\n"
            "loads into fnn | passed\n"
            "outputs are finite | passed\n"
            "accuracy reaches the bar | accuracy 97.00 % (970 of 1,000) is below 99.00 %\n");
}

TEST(JUnit, of_any_bytes_is_read_by_pythons_parser) {
  std::string bytes;
  for (int c = 1; c < 256; ++c) bytes += static_cast<char>(c);
  bytes += "\xef\xbf\xbf\xed\xa0\x80\xf4\x8f\xbf\xbf]]>";
  Result result = digits();
  result.model = result.data = result.device = bytes;
  const std::string out = python(junit_reader, junit_text(result, judge(result, {})));
  EXPECT_TRUE(out.starts_with("testsuites testsuite ckpt eval ")) << out;
}

// A cell a pair that occurs, beside the square under them.
TEST(Page, of_digits_stands_alone_and_shows_twelve_pictures) {
  EXPECT_EQ(python(page_reader, html_text(digits(), judge(digits(), {}))), "12 28x28x1 rect 21 figure 12\n");
}

TEST(Page, of_captchas_shows_pictures_in_colour) {
  EXPECT_EQ(python(page_reader, html_text(captchas(), judge(captchas(), {}))), "12 56x24x3 rect 39 figure 12\n");
}

TEST(Page, of_hostile_texts_is_whole) {
  Result result = digits();
  result.model = result.data = result.machine = result.digest = "\"'><script>&<img src=x onerror=y>\x1b\xff";
  result.warnings = {result.model};
  result.signature.alphabet = "<>&\"'/\\`ab";
  EXPECT_EQ(python(page_reader, html_text(result, judge(result, {}))), "12 28x28x1 rect 21 figure 12\n");
}

TEST(Page, of_very_many_classes_has_no_heat_map) {
  Result result = digits();
  result.signature.classes = 1000;
  result.counts.confusion.assign(1'000'000, 0);
  result.counts.confusion[7] = 970;
  EXPECT_EQ(python(page_reader, html_text(result, judge(result, {}))), "12 28x28x1 rect 0 figure 12\n");
}

TEST(Page, of_no_samples_and_no_pictures_is_whole) {
  Result result = digits();
  result.counts = {};
  result.worst.clear();
  EXPECT_EQ(python(page_reader, html_text(result, judge(result, {}))), "0 rect 1 figure 0\n");
}

TEST(Page, shows_no_picture_that_a_png_cannot_be) {
  Result result = digits();
  Picture& wide = result.worst[0];
  wide.width = 2'000'000;
  wide.height = wide.channels = 1;
  wide.pixels.assign(wide.width, 0);
  EXPECT_EQ(python(page_reader, html_text(result, judge(result, {}))), "11 28x28x1 rect 21 figure 12\n");
}

TEST(Picture, whose_pixels_are_missing_is_refused) {
  Picture picture = digits().worst[0];
  picture.pixels.pop_back();
  EXPECT_TRUE(io_testing::error_of([&] { static_cast<void>(png_uri(picture)); }));
}

}  // namespace
}  // namespace ckpt::eval
