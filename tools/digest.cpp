#include <memory>
#include <nlohmann/json.hpp>

#include "ckpt/error.h"
#include "ckpt/formats.h"
#include "ckpt/ops.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/text.h"
#include "digest_list.h"
#include "loading.h"

namespace ckpt::tools {
namespace {

struct DigestOptions {
  std::vector<std::string> files, keys;
  std::optional<std::string> root;
  bool json = false;
  ReadOptions reading;
};

std::string digest_json(const CheckpointDigest& digest) {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  out["digest"] = digest.total;
  out["tensors"] = nlohmann::ordered_json::object();
  // ordered_json looks each key up in a list; these are unique, so the pairs go straight in.
  auto& tensors = out["tensors"].get_ref<nlohmann::ordered_json::object_t&>();
  const std::vector<std::string> names = listed_names(digest, true);
  for (std::size_t i = 0; i < names.size(); ++i) tensors.emplace_back(names[i], digest.tensors[i].sha256);
  return visible_json(out.dump()) + "\n";
}

std::string digest_text(const CheckpointDigest& digest) {
  std::string out;
  for (const TensorDigest& tensor : digest.tensors) out += tensor.sha256 + "  " + printable(tensor.name) + "\n";
  return out + digest.total + "  total\n";
}

/// Totals over nothing are equal whatever the files.
Error matches_nothing(const DigestOptions& options) {
  std::string globs;
  for (const std::string& glob : options.keys) globs += (globs.empty() ? "'" : ", '") + glob + "'";
  return usage_error("--keys " + globs + (options.keys.size() == 1 ? " matches" : " match") + " no tensor with bytes",
                     "ckpt inspect " + shell_word(options.files.front()) + " lists the names");
}

void note_unnamed(const Checkpoint& checkpoint, const std::string& file) {
  const std::size_t count = unnamed_tensors(checkpoint).size();
  if (count > 0)
    print_note(file + ": " + count_text(count, "tensor") + " without a name (an attribute of another, say) " +
               (count == 1 ? "is" : "are") + " not among them; ckpt diff compares such");
}

int run(const DigestOptions& options, bool quiet) {
  if (options.files.size() != 1) {
    throw usage_error("digest takes one FILE, and " + std::to_string(options.files.size()) + " were given",
                      "ckpt digest model.pt");
  }
  const std::string& file = options.files.front();
  try {
    const Checkpoint checkpoint = load_with_warnings(file, options.reading);
    const CheckpointDigest result = digest(checkpoint, options.root.value_or(""), options.keys);
    finish_input(checkpoint, file);
    if (result.tensors.empty() && !options.keys.empty()) throw matches_nothing(options);
    print(options.json ? digest_json(result) : digest_text(result));
    if (result.tensors.empty())
      print_warning(file + ": no tensor with bytes was found, so the total is that of nothing");
    if (!quiet && options.keys.empty()) note_unnamed(checkpoint, file);
    return exit_done;
  } catch (Error& error) {
    const bool root_unclear = error.code() == ErrorCode::invalid_argument && error.hint().empty();
    if (root_unclear) error.hint("ckpt inspect " + shell_word(file) + " lists the state dicts, for --root PATH");
    error.in(file);
    throw;
  }
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<DigestOptions>();
  arguments.files(options->files);
  arguments.flag("--json", options->json, "one JSON object, on one line");
  arguments.value("--root", "PATH", options->root,
                  "only what lies below PATH, under names relative to it; 'auto' finds the state dict");
  arguments.values("--keys", "GLOB", options->keys,
                   "only tensors whose name matches, and the total over them; * crosses dots; may be repeated");
  define_reading_options(arguments, options->reading);
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command digest_command;
const Command digest_command{
    "digest",
    "FILE [options]",
    "a SHA-256 a tensor and one for all, whatever the container",
    "Prints one SHA-256 a tensor and one for all of them. They are the same for the same weights in any\n"
    "format, compression and byte order, on any device: equal digests prove that a conversion changed no\n"
    "weight.\n",
    "ckpt digest model.pt --keys fc1.weight",
    "ckpt digest trainer.pt.gz --root auto --json",
    define,
};

}  // namespace ckpt::tools
