#include "ckpt/check.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "console/command.h"
#include "console/messages.h"
#include "console/render.h"
#include "console/text.h"
#include "loading.h"

namespace ckpt::tools {
namespace {

struct Options {
  std::vector<std::string> files, ignore;
  std::optional<std::string> like, root, like_root;
  bool json = false, ignore_dtypes = false;
};

bool fits(const CheckReport& report, const Options& options) {
  return report.loads() && (report.dtypes.empty() || options.ignore_dtypes);
}

std::string check_json(const CheckReport& report, const Options& options) {
  using Json = nlohmann::ordered_json;
  const auto names = [](const std::vector<std::string>& keys) {
    Json out = Json::array();
    for (const std::string& key : keys) out.push_back(valid_utf8(key));
    return out;
  };
  Json out;
  out["file"] = valid_utf8(options.files.front());
  out["like"] = valid_utf8(*options.like);
  out["root"] = valid_utf8(report.root);
  out["like_root"] = valid_utf8(report.like_root);
  out["fits"] = fits(report, options);
  out["keys"] = report.keys;
  out["missing"] = names(report.missing);
  out["unexpected"] = names(report.unexpected);
  out["size_mismatches"] = Json::array();
  out["copy_failures"] = Json::array();
  for (const Misfit& misfit : report.misfits) {
    const Json shape = misfit.shape ? Json(*misfit.shape) : Json();
    if (misfit.has_other_size())
      out["size_mismatches"].push_back(
          {{"name", valid_utf8(misfit.name)}, {"shape", shape}, {"like_shape", misfit.like_shape}});
    else
      out["copy_failures"].push_back({{"name", valid_utf8(misfit.name)}, {"shape", shape}, {"why", misfit.why}});
  }
  out["dtype_mismatches"] = Json::array();
  for (const DTypeMismatch& mismatch : report.dtypes)
    out["dtype_mismatches"].push_back(
        {{"name", valid_utf8(mismatch.name)}, {"dtype", mismatch.dtype}, {"like_dtype", mismatch.like_dtype}});
  out["forgiven"] = names(report.forgiven);
  const std::string command = fix_command(report, options.files.front());
  out["hint"] = command.empty() ? Json() : Json(valid_utf8(command));
  return visible_json(out.dump()) + "\n";
}

std::string counts_text(const CheckReport& report, const Options& options) {
  std::string out;
  const auto add = [&](std::size_t count, const std::string& what) {
    if (count > 0) out += (out.empty() ? "" : ", ") + what;
  };
  const std::size_t dtypes = options.ignore_dtypes ? 0 : report.dtypes.size();
  add(report.missing.size(), count_text(report.missing.size(), "key") + " missing");
  add(report.unexpected.size(), count_text(report.unexpected.size()) + " unexpected");
  const auto sizes = static_cast<std::size_t>(
      std::count_if(report.misfits.begin(), report.misfits.end(), std::mem_fn(&Misfit::has_other_size)));
  const std::size_t kinds = report.misfits.size() - sizes;
  add(sizes, count_text(sizes) + " of another size");
  add(kinds, count_text(kinds) + " of a kind that is not copied");
  add(dtypes, count_text(dtypes) + " of another dtype (PyTorch casts them silently; --ignore dtypes lets them pass)");
  return out;
}

std::string check_text(const CheckReport& report, const Options& options, bool quiet) {
  const std::string &file = options.files.front(), &like = *options.like;
  std::string out;
  for (const std::string& line : load_errors(report)) out += printable(line) + "\n";
  for (const DTypeMismatch& mismatch : report.dtypes)
    if (!options.ignore_dtypes)
      out += "dtype mismatch for " + printable(mismatch.name) + ": " + mismatch.dtype +
             " in the checkpoint, the dtype in current model is " + mismatch.like_dtype + ".\n";
  if (quiet) return out;
  const auto at = [](const std::string& path) { return path.empty() ? "" : " (" + printable(path) + ")"; };
  const std::string both = printable(file) + at(report.root);
  const std::string other = printable(like) + at(report.like_root);
  if (fits(report, options)) return out + both + " fits " + other + ": " + count_text(report.keys, "key") + "\n";
  out += both + " does not fit " + other + ": " + counts_text(report, options) + "\n";
  const std::string command = fix_command(report, file);
  return command.empty() ? out : out + "  hint: " + printable(command) + "\n";
}

int run(Options options, bool quiet) {
  for (const std::string& what : options.ignore)
    if (what != "dtypes") throw usage_error("--ignore does not know '" + what + "'", "--ignore takes dtypes");
  options.ignore_dtypes = !options.ignore.empty();
  if (options.files.size() != 1 || !options.like)
    throw usage_error("check takes one file, and --like with another", "ckpt check new.pt --like reference.pt");
  if (options.files.front() == "-" && *options.like == "-")
    throw usage_error("standard input is one file", "ckpt check - --like reference.pt");
  const Checkpoint checkpoint = load_with_warnings(options.files.front()), like = load_with_warnings(*options.like);
  const CheckReport report =
      check(checkpoint, like, {options.root.value_or("auto"), options.like_root.value_or("auto")});
  finish_input(checkpoint, options.files.front());
  finish_input(like, *options.like);
  print(options.json ? check_json(report, options) : check_text(report, options, quiet));
  return fits(report, options) ? exit_done : exit_no;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<Options>();
  arguments.files(options->files);
  arguments.value("--like", "REF", options->like, "a checkpoint that the model was saved to");
  arguments.value("--root", "PATH", options->root,
                  "where NEW has the state dict; else it is found, as by digest --root auto");
  arguments.value("--like-root", "PATH", options->like_root, "where REF has it");
  arguments.values("--ignore", "WHAT", options->ignore, "dtypes: PyTorch casts them");
  arguments.flag("--json", options->json, "one JSON object, on one line");
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command check_command;
const Command check_command{
    "check",
    "NEW --like REF [options]",
    "would it load into the model that REF was saved from",
    "Tells what model.load_state_dict(NEW) would say of a model that REF was saved from: missing and\n"
    "unexpected keys and size mismatches, in PyTorch's words and order, and how to mend them. Exit status 0\n"
    "where it loads, 1 where it does not.\n",
    "ckpt check new.pt --like reference.pt",
    "ckpt check trainer.pt --like weights.pt --root ema --ignore dtypes",
    define,
};

}  // namespace ckpt::tools
