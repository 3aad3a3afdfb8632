#include <algorithm>

#include "container/zip_reader.h"
#include "scan/archives.h"
#include "scan/walk.h"

/// Of numbers that a tensor says it has, and its storage has not, torch shows whatever stands in memory there, or
/// writes over it: whether they are there, the format's reader knows. So it does where a sparse tensor's indices say.
namespace ckpt::scanning {
namespace {

constexpr std::string_view plain = "pickle";

/// One that torch's loaders are given as a whole.
const Format* format_of_file(const ByteSource& bytes) {
  const auto knows = [&](const Format* format) {
    return format->pickled && format->enter == nullptr && format->name != plain && recognises(*format, bytes);
  };
  const auto& all = format_table();
  const auto found = std::find_if(all.begin(), all.end(), knows);
  return found == all.end() ? nullptr : *found;
}

}  // namespace

/// Archives in a row, which torch takes for one, are none to it by themselves.
void Walk::keep_file(Part& part) {
  const Format* const format = part.role == Role::storage ? nullptr : format_of_file(*part.bytes);
  if (format == nullptr) return;
  if (part.may_be_archive) part.file = files_.size() + 1;
  files_.emplace_back(part, format);
}

/// A pickle by itself has no storages but in bytes: where others are asked for, loading it ends. One that goes on with
/// another's memo is read with that alone.
void Walk::keep_pickle(const Part& part, const pickle::Trace& trace, std::uint64_t begin) {
  if (part.role == Role::storage || trace.broken || trace.lacks) return;
  if (std::none_of(trace.names.begin(), trace.names.end(), is_loader)) return;
  Part alone = stretch(part, begin, trace.end);
  alone.file = files_.size() + 1;
  of_torch_.insert(alone.file);
  files_.emplace_back(std::move(alone), find_format(plain));
}

/// TransformerEngine unpickles the numbers of such a tensor, as it shows them: all that its storage holds has been
/// followed from its first byte on.
void Walk::judge_states(const Part& part, const Checkpoint& file) {
  const auto is_view = [](const Tensor& tensor) {
    return tensor.info.offset != 0 || tensor.view_offset != 0 || !is_contiguous(tensor.info);
  };
  if (std::none_of(file.tensors.begin(), file.tensors.end(), is_view)) return;
  for (const auto& [name, tensor] : tensor_names(file))
    if (name.find("_extra_state") != std::string::npos && is_view(*tensor))
      add_use(part, {"(tensor)", name, Verdict::unknown, 0});
}

void Walk::read_tensors() {
  for (const auto& [part, format] : files_)
    if (result_.verdict <= ScanVerdict::unknown && of_torch_.contains(part.file)) read_tensors(part, *format);
}

void Walk::read_tensors(const Part& part, const Format& format) {
  if (followed_ > limits::scan_cap(source_->size()))
    return note(Error(ErrorCode::limit_exceeded, "more files within others than are read"), part);
  try {
    const Checkpoint file = format.read(part.bytes, context_);
    if (part.depth > 0) followed_ += file.values.size();  // of bytes that may be many files'
    indices_.check(file);
    judge_states(part, file);
  } catch (const Error& error) {
    if (is_of_the_machine(error)) throw;
    // What is wrong with an archive is noted; of several in a row, each is read.
    if (!is_zip(*part.bytes) || is_one_zip(part, context_)) note(error, part);
  }
}

}  // namespace ckpt::scanning
