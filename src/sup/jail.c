/*
 * Theory of operation.  The caller (supervisor, one thread) prepares everything that needs memory
 * or names, then one clone3 makes the child, and the child takes these steps in this order; each
 * one's place has a reason:
 *
 *  1. clone3: new mount, pid, net, ipc and uts namespaces, without privilege a user namespace too,
 *     a pidfd, and the v2 cgroup, so that no instruction runs outside of any of them.
 *  2. wait: the caller writes the pid to every v1 cgroup.procs and, without privilege, the maps (the
 *     caller's own uid and gid, each to itself; setgroups denied), then says go.  The end of file
 *     instead of the go means that it died.
 *  3. cgroup namespace, now that the cgroups are the final ones: its root is the jail's own.
 *  4. signals as at birth, own session; oom_score_adj and an empty coredump_filter, while /proc of
 *     the outside is there.
 *  5. descriptors: the named ones to their numbers, /dev/null to 0-2, all others closed; only the
 *     socket to the caller stays, closed by the exec.
 *  6. host name "airlock": the copied one is the host's.
 *  7. root: all mounts private; an empty tmpfs (no data, nosuid, nodev, noexec) laid over "/", which
 *     hides nothing from the lookups to come; each file bound read-only; pivot_root into it, the old
 *     root detached; the tmpfs itself read-only.  No /proc, no /sys, no directory of the host.
 *     Sources are opened by name here, since a mount of the caller's namespace cannot be bound
 *     here; one that was given as a descriptor must be the same file.
 *  8. an empty session keyring; rlimits (only ever lower; before the uid changes, or NPROC could
 *     not be set; after the descriptors, or NOFILE could be in their way).
 *  9. privileges: ambient set, bounding set, securebits (all locked) need CAP_SETPCAP and come
 *     first; groups, gid, uid; then every capability set is emptied by hand, because
 *     SECBIT_NO_SETUID_FIXUP keeps the kernel from doing it; no_new_privs; not dumpable (the exec
 *     undoes that for a readable program: hence the coredump_filter of step 4); umask.
 * 10. parent-death SIGKILL, after the last change of ids and capabilities, which would clear it;
 *     then a look whether the caller died before (step_death() says why by the socket).
 * 11. seccomp, whose listener goes to the caller; it answers exactly one execve with yes and (but for 13) closes
 *     the listener, so that every later one fails (ENOSYS), whatever its arguments.
 * 12. exec: the socket closes.  The caller has seen the question and then the end of file: it runs.
 * 13. if the program is to get a file by an open that is asked about, the caller answers it with its
 *     descriptor, and only then closes the listener.
 *
 * With an entry instead of a program, steps 11 and 12 are: the filter, a last word to the caller, and
 * the call; a descriptor for questions is not kept.
 *
 * A step that fails is reported through the socket with its errno; the caller kills and reaps what
 * is left and returns the error.  A child that ends without a report is an error as well.
 */
#include "sup/jail.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/num.h"

#include "sup/jail-internal.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/ns.h"

/* Takes milliseconds; this is for a host that hangs (a source on a dead network filesystem). */
#define JAIL_DEADLINE_NS (10 * NS_PER_S)

static const char *const step_texts[JAIL_STEP_COUNT] = {
    [JAIL_STEP_NS_PID] = "make a pid namespace",
    [JAIL_STEP_NS_NET] = "make a network namespace",
    [JAIL_STEP_NS_IPC] = "make an ipc namespace",
    [JAIL_STEP_NS_UTS] = "make a uts namespace",
    [JAIL_STEP_WAIT] = "wait for the supervisor",
    [JAIL_STEP_NS_CGROUP] = "make a cgroup namespace",
    [JAIL_STEP_SESSION] = "reset signals and make a session",
    [JAIL_STEP_OOM] = "set oom_score_adj",
    [JAIL_STEP_NO_CORE] = "empty coredump_filter",
    [JAIL_STEP_FDS] = "place descriptors",
    [JAIL_STEP_HOSTNAME] = "set the host name",
    [JAIL_STEP_PRIVATE] = "make mounts private",
    [JAIL_STEP_ROOT] = "mount an empty root",
    [JAIL_STEP_BINDS] = "bind",
    [JAIL_STEP_PIVOT] = "change the root",
    [JAIL_STEP_READONLY] = "make the root read-only",
    [JAIL_STEP_KEYRING] = "make a session keyring",
    [JAIL_STEP_LIMITS] = "set resource limits",
    [JAIL_STEP_AMBIENT] = "clear ambient capabilities",
    [JAIL_STEP_BOUNDING] = "empty the capability bounding set",
    [JAIL_STEP_SECUREBITS] = "lock securebits",
    [JAIL_STEP_GROUPS] = "drop supplementary groups",
    [JAIL_STEP_IDS] = "change uid and gid",
    [JAIL_STEP_CAPS] = "drop all capabilities",
    [JAIL_STEP_NO_NEW_PRIVS] = "set no_new_privs",
    [JAIL_STEP_DUMPABLE] = "make it undumpable",
    [JAIL_STEP_UMASK] = "set the umask",
    [JAIL_STEP_DEATH] = "set the parent-death signal",
    [JAIL_STEP_SECCOMP] = "load the system call filter",
    [JAIL_STEP_EXEC] = "execute",
};

