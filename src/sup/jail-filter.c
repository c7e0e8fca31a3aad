/*
 * How it works.  The list began with strace -f of QEMU 7.2 outside the jail (microvm, TCG, two
 * vCPUs, boot, reads of a disk, console, its own sandbox on), and was completed inside, where a
 * missing call is a SIGSYS, by jobs that use every disk, stdin, outputs and one or two vCPUs.
 * Beside those calls stand neighbours that another libc, glib or kernel chooses for the same end
 * and that open no further door; fallocate is among them (discard, which no measured job made QEMU
 * do).
 *
 * Closed on purpose, and worth knowing when it bites: no new process (clone needs the flags of a
 * thread; clone3, whose flags a filter cannot see, "does not exist", so that glibc uses clone), one
 * execve that the supervisor must allow, no socket/connect/bind/accept, no file made, emptied or
 * opened write-only (disks come as descriptors), no ioctl but the terminal's (there is none),
 * blocking mode and under KVM those of KVM that are named one by one, no io_uring (it would go round this filter), no memory merging between machines
 * (a side channel), no other process's anything.  Executable mappings stay possible: the translator
 * is made of them.
 */
#include "sup/jail-filter.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <linux/kvm.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <termios.h>

#define ALLOW(call)                                      \
    {                                                    \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_ALLOW \
    }
#define ALLOW_IF(call, arg, op, ...)                                       \
    {                                                                      \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_ALLOW, .n = 1, .cmp = { \
            {(arg), (op), __VA_ARGS__}                                     \
        }                                                                  \
    }
#define ASK_IF(call, arg, op, ...)                                       \
    {                                                                    \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_ASK, .n = 1, .cmp = { \
            {(arg), (op), __VA_ARGS__}                                   \
        }                                                                \
    }
#define IOCTL(request) ALLOW_IF(ioctl, 1, SCMP_CMP_MASKED_EQ, UINT32_MAX, (request))
#define FAIL(call, e)                                                   \
    {                                                                   \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_ERRNO, .errnum = (e) \
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

static const struct seccomp_rule common[] = {
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

static const struct seccomp_rule tcg[] = {
    ALLOW_IF(openat, 2, SCMP_CMP_MASKED_EQ, OPEN_CLOEXEC, O_RDWR | O_CLOEXEC),
    ASK_IF(openat, 2, SCMP_CMP_MASKED_EQ, OPEN_CLOEXEC, O_RDWR),
};

/*
 * What QEMU 7.2 asks of KVM on x86 to run and to save a machine without PCI. Not there, on purpose:
 * devices of KVM's own (KVM_CREATE_DEVICE), guest debugging, memory encryption, Xen, the state of
 * guests of the guest (vmx and svm are hidden from it).
 */
static const struct seccomp_rule kvm[] = {
    ASK_IF(openat, 2, SCMP_CMP_MASKED_EQ, OPEN_CHANGES | O_RDWR, O_RDWR),

    IOCTL(KVM_RUN),
    IOCTL(KVM_IRQ_LINE),
    IOCTL(KVM_IRQ_LINE_STATUS),

    /* the module */
    IOCTL(KVM_GET_API_VERSION),
    IOCTL(KVM_CHECK_EXTENSION),
    IOCTL(KVM_CREATE_VM),
    IOCTL(KVM_GET_VCPU_MMAP_SIZE),
    IOCTL(KVM_GET_SUPPORTED_CPUID),
    IOCTL(KVM_GET_EMULATED_CPUID),
    IOCTL(KVM_GET_MSR_INDEX_LIST),
    IOCTL(KVM_GET_MSR_FEATURE_INDEX_LIST),
    IOCTL(KVM_X86_GET_MCE_CAP_SUPPORTED),
    IOCTL(KVM_HAS_DEVICE_ATTR),
    IOCTL(KVM_GET_DEVICE_ATTR),

    /* the machine */
    IOCTL(KVM_CREATE_VCPU),
    IOCTL(KVM_ENABLE_CAP),
    IOCTL(KVM_X86_SET_MSR_FILTER),
    IOCTL(KVM_SET_USER_MEMORY_REGION),
    IOCTL(KVM_GET_DIRTY_LOG),
    IOCTL(KVM_CLEAR_DIRTY_LOG),
    IOCTL(KVM_SET_TSS_ADDR),
    IOCTL(KVM_SET_IDENTITY_MAP_ADDR),
    IOCTL(KVM_CREATE_IRQCHIP),
    IOCTL(KVM_GET_IRQCHIP),
    IOCTL(KVM_SET_IRQCHIP),
    IOCTL(KVM_CREATE_PIT2),
    IOCTL(KVM_GET_PIT2),
    IOCTL(KVM_SET_PIT2),
    IOCTL(KVM_REINJECT_CONTROL),
    IOCTL(KVM_SET_GSI_ROUTING),
    IOCTL(KVM_SIGNAL_MSI),
    IOCTL(KVM_IRQFD),
    IOCTL(KVM_IOEVENTFD),
    IOCTL(KVM_REGISTER_COALESCED_MMIO),
    IOCTL(KVM_UNREGISTER_COALESCED_MMIO),
    IOCTL(KVM_SET_BOOT_CPU_ID),
    IOCTL(KVM_GET_CLOCK),
    IOCTL(KVM_SET_CLOCK),

    /* its processors */
    IOCTL(KVM_GET_REGS),
    IOCTL(KVM_SET_REGS),
    IOCTL(KVM_GET_SREGS),
    IOCTL(KVM_SET_SREGS),
    IOCTL(KVM_GET_SREGS2),
    IOCTL(KVM_SET_SREGS2),
    IOCTL(KVM_GET_FPU),
    IOCTL(KVM_SET_FPU),
    IOCTL(KVM_GET_XSAVE),
    IOCTL(KVM_GET_XSAVE2),
    IOCTL(KVM_SET_XSAVE),
    IOCTL(KVM_GET_XCRS),
    IOCTL(KVM_SET_XCRS),
    IOCTL(KVM_GET_MSRS),
    IOCTL(KVM_SET_MSRS),
    IOCTL(KVM_GET_CPUID2),
    IOCTL(KVM_SET_CPUID2),
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
    IOCTL(KVM_TPR_ACCESS_REPORTING),
    IOCTL(KVM_SET_VAPIC_ADDR),
    IOCTL(KVM_SET_SIGNAL_MASK),
    IOCTL(KVM_INTERRUPT),
    IOCTL(KVM_NMI),
    IOCTL(KVM_X86_SETUP_MCE),
    IOCTL(KVM_X86_SET_MCE),
};

/* The common rules and n more. */
static int compile(const struct seccomp_rule *more, size_t n, struct seccomp_filter *ret,
                   struct err *err)
{
    struct seccomp_rule all[ARRAY_LEN(common) + ARRAY_LEN(kvm)];
    int r = 0;

    static_assert(ARRAY_LEN(tcg) <= ARRAY_LEN(kvm), "all[] has room for the longer list");
    memcpy(all, common, sizeof(common));
    memcpy(all + ARRAY_LEN(common), more, n * sizeof(*more));
    r = seccomp_compile(all, ARRAY_LEN(common) + n, ret, err);
    return r < 0 ? err_wrap(err, "the monitor's system call filter") : 0;
}

int jail_filter_qemu_tcg(struct seccomp_filter *ret, struct err *err)
{
    return compile(tcg, ARRAY_LEN(tcg), ret, err);
}

int jail_filter_qemu_kvm(struct seccomp_filter *ret, struct err *err)
{
    return compile(kvm, ARRAY_LEN(kvm), ret, err);
}
