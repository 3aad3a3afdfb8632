#include "end_of_file.h"

#include "ckpt/error.h"

namespace ckpt {

std::vector<std::string> EndOfFile::finish() const {
  const std::uint64_t size = source_->size();
  if (size < end_)
    throw Error(ErrorCode::truncated, "the file ends at byte " + std::to_string(size))
        .expected(std::to_string(end_) + " bytes")
        .at(size)
        .in(source_->name())
        .hint("the copy or download stopped early: fetch the file again");
  if (size - end_ < padding_) return {};
  return {std::to_string(size - end_) + " bytes follow " + what_ + " and are left out"};
}

}  // namespace ckpt
