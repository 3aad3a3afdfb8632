#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "ckpt/error.h"
#include "format.h"
#include "io/paths.h"
#include "io/stream.h"
#include "opened.h"

namespace ckpt {
namespace {

/// A place in a file that lies at another.
std::string located(const std::string& place, const std::string& where) {
  return place.empty() || where.empty() ? place + where : place + ": " + where;
}

}  // namespace

ReadContext ReadContext::of(const ByteSource& source, const ReadOptions& options) {
  return {.pickle_cap = limits::pickle_cap(source.size()),
          .inflated_cap = limits::inflated_cap(source.size()),
          .options = options,
          .folder = source.folder()};
}

Checkpoint ReadContext::open(const ByteSourcePtr& source, const std::string& where) const {
  ReadContext context = *this;
  context.depth = depth + 1;
  context.place = located(place, where);
  context.folder.clear();  // else files could name each other without end
  context.pickle_cap = std::min(pickle_cap, limits::nested_pickle_cap(source->size()));
  try {
    if (context.depth > limits::nesting)
      throw Error(ErrorCode::limit_exceeded, "a file within more than " + std::to_string(limits::nesting) + " others");
    const Opened opened = open_layers(source, findings == nullptr ? gunzip_by_index : gunzip);
    Checkpoint checkpoint = read_opened(opened, context);
    if (findings != nullptr) check_gzip(opened, context);
    return checkpoint;
  } catch (Error& error) {
    throw error.within(where);
  }
}

std::optional<std::string> ReadContext::path_beside(const std::string& name) const {
  if (!stays_inside(name))
    throw Error(ErrorCode::corrupt, "it names '" + name + "' as a part of itself").expected("a file in its own folder");
  if (folder.empty())
    throw Error(ErrorCode::unsupported, "it names '" + name + "', which lies beside it")
        .expected("a file in a folder, and not a stream or a part of another file")
        .hint("give ckpt the folder or the file by its path");
  const std::string path = folder == "/" ? "/" + name : folder + "/" + name;
  if (::access(path.c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  return path;
}

ByteSourcePtr ReadContext::open_beside(const std::string& name) const {
  const auto path = path_beside(name);
  return path ? files->open(*path) : nullptr;
}

void ReadContext::report(const Error& error, const std::string& where) const {
  if (findings == nullptr || is_of_the_machine(error)) throw error;
  findings->push_back({true, error.what(), located(place, where)});
}

void ReadContext::remark(std::string what, const std::string& where) const {
  if (findings != nullptr) findings->push_back({false, std::move(what), located(place, where)});
}

void ReadContext::remark_dangers(const std::vector<GlobalUse>& globals) const {
  for (const GlobalUse& global : globals)
    if (global.verdict == Verdict::dangerous)
      remark("the pickle calls for " + global.module + "." + global.name + " (dangerous), at byte " +
             std::to_string(global.offset));
}

void ReadContext::check_bytes(const ByteSource& bytes, const std::string& where) const {
  if (findings == nullptr) return;
  try {
    check_all(bytes);
  } catch (const Error& error) {
    report(error, where);
  }
}

bool has_faults(std::span<const Finding> findings) {
  return std::any_of(findings.begin(), findings.end(), [](const Finding& finding) { return finding.fault; });
}

}  // namespace ckpt
