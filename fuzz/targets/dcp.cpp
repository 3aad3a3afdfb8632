#include "dcp/dcp.h"

#include <unistd.h>

#include <filesystem>
#include <string>

#include "ckpt/assemble.h"
#include "ckpt/file_sink.h"
#include "ckpt/ops.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

/// A folder that goes away with the process: `__0_0.distcp` and `__1_0.distcp` each hold, in 2,048 bytes, a torch.save
/// of two rows of four floats, and in as many more one of the number 7. `.metadata` is the input.
class Folder {
 public:
  Folder() : path_(std::filesystem::temp_directory_path() / ("ckpt-fuzz-dcp-" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(path_);
    for (const char* name : {"__0_0.distcp", "__1_0.distcp"}) {
      FileSink file((path_ / name).string());
      file.write(items());
      file.commit();
    }
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  static constexpr std::size_t item_bytes = 2048;

  static std::vector<std::byte> items() {
    WriteOptions options;
    options.format = "torch";
    TensorSource tensor{.name = {}, .dtype = DType::float32, .shape = {2, 4}};
    tensor.bytes = memory_source(std::vector<std::byte>(32, std::byte{1}), "floats");
    Checkpoint seven;
    seven.format = "torch";
    seven.root = seven.values.make_integer(7);
    std::vector<std::byte> both;
    for (const Checkpoint& item : {assemble_one(std::move(tensor)), seven}) {
      MemorySink sink;
      write(item, sink, options);
      require(sink.bytes().size() <= item_bytes, "an item is larger than its place");
      both.insert(both.end(), sink.bytes().begin(), sink.bytes().end());
      both.resize((both.size() + item_bytes - 1) / item_bytes * item_bytes);
    }
    return both;
  }

  std::filesystem::path path_;
};

/// Written as a folder again, it has the same tensors.
void check_written(const Checkpoint& before, const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
  SaveOptions options;
  options.format = "dcp";
  options.allow_unsafe = true;
  options.read_back = ReadBack::none;
  if (error_of([&] { save(before, path, options); })) return;
  Checkpoint after;
  const auto error = error_of([&] { after = load(path); });
  require(!error, std::string("what was written does not read: ") + (error ? error->what() : ""));
  require(digest(before).total == digest(after).total, "a tensor is another");
  std::filesystem::remove_all(path, ignored);
}

}  // namespace

int fuzz_dcp(const std::uint8_t* data, std::size_t size) {
  static const Folder folder;
  const auto* const bytes = reinterpret_cast<const std::byte*>(data);
  const ByteSourcePtr source = memory_source({bytes, bytes + size}, "input", folder.path());
  exercise(dcp::dcp_format, source);
  if (!recognises(dcp::dcp_format, *source)) return 0;
  Checkpoint checkpoint;
  if (error_of([&] { checkpoint = dcp::read(source, ReadContext::of(*source)); })) return 0;
  if (logical_bytes(checkpoint) <= worth_hashing) check_written(checkpoint, folder.path() + "/out");
  return 0;
}

}  // namespace ckpt::fuzz
