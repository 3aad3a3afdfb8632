#include "torch_zip/layout.h"

#include "ckpt/error.h"
#include "container/quoted_name.h"

namespace ckpt::torch {

std::string find_root(const ZipReader& zip, const ByteSource& source) {
  std::vector<std::string> pickles;
  const std::string last_part = "/" + std::string(pickle_name);
  for (const ZipMember& member : zip.members()) {
    // torch takes it for TorchScript by that name alone.
    if (member.name.ends_with("/constants.pkl"))
      throw Error(ErrorCode::corrupt,
                  "the archive holds " + quoted_name(member.name) + " beside an object that is no module")
          .expected("what torch.save writes, or what torch.jit.save does")
          .in(source.name());
    if (member.name.ends_with(last_part)) pickles.push_back(member.name);
  }
  if (pickles.empty())
    throw Error(ErrorCode::corrupt, "the archive has no data.pkl")
        .expected("the object's pickle")
        .in(source.name())
        .hint("unzip -l " + shell_word(source.name()) + " shows what it holds");
  if (pickles.size() > 1)
    throw Error(ErrorCode::corrupt, "the archive holds two pickles, '" + pickles[0] + "' and '" + pickles[1] + "'")
        .expected("one data.pkl")
        .in(source.name());
  std::string root = pickles[0].substr(0, pickles[0].find('/'));
  if (pickles[0] != root + "/" + std::string(pickle_name))
    throw Error(ErrorCode::corrupt, "the archive's pickle is '" + pickles[0] + "'")
        .expected("'" + root + "/" + std::string(pickle_name) + "'")
        .in(source.name());
  check_root(zip, root, source);
  return root;
}

void refuse_views(const Checkpoint& checkpoint) {
  for (const auto& [id, use] : checkpoint.storage_uses)
    if (use.view != nullptr)
      throw Error(ErrorCode::corrupt,
                  "the pickle names a view of storage '" + checkpoint.storages[use.storage].key + "'")
          .expected("whole storages, as in every zip file")
          .in(checkpoint.file);
}

ZipDetails::Member describe_member(std::string_view name, bool is_storage, const std::function<ByteSourcePtr()>& read) {
  using Kind = ZipDetails::Member::Kind;
  if (name == pickle_name) return {Kind::pickle, std::string(name), nullptr};
  if (is_storage) return {Kind::storage, std::string(name.substr(storage_folder.size())), nullptr};
  return {Kind::record, std::string(name), read()};
}

}  // namespace ckpt::torch
