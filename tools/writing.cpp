#include "writing.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "ckpt/gzip.h"
#include "ckpt/modules.h"
#include "console/messages.h"
#include "console/number.h"
#include "console/render.h"
#include "console/same_file.h"
#include "console/text.h"
#include "console/text_file.h"
#include "finding.h"
#include "loading.h"
#include "option_hint.h"

namespace ckpt::tools {
namespace {

std::string proposed_name(std::string in) {
  while (in.size() > 1 && in.ends_with('/')) in.pop_back();
  const std::size_t folder = in.rfind('/');
  const std::size_t start = folder == std::string::npos ? 0 : folder + 1;
  const std::size_t dot = in.find('.', start + 1);
  return dot == std::string::npos ? in + ".new" : in.substr(0, dot) + ".new" + in.substr(dot);
}

Error missing_files(const WritingOptions& options, const std::string& command) {
  if (options.files.empty())
    return usage_error(command + " needs IN and OUT", "ckpt " + command + " model.pt model.new.pt, for example");
  const std::string& in = options.files.front();
  std::error_code unknown;
  const bool replaces = options.which.in_place && in != "-" && !std::filesystem::is_directory(in, unknown);
  return usage_error(command + " has IN but no OUT", "name OUT as well, such as " +
                                                         shell_word(in == "-" ? "model.new.pt" : proposed_name(in)) +
                                                         (replaces ? "; or --in-place replaces " + in : ""));
}

/// Appended to a file, or written over it in place, it would end in what is read.
void keep_from_standard_output(const std::string& in, const std::string& out) {
  if (out != "-" || !is_same_file(in, out)) return;
  throw usage_error("standard output is the file that is read, which would be lost", "name another file to write to");
}

void take_files(Job& job, const WritingOptions& options, const std::string& command) {
  const std::size_t wanted = options.in_place ? 1 : 2;
  const std::string usage = "ckpt " + command + (options.in_place ? " --in-place FILE" : " IN OUT");
  const auto is_level = [](const std::string& file) { return file.size() == 1 && '1' <= file[0] && file[0] <= '9'; };
  refuse_value_as_file(options, "--gzip", is_level, "the level");
  if (options.files.size() > wanted) {
    throw usage_error("'" + options.files[wanted] + "' is one file too many", usage);
  }
  if (options.files.size() < wanted) {
    throw options.in_place ? usage_error("--in-place needs a FILE", usage) : missing_files(options, command);
  }
  job.in = options.files.front();
  job.out = options.files.back();
  job.in_place = options.in_place;
  if (job.in.empty() || job.out.empty()) throw usage_error("a file's name is empty", usage);
  if (job.in_place && job.in == "-") throw usage_error("--in-place cannot replace standard input", usage);
  keep_from_standard_output(job.in, job.out);
  if (job.out == "-" && ::isatty(STDOUT_FILENO) == 1) {
    throw usage_error("a checkpoint is not written to a terminal",
                      "ckpt " + command + (command == "extract" ? " FILE NAME -o - | PROGRAM" : " IN - | PROGRAM"));
  }
}

/// An OUT that is there may have been meant as the last IN, unless it is one already. Gives whether there is one.
bool keep_what_is_there(const WritingOptions& options, const std::vector<std::string>& inputs,
                        const std::string& command) {
  const std::string& out = options.files.back();
  std::error_code unknown;
  const bool is_there = out != "-" && std::filesystem::exists(out, unknown);
  if (unknown) throw Error(ErrorCode::io, "cannot look at it: " + unknown.message()).in(out).on_output();
  const auto is_out = [&](const std::string& input) { return is_same_file(input, out); };
  if (!is_there || (inputs.size() > 1 && std::any_of(inputs.begin(), inputs.end(), is_out))) return is_there;
  const bool is_folder = std::filesystem::is_directory(out, unknown);
  throw usage_error(command + " would replace " + out, std::string("name OUT behind it, if all are meant to be read") +
                                                           (is_folder ? "" : "; else --clobber replaces it"));
}

ReadBack read_back_option(const WritingOptions& options, const std::string& command) {
  const std::string how = options.verify.value_or("quick");
  if (how == "none") return ReadBack::none;
  if (how == "quick") return ReadBack::quick;
  if (how != "full") throw usage_error("--verify takes full, quick or none, not '" + how + "'", "--verify=full");
  if (options.files.size() == 2 && options.files.back() == "-")
    throw usage_error("--verify=full cannot read standard output back",
                      "ckpt " + command + " IN OUT --verify=full, and ckpt verify checks what came through a pipe");
  return ReadBack::full;
}

std::string loader_of(const std::string& name) {
  const std::vector<FormatInfo> all = formats();
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const FormatInfo& format) { return format.name == name; });
  return found == all.end() ? "a reader" : found->loader;
}

