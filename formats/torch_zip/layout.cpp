#include "torch_zip/layout.h"

#include <utility>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"

namespace ckpt::torch {
namespace {

[[noreturn]] void refuse_torchscript(const std::string& mark, const ByteSource& source) {
  throw Error(ErrorCode::unsupported, "a TorchScript archive (it holds " + mark + ")")
      .expected("a checkpoint written by torch.save")
      .in(source.name())
      .hint("ckpt eval " + shell_word(source.name()) +
            " --arch torchscript runs it; for its weights alone, in Python: " + "torch.save(torch.jit.load(\"" +
            source.name() + "\").state_dict(), \"weights.pt\")");
}

}  // namespace

std::string find_root(const ZipReader& zip, const ByteSource& source) {
  std::vector<std::string> pickles;
  for (const ZipMember& member : zip.members()) {
    if (member.name.ends_with("/constants.pkl")) refuse_torchscript("constants.pkl and code", source);
    if (member.name.ends_with("/model.json")) refuse_torchscript("model.json, as in 2019", source);
    if (member.name.ends_with("/" + std::string(pickle_name))) pickles.push_back(member.name);
  }
  if (pickles.empty())
    throw Error(ErrorCode::unsupported, "a zip archive without a data.pkl")
        .expected("a PyTorch checkpoint")
        .in(source.name())
        .hint("unzip -l " + source.name() + " shows what it holds");
  if (pickles.size() > 1)
    throw Error(ErrorCode::corrupt, "the archive holds two pickles, '" + pickles[0] + "' and '" + pickles[1] + "'")
        .expected("one data.pkl")
        .in(source.name());
  std::string root = pickles[0].substr(0, pickles[0].find('/'));
  if (pickles[0] != root + "/" + std::string(pickle_name))
    throw Error(ErrorCode::corrupt, "the archive's pickle is '" + pickles[0] + "'")
        .expected("'" + root + "/" + std::string(pickle_name) + "'")
        .in(source.name());
  for (const ZipMember& member : zip.members())
    if (!member.name.starts_with(root + "/"))
      throw Error(ErrorCode::corrupt, "member '" + member.name + "' lies outside the folder '" + root + "'")
          .expected("one root folder")
          .at(member.header_offset)
          .in(source.name());
  if (zip.find(root + "/version") == nullptr && zip.find(root + "/.data/version") == nullptr)
    throw Error(ErrorCode::corrupt, "the archive has no member '" + root + "/version'")
        .expected("the version that torch.save writes")
        .in(source.name());
  return root;
}

void refuse_views(const Checkpoint& checkpoint) {
  for (const auto& [id, use] : checkpoint.storage_uses)
    if (!use.view_key.empty())
      throw Error(ErrorCode::corrupt,
                  "the pickle names a view of storage '" + checkpoint.storages[use.storage].key + "'")
          .expected("whole storages, as in every zip file")
          .in(checkpoint.file);
}

ByteSourcePtr find_storage(const ZipReader& zip, const std::string& root, const Storage& storage,
                           const ByteSource& source, const ReadContext& context, std::uint64_t& begin) {
  const std::string name = root + "/" + std::string(storage_folder) + storage.key;
  const ZipMember* const member = zip.find(name);
  begin = member == nullptr ? 0 : member->data_offset;
  if (member == nullptr) {
    context.report(
        Error(ErrorCode::corrupt, "the pickle names storage '" + storage.key + "', which the archive does not hold")
            .expected("member '" + name + "'")
            .in(source.name()),
        "");
    return memory_source({}, name);
  }
  if (member->size != storage.nbytes)
    context.report(Error(ErrorCode::corrupt, "member '" + name + "' holds " + std::to_string(member->size) + " bytes")
                       .expected(std::to_string(storage.nbytes) + ", as the pickle says")
                       .at(member->data_offset)
                       .in(source.name()),
                   "");
  return zip.read(*member);
}

ZipDetails::Member describe_member(std::string_view name, bool is_storage, const std::function<ByteSourcePtr()>& read) {
  using Kind = ZipDetails::Member::Kind;
  if (name == pickle_name) return {Kind::pickle, std::string(name), nullptr};
  if (is_storage) return {Kind::storage, std::string(name.substr(storage_folder.size())), nullptr};
  return {Kind::record, std::string(name), read()};
}

std::string read_text(const ByteSource& record) {
  const auto bytes = read_all(record, limits::zip_small_member);
  std::string text(as_text(bytes));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

ByteOrder parse_byte_order(const std::string& text, std::uint64_t offset, const ByteSource& source) {
  if (text == "little") return ByteOrder::little;
  if (text == "big") return ByteOrder::big;
  throw Error(ErrorCode::corrupt, "member 'byteorder' says '" + text.substr(0, 40) + "'")
      .expected("'little' or 'big'")
      .at(offset)
      .in(source.name());
}

std::optional<std::uint32_t> parse_alignment(const std::string& text) {
  const bool number = !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!number) return std::nullopt;
  const auto value = static_cast<std::uint32_t>(std::stoul(text));
  return value > 0 && value <= 65536 ? std::optional(value) : std::nullopt;
}

std::vector<std::string> archive_warnings(const ZipReader& zip) {
  std::vector<std::string> warnings;
  if (!zip.has_checksums())
    warnings.emplace_back("the archive has no checksums (every CRC is 0), so damaged bytes would not be noticed");
  if (zip.trailing_bytes() > 0)
    warnings.push_back(std::to_string(zip.trailing_bytes()) + " bytes follow the archive and are left out");
  return warnings;
}

}  // namespace ckpt::torch
