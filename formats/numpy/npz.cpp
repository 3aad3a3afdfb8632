#include <memory>
#include <string_view>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/utf8.h"
#include "container/zip_kind.h"
#include "container/zip_names.h"
#include "container/zip_reader.h"
#include "container/zip_writer.h"
#include "io/bytes.h"
#include "io/checksum.h"
#include "io/keyed_hash.h"
#include "model/end_of_file.h"
#include "named_tensors/names.h"
#include "numpy/arrays.h"
#include "numpy/numpy.h"
#include "ops/watched_source.h"

namespace ckpt::numpy {
namespace {

constexpr std::string_view suffix = ".npy";

/// Members that are no arrays: only an npz made of this file has a place for them.
class NpzDetails final : public FormatDetails {
 public:
  struct Member {
    std::string name;
    ByteSourcePtr bytes;
  };
  std::vector<Member> others;
};

TensorSource read_array(const ZipReader& zip, const ZipMember& member) {
  const std::string name = member.name.substr(0, member.name.size() - suffix.size());
  const ByteSourcePtr bytes = zip.read(member);
  try {
    if (!is_utf8(name)) throw Error(ErrorCode::unsupported, "a name that is not UTF-8").expected("one that is");
    // From a source of its own: an inflating one would keep its buffers, and there may be tens of thousands.
    const Header header = read_header(*zip.read(member));
    const std::uint64_t held = member.size - header.size;  // the header has been read
    if (held != header.data_bytes)
      throw Error(held < header.data_bytes ? ErrorCode::truncated : ErrorCode::corrupt,
                  "the array has " + std::to_string(held) + " bytes")
          .expected(std::to_string(header.data_bytes) + ", as its shape and dtype say")
          .at(header.size);
    return tensor_of(name, header, bytes);
  } catch (Error& error) {
    throw error.in(bytes->name());
  }
}

/// A name as a member's. Readers refuse some, and so does ckpt.
std::string member_name(const Checkpoint& checkpoint, const std::string& name) {
  std::string member = name + std::string(suffix);
  try {
    zip::check_name(member);
    if (!is_utf8(name)) throw Error(ErrorCode::unsupported, "a name that is not UTF-8");
    if (member.size() > UINT16_MAX) throw Error(ErrorCode::unsupported, "a name of more than 65535 bytes");
  } catch (const Error& error) {
    throw Error(ErrorCode::unsupported, "tensor '" + name + "' cannot be a member of an archive: " + error.what())
        .in(checkpoint.file)
        .hint(named_tensors::drop_hint(checkpoint, name));
  }
  return member;
}

/// numpy leaves ".npy" out of names, and then takes one for the other.
void refuse_names_of_others(const Checkpoint& checkpoint, const std::vector<OutArray>& arrays) {
  NameViewSet names;
  for (const OutArray& array : arrays) names.insert(array.tensor.name);
  for (const std::string_view name : names)
    if (name.ends_with(suffix) && names.contains(name.substr(0, name.size() - suffix.size())))
      throw Error(ErrorCode::unsupported, "a tensor is called '" + std::string(name) +
                                              "', and another one so without " + std::string(suffix) +
                                              ": numpy would take one for the other")
          .in(checkpoint.file)
          .hint(named_tensors::drop_hint(checkpoint, std::string(name)));
}

}  // namespace

bool probe_npz(const ByteSource& source) { return zip_kind(source) == ZipKind::arrays; }

Checkpoint read_npz(const ByteSourcePtr& source, const ReadContext& context) {
  const ZipReader zip = ZipReader::open(source, context, nullptr, NameCase::exact);
  auto details = std::make_shared<NpzDetails>();
  std::vector<TensorSource> tensors;
  std::vector<std::string> warnings = archive_warnings(zip);
  for (const ZipMember& member : zip.members()) {
    const std::string where = "member '" + member.name + "'";
    context.check_bytes(*zip.read(member), where);
    if (!member.name.ends_with(suffix) && !is_utf8(member.name)) {  // which the archive's new flags would call it
      warnings.push_back(where + " is no array, has a name that is no UTF-8, and is left out");
      continue;
    }
    if (!member.name.ends_with(suffix)) {
      details->others.push_back({member.name, zip.read(member)});
      warnings.push_back(
          where + " is no array (.npy): it stays where an npz is converted to an npz, and is left out of all else");
      continue;
    }
    try {
      tensors.push_back(read_array(zip, member));
    } catch (Error& error) {
      if (error.code() == ErrorCode::unsupported) throw;
      context.report(error, where);
    }
  }
  Checkpoint checkpoint = assemble(std::move(tensors));
  checkpoint.file = source->name();
  checkpoint.format = npz_format.name;
  checkpoint.warnings = std::move(warnings);
  if (zip.trailing_bytes() > 0) keep_rest(checkpoint);
  checkpoint.details = std::move(details);
  return checkpoint;
}

WriteReceipt write_npz(Checkpoint& checkpoint, ByteSink& sink, const WriteOptions&) {
  const std::vector<OutArray> arrays = arrays_of(checkpoint);
  if (arrays.front().tensor.tensor->value == checkpoint.root)
    throw Error(ErrorCode::unsupported, "a tensor without a name")
        .expected("tensors by name, as npz files hold")
        .in(checkpoint.file)
        .hint("--format npy holds one array without a name");
  const std::vector<Storage> storages = watched_storages(checkpoint);
  refuse_names_of_others(checkpoint, arrays);
  ZipWriter zip(sink);
  WriteReceipt receipt;
  for (const OutArray& array : arrays) {
    const std::string key = std::to_string(receipt.size());
    zip.add(member_name(checkpoint, array.tensor.name), array.header.size() + array.data_bytes, [&](ByteSink& member) {
      receipt[key] = write_array(array, storages, member);
      return crc32_of_both(crc32(0, as_bytes(array.header)), receipt[key], array.data_bytes);
    });
  }
  finish_watching(storages);
  if (const auto* const own = dynamic_cast<const NpzDetails*>(checkpoint.details.get()))
    for (const NpzDetails::Member& member : own->others) zip.add(member.name, *member.bytes);
  zip.finish();
  return receipt;
}

}  // namespace ckpt::numpy
