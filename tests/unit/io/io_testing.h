#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"
#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "io/bytes.h"
#include "io/gzip_index.h"
#include "io/indexed_gzip_source.h"

/// What the tests of the IO layer share: bytes to play with, a folder that cleans up, a sink in memory.
namespace ckpt::io_testing {

using Bytes = std::vector<std::byte>;

inline Bytes bytes_of(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Random bytes of which each second one is zero, so that they neither compress well nor not at all.
inline Bytes random_bytes(std::size_t size, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; i += 2) bytes[i] = static_cast<std::byte>(random() & 0xff);
  return bytes;
}

inline Bytes joined(const std::vector<Bytes>& parts) {
  Bytes whole;
  for (const Bytes& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

class MemorySink final : public ByteSink {
 public:
  MemorySink() : ByteSink("memory") {}
  void commit() override {}
  [[nodiscard]] const Bytes& bytes() const { return bytes_; }

 private:
  void append(std::span<const std::byte> bytes) override { bytes_.insert(bytes_.end(), bytes.begin(), bytes.end()); }
  Bytes bytes_;
};

/// Bytes, of which it is counted what is read of them.
class CountingSource final : public ByteSource {
 public:
  explicit CountingSource(Bytes bytes) : ByteSource("counting"), bytes_(std::move(bytes)) {}
  [[nodiscard]] std::uint64_t size() const override { return bytes_.size(); }
  std::size_t read_at(std::uint64_t offset, std::span<std::byte> out) const override {
    const std::size_t count = offset < size() ? std::min<std::uint64_t>(out.size(), size() - offset) : 0;
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
    ++reads, read += count, largest = std::max(largest, count);
    return count;
  }
  mutable std::uint64_t reads = 0, read = 0;
  mutable std::size_t largest = 0;

 private:
  Bytes bytes_;
};

inline Bytes gzipped(const Bytes& bytes, int level = 1) {
  MemorySink target;
  const auto sink = gzip_sink(target, {.level = level});
  sink->write(bytes);
  sink->commit();
  return target.bytes();
}

inline ByteSourcePtr gunzipped(const Bytes& compressed) { return gunzip(memory_source(compressed, "test.gz")); }

inline ByteSourcePtr by_index(const Bytes& compressed) { return gunzip_by_index(memory_source(compressed, "test.gz")); }

inline GzipIndex index_of(const Bytes& compressed) {
  auto index = read_gzip_index(*memory_source(compressed, "test.gz"));
  EXPECT_TRUE(index);
  return index ? *index : GzipIndex();
}

/// 3 MB, much alike, little, and nothing: what is left of one piece in a compressor shows in the next.
inline Bytes patchwork() {
  Bytes bytes = random_bytes(3'000'000);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const std::size_t patch = i / 150'000;
    if (patch % 3 == 0) bytes[i] = static_cast<std::byte>(i % 251 * (i / 251 % 5));
    if (patch % 3 == 1) bytes[i] = static_cast<std::byte>(i / 4 >> 8 * (i % 4));
    if (patch % 7 == 2) bytes[i] = std::byte{0};
  }
  return bytes;
}

/// All bytes by reads of `step`, forward; unlike read_all() it needs no size.
inline Bytes read_in_steps(const ByteSource& source, std::size_t step) {
  Bytes whole;
  Bytes piece(step);
  while (const std::size_t got = source.read_at(whole.size(), piece)) {
    whole.insert(whole.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return whole;
}

inline std::optional<Error> error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ckpt-test-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string path() const { return path_.string(); }

  /// Names of what lies in it.
  [[nodiscard]] std::vector<std::string> entries() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) names.push_back(entry.path().filename());
    return names;
  }

 private:
  std::filesystem::path path_;
};

inline void put_file(const std::string& path, const Bytes& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

inline void put_file(const std::string& path, std::string_view text) { put_file(path, bytes_of(text)); }

inline std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Puts another descriptor in the place of a standard one for as long as it lives.
class Redirected {
 public:
  Redirected(int standard, int other) : standard_(standard), saved_(::fcntl(standard, F_DUPFD_CLOEXEC, 10)) {
    ::dup2(other, standard);
  }
  ~Redirected() {
    ::dup2(saved_, standard_);
    ::close(saved_);
  }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  int standard_;
  int saved_;
};

}  // namespace ckpt::io_testing
