// Another project's program: reads a checkpoint, edits it, writes it, and catches the library's exception across the
// border of the shared library. Prints what run.py expects.
#include <ckpt/error.h>
#include <ckpt/formats.h>
#include <ckpt/ops.h>
#include <ckpt/version.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::printf("version %s\n", CKPT_VERSION);
  auto loaded = ckpt::load(argv[1]);
  auto edited = ckpt::strip_prefix(ckpt::remap(loaded, ckpt::DeviceMap::all_to("cpu"))).first;
  ckpt::save(edited, argv[2]);
  auto again = ckpt::load(argv[2]);
  for (const auto& storage : again.storages) {
    if (storage.location != "cpu") return 3;
  }
  std::printf("%s\n", ckpt::digest(again).total == ckpt::digest(edited).total ? "digests agree" : "digests differ");
  try {
    ckpt::load("no such file.pt");
  } catch (const ckpt::Error& error) {
    std::printf("caught %s\n", error.code() == ckpt::ErrorCode::io ? "io" : "something else");
  }
  return 0;
}
