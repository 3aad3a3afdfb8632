#include "sandbox.h"

#ifdef __linux__

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "ckpt/byte_source.h"
#include "same_file.h"
#include "seccomp.h"

namespace ckpt::tools {
namespace {

namespace fs = std::filesystem;

// What Debian 12's header does not have yet: Documentation/userspace-api/landlock.rst, by the version of the interface.
constexpr std::uint64_t truncate = 1ULL << 14;           // 3
constexpr std::uint64_t device_ioctl = 1ULL << 15;       // 5
constexpr std::uint64_t tcp = 1ULL << 0 | 1ULL << 1;     // 4: bind, connect
constexpr std::uint64_t scopes = 1ULL << 0 | 1ULL << 1;  // 6: abstract sockets, signals
struct Ruleset {
  std::uint64_t files = 0, network = 0, scoped = 0;
};

constexpr std::uint64_t writing = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
                                  LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR |
                                  LANDLOCK_ACCESS_FS_MAKE_REG;
constexpr std::uint64_t making_others = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_SOCK |
                                        LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
                                        LANDLOCK_ACCESS_FS_MAKE_SYM;

class Descriptor {
 public:
  explicit Descriptor(long number) : number_(static_cast<int>(number)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

/// What comes through a pipe is read from a temporary file; so is one that says it is empty, and may not be (/proc).
bool may_be_spooled(const std::string& word) {
  const auto is_one = [](const std::string& file) {
    std::error_code failed;
    const fs::file_status status = fs::status(file, failed);
    if (fs::is_regular_file(status)) return fs::file_size(file, failed) == 0;
    return fs::exists(status) && !fs::is_directory(status);
  };
  // An option's value, or after "--" a file whose name begins so.
  return is_one(word) || (word.starts_with('-') && is_one(word.substr(word.find('=') + 1)));
}

/// Whether a word is standard input or output: "-", "--like=-", "-o-".
bool is_stream(const std::string& word) {
  return word == "-" || word.ends_with("=-") ||
         (word.size() == 3 && word[0] == '-' && word[1] != '-' && word[2] == '-');
}

/// The folder in which a file or folder of that name is made: a link's file stands where the link leads. None where
/// that cannot be found out.
std::optional<fs::path> folder_made_in(const std::string& output) {
  std::error_code failed;
  const fs::path at = end_of_links(output.substr(0, output.find_last_not_of('/') + 1), failed);  // "shards/"
  if (failed) return std::nullopt;
  return at.has_parent_path() ? at.parent_path() : fs::path(".");
}

Descriptor open_folder(const fs::path& name) {
  int number = -1;
  do {
    number = ::open(name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  } while (number < 0 && errno == EINTR);
  return Descriptor(number);
}

/// Whether this user may make files in a folder.
bool is_written_to(const fs::path& folder) { return ::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0; }

void confine_files(const std::vector<std::string>& outputs) {
  const long version = ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  if (version < 1) return;
  std::uint64_t allowed = writing;
  if (version >= 2) allowed |= LANDLOCK_ACCESS_FS_REFER;
  if (version >= 3) allowed |= truncate;
  Ruleset rules{allowed | making_others | LANDLOCK_ACCESS_FS_EXECUTE};
  if (version >= 4) rules.network = tcp;
  if (version >= 5) rules.files |= device_ioctl;
  if (version >= 6) rules.scoped = scopes;
  const std::size_t size = version >= 6 ? sizeof rules : version >= 4 ? 2 * sizeof rules.files : sizeof rules.files;
  const Descriptor ruleset(::syscall(SYS_landlock_create_ruleset, &rules, size, 0));
  if (!ruleset) return;
  for (const std::string& output : outputs) {
    if (output == "-") continue;  // standard output
    const auto name = folder_made_in(output);
    const Descriptor folder = name ? open_folder(*name) : Descriptor(-1);
    if (!folder && !is_written_to(fs::path(output).parent_path())) continue;  // whoever writes there says so
    if (!folder) return;
    const landlock_path_beneath_attr beneath{allowed, folder.get()};
    if (::syscall(SYS_landlock_add_rule, ruleset.get(), LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) != 0) return;
  }
  (void)::syscall(SYS_landlock_restrict_self, ruleset.get(), 0);
}

}  // namespace

void confine(std::vector<std::string> outputs, const std::vector<std::string>& words) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  const bool writes = std::any_of(outputs.begin(), outputs.end(), [](const std::string& out) { return out != "-"; });
  const auto streams =
      std::count_if(words.begin(), words.end(), is_stream) - std::count(outputs.begin(), outputs.end(), "-");
  if (streams > 0 || std::any_of(words.begin(), words.end(), may_be_spooled))
    outputs.push_back(temporary_folder() + "/.");
  confine_files(outputs);
  confine_calls(writes);
}

}  // namespace ckpt::tools

#else

namespace ckpt::tools {

void confine(std::vector<std::string> /*outputs*/, const std::vector<std::string>& /*words*/) {}

}  // namespace ckpt::tools

#endif
