#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ckpt/byte_source.h"
#include "ckpt/error.h"

namespace ckpt::scanning {

struct Code;

/// What is expected of a part of the file, and so what it means that it is none.
enum class Role : std::uint8_t {
  file,     ///< what the user named, or what gzip held
  pickle,   ///< a member that is named as one, an array of objects, bytes for a function that loads them
  member,   ///< any other member: it may be a pickle in disguise, and most are none
  storage,  ///< a member where torch keeps numbers, and what follows a pickle or an array
};

/// How files are called that people load pickles from.
inline constexpr std::array<std::string_view, 7> pickle_suffixes{".pkl", ".pickle", ".joblib", ".pt",
                                                                 ".pth", ".th",     ".ckpt"};

/// What an array of numpy's begins with.
inline constexpr std::string_view numpy_magic = "\x93NUMPY";

/// Bytes of the file that may be a pickle or an archive.
struct Part {
  ByteSourcePtr bytes;
  Role role = Role::file;
  std::string where;       ///< ScanFinding::where
  std::string stream;      ///< ScanFinding::stream
  std::uint64_t base = 0;  ///< of its first byte there
  int depth = 0;           ///< how many parts it lies in
  int gzip_layers = 0;
  bool may_be_archive = true;
  const Code* code = nullptr;        ///< where it is run by what loads the archive
  bool may_hold_serialized = false;  ///< pickles in its texts, by its name (see serialized_json.h)
  bool is_metadata = false;  ///< by its name, what says where in others the pickles of a distributed checkpoint begin
  std::size_t file = 0;  ///< the innermost within which torch may load by itself that it lies in, by the walk's number
  std::size_t loader = SIZE_MAX;  ///< the use of torch.storage._load_from_bytes that it lies in, by the walk's number
};

/// The part of that name in `outer`, whose bytes stand in it as they are from `offset` on.
Part part_in_place(const Part& outer, ByteSourcePtr bytes, std::uint64_t offset, Role role, const std::string& name);
/// The same for bytes that are inflated or decoded.
Part part_apart(const Part& outer, ByteSourcePtr bytes, Role role, const std::string& name);
/// Bytes [begin, end) of a part, as no other part than it.
Part stretch(const Part& part, std::uint64_t begin, std::uint64_t end);

/// What is done with each part of another, and with what is wrong with that.
using Visit = std::function<void(const Part&)>;
using Note = std::function<void(Error&)>;

/// That a part lies in more others than are opened.
Error too_deep();

/// What a member's name says of it; readers of archives find one in any case.
Role role_of_member(std::string_view name);
/// Whether torch.distributed.checkpoint takes it for its metadata by that name, whatever it looks like: ".metadata", or
/// a rank's, "__0.metadata".
bool is_metadata_name(std::string_view path);

}  // namespace ckpt::scanning