const char *jail_step_text(enum jail_step step)
{
    return step_texts[step];
}

static int check_spec(const struct jail_spec *spec, bool rootless, struct err *err)
{
    bool has_program = spec->entry != NULL;

    if (!rootless && (spec->uid == 0 || spec->gid == 0)) {
        return err_usage(err, "a jail needs a uid and a gid other than 0");
    }
    if (spec->n_fds > JAIL_FDS_MAX || spec->n_binds > JAIL_BINDS_MAX) {
        return err_set(err, ERR_HOST, E2BIG,
                       "a jail of %zu descriptors and %zu files (at most %d and %d)", spec->n_fds,
                       spec->n_binds, JAIL_FDS_MAX, JAIL_BINDS_MAX);
    }
    for (size_t i = 0; i < spec->n_binds; i++) {
        const struct jail_bind *bind = &spec->binds[i];

        if (bind->target[0] != '/' || (bind->source != NULL && bind->source[0] != '/') ||
            strstr(bind->target, "/..") != NULL) {
            return err_usage(err, "jail: '%s' at '%s' is no pair of absolute paths",
                             bind->source != NULL ? bind->source : "a descriptor", bind->target);
        }
        has_program = has_program || strcmp(bind->target, spec->argv[0]) == 0;
    }
    if (!has_program) {
        return err_usage(err, "jail: the program '%s' is not among its files", spec->argv[0]);
    }
    for (size_t i = 0; i < spec->n_fds; i++) {
        if (spec->fds[i].target < 0 || (uint64_t)spec->fds[i].target >= spec->nofile_max) {
            return err_usage(err, "jail: descriptor number %d is not below the limit of %llu",
                             spec->fds[i].target, (unsigned long long)spec->nofile_max);
        }
    }
    return 0;
}

static int find_source(const struct jail_bind *bind, struct jail_source *ret, struct err *err)
{
    char link[40];
    struct stat st = {0};
    ssize_t n = 0;

    if (bind->source != NULL) {
        n = snprintf(ret->path, sizeof(ret->path), "%s", bind->source);
    } else {
        if (fstat(bind->fd, &st) < 0) {
            return err_sys(err, "jail: descriptor %d for '%s'", bind->fd, bind->target);
        }
        (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", bind->fd);
        n = readlink(link, ret->path, sizeof(ret->path) - 1);
        if (n < 0) {
            return err_sys(err, "jail: readlink '%s'", link);
        }
        ret->path[n] = '\0';
        ret->by_fd = true;
        ret->dev = st.st_dev;
        ret->ino = st.st_ino;
    }
    if (n >= (ssize_t)sizeof(ret->path) - 1 || ret->path[0] != '/') {
        return err_set(err, ERR_HOST, EINVAL, "jail: the file for '%s' has no usable path",
                       bind->target);
    }
    return 0;
}

static uint64_t clone_flags(uint64_t skip, bool rootless)
{
    static const struct {
        enum jail_step step;
        uint64_t flag;
    } each[] = {
        {JAIL_STEP_NS_PID, CLONE_NEWPID},
        {JAIL_STEP_NS_NET, CLONE_NEWNET},
        {JAIL_STEP_NS_IPC, CLONE_NEWIPC},
        {JAIL_STEP_NS_UTS, CLONE_NEWUTS},
    };

    /* The mount namespace is never left out: what follows would be done to the host. */
    uint64_t flags = CLONE_NEWNS | (rootless ? CLONE_NEWUSER : 0);

    for (size_t i = 0; i < ARRAY_LEN(each); i++) {
        flags |= (skip & JAIL_SKIP(each[i].step)) == 0 ? each[i].flag : 0;
    }
    return flags;
}

static bool sysctl_is(const char *path, const char *value)
{
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[16] = "";
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

    if (n <= 0) {
        return false;
    }
    text[strcspn(text, "\n")] = '\0';
    return strcmp(text, value) == 0;
}

/* A sentence's end for a clone or mount that was refused to a normal user. */
static const char *userns_remedy(void)
{
    if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0")) {
        return "user namespaces are off for normal users here: as root, "
               "sysctl kernel.unprivileged_userns_clone=1, or run airlock as root";
    }
    if (sysctl_is("/proc/sys/user/max_user_namespaces", "0")) {
        return "user namespaces are off here: as root, sysctl user.max_user_namespaces=10000, "
               "or run airlock as root";
    }
    if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")) {
        return "AppArmor keeps normal users from user namespaces here: as root, "
               "sysctl kernel.apparmor_restrict_unprivileged_userns=0, or run airlock as root";
    }
    return "user namespaces must be available to normal users: see the sysctls "
           "kernel.unprivileged_userns_clone, user.max_user_namespaces and user.max_*_namespaces, "
           "or run airlock as root";
}

