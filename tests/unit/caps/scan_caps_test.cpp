#include "caps/caps_testing.h"
#include "ckpt/limits.h"
#include "ckpt/scan.h"
#include "container/zip_builder.h"
#include "formats/python.h"
#include "pickle/trace.h"

namespace ckpt {
namespace {

using caps_testing::expect_past;
using caps_testing::expect_within;
using io_testing::bytes_of;

const std::string evil = "\x80\2cos\nsystem\n)R.";

void trace(const std::string& code, const pickle::TraceOptions& options = {}) {
  const auto trace = pickle::trace(memory_source(bytes_of(code), "test.pkl"), 0, options);
  if (trace.broken) throw *trace.broken;
}

ScanVerdict verdict_of(const std::string& bytes) { return scan(memory_source(bytes_of(bytes), "test")).verdict; }

/// The verdict of an archive whose storage holds such bytes.
ScanVerdict verdict_of_storage(const std::string& bytes) {
  return verdict_of(
      zip_testing::build_zip({{.name = "r/data.pkl", .data = "N."}, {.name = "r/data/0", .data = bytes}}));
}

// Members, texts and names are counted alike; a mebi of names is the smallest file that has so many.
TEST(Cap, scan_parts) {
  std::string code;
  for (std::uint64_t i = 0; i < limits::scan_parts; ++i) code += "cm\n" + std::to_string(i) + "\n0";
  expect_within([&] { trace(code + "N."); });
  expect_past([&] { trace(code + "cm\nx\n."); });
}

TEST(Cap, scan_pickles) {
  std::string pickles;
  for (std::uint64_t i = 0; i < limits::scan_pickles; ++i) pickles += "N.";
  EXPECT_EQ(verdict_of(pickles), ScanVerdict::safe);
  EXPECT_EQ(verdict_of(pickles + "N."), ScanVerdict::unreadable);
}

// 16 Mi of each kind would take a while: the trace is given another cap.
TEST(Cap, scan_values) {
  EXPECT_EQ(pickle::TraceOptions().values, limits::scan_values);
  const pickle::TraceOptions three{.values = 3};
  for (const char* const within : {"NNN.", "(((N.", "Np1\np2\np4000000000\np1\n.", "U\1a0U\1b0U\1c0N."})
    expect_within([&] { trace(within, three); });
  for (const char* const past : {"NNNN.", "((((N.", "Np1\np2\np4000000000\np3\n.", "U\1a0U\1b0U\1c0U\1d0N."})
    expect_past([&] { trace(past, three); });
}

TEST(Cap, scan_text_bytes) {
  EXPECT_EQ(pickle::TraceOptions().text_bytes, limits::scan_text_bytes);
  expect_within([] { trace("U\3abcU\3abc\x86.", {.text_bytes = 6}); });
  expect_past([] { trace("U\3abcU\3abc\x86.", {.text_bytes = 5}); });
}

// A longer text stays where it is; a name of it is taken for one that is computed.
TEST(Cap, scan_name_bytes) {
  const auto module_of = [](std::uint64_t size) {
    const std::string code = py::str(std::string(size, 'x')) + py::str("name") + "\x93.";
    return pickle::trace(memory_source(bytes_of(code), "test"), 0).names.at(0).module;
  };
  EXPECT_EQ(module_of(limits::scan_name_bytes), std::string(limits::scan_name_bytes, 'x'));
  EXPECT_EQ(module_of(limits::scan_name_bytes + 1), computed_name);
}

TEST(Cap, scan_patience) {
  std::string nothing = "\x80\2";
  for (std::uint64_t i = 0; i + 2 < limits::scan_patience; i += 2) nothing += "N0";
  EXPECT_EQ(verdict_of_storage(nothing + evil.substr(2)), ScanVerdict::dangerous);
  EXPECT_EQ(verdict_of_storage(nothing + "N0" + evil.substr(2)), ScanVerdict::safe);
}

TEST(Cap, scan_patience_bytes) {
  const auto after = [](std::uint64_t size) {
    return verdict_of_storage("\x80\2V" + std::string(size - 5, 'x') + "\n0" + evil.substr(2));
  };
  EXPECT_EQ(after(limits::scan_patience_bytes - evil.size()), ScanVerdict::dangerous);
  EXPECT_EQ(after(limits::scan_patience_bytes + 1), ScanVerdict::safe);
}

TEST(Cap, scan_findings) {
  const auto found = [](std::size_t dangerous, std::size_t unknown) {
    std::string code;
    for (std::size_t i = 0; i < unknown; ++i) code += "czoo\nn" + std::to_string(i) + "\n0";
    for (std::size_t i = 0; i < dangerous; ++i) code += "cos\nn" + std::to_string(i) + "\n0";
    const ScanResult result = scan(memory_source(bytes_of(code + "N."), "test"));
    return std::pair(result.findings.size(), result.left_out);
  };
  EXPECT_EQ(found(limits::scan_findings, 0), std::pair(limits::scan_findings, std::size_t{0}));
  EXPECT_EQ(found(limits::scan_findings + 1, 0), std::pair(limits::scan_findings, std::size_t{1}));
  // Unknown ones leave room.
  EXPECT_EQ(found(1, limits::scan_findings), std::pair(limits::scan_findings / 2 + 1, limits::scan_findings / 2));
}

TEST(Cap, scan_floor) {
  EXPECT_EQ(limits::scan_cap(0), limits::scan_floor);
  EXPECT_EQ(limits::scan_cap(1000), limits::scan_floor + 1000 * limits::pickle_ratio);
  EXPECT_EQ(limits::scan_cap(UINT64_MAX), UINT64_MAX);
  // A small file that inflates to one long text of protocol 0, which has to be read, and which nobody would call a
  // pickle for less.
  const auto within = [](std::uint64_t lines) {
    std::string code = "\x80\2";
    for (std::uint64_t i = 0; i < lines; ++i) code += "I" + std::string(limits::mib - 3, '1') + "\n0";
    const auto packed = io_testing::gzipped(bytes_of(code + "N."));
    return scan(memory_source(packed, "test")).verdict;
  };
  EXPECT_EQ(within(64), ScanVerdict::safe);
  EXPECT_EQ(within(130), ScanVerdict::unreadable);
}

}  // namespace
}  // namespace ckpt
