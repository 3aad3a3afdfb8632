#include "datasets/checkpoint_files.h"

namespace ckpt::eval {

std::vector<std::string> files_of(const Checkpoint& checkpoint) {
  std::vector<std::string> files = checkpoint.parts;
  files.push_back(checkpoint.file);
  for (const ByteSourcePtr& source : checkpoint.beside) files.push_back(source->name());
  return files;
}

}  // namespace ckpt::eval
