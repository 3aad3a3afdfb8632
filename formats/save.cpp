#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <optional>
#include <system_error>

#include "ckpt/error.h"
#include "ckpt/file_sink.h"
#include "ckpt/gzip.h"
#include "ckpt/modules.h"
#include "format.h"
#include "io/posix.h"
#include "model/end_of_file.h"
#include "model/rooted.h"
#include "read_back.h"
#include "suffix.h"

namespace ckpt {
namespace {

bool is_written(const Format& format) { return format.write != nullptr || format.write_folder != nullptr; }

const Format& format_to_write(const Checkpoint& checkpoint, const WriteOptions& options) {
  require_root(checkpoint);
  const std::string& name = options.format.empty() ? checkpoint.format : options.format;
  const Format* const format = find_format(name);
  std::string known;
  for (const Format* each : format_table())
    if (is_written(*each)) known += (known.empty() ? "" : ", ") + std::string(each->name);
  if (format == nullptr) throw Error(ErrorCode::invalid_argument, "no format is called '" + name + "'").expected(known);
  if (!is_written(*format))
    throw Error(ErrorCode::unsupported, "format '" + name + "' is read only")
        .expected(known)
        .hint("--format torch, or a name for OUT that ends in .pt");
  if (options.protocol && (*options.protocol < 0 || *options.protocol > 5))
    throw Error(ErrorCode::invalid_argument, "pickle protocol " + std::to_string(*options.protocol)).expected("0 to 5");
  return *format;
}

/// What cannot be told must not be replaced.
Error untold(const std::string& name, bool is_output) {
  Error error(ErrorCode::io, "cannot tell whether it is both read and written: " + system_words(errno));
  if (is_output) error.on_output();
  return error.in(name);
}

/// What is there of that name; none where nothing is. Throws untold().
std::optional<struct stat> status_of(const std::string& path, bool is_output) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno == ENOENT || errno == ENOTDIR || errno == ENAMETOOLONG) return std::nullopt;
  throw untold(path, is_output);
}

/// The same of standard input or output.
std::optional<struct stat> status_of(int stream) {
  struct stat status {};
  if (::fstat(stream, &status) == 0) return status;
  if (errno == EBADF) return std::nullopt;
  throw untold(stream == STDIN_FILENO ? "standard input" : "standard output", stream == STDOUT_FILENO);
}

/// Whether what is written to `path` would land in the file `read`, by whatever names.
bool lands_in(const std::string& path, const std::string& read) {
  const auto written = path == "-" ? status_of(STDOUT_FILENO) : status_of(path, true);
  if (!written || !S_ISREG(written->st_mode)) return false;
  const auto is_it = [&](const std::optional<struct stat>& other) {
    return other && other->st_dev == written->st_dev && other->st_ino == written->st_ino;
  };
  // A file may be called as that stream is.
  return is_it(status_of(read, false)) || (read == "standard input" && is_it(status_of(STDIN_FILENO)));
}

/// Whether `path` leads to the file that was read, however the two are spelt. (Under another hard link of it a new file
/// appears.)
bool is_replaced(const std::string& path, const std::string& read) {
  if (path == read || path == "-") return path == read;
  std::error_code none, none_either;
  const auto out = std::filesystem::canonical(path, none), in = std::filesystem::canonical(read, none_either);
  return !none && !none_either && out == in;
}

Error loses_rest(const std::string& file) {
  return Error(ErrorCode::invalid_argument, "holds more than the checkpoint, which would be lost")
      .expected("another OUT")
      .in(file)
      .hint("ckpt convert " + shell_word(file) + " OTHER makes another of the checkpoint alone");
}

/// Write: format.write() or format.write_folder(), to the sink of either, which replaces `target`. Nothing is left of
/// the checkpoint, whose memory is as much as that of what is read back, and whose file must not be open when it is
/// replaced: on SMB that fails, and has cost both files (Linux before 6.17).
template <class Write, class Sink>
WriteReceipt write_with(Write write, Checkpoint& checkpoint, Sink& sink, const WriteOptions& options,
                        const std::string& target, std::vector<std::string>& warnings) {
  try {
    WriteReceipt receipt = write(checkpoint, sink, options);
    warnings = finish_reading(checkpoint);
    if (goes_on(checkpoint) && lands_in(target, checkpoint.file)) throw loses_rest(checkpoint.file);
    checkpoint = Checkpoint();
    return receipt;
  } catch (Error& error) {
    throw error.is_output() ? error : error.in(checkpoint.file);
  }
}

/// A module that is tied to its file's code has no place in another format; its state dict has.
bool loses_module(const Format& format, const Checkpoint& checkpoint) {
  return format.name != checkpoint.format && whole_module(checkpoint).has_value();
}

