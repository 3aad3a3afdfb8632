#include "sandbox.h"

#ifdef __linux__

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <optional>

#include "ckpt/byte_source.h"
#include "same_file.h"

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

// Calls that are as young; they have one number on every machine.
constexpr std::uint32_t quotactl_fd = 443, fchmodat2 = 452, setxattrat = 463, removexattrat = 466, open_tree_attr = 467,
                        file_setattr = 469;

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

/// What comes through a pipe is read from a temporary file.
bool is_pipe(const std::string& word) {
  const auto is_one = [](const std::string& file) {
    std::error_code failed;
    const fs::file_status status = fs::status(file, failed);
    return fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status);
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

#if defined(__x86_64__)
constexpr std::uint32_t machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t machine = AUDIT_ARCH_AARCH64;
#else
#define CKPT_NO_FILTER
#endif

#ifndef CKPT_NO_FILTER

constexpr auto refused = std::to_array<std::uint32_t>({
// other programs, other processes
#ifdef __x86_64__
    SYS_fork,
    SYS_vfork,
#endif
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_process_madvise,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_kill,
    SYS_tkill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_pidfd_send_signal,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_sched_setaffinity,
    SYS_sched_setattr,
    SYS_sched_setparam,
    SYS_sched_setscheduler,
    SYS_move_pages,
    SYS_migrate_pages,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semctl,
    SYS_semop,
    SYS_semtimedop,
    SYS_msgget,
    SYS_msgctl,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_mq_open,
    SYS_mq_unlink,
// whose a file is, who may do what with it, what it is labelled with, its times: what Landlock leaves to anybody
#ifdef __x86_64__
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
#endif
    SYS_fchmodat,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    fchmodat2,
    setxattrat,
    removexattrat,
    file_setattr,
    SYS_truncate,  // which Landlock knows from version 3 on
    // the network, and sockets of this machine
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
// the system
#ifdef __x86_64__
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
    SYS_mount,
    SYS_umount2,
    SYS_move_mount,
    SYS_open_tree,
    open_tree_attr,
    SYS_mount_setattr,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_pivot_root,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_quotactl,
    quotactl_fd,
    SYS_vhangup,
    SYS_fanotify_init,
    SYS_fanotify_mark,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_syslog,
    SYS_open_by_handle_at,
    // ways into the kernel that are not needed
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_personality,
});

// A filter sees a call as struct seccomp_data; of its arguments, the lower halves are enough here.
constexpr std::uint32_t its_number = 0, its_machine = 4, first_argument = 16, second_argument = 24, third_argument = 32;
constexpr std::uint32_t allowed = SECCOMP_RET_ALLOW, forbidden = SECCOMP_RET_ERRNO | EPERM,
                        unknown = SECCOMP_RET_ERRNO | ENOSYS;

constexpr std::uint32_t is_terminal = 0x802c542a;                 // TCGETS2: glibc's isatty() since 2.42
constexpr std::uint32_t signal_of_file = 10, owner_by_kind = 15;  // F_SETSIG, F_SETOWN_EX: glibc hides them

constexpr sock_filter load(std::uint32_t at) { return {BPF_LD | BPF_W | BPF_ABS, 0, 0, at}; }
constexpr sock_filter answer(std::uint32_t what) { return {BPF_RET | BPF_K, 0, 0, what}; }
/// Skips the next instruction unless `test` holds.
constexpr sock_filter only_if(std::uint16_t test, std::uint32_t value) {
  return {static_cast<std::uint16_t>(BPF_JMP | BPF_K | test), 0, 1, value};
}

/// Skips so many instructions unless it is that call.
constexpr sock_filter only_of(std::uint32_t call, std::uint8_t instructions) {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, instructions, call};
}

