/*
 * How it works.  QEMU's list began with strace -f of QEMU 7.2 outside the jail (microvm, TCG, two
 * vCPUs, boot, reads of a disk, console, its own sandbox on), and was completed inside, where a
 * missing call is a SIGSYS, by jobs that use every disk, stdin, outputs and one or two vCPUs.
 * Beside those calls stand neighbours that another libc, glib or kernel chooses for the same end
 * and that open no further door; fallocate is among them (discard, which no measured job made QEMU
 * do).
 *
 * Closed on purpose, and worth knowing when it bites: no new process (clone needs the flags of a
 * thread; clone3, whose flags a filter cannot see, "does not exist", so that glibc uses clone), one
 * execve that the supervisor must allow, no socket/connect/bind/accept, no file made, emptied or
 * opened write-only (disks come as descriptors), no ioctl but the terminal's (there is none) and
 * blocking mode, no io_uring (it would go round this filter), no memory merging between machines
 * (a side channel), no other process's anything.  Executable mappings stay possible: the translator
 * is made of them.
 */
#include "sup/jail-filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/kvm.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <termios.h>

#include "sys/filter-rules.h"

#define ASK_IF(call, arg, op, ...)                                       \
    {                                                                    \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_ASK, .n = 1, .cmp = { \
            {(arg), (op), __VA_ARGS__}                                   \
        }                                                                \
    }

/*
 * Bits that make, empty or append to a file. Reading passes, and O_RDWR | O_CLOEXEC, with which
 * QEMU tries its locks on /dev/null, the one file in the jail where that succeeds (all mounts are
 * read-only). O_RDWR alone is how it opens the file of its guest's memory: the supervisor is asked,
 * and answers once, with a descriptor that cannot write where that is another machine's too.
 */
#define OPEN_CHANGES (O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | (O_TMPFILE & ~O_DIRECTORY))
#define OPEN_CLOEXEC (OPEN_CHANGES | O_RDWR | O_CLOEXEC)

#define THREAD_FLAGS \
    (CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)
#define PROCESS_FLAGS                                                                             \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | \
     CLONE_NEWNET | CLONE_VFORK | CLONE_PTRACE | CLONE_UNTRACED | CLONE_PARENT | CLONE_IO)