/// Whether OUT is to be compressed: an option says so, else OUT's suffix (or that it lost IN's), else it stays as it
/// was.
bool wants_gzip(const Checkpoint& checkpoint, const std::string& path, const SaveOptions& options) {
  if (options.gzip_level) return true;
  if (options.gzip) return *options.gzip;
  const bool was = checkpoint.gzip && !checkpoint.archive;  // else it is the archive that was compressed
  if (path == "-") return was;
  if (ends_in_gz(path)) return true;
  return was && !ends_in_gz(checkpoint.file);
}

/// A file that is read may be replaced as a whole by what is made of it, but not where others need it or would go with
/// it, and nothing is written into it while it is read.
void refuse_to_lose_input(const Checkpoint& checkpoint, const std::string& path) {
  const auto refuse = [&](const std::string& what, const std::string& expected, const std::string& hint) {
    throw Error(ErrorCode::invalid_argument, what)
        .expected(expected)
        .in(path == "-" ? checkpoint.file : path)
        .hint(hint);
  };
  if (path == "-" && lands_in(path, checkpoint.file))
    refuse("is read, and standard output would be written into it", "another file", "name another OUT");
  if (checkpoint.archive && lands_in(path, checkpoint.file))
    refuse("is a tar archive, and would be replaced by the checkpoint in it alone", "another OUT",
           "tar xf " + shell_word(checkpoint.file) + " gives the file to change");
  if (std::any_of(checkpoint.parts.begin(), checkpoint.parts.end(),
                  [&](const std::string& part) { return lands_in(path, part); })) {
    if (std::ranges::all_of(checkpoint.parts, [&](const std::string& part) { return part == checkpoint.file; }))
      throw loses_rest(path);
    refuse("is a part of what is read or holds more, which would be lost", "another OUT",
           "name another file, outside its folder");
  }
}

/// A pickle that is only read may be of any protocol. torch.save's own is 2.
std::optional<int> protocol_of(const Checkpoint& checkpoint) {
  const Format* const source = find_format(checkpoint.format);
  const bool is_kept = source == nullptr || is_written(*source) || !checkpoint.pickled || checkpoint.protocol == 2;
  return is_kept ? std::nullopt : std::optional(2);
}

/// Where a pickle is written that keeps numpy's arrays, they are no tensors in it.
void tell_of_arrays(const Checkpoint& checkpoint, SaveReport& report) {
  const auto count = std::count_if(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                                   [](const Tensor& tensor) { return tensor.array; });
  if (!report.pickled || count == 0) return;
  report.left_out.push_back(std::to_string(count) +
                            (count == 1 ? " array of numpy's stays" : " arrays of numpy's stay") + " what " +
                            (count == 1 ? "it is" : "they are") +
                            ", and no tensor to torch; ckpt convert --weights-only makes tensors of a state dict's");
}

/// Texts beside the tensors; that PyTorch wrote the file ("format": "pt") is no loss.
void tell_of_metadata(const Checkpoint& checkpoint, const Format& format, SaveReport& report) {
  const auto is_lost = [&](const auto& entry) {
    return entry.first != "format" && !(format.keeps_metadata && is_text_entry(entry));
  };
  const auto count = std::count_if(checkpoint.metadata.begin(), checkpoint.metadata.end(), is_lost);
  if (count == 0) return;
  report.left_out.push_back(std::to_string(count) +
                            (count == 1 ? " entry of metadata is left out" : " entries of metadata are left out") +
                            (format.keeps_metadata ? ": bytes that are no UTF-8" : ""));
}

void save_file(const Format& format, Checkpoint& checkpoint, const std::string& path, const SaveOptions& options,
               SaveReport& report) {
  report.gzip = wants_gzip(checkpoint, path, options);
  std::unique_ptr<ByteSink> sink;
  FileSink* file = nullptr;
  if (options.dry_run) {
    sink = dry_sink(path, {options.no_clobber});
  } else if (path == "-") {
    sink = standard_output();
  } else {
    auto owned = std::make_unique<FileSink>(
        path, FileSinkOptions{options.no_clobber, path == checkpoint.file || lands_in(path, checkpoint.file)});
    file = owned.get();
    report.removed = file->removed();
    sink = std::move(owned);
  }
  const Expected expected(format, checkpoint, options.read_back);
  const auto read_back = [&](const WriteReceipt& receipt) {
    if (file == nullptr || options.read_back == ReadBack::none) return;
    check_read_back(
        format, expected, [&] { return file->read_back(); }, report.gzip, receipt);
  };
  if (report.gzip) {
    const GzipOptions gzip_options{.level = options.gzip_level.value_or(gzip_default_level),
                                   .copies = !options.gzip_level};
    const auto gzip = gzip_sink(*sink, gzip_options);
    const WriteReceipt receipt = write_with(format.write, checkpoint, *gzip, options, path, report.warnings);
    gzip->commit();
    read_back(receipt);
  } else {
    read_back(write_with(format.write, checkpoint, *sink, options, path, report.warnings));
  }
  report.bytes = sink->offset();
  sink->commit();
}

