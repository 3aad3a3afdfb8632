#include "torch_tar/records.h"

#include <array>
#include <charconv>
#include <span>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "model/storage_types.h"
#include "pickle/machine.h"

namespace ckpt::torch::tar {
namespace {

/// Reads a member from front to back.
class Reader {
 public:
  Reader(const ByteSource& member, std::uint64_t at, std::uint64_t cap, Records& records)
      : member_(member), at_(at), left_(cap), records_(records) {}

  [[noreturn]] void fail(std::string what, std::string expected, ErrorCode code = ErrorCode::corrupt) const {
    throw Error(code, std::move(what)).expected(std::move(expected)).at(at_ + last_).in(member_.name());
  }

  /// The next pickle's root, in values(), which lasts until the next.
  ValueId pickle() {
    last_ = next_;
    values_.clear();
    records_.last = at_ + next_;
    pickle::Program program = pickle::run(member_, next_, values_, left_);
    for (GlobalUse& global : program.globals) {
      global.offset += at_;
      records_.globals.push_back(std::move(global));
    }
    left_ -= program.end - next_;
    next_ = program.end;
    return program.root;
  }
  [[nodiscard]] const ValueGraph& values() const { return values_; }

  std::uint64_t count() {
    const ValueId id = pickle();
    if (values_.kind(id) != ValueKind::integer || values_.integer(id) < 0) fail("a count that is none", "0 or more");
    return static_cast<std::uint64_t>(values_.integer(id));
  }

  /// The next pickle, a tuple of so many.
  std::span<const ValueId> tuple(std::size_t size) {
    const ValueId id = pickle();
    if (values_.kind(id) != ValueKind::tuple || values_.items(id).size() != size)
      fail("a record that is no tuple of " + std::to_string(size), "(key, …)");
    return values_.items(id);
  }

  std::string key(ValueId id) const {
    std::string text = key_text(values_, id);
    if (text.empty()) fail("a key that is neither a number nor a text", "a key");
    return text;
  }

  std::uint64_t number(ValueId id) const {
    if (values_.kind(id) != ValueKind::integer || values_.integer(id) < 0) fail("a number that is none", "0 or more");
    return static_cast<std::uint64_t>(values_.integer(id));
  }

  template <class T>
  T raw() {
    std::array<std::byte, sizeof(T)> bytes;
    last_ = next_;
    member_.read_exactly(next_, bytes);
    next_ += sizeof(T);
    return load_le<T>(bytes.data());
  }

  [[nodiscard]] std::uint64_t next() const { return next_; }
  void skip(std::uint64_t bytes) {
    if (!in_bounds(next_, bytes, member_.size()))
      fail(std::to_string(bytes) + " bytes of elements, where " + std::to_string(member_.size() - next_) + " are left",
           "all of them", ErrorCode::truncated);
    next_ += bytes;
  }
  [[nodiscard]] bool at_end() const { return next_ >= member_.size(); }

