#include <algorithm>
#include <functional>

#include "ckpt/formats.h"
#include "ckpt/limits.h"
#include "ckpt/modules.h"
#include "ckpt/ops.h"
#include "container/zip_writer.h"
#include "io/bytes.h"
#include "pickled_tensors/read_pickle.h"
#include "targets/graphs.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

constexpr std::uint64_t storage_bytes = 64 << 10;  // of all storages of an archive made here

/// A well-formed archive around a pickle, with the storages that the pickle names. Throws Error.
ByteSourcePtr archive_around(const ByteSourcePtr& code) {
  Checkpoint named;
  torch::read_object(*code, 0, limits::pickle_cap(code->size()), named);
  std::uint64_t sum = 0;
  for (const Storage& storage : named.storages) {
    if (storage.nbytes > storage_bytes || (sum += storage.nbytes) > storage_bytes)
      throw Error(ErrorCode::limit_exceeded, "storages of more bytes than are made here");
  }
  MemorySink sink;
  ZipWriter zip(sink, 64);
  zip.add("archive/data.pkl", *code);
  zip.add("archive/byteorder", as_bytes(code->size() % 4 == 0 ? std::string_view("big") : std::string_view("little")));
  for (const Storage& storage : named.storages) {
    std::vector<std::byte> bytes(storage.nbytes);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 7 + storage.key.size());
    zip.add("archive/data/" + storage.key, std::span<const std::byte>(bytes));
  }
  zip.add("archive/version", as_bytes("3\n"));
  zip.finish();
  return memory_source(sink.bytes(), "archive");
}

bool has_views(const Checkpoint& checkpoint) {
  return std::any_of(checkpoint.storage_uses.begin(), checkpoint.storage_uses.end(),
                     [](const auto& use) { return use.second.view != nullptr; });
}

bool has_modules(const Checkpoint& checkpoint) {
  for (ValueId id = 0; id < checkpoint.values.size(); ++id)
    if (checkpoint.values.kind(id) == ValueKind::persistent && find_storage_use(checkpoint, id) == nullptr) return true;
  return false;
}

/// Whether a class is given a state. Names look into it where it stands itself, but not where a legacy file's reference
/// to it and its source does, which other formats write as the class.
bool has_states_of_classes(const Checkpoint& checkpoint) {
  for (ValueId id = 0; id < checkpoint.values.size(); ++id)
    if (checkpoint.values.kind(id) == ValueKind::global && checkpoint.values.first_effect(id) != 0) return true;
  return false;
}

void compare_storages(const Storage& a, const Storage& b) {
  require(a.nbytes == b.nbytes, "a storage has another size");
  require(a.dtype == b.dtype, "a storage has another dtype");
  require(a.location == b.location, "a storage lies elsewhere");
  if (!a.bytes || a.byte_order != b.byte_order) return;
  require(read_all(*a.bytes, storage_bytes << 12) == read_all(*b.bytes, storage_bytes << 12),
          "a storage has other bytes");
}

void compare_tensors(const Checkpoint& before, const Checkpoint& after) {
  const auto a = tensor_names(before), b = tensor_names(after);
  require(a.size() == b.size(), "another number of tensors");
  for (std::size_t i = 0; i < a.size(); ++i) {
    const TensorInfo &x = a[i].tensor->info, &y = b[i].tensor->info;
    require(a[i].name == b[i].name, "a tensor has another name: " + a[i].name + ", " + b[i].name);
    require(x.dtype == y.dtype && x.layout == y.layout, "a tensor has another dtype");
    require(x.shape == y.shape && x.stride == y.stride, "a tensor has another shape");
    require(x.conjugate == y.conjugate && x.negative == y.negative, "a tensor is another view");
    require(x.offset == y.offset, "a tensor has another offset");
    require(device_of(before, *a[i].tensor) == device_of(after, *b[i].tensor), "a tensor has another device");
  }
  if (logical_bytes(before) <= worth_hashing) {
    std::string total;
    if (!error_of([&] { total = digest(before).total; }))
      require(total == digest(after).total, "a tensor has other values");
  }
}