static int explain_clone(int errnum, bool rootless, const struct jail_spec *spec, struct err *err)
{
    bool refused = errnum == EPERM || errnum == ENOSPC || errnum == EUSERS || errnum == EINVAL;

    if (rootless && refused) {
        return err_sys_num(err, errnum, "no jail without privilege: %s; clone3", userns_remedy());
    }
    if (errnum == EPERM) {
        return err_sys_num(err, errnum,
                           "no jail: root needs CAP_SYS_ADMIN to make namespaces (a container "
                           "without it?); clone3");
    }
    return err_sys_num(err, errnum, "no jail: clone3 with new namespaces%s",
                       spec->cgroup_fd >= 0 ? " into the machine's cgroup" : "");
}

/* What only the caller may do to the new child before it runs on. */
static int release(const struct jail_spec *spec, pid_t pid, bool rootless, int sock,
                   struct err *err)
{
    char text[24];
    int len = snprintf(text, sizeof(text), "%d\n", (int)pid);
    int r = rootless ? ns_write_maps(pid, geteuid(), getegid(), err) : 0;

    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < spec->n_procs_fds; i++) {
        if (write(spec->procs_fds[i], text, (size_t)len) != len) {
            return err_sys(err, "put process %d into cgroup %zu of %zu", (int)pid, i + 1,
                           spec->n_procs_fds);
        }
    }
    if (send(sock, "", 1, MSG_NOSIGNAL) != 1) {
        return err_sys(err, "release the child");
    }
    return 0;
}

/* 1 and a report, with its descriptor if there is one; 0 at the end of file. */
static int receive(int sock, uint64_t deadline, struct jail_report *ret, int *ret_fd,
                   struct err *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec iov = {.iov_base = ret, .iov_len = sizeof(*ret)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof(control.room)};
    struct pollfd p = {.fd = sock, .events = POLLIN};
    ssize_t n = 0;

    for (;;) {
        uint64_t now = clock_mono_ns();
        int ready = now >= deadline ? 0 : poll(&p, 1, (int)((deadline - now) / NS_PER_MS) + 1);

        if (ready > 0) {
            break;
        }
        if (ready < 0 && errno != EINTR) {
            return err_sys(err, "poll");
        }
        if (ready == 0) {
            return err_set(err, ERR_HOST, ETIMEDOUT, "it was not ready within 10 s");
        }
    }
    n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    if (n < 0) {
        return err_sys(err, "recvmsg");
    }
    if (msg.msg_controllen >= CMSG_LEN(sizeof(int)) && control.head.cmsg_type == SCM_RIGHTS) {
        memcpy(ret_fd, CMSG_DATA(&control.head), sizeof(*ret_fd));
    }
    if (n == 0) {
        return 0;
    }
    if (n != sizeof(*ret) || ret->step < 0 || ret->step >= JAIL_STEP_COUNT) {
        return err_set(err, ERR_HOST, EPROTO, "it sent a malformed report");
    }
    return 1;
}