static const struct seccomp_rule qemu[] = {
    /* the start, and the report of one that failed */
    {.nr = SCMP_SYS(execve), .action = SECCOMP_DO_ASK},
    ALLOW(arch_prctl),
    ALLOW(set_tid_address),
    ALLOW(set_robust_list),
    ALLOW(rseq),
    ALLOW(exit),
    ALLOW(exit_group),

    /* memory */
    ALLOW(brk),
    ALLOW(mmap),
    ALLOW(munmap),
    ALLOW(mremap),
    ALLOW(mprotect),
    ALLOW(mincore),
    ALLOW(msync),
    {.nr = SCMP_SYS(madvise),
     .action = SECCOMP_DO_ALLOW,
     .n = 1,
     .cmp = {{2, SCMP_CMP_NE, MADV_MERGEABLE}}},
    {.nr = SCMP_SYS(madvise),
     .action = SECCOMP_DO_ERRNO,
     .errnum = EINVAL,
     .n = 1,
     .cmp = {{2, SCMP_CMP_EQ, MADV_MERGEABLE}}},
    ALLOW(membarrier),

    /* threads and signals among themselves; pids of others do not exist in the namespace */
    ALLOW_IF(clone, 0, SCMP_CMP_MASKED_EQ, THREAD_FLAGS | PROCESS_FLAGS, THREAD_FLAGS),
    FAIL(clone3, ENOSYS),
    ALLOW(futex),
    ALLOW(sched_yield),
    ALLOW(sched_getaffinity),
    ALLOW(rt_sigaction),
    ALLOW(rt_sigprocmask),
    ALLOW(rt_sigreturn),
    ALLOW(rt_sigpending),
    ALLOW(rt_sigtimedwait),
    ALLOW(sigaltstack),
    ALLOW(tgkill),
    ALLOW(restart_syscall),

    /* who and where am I */
    ALLOW(getpid),
    ALLOW(gettid),
    ALLOW(getppid),
    ALLOW(getuid),
    ALLOW(geteuid),
    ALLOW(getgid),
    ALLOW(getegid),
    ALLOW(getcwd),
    ALLOW(uname),
    ALLOW(sysinfo),
    ALLOW(getrusage),
    ALLOW(getcpu),
    /* the first argument is a pid: only itself; the third is what to set: nothing */
    {.nr = SCMP_SYS(prlimit64),
     .action = SECCOMP_DO_ALLOW,
     .n = 2,
     .cmp = {{0, SCMP_CMP_EQ, 0}, {2, SCMP_CMP_EQ, 0}}},
    ALLOW(getrlimit),
    ALLOW(getrandom),

    /* time */
    ALLOW(clock_gettime),
    ALLOW(clock_getres),
    ALLOW(clock_nanosleep),
    ALLOW(nanosleep),
    ALLOW(gettimeofday),
    ALLOW(time),
    ALLOW(timerfd_create),
    ALLOW(timerfd_settime),
    ALLOW(timerfd_gettime),

    /* descriptors that are there, and waiting for them */
    ALLOW(read),
    ALLOW(readv),
    ALLOW(pread64),
    ALLOW(preadv),
    ALLOW(write),
    ALLOW(writev),
    ALLOW(pwrite64),
    ALLOW(pwritev),
    ALLOW(lseek),
    ALLOW(close),
    ALLOW(dup),
    ALLOW(dup2),
    ALLOW(dup3),
    ALLOW(fstat),
    ALLOW(fstatfs),
    ALLOW(fsync),
    ALLOW(fdatasync),
    ALLOW(fallocate),
    ALLOW(poll),
    ALLOW(ppoll),
    ALLOW(select),
    ALLOW(pselect6),
    ALLOW(epoll_create1),
    ALLOW(epoll_ctl),
    ALLOW(epoll_wait),
    ALLOW(epoll_pwait),
    ALLOW(eventfd2),
    ALLOW(signalfd4),
    ALLOW(pipe2),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_DUPFD),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_DUPFD_CLOEXEC),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_GETFD),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_SETFD),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_GETFL),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_SETFL),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_GETLK),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_SETLK),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_OFD_GETLK),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_OFD_SETLK),
    IOCTL(TCGETS),
    IOCTL(TCSETS),
    IOCTL(FIONBIO),

    /* the channel's connected socket */
    ALLOW(recvfrom),
    ALLOW(recvmsg),
    ALLOW(sendto),
    ALLOW(sendmsg),
    ALLOW(shutdown),
    ALLOW(getsockname),
    ALLOW(getpeername),
    ALLOW(getsockopt),
    ALLOW(setsockopt),

    /* the read-only root */
    ALLOW_IF(openat, 2, SCMP_CMP_MASKED_EQ, OPEN_CHANGES | O_RDWR, 0),
    ALLOW_IF(openat, 2, SCMP_CMP_MASKED_EQ, OPEN_CLOEXEC, O_RDWR | O_CLOEXEC),
    ASK_IF(openat, 2, SCMP_CMP_MASKED_EQ, OPEN_CLOEXEC, O_RDWR),
    ALLOW_IF(open, 1, SCMP_CMP_MASKED_EQ, OPEN_CHANGES | O_RDWR, 0),
    ALLOW(newfstatat),
    ALLOW(stat),
    ALLOW(lstat),
    ALLOW(statx),
    ALLOW(statfs),
    ALLOW(access),
    ALLOW(faccessat),
    ALLOW(faccessat2),
    ALLOW(readlink),
    ALLOW(readlinkat),
    ALLOW(getdents64),
    ALLOW(fchdir),

    /* QEMU's own filter goes on top: more filters only ever deny more */
    ALLOW(seccomp),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_SET_NO_NEW_PRIVS),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_GET_NO_NEW_PRIVS),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_SET_SECCOMP),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_GET_SECCOMP),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_SET_NAME),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_SET_TIMERSLACK),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_MCE_KILL),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_SET_VMA),

    /* probed by libraries, done without */
    FAIL(io_uring_setup, ENOSYS),
    FAIL(set_mempolicy, ENOSYS),
    FAIL(get_mempolicy, ENOSYS),
    FAIL(memfd_create, ENOSYS),
    FAIL(sched_setaffinity, EPERM),
    FAIL(sched_setscheduler, EPERM),
};

/*
 * Our own monitor, which is one static program: it opens nothing, maps nothing executable, and makes
 * no socket. Its own filters (vmm/guard.h), entered before the guest runs, are subsets of this one
 * for each kind of thread; setting up needs the rest. Of KVM it has no devices of KVM's own
 * (KVM_CREATE_DEVICE), PIT, guest debugging, memory encryption, Xen or state of guests of the guest.
 */