void compare_values(const Checkpoint& before, const Checkpoint& after) {
  std::vector<std::uint32_t> there(before.storages.size(), no_value);
  const auto persistent = [&](ValueId a, ValueId b) -> std::optional<bool> {
    const StorageUse *const x = find_storage_use(before, a), *const y = find_storage_use(after, b);
    if (x == nullptr && y == nullptr) return std::nullopt;
    if (x == nullptr || y == nullptr) return false;
    std::uint32_t& place = there[x->storage];
    if (place == no_value) {
      place = y->storage;
      compare_storages(before.storages[x->storage], after.storages[place]);
    }
    return place == y->storage;
  };
  GraphPair pair(before.values, after.values, persistent);
  const std::string differs = pair.difference(before.root, after.root);
  require(differs.empty(), "the object is another: " + differs);
}

/// Writing it, in that format: the bytes, or none where it is refused.
std::optional<std::vector<std::byte>> written(const Checkpoint& checkpoint, const std::string& format) {
  MemorySink sink;
  WriteOptions options;
  options.format = format;
  options.allow_unsafe = true;
  const auto error = error_of([&] { write(checkpoint, sink, options); });
  if (!error) return sink.bytes();
  require(error->code() != ErrorCode::io && error->code() != ErrorCode::invalid_argument,
          "writing " + format + " fails: " + error->what());
  return std::nullopt;
}

void check_format(const Checkpoint& before, const std::string& format) {
  if (error_of([&] { tensor_names(before); })) return;  // no command writes it
  const auto bytes = written(before, format);
  if (!bytes) return;
  Checkpoint after;
  const ByteSourcePtr source = memory_source(*bytes, "written");
  const auto error = error_of([&] { after = read(source); });
  if (error && error->code() == ErrorCode::limit_exceeded) return;  // the cap goes by the size of the file
  require(!error, "what was written as " + format + " does not read: " + (error ? error->what() : ""));
  require(after.format == format, "what was written as " + format + " is " + after.format);
  // A file in bytes is passed on as it is, damage and all.
  for (const Finding& finding : verify(source))
    require(!finding.fault || finding.where.starts_with("torch.storage._load_from_bytes"),
            "what was written as " + format + " has a fault: " + finding.where + ": " + finding.what);
  error_of([&] {
    if (has_views(before)) return;
    const bool modules = has_modules(before);
    if (!modules || !has_states_of_classes(before)) compare_tensors(before, after);
    if (!modules) compare_values(before, after);
  });
  const auto written_again = [&](const Checkpoint& checkpoint) {
    auto file = written(checkpoint, format);
    require(file.has_value(), "what was written as " + format + " is not written again");
    return *std::move(file);
  };
  const bool settled = settles(written_again(after),
                               [&](const auto& file) { return written_again(read(memory_source(file, "again"))); });
  require(settled, "written again and again as " + format + ", it is always another file");
}

void check_formats(const std::function<Checkpoint()>& make) {
  Checkpoint before;
  if (error_of([&] { before = make(); })) return;
  // A model that goes as a whole is not said by torch's files: its state dict is.
  if (whole_module(before) && error_of([&] { before = unpack_modules(std::move(before)); })) return;
  // To torch's files they are other values.
  std::erase_if(before.tensors, [](const Tensor& tensor) { return tensor.array; });
  check_format(before, "torch");
  check_format(before, "torch-legacy");
  if (logical_bytes(before) <= worth_hashing) {
    rewritten_tensors(before, "safetensors");
    rewritten_tensors(before, "npz");
  }
  Checkpoint unpacked;
  if (!error_of([&] { unpacked = unpack_modules(before); }) && unpacked.values.size() != before.values.size())
    check_format(unpacked, "torch");
}

}  // namespace

int fuzz_roundtrip(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr source = source_of(data, size);
  std::string format;
  if (error_of([&] { format = detect(source).format; })) return 0;
  if (!format.empty()) check_formats([&] { return read(source); });
  if (format.empty() || format == "pickle") check_formats([&] { return read(archive_around(source)); });
  return 0;
}

}  // namespace ckpt::fuzz
