#include <unistd.h>

#include <cerrno>

#include "ckpt/file_sink.h"
#include "io/output.h"
#include "io/output_target.h"

namespace ckpt {
namespace {

class DrySink final : public ByteSink {
 public:
  explicit DrySink(std::string name) : ByteSink(std::move(name)) {}
  void commit() override {}

 private:
  void append(std::span<const std::byte> /*bytes*/) override {}
};

}  // namespace

std::unique_ptr<ByteSink> dry_sink(const std::string& path, FileSinkOptions options) {
  if (path == "-") return std::make_unique<DrySink>("standard output");
  const OutputTarget target = open_target(path);
  require_replaceable(target, options.no_clobber);
  if (!is_permitted(target.folder_path, W_OK | X_OK)) throw output_error("cannot create", path, errno);
  return std::make_unique<DrySink>(path);
}

}  // namespace ckpt
