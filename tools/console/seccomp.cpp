#include "seccomp.h"

#ifdef __linux__

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
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

namespace ckpt::tools {

#if defined(__x86_64__)
constexpr std::uint32_t machine = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr std::uint32_t machine = AUDIT_ARCH_AARCH64;
#else
#define CKPT_NO_FILTER
#endif

#ifndef CKPT_NO_FILTER

namespace {

// Calls that Debian 12's headers do not have yet; they have one number on every machine.
constexpr std::uint32_t quotactl_fd = 443, fchmodat2 = 452, setxattrat = 463, removexattrat = 466, open_tree_attr = 467,
                        file_setattr = 469;

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

/// Of what was loaded.
constexpr sock_filter only_these(std::uint32_t bits) { return {BPF_ALU | BPF_AND | BPF_K, 0, 0, bits}; }

/// Skips so many instructions unless it is that call.
constexpr sock_filter only_of(std::uint32_t call, std::uint8_t instructions) {
  return {BPF_JMP | BPF_JEQ | BPF_K, 0, instructions, call};
}

/// Refuses; and `clone` but for threads, `clone3` (whose flags a filter cannot see: libraries fall back on `clone`),
/// other processes than `self` where a call names one, signals for them by an open file, what drivers and file systems
/// do but to say what a terminal is, emptying a file that is opened for reading alone, or for neither reading nor
/// writing (access mode 3; Landlock knows either from version 3 on; `openat2` hides its flags), and where nothing is
/// written, changes of an open file's owner, mode and lists.
constexpr auto filter(std::uint32_t self, bool writes) {
  const std::uint32_t where_writing = writes ? allowed : forbidden;
  const std::array special{only_if(BPF_JEQ, SYS_clone3),
                           answer(unknown),
                           only_if(BPF_JEQ, SYS_openat2),
                           answer(unknown),
#ifdef __x86_64__
                           only_of(SYS_open, 7),
                           load(second_argument),
                           only_these(O_TRUNC | O_ACCMODE),
                           only_if(BPF_JEQ, O_TRUNC | O_RDONLY),
                           answer(forbidden),
                           only_if(BPF_JEQ, O_TRUNC | O_ACCMODE),
                           answer(forbidden),
                           answer(allowed),
#endif
                           only_of(SYS_openat, 7),
                           load(third_argument),
                           only_these(O_TRUNC | O_ACCMODE),
                           only_if(BPF_JEQ, O_TRUNC | O_RDONLY),
                           answer(forbidden),
                           only_if(BPF_JEQ, O_TRUNC | O_ACCMODE),
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

}  // namespace

void confine_calls(bool writes) {
  const auto instructions = filter(static_cast<std::uint32_t>(::getpid()), writes);
  // The kernel's pointer is not const, but it does not write there.
  const sock_fprog program{instructions.size(), const_cast<sock_filter*>(instructions.data())};
  (void)::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

#else

void confine_calls(bool) {}

#endif

}  // namespace ckpt::tools

#endif