static const struct seccomp_rule vmm[] = {
    {.nr = SCMP_SYS(execve), .action = SECCOMP_DO_ASK},
    ALLOW(arch_prctl),
    ALLOW(set_tid_address),
    ALLOW(set_robust_list),
    ALLOW(rseq),
    ALLOW(exit),
    ALLOW(exit_group),
    /* a static program's start asks where it is and how large its stack may be */
    FAIL(readlink, ENOENT),
    {.nr = SCMP_SYS(prlimit64),
     .action = SECCOMP_DO_ALLOW,
     .n = 2,
     .cmp = {{0, SCMP_CMP_EQ, 0}, {2, SCMP_CMP_EQ, 0}}},
    ALLOW(getrandom),

    /* memory; nothing that could be executed is ever made */
    ALLOW(brk),
    ALLOW_IF(mmap, 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
    ALLOW_IF(mprotect, 2, SCMP_CMP_MASKED_EQ, PROT_EXEC, 0),
    ALLOW(munmap),
    ALLOW(mremap),
    {.nr = SCMP_SYS(madvise),
     .action = SECCOMP_DO_ALLOW,
     .n = 1,
     .cmp = {{2, SCMP_CMP_NE, MADV_MERGEABLE}}},

    /* threads and signals among themselves */
    ALLOW_IF(clone, 0, SCMP_CMP_MASKED_EQ, THREAD_FLAGS | PROCESS_FLAGS, THREAD_FLAGS),
    FAIL(clone3, ENOSYS),
    ALLOW(futex),
    ALLOW(rt_sigaction),
    ALLOW(rt_sigprocmask),
    ALLOW(rt_sigreturn),
    ALLOW(tgkill),
    ALLOW(restart_syscall),
    ALLOW(getpid),
    ALLOW(gettid),

    /* descriptors that are there, and waiting for them */
    ALLOW(read),
    ALLOW(readv),
    ALLOW(pread64),
    ALLOW(preadv),
    ALLOW(write),
    ALLOW(writev),
    ALLOW(pwrite64),
    ALLOW(pwritev),
    ALLOW(close),
    ALLOW(fstat),
    ALLOW_IF(newfstatat, 3, SCMP_CMP_EQ, AT_EMPTY_PATH), /* how glibc makes fstat() */
    ALLOW(fdatasync),
    ALLOW(poll),
    ALLOW(ppoll),
    ALLOW(eventfd2),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_GETFD),
    ALLOW_IF(fcntl, 1, SCMP_CMP_EQ, F_GETFL),
    ALLOW(recvmsg),
    ALLOW(recvfrom),
    ALLOW(sendmsg),
    ALLOW(sendto),
    ALLOW(clock_gettime),

    /* its own filters go on top, which it assembles itself (sys/seccomp.h) */
    ALLOW(seccomp),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_SET_NO_NEW_PRIVS),
    ALLOW_IF(prctl, 0, SCMP_CMP_EQ, PR_SET_VMA), /* glibc names its arenas */

    /* KVM: the module */
    IOCTL(KVM_GET_API_VERSION),
    IOCTL(KVM_CHECK_EXTENSION),
    IOCTL(KVM_CREATE_VM),
    IOCTL(KVM_GET_VCPU_MMAP_SIZE),
    IOCTL(KVM_GET_SUPPORTED_CPUID),
    IOCTL(KVM_GET_MSR_INDEX_LIST),

    /* the machine */
    IOCTL(KVM_CREATE_VCPU),
    IOCTL(KVM_SET_USER_MEMORY_REGION),
    IOCTL(KVM_SET_TSS_ADDR),
    IOCTL(KVM_SET_IDENTITY_MAP_ADDR),
    IOCTL(KVM_CREATE_IRQCHIP),
    IOCTL(KVM_GET_IRQCHIP),
    IOCTL(KVM_SET_IRQCHIP),
    IOCTL(KVM_IRQFD),
    IOCTL(KVM_IOEVENTFD),
    IOCTL(KVM_GET_CLOCK),
    IOCTL(KVM_SET_CLOCK),

    /* its processors */
    IOCTL(KVM_RUN),
    IOCTL(KVM_GET_REGS),
    IOCTL(KVM_SET_REGS),
    IOCTL(KVM_GET_SREGS),
    IOCTL(KVM_SET_SREGS),
    IOCTL(KVM_GET_FPU),
    IOCTL(KVM_SET_FPU),
    IOCTL(KVM_GET_XSAVE),
    IOCTL(KVM_GET_XSAVE2),
    IOCTL(KVM_SET_XSAVE),
    IOCTL(KVM_GET_XCRS),
    IOCTL(KVM_SET_XCRS),
    IOCTL(KVM_GET_MSRS),
    IOCTL(KVM_SET_MSRS),
    IOCTL(KVM_SET_CPUID2),
    IOCTL(KVM_ENABLE_CAP), /* that KVM holds to that table itself */
    IOCTL(KVM_GET_LAPIC),
    IOCTL(KVM_SET_LAPIC),
    IOCTL(KVM_GET_MP_STATE),
    IOCTL(KVM_SET_MP_STATE),
    IOCTL(KVM_GET_VCPU_EVENTS),
    IOCTL(KVM_SET_VCPU_EVENTS),
    IOCTL(KVM_GET_DEBUGREGS),
    IOCTL(KVM_SET_DEBUGREGS),
    IOCTL(KVM_GET_TSC_KHZ),
    IOCTL(KVM_SET_TSC_KHZ),
    IOCTL(KVM_KVMCLOCK_CTRL),
};

static int compile(const struct seccomp_rule *rules, size_t n, struct seccomp_filter *ret,
                   struct err *err)
{
    int r = seccomp_compile(rules, n, ret, err);

    return r < 0 ? err_wrap(err, "the monitor's system call filter") : 0;
}

int jail_filter_qemu(struct seccomp_filter *ret, struct err *err)
{
    return compile(qemu, ARRAY_LEN(qemu), ret, err);
}

int jail_filter_vmm(struct seccomp_filter *ret, struct err *err)
{
    return compile(vmm, ARRAY_LEN(vmm), ret, err);
}
