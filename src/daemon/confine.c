/*
 * How it works: a list of what is denied, since HTTP, TLS and SQLite libraries choose among calls as
 * kernel and version have it, and a missing one would end the daemon for all its clients.  Denied is
 * what would turn a fault in there into more: other programs, other processes, namespaces, and the
 * parts of the kernel where faults are found most and that nothing here uses.  What is never called
 * by mistake ends the process; what a library may try and do without fails.
 */
#include <errno.h>
#include <linux/sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/launcher.h"
#include "sys/fd.h"
#include "sys/filter-rules.h"

#define KILL(call)                                      \
    {                                                   \
        .nr = SCMP_SYS(call), .action = SECCOMP_DO_KILL \
    }
#define NO_FAMILY(op, family)                                                               \
    {                                                                                       \
        .nr = SCMP_SYS(socket), .action = SECCOMP_DO_ERRNO, .errnum = EAFNOSUPPORT, .n = 1, \
        .cmp = {                                                                            \
            {0, (op), (family), 0}                                                          \
        }                                                                                   \
    }

static const struct seccomp_rule denied[] = {
    /* Other programs and processes. A thread says CLONE_THREAD; glibc does without clone3, whose
     * flags no filter can see. */
    KILL(execve),
    KILL(execveat),
    KILL(fork),
    KILL(vfork),
    {.nr = SCMP_SYS(clone),
     .action = SECCOMP_DO_KILL,
     .n = 1,
     .cmp = {{0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0}}},
    FAIL(clone3, ENOSYS),
    KILL(ptrace),
    KILL(process_vm_readv),
    KILL(process_vm_writev),
    KILL(process_madvise),
    KILL(pidfd_getfd),
    KILL(kcmp),
    /* Namespaces and mounts. */
    KILL(unshare),
    KILL(setns),
    KILL(mount),
    KILL(umount2),
    KILL(pivot_root),
    KILL(chroot),
    KILL(fsopen),
    KILL(fspick),
    KILL(fsmount),
    KILL(fsconfig),
    KILL(move_mount),
    KILL(open_tree),
    KILL(mount_setattr),
    KILL(mknod),
    KILL(mknodat),
    KILL(open_by_handle_at),
    KILL(name_to_handle_at),
    /* The kernel itself. */
    KILL(bpf),
    KILL(perf_event_open),
    KILL(init_module),
    KILL(finit_module),
    KILL(delete_module),
    KILL(kexec_load),
    KILL(kexec_file_load),
    KILL(reboot),
    KILL(swapon),
    KILL(swapoff),
    KILL(acct),
    KILL(syslog),
    KILL(quotactl),
    KILL(quotactl_fd),
    KILL(settimeofday),
    KILL(clock_settime),
    KILL(adjtimex),
    KILL(clock_adjtime),
    KILL(iopl),
    KILL(ioperm),
    KILL(modify_ldt),
    KILL(personality),
    KILL(fanotify_init),
    KILL(lookup_dcookie),
    KILL(vhangup),
    KILL(uselib),
    FAIL(userfaultfd, ENOSYS),
    FAIL(io_uring_setup, ENOSYS),
    FAIL(io_uring_enter, ENOSYS),
    FAIL(io_uring_register, ENOSYS),
    FAIL(keyctl, EPERM),
    FAIL(add_key, EPERM),
    FAIL(request_key, EPERM),
    /* Sockets: AF_UNIX, AF_INET and AF_INET6 are 1, 2 and 10. */
    NO_FAMILY(SCMP_CMP_GT, AF_INET6),
    NO_FAMILY(SCMP_CMP_EQ, AF_UNSPEC),
    NO_FAMILY(SCMP_CMP_EQ, AF_AX25),
    NO_FAMILY(SCMP_CMP_EQ, AF_IPX),
    NO_FAMILY(SCMP_CMP_EQ, AF_APPLETALK),
    NO_FAMILY(SCMP_CMP_EQ, AF_NETROM),
    NO_FAMILY(SCMP_CMP_EQ, AF_BRIDGE),
    NO_FAMILY(SCMP_CMP_EQ, AF_ATMPVC),
    NO_FAMILY(SCMP_CMP_EQ, AF_X25),
};

int launcher_confine(struct err *err)
{
    auto_seccomp_filter struct seccomp_filter filter = SECCOMP_FILTER_INIT;
    auto_fd int nobody_asks = -1;
    int r = seccomp_compile_denials(denied, ARRAY_LEN(denied), &filter, err);

    if (r < 0) {
        return r;
    }
    r = seccomp_load_filter(&filter, &nobody_asks);
    return r < 0 ? err_sys_num(err, -r, "load the filter of system calls") : 0;
}
