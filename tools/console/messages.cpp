#include "messages.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>
#include <system_error>

#include "ckpt/version.h"
#include "recoverable.h"
#include "text.h"

namespace ckpt::tools {
namespace {

// Of the first write to standard output that failed: by the time it is reported, errno is another's.
int output_error = 0;

void note_output_error(int errno_value) {
  if (output_error == 0) output_error = errno_value;
}

// Printed, and not yet written.
std::string pending_output;
constexpr std::size_t much = std::size_t{1} << 16;

/// All of it, also where somebody set standard output non-blocking. Returns 0, or the errno of what failed.
int write_all(std::string_view text) {
  // A buffer of stdio's would be lost when it cannot be written at once.
  [[maybe_unused]] static const int unbuffered = std::setvbuf(stdout, nullptr, _IONBF, 0);
  while (true) {
    errno = 0;
    text.remove_prefix(std::fwrite(text.data(), 1, text.size(), stdout));
    if (text.empty()) return 0;
    if (errno != EAGAIN) return errno != 0 ? errno : EIO;
    pollfd waiting{STDOUT_FILENO, POLLOUT, 0};
    if (::poll(&waiting, 1, -1) < 0 && errno != EINTR) return errno;
    std::clearerr(stdout);
  }
}

void print_line(std::string_view kind, std::string_view text) {
  // What was already printed comes first where both streams go to one terminal or file.
  flush_output();
  print_error_text(std::string(kind) + printable(text) + "\n");
}

/// The file of the user's in "FILE: member 'x'"; a name may hold ": " itself.
std::string outer_file(const std::string& name) {
  std::error_code unknown;
  for (std::size_t end = name.size(); end != std::string::npos && end > 0; end = name.rfind(": ", end - 1))
    if (std::filesystem::exists(name.substr(0, end), unknown)) return name.substr(0, end);
  return name.substr(0, name.find(": member "));
}

std::string metadata_beside(const std::string& piece) {
  return std::filesystem::path(piece).replace_filename(".metadata").string();
}

/// What to do about an error that brings no hint of its own.
std::string hint_for(const Error& error) {
  if (!error.hint().empty()) return error.hint();
  if (error.is_output() && std::string_view(error.what()).ends_with(std::generic_category().message(EPERM)))
    return "what stands there, or its folder, may not be changed, or only grow: lsattr -d tells";
  if (error.is_output())
    return "the folder of OUT must be there, be yours to write to, and have room: ls -ld and df -h tell";
  const std::string path = outer_file(error.file());
  const std::string file = path.empty() ? "FILE" : shell_word(path);
  const bool is_damage = error.code() == ErrorCode::truncated || error.code() == ErrorCode::corrupt;
  if (is_damage && is_piece(path)) return piece_hint("inspect", path);
  switch (error.code()) {
    case ErrorCode::truncated:
      return "the copy or download of it stopped early: fetch it again" +
             (may_be_recovered(path) ? ", or save what is whole: ckpt recover " + file + " OUT" : "");
    case ErrorCode::corrupt:
      return "ckpt verify " + file + " lists all that is wrong with it, " +
             (may_be_recovered(path) ? "ckpt recover " + file + " OUT saves what is whole"
                                     : "an earlier copy may be whole");
    case ErrorCode::unsupported:
      return "ckpt formats lists what ckpt reads and writes";
    case ErrorCode::limit_exceeded:
      return "no real checkpoint comes near this cap: the file is damaged, or made to do harm";
    case ErrorCode::io:
      return "check the path and who may read it: ls -l " + file;
    case ErrorCode::out_of_memory:
      return "close other programs, or use a machine with more memory";
    default:
      return {};
  }
}

/// Runs `work`; prints its error and gives back the status that belongs to it.
int report_failure(const std::function<int()>& work, const std::string& file) {
  try {
    return work();
  } catch (Error& error) {
    if (!file.empty()) error.in(file);
    print_line("ckpt: ", error.what());
    for (const std::string& line : error.details()) print_line("\t", line);
    if (const std::string hint = hint_for(error); !hint.empty()) print_hint(hint);
    return exit_status(error);
  } catch (const std::bad_alloc&) {
    print_line("ckpt: ", (file.empty() ? "" : file + ": ") + "memory ran out");
    print_hint("close other programs, or use a machine with more memory");
    return exit_unavailable;
  } catch (const std::exception& error) {
    print_line("ckpt: ", (file.empty() ? "" : file + ": ") + "this is a bug in ckpt: " + error.what());
    print_hint("please report it, with the command and, if it may be shared, the file");
    return exit_input;
  }
}

}  // namespace

bool is_piece(const std::string& file) { return file.ends_with(".distcp"); }

std::string piece_hint(const std::string& command, const std::string& piece) {
  const std::string metadata = metadata_beside(piece);
  std::error_code unknown;
  return std::string("it is a piece of the checkpoint that its folder holds: ") +
         (std::filesystem::exists(metadata, unknown) ? "" : "fetch the .metadata of that, then ") + "ckpt " + command +
         " " + shell_word(metadata);
}

void flush_output() {
  note_output_error(write_all(pending_output));
  pending_output.clear();
}

void print_error_text(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);  // where that fails, nobody is left to be told
}

