#include "foreign.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "container/zip_reader.h"
#include "foreign_zip.h"
#include "io/bytes.h"

namespace ckpt {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  std::string_view what;
  std::string_view hint;
};

// A table: how files begin that people take for checkpoints.
constexpr Signature signatures[] = {
    {0, "version https://git-lfs"sv, "a Git LFS pointer, not the file itself", "git lfs pull"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "7z x FILE, then give ckpt what was inside"},
    {0, "Rar!\x1a\x07"sv, "a rar archive", "unrar x FILE, then give ckpt what was inside"},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd file", "zstd -d FILE"},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "an xz file", "xz -d FILE"},
    {0, "BZh"sv, "a bzip2 file", "bzip2 -d FILE"},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file (Keras)", "in Python: h5py.File(path)"},
    {0, "\x1f\x8b"sv, "a gzip file with a broken header (another method than deflate, or reserved flags)",
     "the file is damaged: fetch or copy it again"},
    {0, "tjgg"sv, "a ggml file", "the program that wrote it"},
    {0, "lmgg"sv, "a ggml file", "the program that wrote it"},
    {4, "PTMF"sv, "a TorchScript model for mobile as a flatbuffer",
     "in Python: torch.jit.load(path), and torch.jit.save writes it as a zip archive, which ckpt reads"},
    {257, "ustar"sv, "a tar archive", "tar xf FILE, then give ckpt what was inside"},
};

/// What stands in place of many a download: a page, or a server's complaint. Empty where the bytes are no text.
std::string_view text_kind(std::string_view head) {
  const auto is_text = [](char c) {
    return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\n' || c == '\r' || c == '\f';
  };
  const std::string_view begin = head.substr(0, 64);  // what follows may be in any script
  if (!std::all_of(begin.begin(), begin.end(), is_text)) return {};
  std::string start(head.substr(std::min(head.find_first_not_of(" \t\n\r\f"), head.size())).substr(0, 16));
  for (char& c : start)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  if (start.starts_with("<!doctype") || start.starts_with("<html")) return "a web page";
  return "text";
}

}  // namespace

Error foreign_file(const ByteSource& source) {
  if (is_zip(source)) return foreign_zip(source);
  std::array<std::byte, 512> bytes{};
  const std::size_t got = source.read_at(0, bytes);
  const std::string_view head = as_text(std::span(bytes).first(got));
  const auto error = [&](std::string what, std::string hint) {
    return Error(ErrorCode::unsupported, std::move(what))
        .expected("a PyTorch checkpoint")
        .in(source.name())
        .hint(std::move(hint));
  };
  if (head.empty())
    return error("the file is empty", "write it again; a training job that was stopped leaves such files");
  for (const Signature& signature : signatures)
    if (head.size() > signature.offset && head.substr(signature.offset).starts_with(signature.bytes))
      return error("this is " + std::string(signature.what), std::string(signature.hint));
  const std::string_view text = text_kind(head);
  if (text == "a web page") return error("this is a web page", "download the file itself, not the page about it");
  if (!text.empty()) {
    const std::string_view line = head.substr(0, std::min<std::size_t>(head.find_first_of("\r\n"), 40));
    return error("this is text: '" + std::string(line) + "'",
                 "read it: a server's refusal is often saved under the name of the file that was asked for");
  }
  std::string shown;
  constexpr std::string_view hex = "0123456789abcdef";
  for (const unsigned char c : head.substr(0, 8)) shown += {' ', hex[c >> 4], hex[c & 15]};
  return error("no known format begins with" + shown, "ckpt formats lists what ckpt reads");
}

}  // namespace ckpt
