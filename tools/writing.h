#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/formats.h"
#include "console/arguments.h"

/// What the commands that read one checkpoint and write another have in common.
namespace ckpt::tools {

/// Of which some commands have no use; `several`: more than one IN, so that an OUT that was forgotten is one of them.
struct WhichOptions {
  bool in_place = true, gzip = true, several = false;
};

/// The options as they were given.
struct WritingOptions {
  WhichOptions which;
  std::vector<GivenOption> given;  ///< all of them, these and the command's own
  std::vector<std::string> files;  ///< IN and OUT, or FILE with --in-place
  std::optional<std::string> gzip, verify;
  bool no_gzip = false;
  bool in_place = false;
  bool no_clobber = false, clobber = false;
  bool dry_run = false;
  bool allow_unsafe = false;
};

void define_writing_options(Arguments& arguments, WritingOptions& options, const WhichOptions& which = {});

/// The options made sense of: from where to where, and how.
struct Job {
  std::string command;
  std::vector<std::string> files;    ///< that it was given, and
  std::vector<GivenOption> options;  ///< the options
  std::string in, out;
  bool in_place = false;
  bool of_several = false;  ///< `in` is the last of them
  bool unasked = false;     ///< save.no_clobber, since there was no OUT when it was looked for
  bool renames = false;     ///< what is written may have other names than what was read
  SaveOptions save;
};

/// Throws Error (invalid_argument) where the options contradict each other or a file is missing; the hint shows
/// `command` with its files.
Job plan(const WritingOptions& options, const std::string& command);

/// plan() of a command with several inputs, the last of which names the output's format: the files before OUT go to
/// `inputs`. Refuses an OUT that is there, and may have been meant as another IN, unless it is told to replace it.
Job plan_many(const WritingOptions& options, const std::string& command, std::vector<std::string>& inputs);

/// Throws Error (invalid_argument) where a file that is not there, and looks like a value of `option`, stands behind
/// it, which takes its value with `=` alone. `gives`: what the value is.
void refuse_value_as_file(const WritingOptions& options, const std::string& option,
                          bool (*is_value)(const std::string& file), const std::string& gives);

/// Runs `work`, and of a file of several state dicts proposes how one of them is taken out of it first.
void with_part_hint(const std::function<void()>& work);

/// The number that `text` is, between `least` and `most`. Throws Error (invalid_argument) that names `option`.
int number_option(const std::string& option, const std::string& text, int least, int most, int example);

/// The name of a format that is written. Throws Error (invalid_argument) for any other.
std::string writable_format(const std::string& name);

/// Reads the input, and prints what the reader warns of.
Checkpoint load_input(const Job& job, const ReadOptions& options = {});

/// Writes the output, then prints the summary: one line that says what was written and, after it, what was done.
void write_output(Checkpoint checkpoint, const Job& job, const std::vector<std::string>& done, bool quiet);

}  // namespace ckpt::tools
