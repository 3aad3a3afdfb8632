#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ckpt/error.h"
#include "ckpt/limits.h"
#include "container/quoted_name.h"
#include "container/tar_reader.h"
#include "foreign.h"
#include "opened.h"

namespace ckpt {
namespace {

constexpr std::size_t most_shown = 5;

std::string listed(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < most_shown; ++i) list += (i == 0 ? "" : ", ") + quoted_name(names[i]);
  return names.size() > most_shown ? list + ", …" : list;
}

/// Why no format could look at what is compressed, where that is damaged.
std::optional<Error> damage_of(const Opened& member) {
  if (member.gzip_layers() == 0) return std::nullopt;
  try {
    static_cast<void>(foreign_file(*member.bytes));
  } catch (Error& error) {
    if (error.code() == ErrorCode::corrupt || error.code() == ErrorCode::truncated) return error;
    if (is_of_the_machine(error)) throw;
  }
  return std::nullopt;
}

/// The first two members that a format reads. An archive within the archive is none. `damage` is that of the first
/// member that might be one but for it.
std::vector<Opened> find_checkpoints(const Opened& archive, std::uint64_t& left, const GzipReader& reader,
                                     std::vector<std::string>& names, std::optional<Error>& damage) {
  std::vector<Opened> found;
  for (const TarMember& member : read_tar(*archive.bytes)) {
    if (member.kind != TarMember::Kind::file) continue;
    if (names.size() == limits::archive_files)
      throw Error(ErrorCode::limit_exceeded, "more than " + std::to_string(names.size()) + " files")
          .expected("a checkpoint and what belongs to it")
          .hint("tar xf " + shell_word(archive.bytes->name()) + ", then give ckpt the checkpoint in it");
    names.push_back(member.name);
    Opened inside{.bytes = open_tar_member(archive.bytes, member), .compressed = archive.compressed};
    open_gzip(inside, left, reader);
    if (inside.format == nullptr) {
      if (!damage) damage = damage_of(inside);
      continue;
    }
    inside.archive = archive.bytes;
    inside.member = member.name;
    found.push_back(std::move(inside));
    if (found.size() == 2) break;  // more would be refused no less
  }
  return found;
}

}  // namespace

void open_archive(Opened& opened, std::uint64_t& left, const GzipReader& reader) {
  const std::string file = opened.bytes->name();
  const auto refuse = [&](std::string what, std::string expected, const std::string& unpacked) {
    opened.refusal = Error(ErrorCode::unsupported, std::move(what))
                         .expected(std::move(expected))
                         .in(file)
                         .hint("tar xf " + shell_word(file) + ", then give ckpt " + unpacked);
  };
  try {
    std::vector<std::string> names;
    std::optional<Error> damage;
    std::vector<Opened> found = find_checkpoints(opened, left, reader, names, damage);
    if (found.size() == 1) {
      opened = std::move(found.front());
      return;
    }
    if (found.empty() && damage) {
      opened.refusal = damage->hint("tar xf " + shell_word(file) + ", then ckpt recover what was inside");
      return;
    }
    if (found.empty())
      return refuse("this is a tar archive without a checkpoint; it holds " +
                        (names.empty() ? std::string("no file") : listed(names)),
                    "a PyTorch checkpoint in it", "what was inside");
    refuse("this is a tar archive of at least 2 checkpoints: " + listed({found[0].member, found[1].member}), "one",
           "one of them");
  } catch (Error& error) {
    if (is_of_the_machine(error)) throw;
    opened.refusal = error.within("tar archive");
    if (error.hint().empty())
      opened.refusal->hint("tar xf " + shell_word(file) +
                           " unpacks what it can; then ckpt recover what came out of it");
  }
}

}  // namespace ckpt
