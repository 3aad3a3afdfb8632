#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "ckpt/assemble.h"
#include "ckpt/formats.h"
#include "commands.h"
#include "console/messages.h"
#include "targets/captured.h"
#include "targets/input.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

using Words = std::vector<std::string>;

// IN is the input, but for its first byte, which chooses one. OUT and PLOT are there afterwards, where it succeeds;
// OTHER is other_file().
const Words commands[] = {
    {"inspect", "IN"},
    {"inspect", "--json", "IN"},
    {"inspect", "--keys", "*w*", "IN"},
    {"verify", "IN"},
    {"verify", "--json", "IN"},
    {"digest", "IN"},
    {"digest", "--json", "--root", "auto", "IN"},
    {"convert", "IN", "OUT"},
    {"convert", "IN", "OUT", "--to", "cpu", "--no-gzip"},
    {"convert", "IN", "OUT", "--map", "cuda:0=cuda:1", "--map", "*=cpu", "--strip-prefix", "--add-prefix=net."},
    {"convert", "IN", "OUT", "--format", "torch-legacy", "--allow-unsafe"},
    {"convert", "IN", "OUT", "--format", "torch", "--protocol", "2", "--allow-unsafe"},
    {"convert", "IN", "OUT", "--protocol", "0", "--allow-unsafe", "--no-gzip"},
    {"convert", "IN", "OUT", "--protocol", "4", "--allow-unsafe", "--gzip"},
    {"convert", "IN", "OUT", "--weights-only"},
    {"convert", "IN", "OUT", "--root", "auto", "--keep", "*w*", "--drop", "*b*", "--allow-unsafe"},
    {"convert", "IN", "OUT", "--dry-run", "--allow-unsafe"},
    {"convert", "IN", "OUT", "--verify=full", "--allow-unsafe"},
    {"verify", "--finite", "IN"},
    {"diff", "IN", "IN"},
    {"diff", "--json", "--rtol", "1e-3", "IN", "IN"},
    {"check", "IN", "--like", "IN"},
    {"strip-prefix", "IN", "OUT", "--allow-unsafe"},
    {"add-prefix", "IN", "OUT", "--gzip=6"},
    {"scan", "IN"},
    {"scan", "--json", "IN"},
    {"stats", "IN"},
    {"stats", "--json", "IN"},
    {"average", "IN", "IN", "OUT", "--weights", "1,3"},
    {"average", "IN", "IN", "OUT", "--ema", "0.9", "--allow-unsafe"},
    {"merge", "IN", "OUT"},
    {"extract", "IN", "w", "-o", "OUT"},
    {"convert", "IN", "OUT", "--dtype", "bfloat16", "--contiguous"},
    {"convert", "IN", "OUT", "--dtype", "float64", "--compact", "--allow-unsafe"},
    {"convert", "IN", "OUT", "--dedupe", "--strip-optimizer", "--rename", "^(.*)w=\\1v"},
    {"convert", "IN", "OUT", "--format", "safetensors"},
    {"convert", "IN", "OUT", "--format", "npz"},
    {"convert", "IN", "OUT", "--format", "dcp", "--allow-unsafe"},
    {"convert", "IN", "OUT", "--format", "safetensors-index", "--shard-size", "100"},
    {"convert", "IN", "OUT", "--format", "torch", "--dequantize"},
    {"shard", "IN", "OUT", "--max-size", "100", "--allow-unsafe"},
    {"merge", "IN", "OTHER", "OUT"},
    {"average", "IN", "OTHER", "OUT"},
    {"diff", "IN", "OTHER"},
    {"check", "IN", "--like", "OTHER"},
    {"inspect", "--stats", "IN"},
    {"verify", "--digest", "IN", "OTHER"},
    {"recover", "IN", "OUT", "--allow-unsafe"},
    {"recover", "--json", "IN", "OUT"},
    {"scan", "--sarif", "IN"},
    {"stats", "--json", "--plot", "PLOT", "IN"},
};

/// A file to stand beside the input: a state dict of one tensor, `w`, of two floats.
std::vector<std::byte> other_file() {
  TensorSource tensor{.name = "w", .dtype = DType::float32, .shape = {2}};
  tensor.bytes = memory_source(std::vector<std::byte>(8, std::byte{1}), "floats");
  std::vector<TensorSource> tensors;
  tensors.push_back(std::move(tensor));
  MemorySink sink;
  write(assemble(std::move(tensors)), sink, {.format = "torch"});
  return sink.bytes();
}

/// As main() does it, with standard streams going to memory. (No name out of a file can begin a line.)
Captured run(const Words& words) {
  Captured ended = captured([&] {
    const int status = tools::guarded([&] { return tools::run(words); });
    tools::flush_output();
    return status;
  });
  require(ended.status >= 0 && ended.status <= 6, "exit status " + std::to_string(ended.status));
  require(("\n" + ended.err).find("\nhint: please report it") == std::string::npos, "no Error, but: " + ended.err);
  return ended;
}

void check_json(const std::string& out) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);)
    require(nlohmann::json::accept(line), "what --json prints is no JSON: " + line.substr(0, 500));
}

/// What ckpt wrote, ckpt reads. Files within a pickle go as they are: of what is damaged in them, `in` has it too.
void check_written(const std::string& out, const std::string& command, const std::string& in) {
  for (const char* const reader : {"verify", "inspect"}) {
    const Captured ended = run({reader, out});
    const bool is_within = (ended.out + ended.err).find("torch.storage._load_from_bytes") != std::string::npos;
    require(ended.status == 0 || (is_within && run({"verify", in}).status != 0),
            std::string(reader) + " does not like what " + command + " wrote: " + ended.out + ended.err);
  }
}

/// A small file may stand for so many bytes that hashing them would take minutes.
bool hashes_quickly(const std::string& path) {
  bool quickly = true;
  error_of([&] { quickly = logical_bytes(load(path)) <= worth_hashing; });
  return quickly;
}

}  // namespace

int fuzz_program(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const MemoryFile in(data + 1, size - 1);
  static const ScratchFolder folder;
  static const std::vector<std::byte> other_bytes = other_file();
  static const MemoryFile other(other_bytes.data(), other_bytes.size());
  const std::string out = folder.path() + "/out.pt", plot = folder.path() + "/plot.svg";
  Words words = commands[data[0] % std::size(commands)];
  for (std::string& word : words) {
    if (word == "IN") word = in.path();
    if (word == "OTHER") word = other.path();
    if (word == "OUT") word = out;
    if (word == "PLOT") word = plot;
  }
  const std::string& command = words[0];
  if (command == "digest" && !hashes_quickly(in.path())) return 0;

  const Captured ended = run(words);
  if (words[1] == "--json") check_json(ended.out);
  const auto said = [&](const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  const bool plots = said(plot), writes = (said(out) && !said("--dry-run")) || plots;
  const bool is_there = ::access((plots ? plot : out).c_str(), F_OK) == 0;
  // What recover() saves, it may say that it is not all.
  const bool succeeds = ended.status == 0 || (command == "recover" && ended.status == 1);
  require(is_there == (writes && succeeds), "the status does not say whether the output is there");
  if (is_there && !plots) check_written(out, command, in.path());
  require(folder.clear() == (is_there ? 1 : 0), "a temporary file is left behind");
  return 0;
}

}  // namespace ckpt::fuzz
