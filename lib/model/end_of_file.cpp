#include "end_of_file.h"

#include "ckpt/error.h"
#include "ckpt/gzip.h"

namespace ckpt {

void keep_rest(Checkpoint& checkpoint) { checkpoint.parts.push_back(checkpoint.file); }

std::string left_out(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " bytes follow " + what + " and are left out";
}

void leave_out(Checkpoint& checkpoint, std::uint64_t count, const std::string& what, const std::string& more) {
  if (count == 0) return;
  checkpoint.warnings.push_back(left_out(count, what) + more);
  keep_rest(checkpoint);
}

bool goes_on(const Checkpoint& checkpoint) {
  if (checkpoint.source == nullptr) return false;
  if (gzip_trailing_bytes(checkpoint.archive ? *checkpoint.archive : *checkpoint.source) > 0) return true;
  const auto* const end = dynamic_cast<const OpenEnd*>(checkpoint.details.get());
  return end != nullptr && end->goes_on();
}

std::vector<std::string> finish_joined(Checkpoint& checkpoint) {
  std::vector<std::string> warnings = finish_reading(checkpoint);
  for (std::string& warning : warnings) warning = checkpoint.file + ": " + warning;
  if (goes_on(checkpoint)) keep_rest(checkpoint);
  return warnings;
}

std::vector<std::string> EndOfFile::finish() const {
  const std::uint64_t size = source_->size();
  if (size < end_)
    throw Error(ErrorCode::truncated, "the file ends at byte " + std::to_string(size))
        .expected(std::to_string(end_) + " bytes")
        .at(size)
        .in(source_->name())
        .hint("the copy or download stopped early: fetch the file again");
  if (!goes_on()) return {};
  return {left_out(size - end_, what_)};
}

}  // namespace ckpt
