/*
 * proc.h - child processes by pidfd.
 *
 * A child gets exactly the descriptors named (0-2 are /dev/null unless named), the environment
 * named and nothing else: every other descriptor is closed, all signals are unblocked and default,
 * and it leads its own session, so the terminal's Ctrl-C reaches only the caller.  With
 * die_with_parent it is killed when the calling process dies (PR_SET_PDEATHSIG, set after the fork
 * and followed by a check that the parent is still there).
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

struct proc_fd {
    int fd;     /* caller's descriptor, borrowed */
    int target; /* number in the child */
};

struct proc_spec {
    const char *const *argv; /* argv[0] is an absolute path; NULL-terminated */
    const char *const *envp; /* NULL = empty environment */
    const struct proc_fd *fds;
    size_t n_fds;
    bool die_with_parent;
    uint64_t fsize_max; /* RLIMIT_FSIZE in bytes; 0 = leave */
    uint64_t nofile;    /* RLIMIT_NOFILE; 0 = leave */
    /* RLIMIT_CORE is always 0. */
};

/* A child that was started and not yet waited for. pid 0 and pidfd -1 is the empty value. */
struct proc {
    pid_t pid;
    int pidfd;
};

#define PROC_INIT   \
    {               \
        .pidfd = -1 \
    }

/* How a process ended; exactly one of the two counts. */
struct proc_end {
    bool signaled;
    int code; /* exit code, or the signal's number */
};

/* Fails with the exec's own error (ENOENT ...) too: a child that could not exec is already gone. */
must_use int proc_spawn(const struct proc_spec *spec, struct proc *ret,
                        struct err *err) nonnull_all;

/* fork() with a pidfd for the parent. 1 in the child (*ret untouched), 0 in the parent, or -errno. */
must_use int proc_fork(struct proc *ret, struct err *err) nonnull_all;

/* Every signal to its default action and none blocked, for a process that begins anew. */
void proc_reset_signals(void);

/* SIGKILL through the pidfd; nothing if it already ended or proc is empty. */
void proc_kill(struct proc *proc) nonnull_all;

/* Waits up to timeout_ns for the end and reaps. -ETIMEDOUT (ERR_HOST) if it still runs. */
must_use int proc_wait(struct proc *proc, uint64_t timeout_ns, struct proc_end *ret,
                       struct err *err) nonnull_all;

/* True, and how it ended, if it has; it stays to be reaped. */
must_use bool proc_peek(const struct proc *proc, struct proc_end *ret) nonnull_all;

/* Kills, reaps and empties. The destructor of auto_proc. */
void proc_fini(struct proc *proc) nonnull_all;
#define auto_proc on_scope_exit(proc_fini)

/*
 * Runs a helper to its end: stdin empty, stdout and stderr together into out (the rest past
 * out->max is read and dropped). Exit 0 is success; anything else is ERR_HOST with the command's
 * name, how it ended and the last line it printed.
 */
must_use int proc_run(const char *const *argv, const char *const *envp, uint64_t timeout_ns,
                      struct buf *out, struct err *err) nonnull_args(1, 4, 5);

/*
 * Finds a program by name in /usr/sbin:/usr/bin:/sbin:/bin (never $PATH). Returns its absolute
 * path in a caller's buffer of PROC_PATH_MAX, or ERR_USAGE/-ENOENT naming the Debian package.
 */
#define PROC_PATH_MAX 64
must_use int proc_find(const char *name, const char *package, char ret[PROC_PATH_MAX],
                       struct err *err) nonnull_all;