static int explain_report(const struct jail_spec *spec, const struct jail_report *report,
                          bool rootless, struct err *err)
{
    const char *what = jail_step_text((enum jail_step)report->step);
    int errnum = report->errnum > 0 ? report->errnum : EIO;

    if (report->step == JAIL_STEP_BINDS && report->bind >= 0 &&
        (size_t)report->bind < spec->n_binds) {
        const struct jail_bind *bind = &spec->binds[report->bind];

        return err_sys_num(err, errnum, "step '%s': '%s' as '%s'%s", what,
                           bind->source != NULL ? bind->source : "a descriptor", bind->target,
                           errnum == ESTALE ? " (another file has its name now)" : "");
    }
    if (report->step == JAIL_STEP_EXEC) {
        return err_sys_num(err, errnum, "step '%s': '%s'", what, spec->argv[0]);
    }
    if (rootless && (errnum == EPERM || errnum == EACCES)) {
        return err_sys_num(err, errnum, "step '%s': %s", what, userns_remedy());
    }
    if (report->step == JAIL_STEP_PRIVATE && errnum == EINVAL) {
        return err_sys_num(err, errnum,
                           "step '%s': the root directory here is no mount point, as in a plain "
                           "chroot; bind-mount that directory on itself before the chroot",
                           what);
    }
    return err_sys_num(err, errnum, "step '%s'", what);
}

/* From the go to the exec. */
static int follow(const struct jail_spec *spec, uint64_t skip, bool rootless, int sock,
                  struct err *err)
{
    uint64_t deadline = clock_mono_ns() + JAIL_DEADLINE_NS;
    struct jail_report report = {0};
    bool asked = (skip & JAIL_SKIP(JAIL_STEP_SECCOMP)) != 0;
    auto_fd int listener = -1;

    for (;;) {
        auto_fd int fd = -1;
        int r = receive(sock, deadline, &report, &fd, err);

        if (r < 0) {
            return r;
        }
        if (r == 0 && !asked) {
            return err_set(err, ERR_HOST, ECHILD, "it ended before it could report why");
        }
        if (r == 0) {
            return spec->open_fd == NULL
                       ? 0
                       : seccomp_answer_open(listener, *spec->open_fd, JAIL_DEADLINE_NS, err);
        }
        if (report.errnum == 0 && report.step == JAIL_STEP_SECCOMP && spec->entry != NULL) {
            return 0; /* there is no exec to wait for */
        }
        if (report.errnum != 0 || report.step != JAIL_STEP_SECCOMP || fd < 0 || asked) {
            return explain_report(spec, &report, rootless, err);
        }
        r = seccomp_answer(fd, SYS_execve, JAIL_DEADLINE_NS, err);
        if (r < 0) {
            return r;
        }
        asked = true;
        if (spec->ret_exec_ns != NULL) {
            *spec->ret_exec_ns = clock_mono_ns();
        }
        if (spec->open_fd != NULL) {
            listener = STEAL_FD(&fd);
        }
    }
}

int jail_spawn_steps(const struct jail_spec *spec, uint64_t skip, struct proc *ret, struct err *err)
{
    auto_free struct jail_source *sources = NULL;
    auto_proc struct proc proc = PROC_INIT;
    auto_fd int ours = -1;
    auto_fd int theirs = -1;
    bool rootless = geteuid() != 0;
    int pair[2] = {-1, -1};
    pid_t pid = 0;
    int r = check_spec(spec, rootless, err);

    if (r < 0) {
        return r;
    }
    sources = calloc(spec->n_binds + 1, sizeof(*sources));
    if (sources == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    for (size_t i = 0; i < spec->n_binds; i++) {
        r = find_source(&spec->binds[i], &sources[i], err);
        if (r < 0) {
            return r;
        }
    }
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
        return err_sys(err, "socketpair");
    }
    ours = pair[0];
    theirs = pair[1];
    pid = ns_clone(clone_flags(skip, rootless), spec->cgroup_fd, &proc.pidfd);
    if (pid == 0) {
        struct jail_child child = {.spec = spec,
                                   .sources = sources,
                                   .skip = skip,
                                   .rootless = rootless,
                                   .sock = theirs,
                                   .root_fd = -1,
                                   .bind = -1};

        (void)close(ours); /* or it would never see the end of file */
        jail_child_run(&child);
    }
    if (pid < 0) {
        return explain_clone(-pid, rootless, spec, err);
    }
    proc.pid = pid;
    fd_close_p(&theirs);
    r = release(spec, pid, rootless, ours, err);
    if (r == 0) {
        r = follow(spec, skip, rootless, ours, err);
    }
    if (r < 0) {
        return err_wrap(err, "jail for '%s'", spec->argv[0]);
    }
    *ret = proc;
    proc = (struct proc)PROC_INIT;
    return 0;
}

int jail_spawn(const struct jail_spec *spec, struct proc *ret, struct err *err)
{
    return jail_spawn_steps(spec, 0, ret, err);
}