void save_folder(const Format& format, Checkpoint& checkpoint, const std::string& path, const SaveOptions& options,
                 SaveReport& report) {
  const auto refuse = [&](std::string what, std::string hint) {
    return Error(ErrorCode::invalid_argument, std::move(what)).in(checkpoint.file).hint(std::move(hint));
  };
  const std::string name(format.name);
  if (path == "-") throw refuse("'" + name + "' is a folder of files, and no stream", "name the folder to be made");
  FolderSink sink(path, {options.no_clobber, options.dry_run});  // a file in gzip that is there is refused as a file
  if (options.gzip_level || options.gzip.value_or(false))
    throw refuse("'" + name + "' is a folder of files, which is not compressed", "leave --gzip out");
  if (ends_in_gz(std::string_view(path).substr(0, path.find_last_not_of('/') + 1)))
    throw refuse("'" + name + "' is a folder of files, which is not compressed", "a name for it without .gz");
  report.removed = sink.removed();
  const Expected expected(format, checkpoint, options.read_back);
  const WriteReceipt receipt = write_with(format.write_folder, checkpoint, sink, options, path, report.warnings);
  if (!options.dry_run && options.read_back != ReadBack::none)
    check_read_back(
        format, expected, [&] { return open_checkpoint(sink.path()); }, false, receipt);
  report.bytes = sink.bytes();
  sink.commit();
}

/// What these ask for, as foreign_compressions do, is not written, and a file of that name would be taken for it.
constexpr std::string_view foreign_formats[] = {".onnx", ".h5",      ".hdf5", ".keras", ".tflite",
                                                ".pb",   ".msgpack", ".json", ".7z"};

}  // namespace

std::string format_to_save(const Checkpoint& checkpoint, std::string_view path, const WriteOptions& options) {
  if (!options.format.empty()) return options.format;
  if (is_replaced(std::string(path), checkpoint.file)) return checkpoint.format;
  const std::string_view compression = suffix_among(path, foreign_compressions);
  if (const std::string_view suffix = compression.empty() ? suffix_among(path, foreign_formats) : compression;
      !suffix.empty())
    throw Error(ErrorCode::invalid_argument, "'" + std::string(suffix) + "' is of a format that ckpt does not write")
        .expected("one that ckpt formats lists")
        .in(std::string(path))
        .hint("name OUT OTHER.pt, say; ckpt convert --format NAME writes NAME whatever OUT is called");
  const std::vector<std::string> suggested = formats_by_suffix(path);
  const bool is_its_own = std::ranges::find(suggested, checkpoint.format) != suggested.end();
  return is_its_own || suggested.empty() ? checkpoint.format : suggested.front();
}

void write(Checkpoint checkpoint, ByteSink& sink, const WriteOptions& options) {
  const Format& format = format_to_write(checkpoint, options);
  if (loses_module(format, checkpoint)) return write(unpack_modules(checkpoint), sink, options);
  if (format.write == nullptr)
    throw Error(ErrorCode::unsupported, "format '" + std::string(format.name) + "' is a folder of files")
        .expected("a format of one file")
        .in(checkpoint.file);
  std::vector<std::string> warnings;
  write_with(format.write, checkpoint, sink, options, "", warnings);
}

SaveReport save(Checkpoint checkpoint, const std::string& path, const SaveOptions& options) {
  refuse_to_lose_input(checkpoint, path);
  SaveOptions chosen = options;
  chosen.format = format_to_save(checkpoint, path, options);
  const Format& format = format_to_write(checkpoint, chosen);
  if (loses_module(format, checkpoint)) {
    chosen.format = format.name;
    SaveReport report = save(unpack_modules(std::move(checkpoint)), path, chosen);
    report.left_out.emplace_back("the module's code and all that its state_dict() does not give are left out");
    return report;
  }
  if (!chosen.protocol) chosen.protocol = protocol_of(checkpoint);
  SaveReport report{.format = std::string(format.name),
                    .gzip = false,
                    .folder = format.write_folder != nullptr,
                    .bytes = 0,
                    .pickled = format.pickled,
                    .left_out = format.losses == nullptr ? std::vector<std::string>() : format.losses(checkpoint)};
  report.tensors = count_tensors(checkpoint);  // now: what cannot be counted is not half a success
  tell_of_arrays(checkpoint, report);
  tell_of_metadata(checkpoint, format, report);
  try {
    if (format.write_folder != nullptr)
      save_folder(format, checkpoint, path, chosen, report);
    else
      save_file(format, checkpoint, path, chosen, report);
  } catch (Error& error) {
    for (const std::string& name : report.removed) error.detail(say_removed(name));
    throw;
  }
  return report;
}

}  // namespace ckpt