// Python opens what torch.save wrote, but not what lies in gzip, by its path alone: the one surprise worth a line.
std::string compression_summary(const SaveReport& report, const Job& job) {
  if (report.folder) return "a folder of files";
  if (!report.gzip) return "not compressed (--gzip compresses)";
  const auto& level = job.save.gzip_level;  // else some may have been copied, of whatever level it is
  const std::string how = report.format == "safetensors" ? "safetensors.torch.load takes gzip.open(OUT).read()"
                                                         : loader_of(report.format) + " needs gzip.open for it";
  return (level ? "gzip level " + std::to_string(*level) : "gzip") + " (" + how + "; --no-gzip writes a bare file)";
}

std::string shown_output(const Job& job) { return job.out == "-" ? "standard output" : job.out; }

std::vector<std::string> globals_with(const std::vector<GlobalUse>& globals, Verdict verdict) {
  std::vector<std::string> names;
  for (const GlobalUse& global : globals) {
    if (global.verdict == verdict) names.push_back(global.module + "." + global.name);
  }
  return names;
}

void tell_of_globals(const std::vector<GlobalUse>& globals, const Job& job, bool quiet) {
  const std::string written = job.save.dry_run ? " would be written through: " : " were written through: ";
  const auto dangerous = globals_with(globals, Verdict::dangerous);
  if (!dangerous.empty()) {
    print_warning(shown_output(job) + ": dangerous globals" + written + list_text(dangerous, dangerous.size()));
  }
  const auto unknown = globals_with(globals, Verdict::unknown);
  if (!quiet && !unknown.empty()) {
    print_note(shown_output(job) + ": globals that ckpt does not know" + written + list_text(unknown, unknown.size()));
  }
}

void print_summary(const std::string& line, const Job& job) {
  if (job.out != "-") return print(line + "\n");
  print_error_text(line + "\n");
}

/// What OUT's format cannot say, and what to do about it. Of several files it is told of OUT, whichever holds it.
Error unwritable(const Error& error, const Job& job) {
  Error told = error;
  if (job.of_several && error.hint().starts_with("--format")) {
    told.within(shown_output(job) + " is to be of its format");
  } else if (job.of_several) {
    told = Error(error.code(), without_name(error.what(), error.file())).in(shown_output(job));
    for (const std::string& line : error.details()) told.detail(line);
  }
  return told.hint(option_hint(job, error.hint(), error.file()));
}

SaveReport save_as_planned(Checkpoint checkpoint, const Job& job) {
  SaveOptions options = job.save;
  const bool is_script = checkpoint.format == "torchscript";
  // A new file may take its compression from its suffix; one that is replaced keeps what it had.
  if (job.in_place && !options.gzip && !options.gzip_level) options.gzip = checkpoint.gzip;
  try {
    return save(std::move(checkpoint), job.out, options);
  } catch (Error& error) {
    const std::string hint = error.hint();
    if (job.unasked && hint.starts_with("leave out --no-clobber"))
      error.hint("it has appeared since the command began: name another file, or --clobber replaces it");
    else if (error.code() == ErrorCode::unsafe)
      error.in(job.in).hint("ckpt scan " + (job.of_several ? "IN" : shell_word(job.in)) +
                            " shows them; --allow-unsafe writes them through");
    else if (is_script && (hint.starts_with("--dtype") || hint.starts_with("--drop")))
      throw unwritable(error.hint("--weights-only " + hint), job);  // no part of it can be edited otherwise
    else if (hint.starts_with("--"))
      throw unwritable(error, job);
    throw;
  }
}

}  // namespace

void define_writing_options(Arguments& arguments, WritingOptions& options, const WhichOptions& which) {
  options.which = which;
  arguments.given(options.given);
  arguments.files(options.files);
  arguments.outputs([&options] {
    return std::vector<std::string>(options.files.empty() ? options.files.end() : options.files.end() - 1,
                                    options.files.end());
  });
  if (which.in_place) arguments.flag("--in-place", options.in_place, "replace the input: one FILE instead of IN OUT");
  if (which.gzip) {
    arguments.optional_value("--gzip", "LEVEL", std::to_string(gzip_default_level), options.gzip,
                             "compress; 1 (the default) is fastest, 9 often smaller");
    arguments.flag("--no-gzip", options.no_gzip, "write a bare file, which torch.load opens by its path");
  }
  arguments.value("--verify", "HOW", options.verify,
                  "what is read back before OUT appears: quick (the default), full (every byte) or none");
  if (which.several) arguments.flag("--clobber", options.clobber, "replace an OUT that exists");
  arguments.flag("--no-clobber", options.no_clobber, "refuse where OUT exists");
  arguments.flag("--dry-run", options.dry_run,
                 "do all of it but the file: read, check, edit, and say what would be written");
  arguments.flag("--allow-unsafe", options.allow_unsafe, "write dangerous globals through instead of refusing");
}

int number_option(const std::string& option, const std::string& text, int least, int most, int example) {
  const auto value = parse_number<int>(text);
  if (value && least <= *value && *value <= most) return *value;
  const std::string range = std::to_string(least) + " to " + std::to_string(most);
  throw usage_error(option + " takes a number from " + range + ", not '" + text + "'",
                    "for example " + option + "=" + std::to_string(example));
}

