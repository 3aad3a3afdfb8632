#include "ckpt/extract.h"

#include <algorithm>
#include <memory>

#include "ckpt/assemble.h"
#include "ckpt/tensor_ops.h"
#include "console/command.h"
#include "console/messages.h"
#include "console/same_file.h"
#include "console/text.h"
#include "loading.h"
#include "tensor_edits.h"
#include "writing.h"

namespace ckpt::tools {
namespace {

struct ExtractArguments {
  WritingOptions writing;
  std::optional<std::string> out, dtype;
  ReadOptions reading;
};

constexpr std::string_view usage = "ckpt extract model.pt fc.weight -o fc.weight.npy";

/// What OUT's suffix says; npy where it says nothing, or a format that is written of its own kind alone.
std::string format_of(std::string_view out) {
  const std::vector<std::string> suggested = formats_by_suffix(out);
  for (const FormatInfo& format : formats())
    if (format.writes && format.name != "torchscript" && std::ranges::find(suggested, format.name) != suggested.end())
      return format.name;
  return "npy";
}

Checkpoint extract_from(Checkpoint checkpoint, const std::string& name, bool named) {
  const std::string file = checkpoint.file;
  std::vector<std::string> names, warnings;
  for (NamedTensor& each : tensor_names(checkpoint, &warnings)) names.push_back(std::move(each.name));
  const std::string spelt = "'" + name + "'";
  for (const std::string& warning : warnings)
    if (warning.find(spelt) != std::string::npos) print_warning(file + ": " + warning);
  try {
    return extract(std::move(checkpoint), name, named);
  } catch (Error& error) {
    if (error.code() != ErrorCode::invalid_argument || !error.hint().empty()) throw;
    const std::vector<std::string_view> views(names.begin(), names.end());
    const auto meant = nearest(name, views);
    const auto below =
        std::find_if(names.begin(), names.end(), [&](const std::string& each) { return each.ends_with("." + name); });
    if (below != names.end())
      error.hint("its name is " + shell_value(*below));
    else
      error.hint(meant ? "perhaps " + shell_value(*meant) : "ckpt inspect " + shell_word(file) + " lists the names");
    throw;
  }
}

/// Of a quantised tensor the scales are floating, too; it is the first that has a name.
bool can_be_cast(const Checkpoint& checkpoint) {
  const auto names = tensor_names(checkpoint);
  if (names.empty()) return false;
  const Tensor& tensor = *names.front().tensor;
  const bool has_elements = tensor.storage && checkpoint.storages[*tensor.storage].bytes != nullptr;
  return has_elements && tensor.info.layout == Layout::strided && is_floating(tensor.info.dtype);
}

std::string extract_command(const std::string& file, const std::string& name, const std::string& out) {
  const std::string begin = "ckpt extract " + shell_word(file);
  if (name.starts_with('-')) return begin + " -o " + out + " -- " + shell_value(name);
  return begin + " " + shell_value(name) + " -o " + out;
}

int run(const ExtractArguments& arguments, bool quiet) {
  WritingOptions writing = arguments.writing;
  if (writing.files.size() < 2) throw usage_error("extract needs FILE and NAME", std::string(usage));
  if (writing.files.size() > 2)
    throw usage_error("'" + writing.files[2] + "' is one name too many: extract writes one tensor", std::string(usage));
  if (!arguments.out || arguments.out->empty())
    throw usage_error("extract needs -o OUT",
                      extract_command(writing.files[0], writing.files[1], shell_word(writing.files[1] + ".npy")));
  if (arguments.dtype) dtype_to_cast(*arguments.dtype);  // refused before anything is read
  const std::string name = std::exchange(writing.files.back(), *arguments.out);
  Job job = plan(writing, "extract");
  if (is_same_file(job.in, job.out))
    throw usage_error("extract would replace " + job.out + ", and all else that is in it",
                      extract_command(job.in, name, "OTHER"));
  job.save.format = format_of(job.out);
  const bool named = job.save.format == "npz" || job.save.format == "safetensors";
  Checkpoint checkpoint = extract_from(load_input(job, arguments.reading), name, named);
  checkpoint.gzip = false;  // what reads one array seldom takes gzip
  checkpoint = arrays_as_tensors(std::move(checkpoint));
  if (arguments.dtype) {
    auto [edited, report] = cast(std::move(checkpoint), dtype_to_cast(*arguments.dtype));
    checkpoint = std::move(edited);
    if (report.tensors == 0 && !quiet)
      print_note(checkpoint.file + ": it was not cast: --dtype casts floating tensors of another dtype");
  }
  const bool castable = can_be_cast(checkpoint);
  try {
    write_output(std::move(checkpoint), job, {}, quiet);
  } catch (Error& error) {
    // numpy has no such numbers: the way there is a cast, or a format that has them. What else is said of the tensor
    // than options of convert comes from reading it.
    const bool is_of_format = error.hint().empty() || error.hint().find("--") != std::string::npos;
    const auto says = [&](const char* what) { return std::string_view(error.what()).find(what) != std::string::npos; };
    const bool is_name = says("cannot be a member of an archive") || says("has the name of the metadata");
    if (error.code() == ErrorCode::unsupported && !error.is_output() && is_of_format)
      error.hint(is_name    ? "-o x.npy holds it without its name"
                 : castable ? "--dtype float32 casts it; -o x.safetensors and -o x.pt hold it as it is"
                            : "-o x.pt holds it as it is");
    throw;
  }
  return exit_done;
}

Runner define(Arguments& arguments) {
  const auto options = std::make_shared<ExtractArguments>();
  arguments.value(
      "-o", "OUT", options->out,
      "the file to write: .npy, .npz, .safetensors, .pt (.pth, .ckpt, .bin, .th); npy for any other name, and for -");
  arguments.value("--dtype", "DTYPE", options->dtype,
                  "cast a floating tensor: float64, float32, float16, bfloat16, float8_e4m3fn, float8_e5m2");
  define_reading_options(arguments, options->reading);
  define_writing_options(arguments, options->writing, {.in_place = false});
  arguments.outputs(
      [options] { return options->out ? std::vector<std::string>{*options->out} : std::vector<std::string>(); });
  return [options](bool quiet) { return run(*options, quiet); };
}

}  // namespace

extern const Command extract_command;
const Command extract_command{
    "extract",
    "FILE NAME -o OUT [options]",
    "one tensor to a file: npy, npz, safetensors, pt",
    "Writes the tensor of that name, as inspect shows it, and no byte of anything else. OUT's suffix says the\n"
    "format.\n",
    "ckpt extract model.pt fc.weight -o fc.weight.npy",
    "ckpt extract model.pt fc.weight -o - | python3 plot.py",
    define,
};

}  // namespace ckpt::tools
