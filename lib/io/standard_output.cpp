#include <unistd.h>

#include "ckpt/file_sink.h"
#include "io/output.h"

namespace ckpt {
namespace {

constexpr auto shown_name = "standard output";

class StandardOutput final : public ByteSink {
 public:
  StandardOutput() : ByteSink(shown_name), output_(STDOUT_FILENO, shown_name) {}
  void commit() override { output_.flush(); }

 private:
  std::span<std::byte> prepare() override { return output_.room(); }
  void append_prepared(std::size_t count) override { output_.advance(count); }

  BufferedOutput output_;
};

}  // namespace

std::unique_ptr<ByteSink> standard_output() { return std::make_unique<StandardOutput>(); }

}  // namespace ckpt
