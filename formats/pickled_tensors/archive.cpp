#include "pickled_tensors/archive.h"

#include <algorithm>
#include <charconv>
#include <system_error>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "io/bytes.h"
#include "model/order_storages.h"

namespace ckpt::torch {
namespace {

// kMinSupportedFileFormatVersion and kMaxSupportedFileFormatVersion of caffe2/serialize/versions.h.
constexpr std::uint64_t oldest_version = 1, newest_version = 10;

}  // namespace

void check_root(const ZipReader& zip, const std::string& root, const ByteSource& source) {
  const std::string folder = root + "/";
  for (const ZipMember& member : zip.members())
    if (!member.name.starts_with(folder))
      throw Error(ErrorCode::corrupt, "member '" + member.name + "' lies outside the folder '" + root + "'")
          .expected("one root folder")
          .at(member.header_offset)
          .in(source.name());
  const ZipMember* version = zip.find(folder + ".data/version");
  if (version == nullptr) version = zip.find(folder + "version");
  if (version == nullptr)
    throw Error(ErrorCode::corrupt, "the archive has no member '" + root + "/version'")
        .expected("the version that torch writes")
        .in(source.name());
  check_version(read_text(*zip.read(*version)), version->data_offset, source);
}

bool is_version(std::string_view name) { return name == "version" || name == ".data/version"; }

void check_version(std::string_view text, std::uint64_t offset, const ByteSource& source) {
  const std::string_view shown = text.substr(0, std::min<std::size_t>(text.find_last_not_of("\r\n") + 1, 40));
  const std::string found = "member 'version' says '" + std::string(shown) + "'";
  text.remove_prefix(std::min(text.find_first_not_of(" \t\n\v\f\r"), text.size()));
  if (text.starts_with('+')) text.remove_prefix(1);
  std::uint64_t version = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), version);
  if (end == text.data())
    throw Error(ErrorCode::corrupt, found).expected("a number, which PyTorch asks for").at(offset).in(source.name());
  if (problem != std::errc() || version < oldest_version || version > newest_version)
    throw Error(ErrorCode::unsupported, found)
        .expected(std::to_string(oldest_version) + " to " + std::to_string(newest_version) + ", which PyTorch reads")
        .at(offset)
        .in(source.name());
}

const ZipMember* find_storage(const ZipReader& zip, const std::string& name, const Storage& storage,
                              const ByteSource& source, const ReadContext& context, const ZipMember* likely) {
  const ZipMember* const member = zip.find(name, likely);
  if (member == nullptr) {
    context.report(
        Error(ErrorCode::corrupt, "the pickle names storage '" + storage.key + "', which the archive does not hold")
            .expected("member '" + name + "'")
            .in(source.name()),
        "");
    return nullptr;
  }
  if (member->size != storage.nbytes)
    context.report(Error(ErrorCode::corrupt, "member '" + name + "' holds " + std::to_string(member->size) + " bytes")
                       .expected(std::to_string(storage.nbytes) + ", as the pickle says")
                       .at(member->data_offset)
                       .in(source.name()),
                   "");
  return member;
}

std::vector<bool> attach_storages(Checkpoint& checkpoint, const ZipReader& zip, ByteOrder order,
                                  const ByteSource& source, const ReadContext& context,
                                  const std::function<std::string(const Storage&)>& name_of) {
  std::vector<std::uint64_t> begins(checkpoint.storages.size());
  std::vector<bool> holds_storage(zip.members().size());
  const ZipMember* likely = nullptr;  // storages mostly stand in the order in which the pickle names them
  for (std::size_t i = 0; i < begins.size(); ++i) {
    Storage& storage = checkpoint.storages[i];
    storage.byte_order = order;
    const std::string name = name_of(storage);
    if (name.empty()) continue;
    const ZipMember* const member = find_storage(zip, name, storage, source, context, likely);
    if (member == nullptr) {
      storage.bytes = memory_source({}, name);
      continue;
    }
    storage.bytes = zip.read(*member);
    begins[i] = member->data_offset;
    holds_storage[zip.index_of(*member)] = true;
    likely = zip.after(*member);
  }
  order_storages(checkpoint, begins);
  return holds_storage;
}

ByteOrder read_byte_order(const ZipReader& zip, const std::string& root, const ByteSource& source) {
  const ZipMember* const member = zip.find(root + "/" + std::string(byte_order_name));
  if (member == nullptr) return ByteOrder::little;  // torch before 2.0 wrote none
  return parse_byte_order(read_text(*zip.read(*member)), member->data_offset, source);
}

std::string read_text(const ByteSource& record) {
  const auto bytes = read_all(record, limits::zip_small_member);
  return std::string(as_text(bytes));
}

ByteOrder parse_byte_order(const std::string& text, std::uint64_t offset, const ByteSource& source) {
  if (text == "little") return ByteOrder::little;
  if (text == "big") return ByteOrder::big;
  throw Error(ErrorCode::corrupt, "member 'byteorder' says '" + text.substr(0, 40) + "'")
      .expected("'little' or 'big'")
      .at(offset)
      .in(source.name());
}

std::optional<std::uint32_t> parse_alignment(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(" \t\n\v\f\r") + 1);  // as Python's int() takes it
  const bool number = !text.empty() && text.size() < 7 && text.find_first_not_of("0123456789") == std::string::npos;
  if (!number) return std::nullopt;
  const auto value = static_cast<std::uint32_t>(std::stoul(std::string(text)));
  return value > 0 && value <= 65536 ? std::optional(value) : std::nullopt;
}

}  // namespace ckpt::torch
