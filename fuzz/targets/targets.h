#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// The fuzz targets. Each takes any bytes and returns 0; what must never happen ends the process: a crash, a
/// sanitizer's finding, an exception other than ckpt::Error and std::bad_alloc, or a promise that does not hold.
namespace ckpt::fuzz {

/// Scanner, machine and emitter: what ran must emit, and what was emitted runs to the same.
int fuzz_pickle(const std::uint8_t* data, std::size_t size);
/// The reader of torch's zip files, strict and as verify() uses it.
int fuzz_torch_zip(const std::uint8_t* data, std::size_t size);
/// The reader of the files before 1.6, likewise.
int fuzz_torch_legacy(const std::uint8_t* data, std::size_t size);
/// The reader of TorchScript files and their writer: what is written again without an edit, and moved to another device
/// and back, is the same.
int fuzz_torchscript(const std::uint8_t* data, std::size_t size);
/// The readers of numpy's files, bare and as the member of an archive, and their writers.
int fuzz_numpy(const std::uint8_t* data, std::size_t size);
/// The reader of safetensors files and its writer, and that of indexes of shards; the bytes as a file, as a header and
/// as an index.
int fuzz_safetensors(const std::uint8_t* data, std::size_t size);
/// Plain pickles: arrays and files in bytes, which stay the same as tensors of a file of torch's.
int fuzz_plain_pickle(const std::uint8_t* data, std::size_t size);
/// PyTorch 0.1's files, and tar archives of anything.
int fuzz_torch_tar(const std::uint8_t* data, std::size_t size);
/// The reader of distributed checkpoints: `.metadata` of any bytes beside two files of items, and the writer.
int fuzz_dcp(const std::uint8_t* data, std::size_t size);
/// The reader of GGUF, and the numbers made of its blocks.
int fuzz_gguf(const std::uint8_t* data, std::size_t size);
/// gunzip: reading here and there gives what reading forward gives.
int fuzz_gzip(const std::uint8_t* data, std::size_t size);
/// The zip container: directory, members, their bytes.
int fuzz_zip(const std::uint8_t* data, std::size_t size);
/// What scan says of any bytes: no less than what reading them finds.
int fuzz_scan(const std::uint8_t* data, std::size_t size);
/// Pictures, as they are and with their checksums put right.
int fuzz_png(const std::uint8_t* data, std::size_t size);
/// Files of MNIST's format, in gzip or not: what is read in parts is what is read at once.
int fuzz_idx(const std::uint8_t* data, std::size_t size);
/// Read, write in a format of torch's, safetensors or npz, read again: the same. Bytes that are no checkpoint are taken
/// for a pickle, and an archive is made around it.
int fuzz_roundtrip(const std::uint8_t* data, std::size_t size);
/// In gzip, where much is read from the first byte on, a file is what it is bare, by its directory.
int fuzz_compressed(const std::uint8_t* data, std::size_t size);
/// recover(): what is whole is written and reads back, and of a sound file that is all of it.
int fuzz_recover(const std::uint8_t* data, std::size_t size);
/// The whole program: the first byte chooses a command, the rest is its file.
int fuzz_program(const std::uint8_t* data, std::size_t size);

struct Target {
  std::string_view name;
  int (*run)(const std::uint8_t* data, std::size_t size);
};

inline constexpr Target targets[] = {
    {"pickle", fuzz_pickle},
    {"torch_zip", fuzz_torch_zip},
    {"torch_legacy", fuzz_torch_legacy},
    {"torchscript", fuzz_torchscript},
    {"plain_pickle", fuzz_plain_pickle},
    {"torch_tar", fuzz_torch_tar},
    {"gzip", fuzz_gzip},
    {"zip", fuzz_zip},
    {"png", fuzz_png},
    {"idx", fuzz_idx},
    {"numpy", fuzz_numpy},
    {"safetensors", fuzz_safetensors},
    {"dcp", fuzz_dcp},
    {"gguf", fuzz_gguf},
    {"recover", fuzz_recover},
    {"scan", fuzz_scan},
    {"compressed", fuzz_compressed},
    {"roundtrip", fuzz_roundtrip},
    {"program", fuzz_program},
};

/// Null where there is none of that name.
constexpr const Target* find_target(std::string_view name) {
  for (const Target& target : targets)
    if (target.name == name) return &target;
  return nullptr;
}

}  // namespace ckpt::fuzz
