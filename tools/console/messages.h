#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ckpt/checkpoint.h"
#include "ckpt/error.h"

/// What a command says and how it ends: results on standard output, everything else on standard error.
namespace ckpt::tools {

/// Exit statuses, as docs/cli.md promises them.
enum ExitStatus : int {
  exit_done = 0,
  exit_no = 1,           ///< the answer is no: verify found faults
  exit_usage = 2,        ///< wrong usage
  exit_input = 3,        ///< the input is unreadable, corrupt or unsupported
  exit_unsafe = 4,       ///< refused as unsafe
  exit_unavailable = 5,  ///< the machine lacks it: a device, memory, a component
  exit_output = 6,       ///< the output could not be written
};

int exit_status(const Error& error);

/// An error in the use of the command line.
Error usage_error(std::string found, std::string hint);

/// Appends to standard output, byte for byte: the caller has made names printable. Failures come out in
/// finish_output().
void print(std::string_view text);

/// The same to standard error, at once; failures are nobody's.
void print_error_text(std::string_view text);

/// Hands on what was printed so far, for whoever waits for it.
void flush_output();

/// `ckpt 1.2.3`, a line.
void print_version();

/// `ckpt: warning: …`, `ckpt: note: …` and `hint: …` on standard error, made printable, a line each.
void print_warning(std::string_view text);
/// finish_reading(), and prints what it warns of.
void finish_input(const Checkpoint& checkpoint, const std::string& file);

/// Whether it is one file of a distributed checkpoint, given as if it were all of it.
bool is_piece(const std::string& file);
/// How `command` is given all of the checkpoint instead.
std::string piece_hint(const std::string& command, const std::string& piece);

void print_note(std::string_view text);
void print_hint(std::string_view text);

/// Says that memory ran out, needing none itself; returns the status for it.
int out_of_memory() noexcept;

/// Runs `work`, or prints its error (as one of `file`, where it names none) and returns the status that belongs to it.
int guarded(const std::function<int()>& work, const std::string& file = {});

/// Runs `work` on each file, goes on after a failure, and returns the highest status.
int for_each_file(const std::vector<std::string>& files, const std::function<int(const std::string&)>& work);

/// Flushes standard output; exit_output, with an error, where something of it was lost, else `status`.
int finish_output(int status);

}  // namespace ckpt::tools