/// Refuses; and `clone` but for threads, `clone3` (whose flags a filter cannot see: libraries fall back on `clone`),
/// other processes than `self` where a call names one, signals for them by an open file, what drivers and file systems
/// do but to say what a terminal is, emptying a file that is opened for reading alone (which Landlock knows from
/// version 3 on; `openat2` hides its flags), and where nothing is written, changes of an open file's owner, mode and
/// lists.
constexpr auto filter(std::uint32_t self, bool writes) {
  const std::uint32_t where_writing = writes ? allowed : forbidden;
  const std::array special{only_if(BPF_JEQ, SYS_clone3),
                           answer(unknown),
                           only_if(BPF_JEQ, SYS_openat2),
                           answer(unknown),
#ifdef __x86_64__
                           only_of(SYS_open, 6),
                           load(second_argument),
                           only_if(BPF_JSET, O_ACCMODE),
                           answer(allowed),
                           only_if(BPF_JSET, O_TRUNC),
                           answer(forbidden),
                           answer(allowed),
#endif
                           only_of(SYS_openat, 6),
                           load(third_argument),
                           only_if(BPF_JSET, O_ACCMODE),
                           answer(allowed),
                           only_if(BPF_JSET, O_TRUNC),
                           answer(forbidden),
                           answer(allowed),
                           only_of(SYS_clone, 4),
                           load(first_argument),
                           only_if(BPF_JSET, CLONE_THREAD),
                           answer(allowed),
                           answer(forbidden),
                           only_of(SYS_tgkill, 4),
                           load(first_argument),
                           only_if(BPF_JEQ, self),
                           answer(allowed),
                           answer(forbidden),
                           only_of(SYS_prlimit64, 4),
                           load(first_argument),
                           only_if(BPF_JEQ, 0),
                           answer(allowed),
                           answer(forbidden),
                           only_if(BPF_JEQ, SYS_fchmod),
                           answer(where_writing),
                           only_if(BPF_JEQ, SYS_fchown),
                           answer(where_writing),
                           only_if(BPF_JEQ, SYS_fsetxattr),
                           answer(where_writing),
                           only_if(BPF_JEQ, SYS_fremovexattr),
                           answer(where_writing),
                           only_of(SYS_fcntl, 8),
                           load(second_argument),
                           only_if(BPF_JEQ, F_SETOWN),
                           answer(forbidden),
                           only_if(BPF_JEQ, owner_by_kind),
                           answer(forbidden),
                           only_if(BPF_JEQ, signal_of_file),
                           answer(forbidden),
                           answer(allowed),
                           only_of(SYS_ioctl, 8),
                           load(second_argument),
                           only_if(BPF_JEQ, TCGETS),
                           answer(allowed),
                           only_if(BPF_JEQ, is_terminal),
                           answer(allowed),
                           only_if(BPF_JEQ, TIOCGWINSZ),
                           answer(allowed),
                           answer(forbidden),
                           answer(allowed)};
  constexpr std::array head{load(its_machine),
                            sock_filter{BPF_JMP | BPF_JEQ | BPF_K, 1, 0, machine},
                            answer(forbidden),
                            load(its_number),
                            only_if(BPF_JGE, 0x40000000),  // another numbering, of x32
                            answer(forbidden)};
  std::array<sock_filter, head.size() + 2 * refused.size() + special.size()> all{};
  auto at = std::copy(head.begin(), head.end(), all.begin());
  for (const std::uint32_t number : refused) {
    *at++ = only_if(BPF_JEQ, number);
    *at++ = answer(forbidden);
  }
  std::copy(special.begin(), special.end(), at);
  return all;
}

void confine_calls(bool writes) {
  const auto instructions = filter(static_cast<std::uint32_t>(::getpid()), writes);
  // The kernel's pointer is not const, but it does not write there.
  const sock_fprog program{instructions.size(), const_cast<sock_filter*>(instructions.data())};
  (void)::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

void confine_calls(bool) {}

#endif

}  // namespace

void confine(std::vector<std::string> outputs, const std::vector<std::string>& words) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return;
  const bool writes = std::any_of(outputs.begin(), outputs.end(), [](const std::string& out) { return out != "-"; });
  const auto streams =
      std::count_if(words.begin(), words.end(), is_stream) - std::count(outputs.begin(), outputs.end(), "-");
  if (streams > 0 || std::any_of(words.begin(), words.end(), is_pipe)) outputs.push_back(temporary_folder() + "/.");
  confine_files(outputs);
  confine_calls(writes);
}

}  // namespace ckpt::tools

#else

namespace ckpt::tools {

void confine(std::vector<std::string> /*outputs*/, const std::vector<std::string>& /*words*/) {}

}  // namespace ckpt::tools

#endif
