#include <memory>

#include "ckpt/error.h"
#include "ckpt/file_sink.h"
#include "ckpt/gzip.h"
#include "format.h"

namespace ckpt {
namespace {

const Format& format_to_write(const Checkpoint& checkpoint, const WriteOptions& options) {
  const std::string& name = options.format.empty() ? checkpoint.format : options.format;
  const Format* const format = find_format(name);
  std::string known;
  for (const Format* each : format_table())
    if (each->write != nullptr) known += (known.empty() ? "" : ", ") + std::string(each->name);
  if (format == nullptr) throw Error(ErrorCode::invalid_argument, "no format is called '" + name + "'").expected(known);
  if (format->write == nullptr)
    throw Error(ErrorCode::unsupported, "format '" + name + "' is read only").expected(known);
  if (options.protocol && (*options.protocol < 0 || *options.protocol > 5))
    throw Error(ErrorCode::invalid_argument, "pickle protocol " + std::to_string(*options.protocol)).expected("0 to 5");
  return *format;
}

WriteReceipt write_with(const Format& format, const Checkpoint& checkpoint, ByteSink& sink,
                        const WriteOptions& options) {
  try {
    WriteReceipt receipt = format.write(checkpoint, sink, options);
    finish_reading(checkpoint);
    return receipt;
  } catch (Error& error) {
    throw error.is_output() ? error : error.in(checkpoint.file);
  }
}

bool ends_in_gz(std::string_view name) { return name.ends_with(".gz"); }

/// Whether OUT is to be compressed: an option says so, else OUT's suffix (or that it lost IN's), else it stays as it
/// was.
bool wants_gzip(const Checkpoint& checkpoint, const std::string& path, const SaveOptions& options) {
  if (options.gzip_level) return true;
  if (options.gzip) return *options.gzip;
  if (path == "-") return checkpoint.gzip;
  if (ends_in_gz(path)) return true;
  return checkpoint.gzip && !ends_in_gz(checkpoint.file);
}

/// Reads the directory and the pickle of what was written, and compares.
void check_written(const Format& format, const Checkpoint& checkpoint, const ByteSourcePtr& written,
                   const WriteReceipt& receipt) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorCode::io, "what was written does not read back: " + what)
        .in(written->name())
        .on_output()
        .hint("the target's disk may be failing; nothing was replaced");
  };
  try {
    const Checkpoint back = format.read(written, {});
    if (back.tensors.size() != checkpoint.tensors.size()) fail("another number of tensors");
    for (const Storage& storage : back.storages) {
      const auto crc = receipt.find(storage.key);
      if (crc != receipt.end() && storage.bytes->recorded_crc32() != crc->second)
        fail("storage '" + storage.key + "' has another CRC");
    }
  } catch (const Error& error) {
    if (error.is_output() || error.code() == ErrorCode::out_of_memory) throw;
    fail(error.what());
  }
}

}  // namespace

void write(const Checkpoint& checkpoint, ByteSink& sink, const WriteOptions& options) {
  write_with(format_to_write(checkpoint, options), checkpoint, sink, options);
}

SaveReport save(const Checkpoint& checkpoint, const std::string& path, const SaveOptions& options) {
  const Format& format = format_to_write(checkpoint, options);
  SaveReport report{.format = std::string(format.name), .gzip = wants_gzip(checkpoint, path, options), .bytes = 0};
  std::unique_ptr<ByteSink> sink;
  FileSink* file = nullptr;
  if (path == "-") {
    sink = standard_output();
  } else {
    auto owned = std::make_unique<FileSink>(path, FileSinkOptions{options.no_clobber});
    file = owned.get();
    sink = std::move(owned);
  }
  if (report.gzip) {
    const auto gzip = gzip_sink(*sink, options.gzip_level.value_or(gzip_default_level));
    write_with(format, checkpoint, *gzip, options);
    gzip->commit();
  } else {
    const WriteReceipt receipt = write_with(format, checkpoint, *sink, options);
    if (file != nullptr) check_written(format, checkpoint, file->read_back(), receipt);
  }
  report.bytes = sink->offset();
  sink->commit();
  return report;
}

}  // namespace ckpt
