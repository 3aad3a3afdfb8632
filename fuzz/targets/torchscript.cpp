#include "torchscript/torchscript.h"

#include "ckpt/ops.h"
#include "container/zip_writer.h"
#include "io/bytes.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

using torchscript::script_format;

std::vector<std::byte> written(Checkpoint checkpoint) {
  MemorySink sink;
  WriteOptions options;
  options.allow_unsafe = true;
  script_format.write(checkpoint, sink, options);
  return sink.bytes();
}

Checkpoint read_again(const std::vector<std::byte>& bytes, const char* promise) {
  Checkpoint checkpoint;
  const auto error = error_of([&] { checkpoint = script_format.read(memory_source(bytes, "written"), {}); });
  require(!error, std::string(promise) + (error ? error->what() : ""));
  return checkpoint;
}

void check(const ByteSourcePtr& source) {
  exercise(script_format, source);
  if (!recognises(script_format, *source)) return;
  Checkpoint checkpoint;
  std::vector<std::byte> first;
  if (error_of([&] { checkpoint = script_format.read(source, {}); }) || error_of([&] { first = written(checkpoint); }))
    return;
  const Checkpoint again = read_again(first, "what was written does not read: ");
  require(written(again) == first, "written again without an edit, it is another");
  // There and back again; ids that no libtorch writes are not moved.
  Checkpoint moved = again;
  for (Storage& storage : moved.storages) storage.location += "x";
  std::vector<std::byte> there;
  if (error_of([&] { there = written(moved); })) return;
  Checkpoint back = read_again(there, "what was moved does not read: ");
  require(back.storages.size() == moved.storages.size(), "a move changes the number of storages");
  for (std::size_t i = 0; i < back.storages.size(); ++i)
    require(back.storages[i].location == moved.storages[i].location, "a storage is not where it was moved to");
  if (logical_bytes(again) > worth_hashing) return;
  std::string before;
  if (error_of([&] { before = digest(again).total; })) return;  // quantised in a way that nobody knows
  require(digest(back).total == before, "a move changes a tensor");
}

/// The archive that chance would hardly make: `data` as the member `name`.
void check_within(const ByteSource& data, std::string_view name) {
  MemorySink sink;
  ZipWriter zip(sink);
  const auto text = [&](std::string_view member, std::string_view bytes) { zip.add(member, as_bytes(bytes)); };
  text("r/data/0", std::string_view("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 16));
  text("r/tensors/0", std::string_view("\0\0\0\0\0\0\x80\x3f\0\0\0\x40\0\0\x40\x40", 16));
  if (name != "r/data.pkl" && name != "r/model.json") text("r/data.pkl", "\x80\x02}.");
  if (name != "r/constants.pkl") text("r/constants.pkl", "\x80\x02).");
  if (name != "r/code/__torch__.py") text("r/code/__torch__.py", "class Net(Module):\n  __parameters__ = [\"w\", ]\n");
  text("r/version", "3\n");
  zip.add(name, data);
  zip.finish();
  check(memory_source(sink.bytes(), "archive"));
}

}  // namespace

int fuzz_torchscript(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr source = source_of(data, size);
  check(source);
  for (const char* name : {"r/data.pkl", "r/model.json", "r/code/__torch__.py"}) check_within(*source, name);
  return 0;
}

}  // namespace ckpt::fuzz
