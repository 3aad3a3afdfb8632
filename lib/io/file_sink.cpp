#include "ckpt/file_sink.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <functional>
#include <optional>

#include "ckpt/limits.h"
#include "ckpt/signals.h"
#include "io/file_source.h"
#include "io/leftovers.h"
#include "io/output.h"
#include "io/output_target.h"
#include "io/temporaries.h"

namespace ckpt {
namespace {

std::string descriptor_path(int fd) { return "/proc/self/fd/" + std::to_string(fd); }

/// Renames `from` where nothing is yet. Says whether that is done; errno tells why not.
bool rename_to_new(int folder, const char* from, const char* to) {
  if (::renameat2(folder, from, folder, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  // Not every file system can do so, nor link; then an empty file of ours holds the place.
  if (::linkat(folder, from, folder, to, 0) == 0) {
    ::unlinkat(folder, from, 0);
    return true;
  }
  if (errno == EEXIST) return false;
  constexpr int flags = O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC;
  if (!UniqueFd(uninterrupted([&] { return ::openat(folder, to, flags, 0600); }))) return false;
  if (::renameat(folder, from, folder, to) == 0) return true;
  const int errno_value = errno;
  ::unlinkat(folder, to, 0);
  errno = errno_value;
  return false;
}

}  // namespace

struct FileSink::State {
  OutputTarget target;
  FileSinkOptions options;
  UniqueFd file;
  std::optional<TemporaryName> temporary;  // where the file system has no unnamed files, or while commit() renames
  std::optional<BufferedOutput> output;    // until commit()
  std::vector<std::string> removed;

  ~State() { remove_temporary(); }

  void create();
  bool with_new_name(const std::function<bool(const char*)>& make);
  void remove_temporary();
  void give_name();
  void name_unnamed();
  void keep_what_is_newer() const;
  void rename_temporary();
  [[nodiscard]] BufferedOutput& open_output();
  [[noreturn]] void fail(const char* doing) const { throw output_error(doing, target.shown, errno); }
};

void FileSink::State::create() {
  // Until commit() sets the old file's mode, nobody else shall read what replaces it.
  const mode_t mode = target.existing ? 0600 : 0666;
  // An unnamed file gets its name through /proc: without that it is no use.
  if (::access("/proc/self/fd", X_OK) == 0) {
    file = UniqueFd(
        uninterrupted([&] { return ::openat(target.folder.get(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode); }));
  }
  if (!file) {
    const SignalsBlocked blocked;
    const bool made = with_new_name([&](const char* name) {
      constexpr int flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC;
      file = UniqueFd(uninterrupted([&] { return ::openat(target.folder.get(), name, flags, mode); }));
      return static_cast<bool>(file);
    });
    if (!made) {
      const int errno_value = errno;
      temporary.reset();
      throw output_error("cannot create", target.shown, errno_value);
    }
  }
  hold_temporary(file.get());
  output.emplace(file.get(), target.shown);
}

BufferedOutput& FileSink::State::open_output() {
  if (!output) throw committed_already(target.shown);
  return *output;
}

// In containers two processes may have one number, and so choose one name at the same moment.
bool FileSink::State::with_new_name(const std::function<bool(const char*)>& make) {
  constexpr int most_attempts = 100;
  for (int attempt = 1;; ++attempt) {
    temporary.reset();
    temporary.emplace(target.folder.get());
    if (make(temporary->name())) return true;
    if (errno != EEXIST || attempt == most_attempts) return false;
  }
}

void FileSink::State::remove_temporary() {
  if (!temporary) return;
  const SignalsBlocked blocked;
  temporary->remove();
  temporary.reset();
}

void FileSink::State::give_name() {
  const SignalsBlocked blocked;
  if (!temporary) name_unnamed();
  if (temporary) rename_temporary();
}

void FileSink::State::name_unnamed() {
  const std::string self = descriptor_path(file.get());
  const auto link_as = [&](const char* name) {
    return ::linkat(AT_FDCWD, self.c_str(), target.folder.get(), name, AT_SYMLINK_FOLLOW) == 0;
  };
  if (link_as(target.name.c_str())) return;
  if (errno != EEXIST) fail("cannot create");
  if (options.no_clobber) throw exists_already(target.shown);
  if (!with_new_name(link_as)) {
    const int errno_value = errno;
    temporary.reset();
    throw output_error("cannot create", target.shown, errno_value);
  }
}

/// Who saves whole files, as ckpt does, may have put another there, which nobody has read.
void FileSink::State::keep_what_is_newer() const {
  const auto now = standing_at(target);
  if (!now || !target.existing) return;
  const struct stat& then = *target.existing;
  const bool is_it = now->st_dev == then.st_dev && now->st_ino == then.st_ino;
  if (!is_it || !is_unwritten(then, *now)) throw changed_while_read(target.shown);
}

void FileSink::State::rename_temporary() {
  if (options.is_input) keep_what_is_newer();
  const int folder = target.folder.get();
  const char* from = temporary->name();
  const char* to = target.name.c_str();
  const bool done = options.no_clobber ? rename_to_new(folder, from, to) : ::renameat(folder, from, folder, to) == 0;
  if (!done && options.no_clobber && errno == EEXIST) throw exists_already(target.shown);
  if (!done) fail("cannot create");
  temporary.reset();
}

FileSink::FileSink(const std::string& path, FileSinkOptions options)
    : ByteSink(path), state_(std::make_unique<State>()) {
  state_->options = options;
  state_->target = open_target(path);
  require_replaceable(state_->target, options.no_clobber);
  state_->removed = remove_leftovers(state_->target.folder.get());
  state_->create();
}

FileSink::~FileSink() = default;

void FileSink::append(std::span<const std::byte> bytes) {
  constexpr std::size_t much = 128 * limits::kib;  // to be copied into a buffer first
  bytes.size() < much ? ByteSink::append(bytes) : state_->open_output().write_now(bytes);
}

std::span<std::byte> FileSink::prepare() { return state_->open_output().room(); }
void FileSink::append_prepared(std::size_t count) { state_->open_output().advance(count); }

void FileSink::commit() {
  State& state = *state_;
  state.open_output().flush();
  take_over_permissions(state.file.get(), state.target);
  if (uninterrupted([&] { return ::fsync(state.file.get()); }) != 0) state.fail("cannot write");
  if (!can_be_closed(state.file.get())) state.fail("cannot write");
  state.give_name();
  state.output.reset();
  if (!sync_folder(state.target.folder.get())) state.fail("was written, but its folder cannot be synced");
}

const std::vector<std::string>& FileSink::removed() const { return state_->removed; }

std::string say_removed(const std::string& name) {
  return name + " beside it was left by a run that was killed, and is removed";
}

ByteSourcePtr FileSink::read_back() const {
  if (state_->output) state_->output->flush();
  UniqueFd file(::fcntl(state_->file.get(), F_DUPFD_CLOEXEC, 3));
  if (!file) state_->fail("cannot read back");
  return file_source(std::move(file), 0, offset(), name());
}

}  // namespace ckpt
