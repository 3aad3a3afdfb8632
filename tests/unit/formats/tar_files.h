#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "formats/python.h"
#include "io/io_testing.h"

/// Tar archives in memory, every field of which can lie, and files of PyTorch 0.1 in them.
namespace ckpt::tar_testing {

struct Entry {
  std::string name;
  std::string data;
  char type = '0';
  std::string size = {};  ///< the field, in place of the data's
  std::string magic = std::string("ustar\0", 6) + "00";
  std::string prefix = {};
  int checksum_error = 0;
};

inline std::string header_of(const Entry& entry) {
  std::string header(512, '\0');
  const auto put = [&](std::size_t at, const std::string& text) { header.replace(at, text.size(), text); };
  char number[16];
  put(0, entry.name);
  put(100, "0000644");
  std::snprintf(number, sizeof number, "%011o", static_cast<unsigned>(entry.data.size()));
  put(124, entry.size.empty() ? std::string(number) : entry.size);
  put(148, std::string(8, ' '));
  header[156] = entry.type;
  put(257, entry.magic);
  put(345, entry.prefix);
  unsigned sum = 0;
  for (const unsigned char c : header) sum += c;
  std::snprintf(number, sizeof number, "%06o", sum + static_cast<unsigned>(entry.checksum_error));
  put(148, number);
  header[154] = '\0';
  return header;
}

inline std::string tar_of(const std::vector<Entry>& entries, bool ended = true) {
  std::string tar;
  for (const Entry& entry : entries)
    tar += header_of(entry) + entry.data + std::string((512 - entry.data.size() % 512) % 512, '\0');
  return tar + (ended ? std::string(1024, '\0') : std::string());
}

inline ByteSourcePtr source_of(const std::string& tar, const std::string& name = "test.tar") {
  return memory_source(io_testing::bytes_of(tar), name);
}

inline std::string le(std::uint64_t value, std::size_t size) {
  std::string out;
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(value >> 8 * i);
  return out;
}

/// A storage of floats as the member `storages` has it.
inline std::string storage_record(std::int64_t key, const std::vector<float>& values,
                                  const std::string& type = "FloatStorage", const std::string& location = "cpu") {
  std::string record =
      py::pickle(py::tuple({py::integer(key), py::str(location), py::global("torch", type)})) + le(values.size(), 8);
  const auto bytes = std::as_bytes(std::span(values));
  return record + std::string(as_text(bytes));
}

inline std::string tensor_record(std::int64_t key, std::int64_t storage, const std::vector<std::uint64_t>& shape,
                                 const std::vector<std::uint64_t>& stride, std::uint64_t offset = 0) {
  std::string record =
      py::pickle(py::tuple({py::integer(key), py::integer(storage), py::global("torch", "FloatTensor")}));
  record += le(shape.size(), 8);
  for (const auto size : shape) record += le(size, 8);
  for (const auto step : stride) record += le(step, 8);
  return record + le(offset, 8);
}

/// What the parts of a file of PyTorch 0.1 hold: {"w": a tensor of storage 1, [0, 1, 2, 3]}, unless told.
struct TorchTar {
  py::Code object = py::dict({{py::str("w"), py::persistent(py::str("7"))}});
  std::vector<std::string> storages = {storage_record(1, {0, 1, 2, 3})};
  std::vector<std::string> tensors = {tensor_record(7, 1, {2, 2}, {2, 1})};
  py::Code views = py::list({});
  std::vector<Entry> more = {};
};

inline std::string torch_tar_of(const TorchTar& file) {
  std::string storages = py::pickle(py::integer(static_cast<std::int64_t>(file.storages.size())));
  for (const std::string& record : file.storages) storages += record;
  std::string tensors = py::pickle(py::integer(static_cast<std::int64_t>(file.tensors.size())));
  for (const std::string& record : file.tensors) tensors += record;
  std::vector<Entry> entries{{"sys_info", py::pickle(py::dict({}))},
                             {"pickle", py::pickle(file.object)},
                             {"tensors", tensors},
                             {"storages", storages + py::pickle(file.views)}};
  entries.insert(entries.end(), file.more.begin(), file.more.end());
  return tar_of(entries);
}

}  // namespace ckpt::tar_testing
