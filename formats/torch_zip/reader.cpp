#include <algorithm>
#include <map>
#include <unordered_map>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/zip_reader.h"
#include "io/bytes.h"
#include "torch_common/read_pickle.h"
#include "torch_common/tensors.h"
#include "torch_zip/details.h"
#include "torch_zip/torch_zip.h"

namespace ckpt::torch {
namespace {

constexpr std::string_view pickle_name = "data.pkl";
constexpr std::string_view storage_folder = "data/";

[[noreturn]] void refuse_torchscript(const std::string& mark, const ByteSource& source) {
  throw Error(ErrorCode::unsupported, "a TorchScript archive (it holds " + mark + ")")
      .expected("a checkpoint written by torch.save")
      .in(source.name())
      .hint("in Python: torch.save(torch.jit.load(\"" + source.name() + "\").state_dict(), \"weights.pt\")");
}

/// The folder that holds data.pkl; every member must lie in it.
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
  return root;
}

std::string read_text(const ZipReader& zip, const ZipMember& member) {
  const auto bytes = read_all(*zip.read(member), limits::zip_small_member);
  std::string text(as_text(bytes));
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text;
}

ByteOrder read_byte_order(const ZipReader& zip, const std::string& root, const ByteSource& source) {
  const ZipMember* const member = zip.find(root + "/byteorder");
  if (member == nullptr) return ByteOrder::little;  // torch before 2.0 wrote none
  const std::string order = read_text(zip, *member);
  if (order == "little") return ByteOrder::little;
  if (order == "big") return ByteOrder::big;
  throw Error(ErrorCode::corrupt, "member 'byteorder' says '" + order.substr(0, 40) + "'")
      .expected("'little' or 'big'")
      .at(member->data_offset)
      .in(source.name());
}

/// Gives each storage its member, in the order of the file, and renumbers the uses accordingly.
void attach_storages(Checkpoint& checkpoint, const ZipReader& zip, const std::string& root, ByteOrder order,
                     const ReadContext& context) {
  for (const auto& [id, use] : checkpoint.storage_uses)
    if (!use.view_key.empty())
      throw Error(ErrorCode::corrupt,
                  "the pickle names a view of storage '" + checkpoint.storages[use.storage].key + "'")
          .expected("whole storages, as in every zip file")
          .in(checkpoint.file);
  const auto count = checkpoint.storages.size();
  std::vector<std::pair<std::uint64_t, std::uint32_t>> by_offset;
  for (std::uint32_t i = 0; i < count; ++i) {
    Storage& storage = checkpoint.storages[i];
    storage.byte_order = order;
    const std::string name = root + "/" + std::string(storage_folder) + storage.key;
    const ZipMember* const member = zip.find(name);
    if (member == nullptr) {
      context.report(
          Error(ErrorCode::corrupt, "the pickle names storage '" + storage.key + "', which the archive does not hold")
              .expected("member '" + name + "'")
              .in(checkpoint.file),
          "");
      storage.bytes = memory_source({}, name);
      by_offset.emplace_back(0, i);
      continue;
    }
    if (member->size != storage.nbytes)
      context.report(Error(ErrorCode::corrupt, "member '" + name + "' holds " + std::to_string(member->size) + " bytes")
                         .expected(std::to_string(storage.nbytes) + ", as the pickle says")
                         .at(member->data_offset)
                         .in(checkpoint.file),
                     "");
    storage.bytes = zip.read(*member);
    by_offset.emplace_back(member->data_offset, i);
  }
  std::sort(by_offset.begin(), by_offset.end());
  std::vector<std::uint32_t> place(count);
  std::vector<Storage> ordered;
  ordered.reserve(count);
  for (const auto& [offset, index] : by_offset) {
    place[index] = static_cast<std::uint32_t>(ordered.size());
    ordered.push_back(std::move(checkpoint.storages[index]));
  }
  checkpoint.storages = std::move(ordered);
  for (auto& [id, use] : checkpoint.storage_uses) use.storage = place[use.storage];
}

std::shared_ptr<ZipDetails> describe(const Checkpoint& checkpoint, const ZipReader& zip, const std::string& root) {
  auto details = std::make_shared<ZipDetails>();
  details->root = root;
  details->members.reserve(zip.members().size());
  std::unordered_map<std::string_view, bool> keys;
  for (const Storage& storage : checkpoint.storages) keys[storage.key] = true;
  for (const ZipMember& member : zip.members()) {
    const std::string name = member.name.substr(root.size() + 1);
    const std::string_view key = std::string_view(name).starts_with(storage_folder)
                                     ? std::string_view(name).substr(storage_folder.size())
                                     : std::string_view();
    if (name == pickle_name)
      details->members.push_back({ZipDetails::Member::Kind::pickle, name, nullptr});
    else if (!key.empty() && keys.contains(key))
      details->members.push_back({ZipDetails::Member::Kind::storage, std::string(key), nullptr});
    else
      details->members.push_back({ZipDetails::Member::Kind::record, name, zip.read(member)});
    if (name == ".storage_alignment") {
      const std::string text = read_text(zip, member);
      const bool sane = !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
      if (sane && std::stoul(text) > 0 && std::stoul(text) <= 65536)
        details->alignment = static_cast<std::uint32_t>(std::stoul(text));
    }
  }
  return details;
}

}  // namespace

bool probe_zip(const ByteSource& source) { return is_zip(source); }

Checkpoint read_zip(const ByteSourcePtr& source, const ReadContext& context) {
  const ZipReader zip = ZipReader::open(source, context);
  const std::string root = find_root(zip, *source);
  if (zip.find(root + "/version") == nullptr && zip.find(root + "/.data/version") == nullptr)
    throw Error(ErrorCode::corrupt, "the archive has no member '" + root + "/version'")
        .expected("the version that torch.save writes")
        .in(source->name());

  Checkpoint checkpoint;
  checkpoint.file = source->name();
  checkpoint.format = zip_format.name;
  const ZipMember& pickle = *zip.find(root + "/" + std::string(pickle_name));
  read_object(*memory_source(read_all(*zip.read(pickle), context.pickle_cap), source->name() + ": " + pickle.name), 0,
              context.pickle_cap, checkpoint);
  if (pickle.method == 0)
    for (GlobalUse& global : checkpoint.globals) global.offset += pickle.data_offset;
  attach_storages(checkpoint, zip, root, read_byte_order(zip, root, *source), context);
  decode_tensors(checkpoint);
  checkpoint.details = describe(checkpoint, zip, root);
  if (context.findings != nullptr)
    for (const ZipMember& member : zip.members())
      context.check_bytes(*zip.read(member), "member '" + member.name + "'");
  if (!zip.has_checksums())
    checkpoint.warnings.push_back(
        "the archive has no checksums (every CRC is 0), so damaged bytes would not be noticed");
  if (zip.trailing_bytes() > 0)
    checkpoint.warnings.push_back(std::to_string(zip.trailing_bytes()) + " bytes follow the archive and are left out");
  return checkpoint;
}

}  // namespace ckpt::torch