int exit_status(const Error& error) {
  switch (error.code()) {
    case ErrorCode::unsafe:
      return exit_unsafe;
    case ErrorCode::invalid_argument:
      return exit_usage;
    case ErrorCode::unavailable:
    case ErrorCode::out_of_memory:
      return exit_unavailable;
    case ErrorCode::io:
    case ErrorCode::corrupt:
    case ErrorCode::truncated:
    case ErrorCode::unsupported:
    case ErrorCode::limit_exceeded:
      break;
  }
  return error.is_output() ? exit_output : exit_input;
}

Error usage_error(std::string found, std::string hint) {
  return Error(ErrorCode::invalid_argument, std::move(found)).hint(std::move(hint));
}

void print(std::string_view text) {
  if (output_error != 0) return;
  if (text.size() >= much) {
    flush_output();
    return note_output_error(write_all(text));
  }
  pending_output += text;
  if (pending_output.size() >= much || ::isatty(STDOUT_FILENO) == 1) flush_output();
}

void print_version() { print("ckpt " CKPT_VERSION "\n"); }

void print_warning(std::string_view text) { print_line("ckpt: warning: ", text); }

void finish_input(const Checkpoint& checkpoint, const std::string& file) {
  for (const std::string& warning : finish_reading(checkpoint)) print_warning(file + ": " + warning);
}

void print_note(std::string_view text) { print_line("ckpt: note: ", text); }
void print_hint(std::string_view text) { print_line("hint: ", text); }

int out_of_memory() noexcept {
  std::fputs("ckpt: memory ran out\nhint: close other programs, or use a machine with more memory\n", stderr);
  return exit_unavailable;
}

int guarded(const std::function<int()>& work, const std::string& file) {
  try {
    return report_failure(work, file);
  } catch (const std::bad_alloc&) {
    return out_of_memory();  // not even the message found room
  }
}

int for_each_file(const std::vector<std::string>& files, const std::function<int(const std::string&)>& work) {
  int status = exit_done;
  for (const std::string& file : files) status = std::max(status, guarded([&] { return work(file); }, file));
  return status;
}

int finish_output(int status) {
  flush_output();
  // A file system may say only now that what it was given did not get there.
  if (::close(STDOUT_FILENO) != 0 && errno != EBADF && errno != EINTR) note_output_error(errno);
  if (output_error == 0) return status;
  // Whoever closed the pipe (`| head`) has seen what they wanted; an error line would only disturb.
  const auto tell = [] {
    if (output_error != EPIPE) print_line("ckpt: standard output: ", std::strerror(output_error));
    return static_cast<int>(exit_output);
  };
  return std::max(status, guarded(tell));
}

}  // namespace ckpt::tools
