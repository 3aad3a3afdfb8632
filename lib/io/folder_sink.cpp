#include "ckpt/folder_sink.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include <cerrno>
#include <optional>
#include <set>
#include <utility>

#include "ckpt/error.h"
#include "ckpt/file_sink.h"
#include "ckpt/signals.h"
#include "io/leftovers.h"
#include "io/output.h"
#include "io/output_target.h"
#include "io/paths.h"
#include "io/temporaries.h"

namespace ckpt {

struct FolderSink::State {
  std::string shown;
  FolderSinkOptions options;
  OutputTarget target;
  std::optional<TemporaryName> temporary;  ///< none in a dry run, and after commit()
  UniqueFd folder;                         ///< the temporary one
  std::uint64_t bytes = 0;
  std::size_t unfinished = 0;   ///< files that were added and not committed
  std::set<std::string> names;  ///< of a dry run's files: no folder knows them
  bool committed = false;
  std::vector<std::string> removed;

  ~State() { remove_temporary(); }

  void create();
  void remove_temporary();
  [[noreturn]] void fail(const std::string& doing) const { throw output_error(doing, shown, errno); }
};

namespace {

/// A file of a FolderSink, which it counts into at its end.
class FileInFolder final : public ByteSink {
 public:
  FileInFolder(UniqueFd file, std::string name, FolderSink::State& folder)
      : ByteSink(name), file_(std::move(file)), output_(std::in_place, file_.get(), std::move(name)), folder_(folder) {
    ++folder_.unfinished;
  }

  void commit() override {
    open_output().flush();
    if (uninterrupted([&] { return ::fsync(file_.get()); }) != 0 || !can_be_closed(file_.get()))
      throw output_error("cannot write", name(), errno);
    output_.reset();
    file_.reset();
    --folder_.unfinished;
    folder_.bytes += offset();
  }

 private:
  std::span<std::byte> prepare() override { return open_output().room(); }
  void append_prepared(std::size_t count) override { open_output().advance(count); }
  BufferedOutput& open_output() {
    if (!output_) throw committed_already(name());
    return *output_;
  }

  UniqueFd file_;
  std::optional<BufferedOutput> output_;  ///< until commit()
  FolderSink::State& folder_;
};

/// The same in a dry run.
class CountedFile final : public ByteSink {
 public:
  CountedFile(std::string name, FolderSink::State& folder) : ByteSink(std::move(name)), folder_(folder) {
    ++folder_.unfinished;
  }

  void commit() override {
    require_open();
    committed_ = true;
    --folder_.unfinished;
    folder_.bytes += offset();
  }

 private:
  void append(std::span<const std::byte> /*bytes*/) override { require_open(); }
  void require_open() const {
    if (committed_) throw committed_already(name());
  }

  FolderSink::State& folder_;
  bool committed_ = false;
};

}  // namespace

void FolderSink::State::create() {
  const SignalsBlocked blocked;
  // In containers two processes may have one number, and so choose one name at the same moment.
  constexpr int most_attempts = 100;
  for (int attempt = 1; !folder; ++attempt) {
    temporary.reset();
    temporary.emplace(target.folder.get());
    // In the place of a folder nobody else sees into it before it has that one's permissions.
    if (::mkdirat(target.folder.get(), temporary->name(), target.existing ? 0700 : 0777) == 0) {
      temporary->becomes_folder();
      constexpr int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW;
      folder = UniqueFd(uninterrupted([&] { return ::openat(target.folder.get(), temporary->name(), flags); }));
      if (!folder) fail("cannot create");
      hold_temporary(folder.get());
      take_over_group(folder.get(), target);
    } else if (errno != EEXIST || attempt == most_attempts) {
      const int errno_value = errno;
      temporary.reset();
      throw output_error("cannot create", shown, errno_value);
    }
  }
}

void FolderSink::State::remove_temporary() {
  if (!temporary) return;
  const SignalsBlocked blocked;
  temporary->remove();
  temporary.reset();
}

FolderSink::FolderSink(const std::string& path, FolderSinkOptions options) : state_(std::make_unique<State>()) {
  state_->shown = path;
  state_->options = options;
  state_->target = open_folder_target(path);
  require_replaceable(state_->target, options.no_clobber);
  if (!options.dry_run) {
    state_->removed = remove_leftovers(state_->target.folder.get());
    state_->create();
  } else if (!is_permitted(state_->target.folder_path, W_OK | X_OK)) {
    state_->fail("cannot create");
  }
}

FolderSink::~FolderSink() = default;

std::unique_ptr<ByteSink> FolderSink::add(const std::string& name) {
  State& state = *state_;
  const std::string shown = state.shown + "/" + name;
  if (!stays_inside(name) || name.find('/') != std::string::npos)
    throw Error(ErrorCode::invalid_argument, "'" + name + "' is no name of a file in a folder").on_output();
  if (state.committed) throw committed_already(state.shown);
  if (state.options.dry_run) {
    if (!state.names.insert(name).second) throw output_error("cannot create", shown, EEXIST);
    return std::make_unique<CountedFile>(shown, state);
  }
  const SignalsBlocked blocked;
  state.temporary->add_file(state.folder.get(), name);
  constexpr int flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC;
  UniqueFd file(uninterrupted([&] { return ::openat(state.folder.get(), name.c_str(), flags, 0666); }));
  if (!file) throw output_error("cannot create", shown, errno);
  return std::make_unique<FileInFolder>(std::move(file), shown, state);
}

void FolderSink::commit() {
  State& state = *state_;
  if (state.committed) throw committed_already(state.shown);
  if (state.unfinished > 0)
    throw Error(ErrorCode::invalid_argument, std::to_string(state.unfinished) + " of its files are not committed")
        .expected("all of them whole")
        .in(state.shown)
        .on_output();
  if (state.options.dry_run) {
    state.committed = true;
    return;
  }
  take_over_permissions(state.folder.get(), state.target);
  if (!sync_folder(state.folder.get())) state.fail("cannot write");
  const SignalsBlocked blocked;
  const int parent = state.target.folder.get();
  const char* const from = state.temporary->name();
  const char* const to = state.target.name.c_str();
  // Onto an empty folder, or nothing: rename() itself refuses all else.
  const unsigned how = state.options.no_clobber ? RENAME_NOREPLACE : 0;
  bool done = ::renameat2(parent, from, parent, to, how) == 0;
  if (!done && (errno == EINVAL || errno == ENOSYS)) {
    // Where there is no such call of the file system's, a folder of ours holds the place.
    const bool holds_place = how == 0 || ::mkdirat(parent, to, 0700) == 0;
    done = holds_place && ::renameat(parent, from, parent, to) == 0;
    if (!done && holds_place && how != 0) {
      const int number = errno;
      ::unlinkat(parent, to, AT_REMOVEDIR);
      errno = number;
    }
  }
  if (!done && errno == EEXIST && state.options.no_clobber) throw exists_already(state.shown);
  if (!done) state.fail("cannot create");
  state.committed = true;
  state.temporary.reset();
  if (!sync_folder(parent)) state.fail("was written, but its folder cannot be synced");
}

std::string FolderSink::path() const {
  const State& state = *state_;
  return state.temporary ? state.target.folder_path + "/" + state.temporary->name() : std::string();
}

std::uint64_t FolderSink::bytes() const { return state_->bytes; }

const std::vector<std::string>& FolderSink::removed() const { return state_->removed; }
const std::string& FolderSink::name() const { return state_->shown; }

}  // namespace ckpt
