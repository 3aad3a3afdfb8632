// Cuts a file at every byte and flips every bit of it, and judges what each mutant is read as:
//
//     ckpt_bad_sweep FILE…
//
// refused     reading it, writing it again or hashing it throws Error, and verify() finds a fault or throws Error too;
// same        written again it gives the bytes that the whole file gives, with the same names and digests;
// uncovered   it is read as something else, and verify() says that no checksum covers it.
//
// Anything else is a failure, and so is any exception but Error. Prints a line a failure and a line a file.

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/formats.h"
#include "ckpt/ops.h"
#include "io/bytes.h"

namespace {

using namespace ckpt;
using Bytes = std::vector<std::byte>;

class MemorySink final : public ByteSink {
 public:
  MemorySink() : ByteSink("memory") {}
  void commit() override {}
  std::string take() { return std::move(bytes_); }

 private:
  void append(std::span<const std::byte> bytes) override { bytes_ += as_text(bytes); }
  std::string bytes_;
};

/// All that a reader can know of a file.
struct Reading {
  std::string written, digest, tensors, globals;
  bool operator==(const Reading&) const = default;
};

/// The format's own, or torch's where it is only read.
std::string format_to_write(const std::string& name) {
  for (const FormatInfo& format : formats())
    if (format.name == name && format.writes) return name;
  return "torch";
}

Reading read_whole(const Bytes& bytes) {
  const Checkpoint checkpoint = read(memory_source(bytes, "mutant"));
  Reading reading;
  MemorySink sink;
  WriteOptions options;
  options.allow_unsafe = true;
  options.format = format_to_write(checkpoint.format);
  write(checkpoint, sink, options);
  reading.written = sink.take();
  const CheckpointDigest digests = digest(checkpoint);
  reading.digest = digests.total;
  for (const TensorDigest& tensor : digests.tensors) reading.tensors += tensor.name + '\0' + tensor.sha256;
  for (const GlobalUse& global : checkpoint.globals) reading.globals += global.module + '\0' + global.name + '\0';
  finish_reading(checkpoint);
  return reading;
}

struct Verdict {
  bool faults = false;     ///< or an Error
  bool uncovered = false;  ///< says that no checksum covers what was read
};

Verdict judge(const Bytes& bytes) {
  try {
    Verdict verdict;
    for (const Finding& finding : verify(memory_source(bytes, "mutant"))) {
      verdict.faults |= finding.fault;
      verdict.uncovered |= finding.what.find("no checksum") != std::string::npos;
    }
    return verdict;
  } catch (const Error&) {
    return {.faults = true};
  }
}

struct Counts {
  std::size_t cuts = 0, flips = 0, refused = 0, same = 0, uncovered = 0, failures = 0;
};

class Sweep {
 public:
  Sweep(std::string name, Bytes whole) : name_(std::move(name)), whole_(std::move(whole)) {
    original_ = read_whole(whole_);
    if (judge(whole_).faults) fail("the file as it is", "verify finds a fault");
  }

  Counts run() {
    for (std::size_t size = 0; size < whole_.size(); ++size, ++counts_.cuts)
      try_one({whole_.begin(), whole_.begin() + static_cast<std::ptrdiff_t>(size)},
              "cut at byte " + std::to_string(size));
    Bytes mutant = whole_;
    for (std::size_t at = 0; at < whole_.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit, ++counts_.flips) {
        mutant[at] ^= std::byte{1} << bit;
        try_one(mutant, "bit " + std::to_string(bit) + " of byte " + std::to_string(at));
        mutant[at] = whole_[at];
      }
    }
    return counts_;
  }

 private:
  static constexpr std::uint64_t largest = UINT64_MAX / 2;  ///< an offset past it has wrapped

  void try_one(const Bytes& mutant, const std::string& change) {
    try {
      std::optional<Reading> reading;
      try {
        reading = read_whole(mutant);
      } catch (const Error& error) {
        if (error.offset().value_or(0) > largest) fail(change, std::string("its fault lies nowhere: ") + error.what());
      }
      const Verdict verdict = judge(mutant);
      if (!reading) {
        ++counts_.refused;
        if (!verdict.faults) fail(change, "it is refused, but verify finds no fault");
      } else if (*reading == original_) {
        ++counts_.same;
        if (verdict.faults) fail(change, "it is read as it was, but verify finds a fault");
      } else if (verdict.uncovered) {
        ++counts_.uncovered;
      } else {
        fail(change, "it is read as something else, and verify does not say that nothing covers it");
      }
    } catch (const std::exception& error) {
      fail(change, std::string("it throws what is no Error: ") + error.what());
    }
  }

  void fail(const std::string& change, const std::string& what) {
    if (++counts_.failures <= 10) std::printf("FAIL %s, %s: %s\n", name_.c_str(), change.c_str(), what.c_str());
  }

  std::string name_;
  Bytes whole_;
  Reading original_;
  Counts counts_;
};

Bytes bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

}  // namespace

int main(int count, char** arguments) {
  std::size_t failures = 0;
  for (int i = 1; i < count; ++i) {
    const std::string path = arguments[i];
    const std::string name = path.substr(path.rfind('/') + 1);
    try {
      const Counts counts = Sweep(name, bytes_of_file(path)).run();
      std::printf("%s: %zu cuts, %zu flips: %zu refused, %zu same, %zu uncovered, %zu failures\n", name.c_str(),
                  counts.cuts, counts.flips, counts.refused, counts.same, counts.uncovered, counts.failures);
      failures += counts.failures;
    } catch (const std::exception& error) {
      std::printf("FAIL %s: the file as it is: %s\n", name.c_str(), error.what());
      ++failures;
    }
  }
  return failures == 0 ? 0 : 1;
}