 private:
  const ByteSource& member_;
  std::uint64_t at_;
  std::uint64_t left_;  ///< bytes that the pickles behind may take
  Records& records_;
  ValueGraph values_;
  std::uint64_t next_ = 0, last_ = 0;
};

StorageRecord read_storage(Reader& reader, std::span<const ValueId> record) {
  const ValueGraph& values = reader.values();
  StorageRecord storage;
  if (!values.is_string(record[1])) reader.fail("a storage's location that is no text", "'cpu', 'cuda:0' …");
  if (values.kind(record[2]) != ValueKind::global) reader.fail("a storage without a class", "torch.FloatStorage …");
  storage.location = values.text(record[1]);
  storage.module = values.module(record[2]);
  storage.name = values.name(record[2]);
  const auto type = storage_type(storage.module, storage.name);
  if (!type)
    reader.fail("storage class '" + storage.module + "." + storage.name + "'", "a storage class of torch",
                ErrorCode::unsupported);
  storage.dtype = type->dtype;
  storage.elements = reader.raw<std::uint64_t>();
  const auto nbytes = checked_mul<std::uint64_t>(storage.elements, dtype_size(storage.dtype));
  if (!nbytes) reader.fail(std::to_string(storage.elements) + " elements", "less than 2^64 bytes");
  storage.nbytes = *nbytes;
  storage.at = reader.next();
  reader.skip(*nbytes);
  return storage;
}

/// A list of views, whose items stand in it or are appended.
void read_views(Reader& reader, Records& records) {
  const ValueId list = reader.pickle();
  const ValueGraph& values = reader.values();
  if (values.kind(list) != ValueKind::list) reader.fail("storages are not followed by a list of views", "a list");
  values.each_operand(list, [&](ValueId id) {
    const auto view = values.items(id);
    if (values.kind(id) != ValueKind::tuple || view.size() != 4)
      reader.fail("a view that is no tuple of 4", "(key, …)");
    ViewRecord record{reader.key(view[1]), reader.number(view[2]), reader.number(view[3])};
    const auto root = records.storages.find(record.root);
    if (root == records.storages.end()) reader.fail("a view of storage '" + record.root + "'", "one that there is");
    if (!in_bounds(record.offset, record.size, root->second.elements))
      reader.fail("a view past the end of storage '" + record.root + "'",
                  "a range within " + std::to_string(root->second.elements) + " elements");
    const std::string key = reader.key(view[0]);
    if (records.storages.contains(key) || !records.views.emplace(key, std::move(record)).second)
      reader.fail("the key '" + key + "' for two storages", "one each");
  });
}

std::vector<std::int64_t> read_numbers(Reader& reader, std::int32_t count) {
  std::vector<std::int64_t> numbers;
  for (std::int32_t i = 0; i < count; ++i) numbers.push_back(reader.raw<std::int64_t>());
  return numbers;
}

}  // namespace

std::string key_text(const ValueGraph& values, ValueId id) {
  if (values.kind(id) == ValueKind::integer) return std::to_string(values.integer(id));
  const bool is_text = values.is_string(id) || values.kind(id) == ValueKind::bytes;
  const std::string_view text = is_text ? values.text(id) : std::string_view();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  return is_number ? std::to_string(number) : std::string();
}

void read_storages(const ByteSource& member, std::uint64_t at, std::uint64_t cap, Records& records) {
  Reader reader(member, at, cap, records);
  const std::uint64_t count = reader.count();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto record = reader.tuple(3);
    const std::string key = reader.key(record[0]);
    if (!records.storages.emplace(key, read_storage(reader, record)).second)
      reader.fail("the key '" + key + "' for two storages", "one each");
  }
  records.tell_views = !reader.at_end();
  if (records.tell_views) read_views(reader, records);
  if (!reader.at_end()) reader.fail("bytes behind the last storage", "the end of the member");
}

void read_tensors(const ByteSource& member, std::uint64_t at, std::uint64_t cap, Records& records) {
  Reader reader(member, at, cap, records);
  const std::uint64_t count = reader.count();
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto record = reader.tuple(3);
    const std::string key = reader.key(record[0]);
    TensorRecord tensor{reader.key(record[1]), {}};
    const auto dimensions = reader.raw<std::int32_t>();
    reader.raw<std::int32_t>();  // the count's upper half, once
    if (dimensions < 0 || static_cast<std::size_t>(dimensions) > limits::tensor_dimensions)
      reader.fail("a tensor of " + std::to_string(dimensions) + " dimensions",
                  "at most " + std::to_string(limits::tensor_dimensions), ErrorCode::limit_exceeded);
    tensor.info.shape = read_numbers(reader, dimensions);
    tensor.info.stride = read_numbers(reader, dimensions);
    tensor.info.offset = reader.raw<std::int64_t>();
    const bool has_storage = records.storages.contains(tensor.storage) || records.views.contains(tensor.storage);
    if (!has_storage) reader.fail("a tensor in storage '" + tensor.storage + "'", "one that there is");
    const bool is_storage = records.storages.contains(key) || records.views.contains(key);
    if (is_storage || !records.tensors.emplace(key, std::move(tensor)).second)
      reader.fail("the key '" + key + "' for two things", "one each");
  }
  if (!reader.at_end()) reader.fail("bytes behind the last tensor", "the end of the member");
}

}  // namespace ckpt::torch::tar
