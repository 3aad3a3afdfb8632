#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/byte_sink.h"
#include "ckpt/byte_source.h"
#include "ckpt/checkpoint.h"
#include "ckpt/export.h"

/// Detecting, reading and writing checkpoints in any format.
///
///     auto c = ckpt::load("model.pt.gz");             // what it is, its content says
///     ckpt::save(c, "model.pt");                      // bare, as the name says
namespace ckpt {

struct FormatInfo {
  std::string name;         ///< "torch"
  std::string description;  ///< one line
  std::vector<std::string> suffixes;
  std::string loader;  ///< what opens it in Python: "torch.load"
  bool reads = false;
  bool writes = false;
  bool pickled = false;   ///< what is written holds a pickle
  bool recovers = false;  ///< what is whole of a damaged file is saved: ckpt/recover.h
};

/// The registry, in the order formats are asked.
CKPT_API std::vector<FormatInfo> formats();

/// Names of the formats whose suffix a file's name has, in any case of letters, below ".gz"; in that order.
CKPT_API std::vector<std::string> formats_by_suffix(std::string_view file);

/// What a source holds, by content alone.
struct Detection {
  std::string format;  ///< empty where no format knows it
  int gzip_layers = 0;
};

/// Throws Error: io, limit_exceeded (gzip inside gzip inside gzip).
CKPT_API Detection detect(const ByteSourcePtr& source);

/// Opens what `path` names for read(), detect() and verify(): a file ("-" is standard input), or of a folder the file
/// by which it is read: a distributed checkpoint's .metadata, an index of shards, or the only checkpoint in it.
/// Throws Error: io; invalid_argument (an empty name, a folder of several), unsupported (of none), corrupt (of a
/// distributed checkpoint without its .metadata), limit_exceeded (entries of a folder).
CKPT_API ByteSourcePtr open_checkpoint(const std::string& path);

struct ReadOptions {
  bool dequantize = false;  ///< blocks of quantised numbers (GGUF's Q8_0, Q4_0) as float32, computed when they are read
};

/// Reads a checkpoint; tensor bytes stay in the source. Of a compressed file without an index (docs/formats/gzip.md),
/// only finish_reading() knows that it is whole; whatever reads all tensors (save(), digest(), diff() …) comes to it by
/// itself. Throws Error: unsupported (named where it is recognised), corrupt, truncated, limit_exceeded, io.
CKPT_API Checkpoint read(const ByteSourcePtr& source, const ReadOptions& options = {});
/// open_checkpoint() and read().
CKPT_API Checkpoint load(const std::string& path, const ReadOptions& options = {});

struct WriteOptions {
  std::string format;  ///< empty: the checkpoint's own; of save(), what OUT's suffix says, if anything
  /// Of pickles, 0 to 5; none: the checkpoint's own, but of save() 2, as torch.save's, where a format that is only read
  /// gave it another.
  std::optional<int> protocol;
  bool allow_unsafe = false;      ///< pass dangerous globals on
  std::uint64_t shard_bytes = 0;  ///< of formats that are written in several files: of tensors a file; 0: no bound
};

/// The format in which `path` is written: where the options name none, that of its suffix, unless the checkpoint's own
/// has that suffix too; else the checkpoint's own. A file that is replaced stays what it was, by whatever path it is
/// named. Throws Error (invalid_argument) for a suffix of what is not written (`.onnx`, `.zst` …).
CKPT_API std::string format_to_save(const Checkpoint& checkpoint, std::string_view path, const WriteOptions& options);

/// Writes a checkpoint to a sink; does not commit it. What is moved here is given back as soon as it is written: of
/// tens of thousands of tensors that is a good part of the memory. Formats that are folders only save() writes. Throws
/// Error: invalid_argument (no root; options), unsafe, unsupported (by the tensor's name), io, what unpack_modules()
/// throws where another format has no place for a module, and what reading the source throws: a CRC that does not match
/// stops the copy.
CKPT_API void write(Checkpoint checkpoint, ByteSink& sink, const WriteOptions& options = {});

/// How much of a file is read again before it appears.
enum class ReadBack : std::uint8_t {
  none,
  quick,  ///< directory and pickle, and the checksums that the container records; of gzip by its index, where it has
          ///< one
  full,   ///< every byte, inflated where it was compressed: each storage's CRC-32, each tensor's name, dtype and shape
};

struct SaveOptions : WriteOptions {
  std::optional<int> gzip_level;  ///< compress at this level; none: see `gzip`
  /// None: OUT ends in ".gz", in any case of letters, or the source was (not as part of a tar), under a name
  /// without it or where OUT is "-".
  std::optional<bool> gzip;
  ReadBack read_back = ReadBack::quick;
  bool no_clobber = false;
  bool dry_run = false;  ///< all but the output: nothing appears, what would be refused is
};

struct SaveReport {
  std::string format;
  bool gzip = false;
  bool folder = false;      ///< of several files
  std::uint64_t bytes = 0;  ///< of all that was written
  bool pickled = true;      ///< its object stands in a pickle, with the globals of the checkpoint
  std::size_t tensors = 0;  ///< count_tensors() of what was written
  /// What the checkpoint has and the format cannot say, each a sentence without a full stop. Values are never among it:
  /// those that a format cannot hold are refused.
  std::vector<std::string> left_out;
  /// What reading the checkpoint to its end has told: finish_reading().
  std::vector<std::string> warnings;
  /// Names of temporaries that runs which were killed had left in the output's folder, and that are gone.
  std::vector<std::string> removed;
};

/// Writes a file whole or not at all ("-" is standard output, where a failure leaves the archive without its
/// directory; it cannot be read back, and SIGPIPE is to be ignored: ckpt/file_sink.h). Before a file appears, as much
/// of it is read back as `read_back` says and compared with what was to be written; a difference is an Error (io,
/// on_output), and the old file stands. A format of several files makes the folder `path`, which must be new or empty
/// (ckpt/folder_sink.h). Throws Error: what write() throws; invalid_argument (`path` is a part of what is read or holds
/// more; gzip or "-" for a folder), io (on_output).
CKPT_API SaveReport save(Checkpoint checkpoint, const std::string& path, const SaveOptions& options = {});

/// One thing verify() found.
struct Finding {
  bool fault = true;  ///< false: a remark (no checksum covers it)
  std::string what;
  std::string where;  ///< a member, a tensor, or empty for the file
};

/// Reads every byte and checks every size, CRC and reference; goes on after a fault. Throws Error: unsupported (a
/// format that is not recognised, or what it holds that is not read: then nothing is said of the rest), limit_exceeded
/// (gzip inside gzip inside gzip), io, out_of_memory.
CKPT_API std::vector<Finding> verify(const ByteSourcePtr& source);

}  // namespace ckpt
