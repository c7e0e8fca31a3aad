/*
 * jail.h - starts a program in a jail: the second wall around a virtual machine monitor.
 *
 * The program is pid 1 of namespaces of its own, in a root directory that holds nothing but the
 * read-only files named, without privileges, environment or other descriptors, under a system call
 * filter that allows exactly the one exec that starts it.  What is done in which order stands at
 * the head of jail.c.  Everything fails closed: a program runs with every step done or not at all.
 *
 * The jail ends with its pid 1; it dies (SIGKILL) with the thread that called jail_spawn().  Being
 * pid 1 means that a signal the program itself causes and has no handler for is ignored unless the
 * kernel forces it (SIGSYS of the filter, SIGSEGV, SIGBUS are forced; SIGXFSZ is not: the write
 * fails with EFBIG instead).
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

#include "sys/filter.h"
#include "sys/proc.h"

#define JAIL_BINDS_MAX 192
#define JAIL_FDS_MAX   32

enum jail_bind_kind {
    JAIL_DATA,    /* a file to read: noexec, nodev */
    JAIL_PROGRAM, /* a program or library: nodev */
    JAIL_DEVICE   /* a device node: noexec */
};

/* One file in the jail. All are nosuid and read-only (which for a device means its node). */
struct jail_bind {
    const char *source; /* absolute path outside (links are followed), or NULL: fd */
    int fd;             /* borrowed; its file must still have its name. Unused with a source */
    const char *target; /* absolute path inside */
    enum jail_bind_kind kind;
};

struct jail_spec {
    const char *const *argv; /* argv[0]: a target of binds; NULL-terminated */
    /*
     * Instead of the exec: the child, a copy of the caller, calls it as the last step, behind the
     * filter, and ends with what it returns. argv[0] is then only a name for messages, the filter
     * asks nothing and must allow write, close and exit_group.
     */
    int (*entry)(void *arg);
    void *entry_arg;
    const struct proc_fd *fds; /* 0-2 are /dev/null unless named */
    size_t n_fds;              /* <= JAIL_FDS_MAX */
    const struct jail_bind *binds;
    size_t n_binds; /* <= JAIL_BINDS_MAX */
    /*
     * As root: the machine's own, never 0, shared with nothing else. Otherwise unused: the jail is
     * in a user namespace that holds the caller's own uid and gid alone.
     */
    uid_t uid;
    gid_t gid;
    uint64_t nofile_max;  /* RLIMIT_NOFILE */
    uint64_t fsize_bytes; /* RLIMIT_FSIZE: most bytes in any file written to */
    uint64_t threads_max; /* RLIMIT_NPROC; counted per uid (and user namespace) */
    uint64_t as_bytes;    /* RLIMIT_AS; 0 = leave */
    uint64_t cpu_s;       /* RLIMIT_CPU, at which it is killed; 0 = leave */
    int oom_score_adj;    /* 0..1000; never below the caller's own as a normal user */
    int cgroup_fd;        /* directory of the v2 cgroup to be born in; -1 = the caller's */
    const int *procs_fds; /* open cgroup.procs files (v1): the pid is in all before anything runs */
    size_t n_procs_fds;
    /*
     * What the open that the filter asks about returns (sys/filter.h): how a program gets a file
     * read-only that it insists on opening for writing. jail_spawn() returns after it; later ones
     * fail (ENOSYS). NULL: nothing is asked.
     */
    const int *open_fd;
    uint64_t *ret_exec_ns; /* when the program was let begin, host monotonic; NULL = nobody asks */
    /* Must allow sendmsg and exit_group, and have SECCOMP_DO_ASK for execve; see jail-filter.h. */
    const struct seccomp_filter *filter;
};

/*
 * Starts it. ERR_HOST with the step that failed and what to do; nothing is left running then.
 * A user that may not make user namespaces gets an error that names the sysctl.
 */
must_use int jail_spawn(const struct jail_spec *spec, struct proc *ret,
                        struct err *err) nonnull_all;