std::string writable_format(const std::string& name) {
  std::string known;
  std::vector<FormatInfo> all = formats();
  for (const FormatInfo& format : all) {
    if (format.writes && format.name == name) return name;
    if (format.writes) known += (known.empty() ? "" : ", ") + format.name;
  }
  const bool read_only = std::any_of(all.begin(), all.end(), [&](const FormatInfo& f) { return f.name == name; });
  throw usage_error(read_only ? "format '" + name + "' is only read, not written" : "unknown format '" + name + "'",
                    "--format takes " + known);
}

Job plan(const WritingOptions& options, const std::string& command) {
  Job job{.command = command, .files = options.files, .options = options.given};
  if (options.gzip && options.no_gzip) {
    throw usage_error("--gzip and --no-gzip contradict each other", "give one of them");
  }
  if (options.in_place && options.no_clobber) {
    throw usage_error("--in-place replaces a file, and --no-clobber forbids it",
                      "ckpt " + command + " IN OUT --no-clobber");
  }
  if (options.clobber && options.no_clobber)
    throw usage_error("--clobber and --no-clobber contradict each other", "give one of them");
  take_files(job, options, command);
  if (options.gzip) job.save.gzip_level = number_option("--gzip", *options.gzip, 1, 9, 1);
  if (options.gzip || options.no_gzip) job.save.gzip = !options.no_gzip;
  job.save.read_back = read_back_option(options, command);
  job.save.no_clobber = options.no_clobber;
  job.save.dry_run = options.dry_run;
  job.save.allow_unsafe = options.allow_unsafe;
  return job;
}

Job plan_many(const WritingOptions& options, const std::string& command, std::vector<std::string>& inputs) {
  if (options.files.size() < 2)
    throw usage_error(command + (options.files.empty() ? " needs IN... and OUT" : " has IN but no OUT"),
                      "ckpt " + command + " first.pt second.pt OUT");
  WritingOptions last = options;
  last.files = {options.files[options.files.size() - 2], options.files.back()};
  inputs.assign(options.files.begin(), options.files.end() - 1);
  if (std::count(inputs.begin(), inputs.end(), "-") > 1)
    throw usage_error("standard input is one file", "ckpt " + command + " - other.pt OUT");
  Job job = plan(last, command);
  job.files = options.files;
  job.of_several = inputs.size() > 1;
  for (const std::string& input : inputs) keep_from_standard_output(input, job.out);
  // What appears meanwhile is kept too.
  if (!options.clobber && !options.no_clobber) job.unasked = !keep_what_is_there(options, inputs, command);
  if (job.unasked) job.save.no_clobber = true;
  return job;
}

void refuse_value_as_file(const WritingOptions& options, const std::string& option,
                          bool (*is_value)(const std::string& file), const std::string& gives) {
  for (const GivenOption& given : options.given)
    if (given.text == option && is_value(given.next) && !std::filesystem::exists(given.next))
      throw usage_error("'" + given.next + "' is taken for a file",
                        option + "=" + shell_value(given.next) + " gives " + gives);
}

void with_part_hint(const std::function<void()>& work) {
  try {
    work();
  } catch (Error& error) {
    const std::string hint = error.hint();
    if (hint.starts_with("--root "))
      error.hint("ckpt convert " + shell_word(error.file()) + " PART " + hint + " takes one out first");
    throw;
  }
}

Checkpoint load_input(const Job& job, const ReadOptions& options) {
  Checkpoint checkpoint = load_with_warnings(job.in, options);
  if (job.in_place && !checkpoint.beside.empty())
    throw usage_error(job.in + " is a checkpoint of several files, which is not edited in place",
                      "ckpt convert " + shell_word(job.in) + " OTHER makes another of it");
  if (job.in_place && checkpoint.file != job.in)
    throw usage_error("--in-place replaces a file, and " + job.in + " is a folder",
                      "name the file in it: " + shell_word(checkpoint.file));
  return checkpoint;
}

void write_output(Checkpoint checkpoint, const Job& job, const std::vector<std::string>& done, bool quiet) {
  // To what reads the file, arrays that a pickle keeps are no tensors.
  const auto arrays = std::count_if(checkpoint.tensors.begin(), checkpoint.tensors.end(),
                                    [](const Tensor& tensor) { return tensor.array; });
  const std::vector<GlobalUse> globals = checkpoint.globals;
  const SaveReport report = save_as_planned(std::move(checkpoint), job);
  for (const std::string& warning : report.warnings) print_warning(job.in + ": " + warning);
  if (report.pickled) tell_of_globals(globals, job, quiet);
  if (quiet) return;
  note_removed(report.removed);
  for (const std::string& what : report.left_out) print_note(shown_output(job) + ": " + report.format + ": " + what);
  const std::size_t kept = report.pickled ? std::min(report.tensors, static_cast<std::size_t>(arrays)) : 0;
  std::string line = printable(shown_output(job)) + (job.save.dry_run ? ": would be written: " : ": ") + report.format +
                     ", " + count_text(report.tensors - kept, "tensor") + ", " + size_text(report.bytes) + ", " +
                     compression_summary(report, job);
  for (const std::string& what : done) line += "; " + printable(what);
  print_summary(line, job);
}

}  // namespace ckpt::tools
