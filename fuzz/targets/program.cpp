#include <unistd.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "ckpt/formats.h"
#include "commands.h"
#include "console/messages.h"
#include "targets/captured.h"
#include "targets/input.h"
#include "targets/targets.h"

namespace ckpt::fuzz {
namespace {

using Words = std::vector<std::string>;

// IN and OUT stand for files. The first byte of the input chooses one.
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
};

/// As main() does it, with standard streams going to memory. (No name out of a file can begin a line.)
Captured run(const Words& words) {
  Captured ended = captured([&] { return tools::guarded([&] { return tools::run(words); }); });
  require(ended.status >= 0 && ended.status <= 6, "exit status " + std::to_string(ended.status));
  require(("\n" + ended.err).find("\nhint: please report it") == std::string::npos, "no Error, but: " + ended.err);
  return ended;
}

void check_json(const std::string& out) {
  std::istringstream lines(out);
  for (std::string line; std::getline(lines, line);)
    require(nlohmann::json::accept(line), "what --json prints is no JSON: " + line.substr(0, 500));
}

/// What ckpt wrote, ckpt reads.
void check_written(const std::string& out, const std::string& command) {
  for (const char* const reader : {"verify", "inspect"}) {
    const Captured ended = run({reader, out});
    require(ended.status == 0,
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
  const std::string out = folder.path() + "/out.pt";
  Words words = commands[data[0] % std::size(commands)];
  for (std::string& word : words)
    if (word == "IN" || word == "OUT") word = word == "IN" ? in.path() : out;
  const std::string& command = words[0];
  if (command == "digest" && !hashes_quickly(in.path())) return 0;

  const Captured ended = run(words);
  if (words[1] == "--json") check_json(ended.out);
  const auto said = [&](const std::string& word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  const bool writes = said(out) && !said("--dry-run");
  const bool is_there = ::access(out.c_str(), F_OK) == 0;
  require(is_there == (writes && ended.status == 0), "the status does not say whether the output is there");
  if (is_there) check_written(out, command);
  require(folder.clear() == (is_there ? 1 : 0), "a temporary file is left behind");
  return 0;
}

}  // namespace ckpt::fuzz
