#include "torchscript/layout.h"

#include <algorithm>

#include "ckpt/error.h"
#include "pickled_tensors/archive.h"

namespace ckpt::torchscript {

std::string find_root(const ZipReader& zip, const ByteSource& source) {
  const std::string& first = zip.members().empty() ? std::string() : zip.members().front().name;
  std::string root = first.substr(0, first.find('/'));
  torch::check_root(zip, root, source);
  const auto holds = [&](std::string_view name) { return zip.find(root + "/" + std::string(name)) != nullptr; };
  if (!holds(model_name) && !holds(torch::pickle_name))
    throw Error(ErrorCode::corrupt, "the archive holds code, and no model")
        .expected("member '" + root + "/data.pkl'")
        .in(source.name());
  return root;
}

std::string storage_folder_of(const ZipReader& zip, const std::string& root, std::string_view pickle) {
  std::string own = std::string(pickle.substr(0, pickle.rfind('.'))) + "/";
  if (pickle != bytecode_name) return own;
  const bool has_own = std::any_of(zip.members().begin(), zip.members().end(),
                                   [&](const ZipMember& member) { return member.name.starts_with(root + "/" + own); });
  return has_own ? own : "constants/";
}

ByteSourcePtr in_memory(const ZipReader& zip, const ZipMember& member, std::uint64_t cap) {
  const ByteSourcePtr bytes = zip.read(member);
  return memory_source(read_all(*bytes, cap), bytes->name());
}

}  // namespace ckpt::torchscript
