#include "foreign.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "ckpt/limits.h"
#include "container/zip_reader.h"
#include "foreign_shapes.h"
#include "foreign_zip.h"
#include "io/ascii.h"
#include "io/bytes.h"

namespace ckpt {
namespace {

using namespace std::string_view_literals;

struct Signature {
  std::size_t offset;
  std::string_view bytes;
  std::string_view what;
  std::string_view hint;
  bool packed = false;                             ///< it holds other files, or another
  bool (*is_so)(std::string_view head) = nullptr;  ///< where so few bytes do not tell
};

/// Decodes the first byte of an lzma stream, whose range coder begins with these five bytes and the next one; none
/// where it begins with a copy of what there is not yet.
std::optional<unsigned> first_literal(std::span<const std::byte, 6> stream) {
  constexpr int even = 10;  // bits of 11: each choice of a stream that begins is as likely as the other
  std::uint32_t range = UINT32_MAX, code = load_be<std::uint32_t>(stream.data() + 1);
  const auto next_bit = [&]() -> unsigned {
    const std::uint32_t bound = (range >> 11) << even;
    if (code < bound) {
      range = bound;
      return 0;
    }
    code -= bound;
    range -= bound;
    return 1;
  };
  if (next_bit() != 0) return std::nullopt;
  unsigned literal = 0;
  for (int bit = 0; bit < 8; ++bit) {
    if (range < (1U << 24)) {
      range <<= 8;
      code = code << 8 | std::to_integer<std::uint32_t>(stream[5]);
    }
    literal = literal << 1 | next_bit();
  }
  return literal;
}

/// Of an lzma file: its properties, the size of its dictionary, which liblzma wants to be 2^n or 2^n + 2^(n-1), how
/// large it is (all ones: as far as it goes), and the stream. Where the size is told, numbers may be spelt so: liblzma
/// wants it to be below 256 GiB, and no pickle begins with a NUL; the usual properties alone tell, too.
bool has_lzma_header(std::string_view head) {
  constexpr unsigned char most_properties = 224;
  constexpr std::uint64_t most_bytes = 256 * limits::gib;
  if (head.size() < 19 || head[13] != '\0' || static_cast<unsigned char>(head[0]) > most_properties) return false;
  const std::byte* const bytes = as_bytes(head).data();
  const auto dictionary = load_le<std::uint32_t>(bytes + 1);
  const auto size = load_le<std::uint64_t>(bytes + 5);
  if (head.starts_with("\x5d\0"sv) && size >> 40 == 0) return true;
  if (size != UINT64_MAX &&
      (size == 0 || size >= most_bytes || first_literal(as_bytes(head).subspan<13, 6>()).value_or(0) == 0))
    return false;
  if (dictionary == 0 || dictionary == UINT32_MAX) return true;
  const std::uint32_t odd = dictionary >> std::countr_zero(dictionary);
  return odd == 1 || odd == 3;
}

bool is_frame_to_skip(std::string_view head) { return head.front() >= 0x50 && head.front() < 0x60; }

/// Behind the first two bytes stands a length, which joblib has Python read: int(text, 16).
bool has_joblib_length(std::string_view head) {
  constexpr std::size_t width = 19;
  const std::string_view text = head.substr(2, width);
  return text.size() == width && text.find_first_not_of("0123456789abcdefABCDEFxX_+- \t\n\r\f\v") == text.npos &&
         text.find_first_of("0123456789abcdefABCDEF") != text.npos;
}

// A table: how files begin that people take for checkpoints.
constexpr Signature signatures[] = {
    {0, "version https://git-lfs"sv, "a Git LFS pointer, not the file itself", "git lfs pull"},
    {0, "7z\xbc\xaf\x27\x1c"sv, "a 7z archive", "7z x FILE, then give ckpt what was inside", true},
    {0, "Rar!\x1a\x07"sv, "a rar archive", "unrar x FILE, then give ckpt what was inside", true},
    {0, "\x28\xb5\x2f\xfd"sv, "a zstd file", "zstd -dc < FILE > OUT", true},
    {0,
     "\xfd"
     "7zXZ\0"sv,
     "an xz file", "xz -dc < FILE > OUT", true},
    {0, "BZh"sv, "a bzip2 file", "bzip2 -dc < FILE > OUT", true},
    {0, "\x89HDF\r\n\x1a\n"sv, "an HDF5 file (Keras)", "in Python: h5py.File(path)"},
    {0, "\x1f\x8b"sv, "a gzip file with a broken header (another method than deflate, or reserved flags)",
     "the file is damaged: fetch or copy it again", true},
    {0, "lmgg"sv, "a ggml file", "whisper.cpp reads those of its own; others were models of llama.cpp before GGUF"},
    {0, "fmgg"sv, "a ggml file (GGMF), from before GGUF", "llama.cpp's convert_llama_ggml_to_gguf.py makes GGUF of it"},
    {0, "tjgg"sv, "a ggml file (GGJT), from before GGUF", "llama.cpp's convert_llama_ggml_to_gguf.py makes GGUF of it"},
    {0, "algg"sv, "a ggml adapter (LoRA), from before GGUF",
     "llama.cpp's convert_lora_to_gguf.py makes GGUF of the original"},
    {0, "\x04\x22\x4d\x18"sv, "an lz4 file", "lz4 -dc < FILE > OUT", true},
    {1, "\x2a\x4d\x18"sv, "a zstd or lz4 file that begins with a frame to skip", "zstd -dc < FILE > OUT", true,
     is_frame_to_skip},
    {0, "\x02\x21\x4c\x18"sv, "an lz4 file", "lz4 -dc < FILE > OUT", true},
    {0, "\x78\x01"sv, "a zlib stream (joblib writes such)", "in Python, if you trust it: joblib.load(path)", true},
    {0, "\x78\x5e"sv, "a zlib stream (joblib writes such)", "in Python, if you trust it: joblib.load(path)", true},
    {0, "\x78\x9c"sv, "a zlib stream (joblib writes such)", "in Python, if you trust it: joblib.load(path)", true},
    {0, "\x78\xda"sv, "a zlib stream (joblib writes such)", "in Python, if you trust it: joblib.load(path)", true},
    {0, "ZF"sv, "a file that joblib of before 2015 compressed", "in Python, if you trust it: joblib.load(path)", true,
     has_joblib_length},
    {0, "MATLAB 5.0 MAT-file"sv, "a MATLAB file", "in Python: scipy.io.loadmat(path)"},
    {0, "MATLAB 7.3 MAT-file"sv, "a MATLAB file, which is HDF5", "in Python: h5py.File(path)"},
    {4, "PTMF"sv, "a TorchScript model for mobile as a flatbuffer",
     "in Python: torch.jit.load(path), and torch.jit.save writes it as a zip archive, which ckpt reads"},
    {4, "ET12"sv, "an ExecuTorch program (.pte)", "in Python: executorch.runtime"},
    {4, "TFL3"sv, "a TensorFlow Lite model", "in Python: tf.lite.Interpreter(path)"},
    {0, "model_checkpoint_path:"sv, "the list of a TensorFlow checkpoint folder",
     "in Python: tf.train.load_checkpoint(FOLDER)"},
    {0, "\x12\x01\0\0\0\0\0\0"sv, "a file of MXNet's parameters", "in Python: mxnet.nd.load(path)"},
    {0, "\0\0\0\0\2\0\0\0\5\0\0\0"sv, "weights of Darknet (YOLO)", "the program darknet, or a port's converter"},
    {0, "ftrt"sv, "a TensorRT engine", "tensorrt.Runtime, on the kind of GPU that it was built for"},
    {0, "ptrt"sv, "a TensorRT engine", "tensorrt.Runtime, on the kind of GPU that it was built for"},
    {0, "PAR1"sv, "a Parquet file", "in Python: pyarrow.parquet.read_table(path)"},
    {0, "ARROW1\0\0"sv, "an Arrow file", "in Python: pyarrow.ipc.open_file(path)"},
    {0, "FEA1"sv, "a Feather file", "in Python: pyarrow.feather.read_table(path)"},
    {0, "SQLite format 3\0"sv, "an SQLite database", "sqlite3 FILE"},
    {0, "\0\0\x08\x01"sv, "an IDX file of labels (MNIST)", "ckpt eval MODEL --data FOLDER runs a model on it"},
    {0, "\0\0\x08\x03"sv, "an IDX file of pictures (MNIST)", "ckpt eval MODEL --data FOLDER runs a model on it"},
    {0, "%PDF-"sv, "a PDF", "a PDF reader"},
    {0, "\x89PNG\r\n"sv, "a PNG picture", "ckpt eval MODEL --predict FILE shows it to a model"},
    {0, "\xff\xd8\xff"sv, "a JPEG picture", "a picture viewer"},
    {0, "GIF8"sv, "a GIF picture", "a picture viewer"},
    {0,
     "\x7f"
     "ELF"sv,
     "an ELF program or library (.so)", "readelf -h FILE"},
    {0, "MZ\x90\0"sv, "a Windows program or library", "the system that it was built for"},
    {0, "\xcf\xfa\xed\xfe"sv, "a macOS program or library", "the system that it was built for"},
    {257, "ustar"sv, "a tar archive", "tar xf FILE, then give ckpt what was inside", true},
    {0, ""sv, "an lzma file", "xz -dc --format=lzma < FILE > OUT", true, has_lzma_header},
};

}  // namespace

std::string_view text_kind(std::string_view head) {
  const auto is_text = [](char c) {
    return (c >= 0x20 && c < 0x7f) || c == '\t' || c == '\n' || c == '\r' || c == '\f';
  };
  const std::string_view begin = head.substr(0, 64);  // what follows may be in any script
  if (!std::all_of(begin.begin(), begin.end(), is_text)) return {};
  const std::string start =
      ascii_lower(head.substr(std::min(head.find_first_not_of(" \t\n\r\f"), head.size())).substr(0, 16));
  if (start.starts_with("<!doctype") || start.starts_with("<html")) return "a web page";
  if (start.starts_with("<?xml")) return "XML";
  if (start.starts_with("{") || start.starts_with("[")) return "JSON";
  return "text";
}

namespace {

const Signature* signature_of(std::string_view head) {
  for (const Signature& signature : signatures)
    if (head.size() > signature.offset && head.substr(signature.offset).starts_with(signature.bytes) &&
        (signature.is_so == nullptr || signature.is_so(head)))
      return &signature;
  return nullptr;
}

}  // namespace

std::string_view packed_kind(std::string_view head) {
  const Signature* const signature = signature_of(head);
  return signature != nullptr && signature->packed ? signature->what : std::string_view();
}

Error foreign_file(const ByteSource& source) {
  std::array<std::byte, 512> bytes{};
  const std::size_t got = source.read_at(0, bytes);
  const std::string_view head = as_text(std::span(bytes).first(got));
  const auto error = [&](std::string what, std::string hint) {
    return Error(ErrorCode::unsupported, std::move(what))
        .expected("a PyTorch checkpoint")
        .in(source.name())
        .hint(std::move(hint));
  };
  if (is_zip(source)) {
    auto [what, hint] = foreign_zip(source);
    return error(std::move(what), std::move(hint));
  }
  if (head.empty())
    return error("the file is empty", "write it again; a training job that was stopped leaves such files");
  const auto named = [&](std::string_view what, std::string_view hint) {
    std::string command(hint);
    if (const std::size_t at = command.find("FILE"); at != std::string::npos)
      command.replace(at, 4, shell_word(source.name()));
    return error("this is " + std::string(what), std::move(command));
  };
  if (const Signature* const signature = signature_of(head)) return named(signature->what, signature->hint);
  const std::string_view text = text_kind(head);
  if (text == "a web page") return error("this is a web page", "download the file itself, not the page about it");
  if (!text.empty()) {
    const std::string_view line = head.substr(0, std::min<std::size_t>(head.find_first_of("\r\n"), 40));
    return error("this is " + std::string(text) + ": '" + std::string(line) + "'",
                 text == "JSON"
                     ? "settings hold no weights, and a server's refusal none either: name the file that does"
                     : "read it: a server's refusal is often saved under the name of the file that was asked for");
  }
  if (const ForeignKind* const kind = foreign_shape(head, source)) return named(kind->what, kind->hint);
  std::string shown;
  constexpr std::string_view hex = "0123456789abcdef";
  for (const unsigned char c : head.substr(0, 8)) shown += {' ', hex[c >> 4], hex[c & 15]};
  return error("no known format begins with" + shown, "ckpt formats lists what ckpt reads");
}

}  // namespace ckpt
