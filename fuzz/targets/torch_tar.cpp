#include "torch_tar/torch_tar.h"

#include "ckpt/formats.h"
#include "container/tar_reader.h"
#include "io/stream.h"
#include "targets/input.h"
#include "targets/reading.h"
#include "targets/targets.h"

namespace ckpt::fuzz {

int fuzz_torch_tar(const std::uint8_t* data, std::size_t size) {
  const ByteSourcePtr source = source_of(data, size);
  exercise(torch::tar_format, source);
  if (!is_tar(*source)) return 0;
  error_of([&] {
    for (const TarMember& member : read_tar(*source)) {
      require(member.offset <= size && member.size <= size - member.offset, "a member past the archive's end");
      stream_all(*open_tar_member(source, member), [](auto) {});
    }
  });
  // As an archive around a checkpoint.
  error_of([&] { static_cast<void>(read(source)); });
  return 0;
}

}  // namespace ckpt::fuzz
