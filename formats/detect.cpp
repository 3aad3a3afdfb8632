#include <algorithm>

#include "ckpt/error.h"
#include "ckpt/gzip.h"
#include "ckpt/limits.h"
#include "container/tar_reader.h"
#include "foreign.h"
#include "format.h"
#include "io/indexed_gzip_source.h"
#include "opened.h"

namespace ckpt {
namespace {

/// Takes one layer of gzip off. Returns how many bytes it may come to that lies within another, where that is known.
std::uint64_t take_gzip_off(Opened& opened, std::uint64_t left, const GzipReader& reader) {
  if (opened.gzip_layers() == limits::gzip_depth)
    throw Error(ErrorCode::limit_exceeded, "gzip within gzip within gzip")
        .expected("at most " + std::to_string(limits::gzip_depth) + " layers")
        .in(opened.bytes->name())
        .hint("gzip -dc " + shell_word(opened.bytes->name()) + " > OUT takes the outer layer off");
  // One layer cannot grow past the ratio; two could, a million times over.
  const bool is_within = opened.gzip_layers() > 0;
  if (is_within && left == 0)
    throw Error(ErrorCode::limit_exceeded, "what is gzip within gzip may come to more than is looked through")
        .expected("at most " + std::to_string(limits::inflated_ratio) + " times the file, and " +
                  std::to_string(limits::inflated_floor));
  const bool is_known = is_within && opened.bytes->size_is_known();
  const std::uint64_t most = is_known ? limits::most_inflated(opened.bytes->size()) : 0;
  opened.compressed.push_back(opened.bytes);
  opened.bytes = reader(opened.bytes, is_within ? left : UINT64_MAX);
  return most;
}

}  // namespace

bool recognises(const Format& format, const ByteSource& source) {
  try {
    return format.probe(source);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    return false;
  }
}

void open_gzip(Opened& opened, std::uint64_t& left, const GzipReader& reader) {
  std::uint64_t most = 0;  // that a member comes to which is gzip within gzip
  while (is_gzip(*opened.bytes)) most = take_gzip_off(opened, left, reader);
  for (const Format* format : format_table()) {
    if (!recognises(*format, *opened.bytes)) continue;
    opened.format = format;
    break;
  }
  // Of an archive's members, each may be such a file. How far one was read that has not met its end, nobody knows.
  if (opened.format == nullptr && most > 0)
    left -= std::min(left, opened.bytes->size_is_known() ? opened.bytes->size() : most);
}

Opened open_layers(const ByteSourcePtr& source, const GzipReader& reader, bool is_surely_gzip) {
  Opened opened{.bytes = source};
  std::uint64_t left = limits::inflated_cap(source->size());
  if (is_surely_gzip) take_gzip_off(opened, left, reader);
  open_gzip(opened, left, reader);
  if (opened.format == nullptr && is_tar(*opened.bytes)) open_archive(opened, left, reader);
  return opened;
}

Detection detect(const ByteSourcePtr& source) {
  const Opened opened = open_layers(source);
  return {opened.format == nullptr ? std::string() : std::string(opened.format->name), opened.gzip_layers()};
}

std::string archive_remark(const Opened& opened) {
  return "the checkpoint is member '" + opened.member + "' of a tar archive, whose other files are left out";
}

Checkpoint read_opened(const Opened& opened, const ReadContext& context) {
  if (opened.refusal) throw *opened.refusal;
  if (opened.format == nullptr) throw foreign_file(*opened.bytes);
  ReadContext inside = context;
  if (opened.archive) inside.folder.clear();  // what lies beside an archive is none of its members' business
  Checkpoint checkpoint = opened.format->read(opened.bytes, inside);
  checkpoint.gzip = opened.gzip_layers() > 0;
  checkpoint.source = opened.bytes;
  checkpoint.archive = opened.archive;
  if (opened.archive) checkpoint.warnings.push_back(archive_remark(opened));
  if (opened.gzip_layers() > 1)
    checkpoint.warnings.push_back("it lies in " + std::to_string(opened.gzip_layers()) +
                                  " layers of gzip, of which what is written has one at most");
  return checkpoint;
}

void check_gzip(const Opened& opened, const ReadContext& context) {
  for (const ByteSourcePtr& file : opened.compressed)
    check_gzip_members(*file, [&](const Error& error) { context.report(error, ""); });
}

Checkpoint read(const ByteSourcePtr& source, const ReadOptions& options) {
  try {
    Checkpoint checkpoint = read_opened(open_layers(source), ReadContext::of(*source, options));
    checkpoint.file = source->name();
    if (checkpoint.archive || !checkpoint.beside.empty()) checkpoint.parts.push_back(checkpoint.file);
    for (const ByteSourcePtr& file : checkpoint.beside) checkpoint.parts.push_back(file->name());
    return checkpoint;
  } catch (Error& error) {
    throw error.in(source->name());
  }
}

Checkpoint load(const std::string& path, const ReadOptions& options) { return read(open_checkpoint(path), options); }

}  // namespace ckpt
