/*
 * How it works.  The child's half of the jail: a table of steps, run in order between clone3 and
 * exec.  Nothing here allocates, logs or takes a lock; system calls that glibc wraps with more than
 * themselves (setxid handshakes) are made directly.  A step that fails is reported and ends it.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <linux/securebits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sup/jail-internal.h"
#include "sys/fd.h"
#include "sys/ns.h"

#define CAP_NUMBERS_MAX 64

static int sys_result(long r)
{
    return r < 0 ? -errno : 0;
}

/* The caller's byte, or its end. */
static int step_wait(struct jail_child *c)
{
    char go = 0;
    ssize_t n = 0;

    do {
        n = recv(c->sock, &go, 1, 0);
    } while (n < 0 && errno == EINTR);
    return n == 1 ? 0 : -ESRCH;
}

/* Only now, so that the namespace's root is the cgroup it was put into. */
static int step_ns_cgroup(struct jail_child *c)
{
    (void)c;
    return sys_result(unshare(CLONE_NEWCGROUP));
}

static int step_session(struct jail_child *c)
{
    (void)c;
    proc_reset_signals();
    return sys_result(setsid());
}

static int write_self(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t n = 0;
    int r = 0;

    if (fd < 0) {
        return -errno;
    }
    n = write(fd, text, strlen(text));
    r = n < 0 ? -errno : 0;
    (void)close(fd);
    return r;
}

static int step_oom(struct jail_child *c)
{
    char text[16];

    (void)snprintf(text, sizeof(text), "%d", c->spec->oom_score_adj);
    return write_self("/proc/self/oom_score_adj", text);
}

/*
 * RLIMIT_CORE 0 does not stop a core that core_pattern pipes to a program, and the exec makes the
 * process dumpable again; an empty filter is inherited and leaves no memory in any dump.
 */
static int step_no_core(struct jail_child *c)
{
    (void)c;
    return write_self("/proc/self/coredump_filter", "0");
}

static bool is_target(const struct jail_spec *spec, int fd)
{
    for (size_t i = 0; i < spec->n_fds; i++) {
        if (spec->fds[i].target == fd) {
            return true;
        }
    }
    return false;
}

/* First everything out of the way of every target, then each to its place, then the rest shut. */
static int step_fds(struct jail_child *c)
{
    const struct jail_spec *spec = c->spec;
    int high[JAIL_FDS_MAX];
    int top = 2;
    int null = -1;

    for (size_t i = 0; i < spec->n_fds; i++) {
        top = spec->fds[i].target > top ? spec->fds[i].target : top;
    }
    for (size_t i = 0; i < spec->n_fds; i++) {
        high[i] = fcntl(spec->fds[i].fd, F_DUPFD_CLOEXEC, top + 1);
        if (high[i] < 0) {
            return -errno;
        }
    }
    null = open("/dev/null", O_RDWR | O_CLOEXEC);
    null = null < 0 ? -1 : fcntl(null, F_DUPFD_CLOEXEC, top + 1);
    c->sock = fcntl(c->sock, F_DUPFD_CLOEXEC, top + 2);
    if (null < 0 || c->sock < 0) {
        return -errno;
    }
    for (int t = 0; t <= top; t++) {
        if (t <= 2 && !is_target(spec, t) && dup2(null, t) < 0) {
            return -errno;
        }
        if (t > 2 && !is_target(spec, t)) {
            (void)close(t);
        }
    }
    for (size_t i = 0; i < spec->n_fds; i++) {
        if (dup2(high[i], spec->fds[i].target) < 0) {
            return -errno;
        }
    }
    if (dup3(c->sock, top + 1, O_CLOEXEC) < 0) {
        return -errno;
    }
    c->sock = top + 1;
    return sys_result(syscall(SYS_close_range, (unsigned)top + 2, ~0u, 0));
}

static int step_hostname(struct jail_child *c)
{
    (void)c;
    if (sethostname("airlock", strlen("airlock")) < 0) {
        return -errno;
    }
    return sys_result(setdomainname("", 0));
}

static int step_private(struct jail_child *c)
{
    (void)c;
    return ns_make_private();
}

static int step_root(struct jail_child *c)
{
    /* Room for every mount point and its directories; files hold no data here. */
    int r = ns_tmpfs(4 * JAIL_BINDS_MAX, &c->root_fd);

    return r < 0 ? r : ns_cover_root(c->root_fd);
}

static uint64_t bind_attr(enum jail_bind_kind kind)
{
    uint64_t attr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;

    attr |= kind == JAIL_DEVICE ? 0 : MOUNT_ATTR_NODEV;
    return attr | (kind == JAIL_PROGRAM ? 0 : MOUNT_ATTR_NOEXEC);
}

static int bind_one(const struct jail_child *c, size_t i)
{
    const struct jail_source *source = &c->sources[i];
    struct stat st = {0};
    int fd = -1;
    int r = ns_bind_open(source->path, bind_attr(c->spec->binds[i].kind), &fd);

    if (r < 0) {
        return r;
    }
    r = sys_result(fstat(fd, &st));
    /* The name is only how the file is found again here: another file under it is refused. */
    if (r == 0 && source->by_fd && (st.st_dev != source->dev || st.st_ino != source->ino)) {
        r = -ESTALE;
    }
    if (r == 0 && S_ISDIR(st.st_mode)) {
        r = -EISDIR;
    }
    if (r == 0) {
        r = ns_bind_place(fd, c->root_fd, c->spec->binds[i].target);
    }
    (void)close(fd);
    return r;
}

static int step_binds(struct jail_child *c)
{
    for (size_t i = 0; i < c->spec->n_binds; i++) {
        int r = bind_one(c, i);

        if (r < 0) {
            c->bind = (int)i;
            return r;
        }
    }
    return 0;
}

static int step_pivot(struct jail_child *c)
{
    return ns_pivot(c->root_fd);
}

static int step_readonly(struct jail_child *c)
{
    int r = ns_root_attr(MOUNT_ATTR_RDONLY);

    (void)close(c->root_fd);
    c->root_fd = -1;
    return r;
}

/* The session keyring is inherited and may hold the operator's keys. */
static int step_keyring(struct jail_child *c)
{
    long r = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL);

    (void)c;
    return r < 0 && errno != ENOSYS ? -errno : 0; /* a kernel without keys has none to hide */
}

/* Never raises: what the caller is limited to holds here too. */
static int limit(int which, uint64_t max)
{
    struct rlimit now = {0};
    struct rlimit set = {max, max};

    if (max == RLIM_INFINITY) {
        return 0; /* stays as it is */
    }
    if (getrlimit((__rlimit_resource_t)which, &now) < 0) {
        return -errno;
    }
    if (now.rlim_max < max) {
        set = (struct rlimit){now.rlim_max, now.rlim_max};
    }
    return sys_result(setrlimit((__rlimit_resource_t)which, &set));
}

static int step_limits(struct jail_child *c)
{
    const struct {
        int which;
        uint64_t max;
    } limits[] = {
        {RLIMIT_CORE, 0},
        {RLIMIT_FSIZE, c->spec->fsize_bytes},
        {RLIMIT_NOFILE, c->spec->nofile_max},
        {RLIMIT_NPROC, c->spec->threads_max},
        {RLIMIT_MEMLOCK, 0},
        {RLIMIT_MSGQUEUE, 0},
        {RLIMIT_NICE, 0},
        {RLIMIT_RTPRIO, 0},
        /* A monitor has neither: its translator reserves far more than it uses, its group counts. */
        {RLIMIT_AS, c->spec->as_bytes != 0 ? c->spec->as_bytes : RLIM_INFINITY},
        {RLIMIT_CPU, c->spec->cpu_s != 0 ? c->spec->cpu_s : RLIM_INFINITY},
    };

    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        int r = limit(limits[i].which, limits[i].max);

        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int step_ambient(struct jail_child *c)
{
    (void)c;
    return sys_result(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
}

static int step_bounding(struct jail_child *c)
{
    (void)c;
    for (int cap = 0; cap < CAP_NUMBERS_MAX; cap++) {
        if (prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) < 0) {
            return errno == EINVAL && cap > CAP_AUDIT_READ ? 0 : -errno; /* past the last one */
        }
    }
    return 0;
}

static int step_securebits(struct jail_child *c)
{
    (void)c;
    return sys_result(prctl(PR_SET_SECUREBITS,
                            (SECURE_ALL_BITS | SECURE_ALL_LOCKS) & ~issecure_mask(SECURE_KEEP_CAPS),
                            0, 0, 0));
}

/* Without privilege over the outer groups there is nothing to drop them with: setgroups is denied. */
static int step_groups(struct jail_child *c)
{
    return c->rootless ? 0 : sys_result(syscall(SYS_setgroups, 0, NULL));
}

static int step_ids(struct jail_child *c)
{
    uid_t uid = c->rootless ? geteuid() : c->spec->uid;
    gid_t gid = c->rootless ? getegid() : c->spec->gid;

    if (syscall(SYS_setresgid, gid, gid, gid) < 0 || syscall(SYS_setresuid, uid, uid, uid) < 0) {
        return -errno;
    }
    return 0;
}

/* By hand: with NO_SETUID_FIXUP the change of uid took none away. */
static int step_caps(struct jail_child *c)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

    (void)c;
    return sys_result(syscall(SYS_capset, &head, none));
}

static int step_no_new_privs(struct jail_child *c)
{
    (void)c;
    return sys_result(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static int step_dumpable(struct jail_child *c)
{
    (void)c;
    return sys_result(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

static int step_umask(struct jail_child *c)
{
    (void)c;
    (void)umask(077);
    return 0;
}

/*
 * After the last change of ids and capabilities, which would clear it.  getppid() is 0 in a pid
 * namespace, so the check that nobody died before is made on the socket: a process closes its files
 * before its children see it die, so a death that came too early for the signal shows there.
 */
static int step_death(struct jail_child *c)
{
    struct pollfd p = {.fd = c->sock, .events = 0};

    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || poll(&p, 1, 0) < 0) {
        return -errno;
    }
    return (p.revents & (POLLHUP | POLLERR)) != 0 ? -ESRCH : 0;
}

/* A report, with a descriptor attached unless it is -1. */
static int tell(int sock, const struct jail_report *report, int fd)
{
    ssize_t n = fd_send(sock, report, sizeof(*report), fd, 0);

    return n < 0 ? (int)n : 0;
}

/* From here on the filter holds; the exec that follows waits for the caller's yes. */
static int step_seccomp(struct jail_child *c)
{
    const struct jail_report loaded = {.step = JAIL_STEP_SECCOMP, .bind = -1};
    int listener = -1;
    int r = seccomp_load_filter(c->spec->filter, &listener);

    if (r == 0 && c->spec->entry != NULL) {
        ssize_t n = write(c->sock, &loaded, sizeof(loaded)); /* all the filter lets through */

        (void)close(listener);
        (void)close(c->sock);
        return n == (ssize_t)sizeof(loaded) ? 0 : -EPIPE;
    }
    return r < 0 ? r : tell(c->sock, &loaded, listener);
}

static int step_exec(struct jail_child *c)
{
    static const char *const no_env[] = {NULL};

    union {
        const char *const *in;
        char *const *out;
    } argv = {c->spec->argv}, env = {no_env}; /* execve()'s historic missing const */

    if (c->spec->entry != NULL) {
        _exit(c->spec->entry(c->spec->entry_arg));
    }
    (void)execve(c->spec->argv[0], argv.out, env.out);
    return -errno;
}

static int (*const steps[JAIL_STEP_COUNT])(struct jail_child *) = {
    [JAIL_STEP_WAIT] = step_wait,
    [JAIL_STEP_NS_CGROUP] = step_ns_cgroup,
    [JAIL_STEP_SESSION] = step_session,
    [JAIL_STEP_OOM] = step_oom,
    [JAIL_STEP_NO_CORE] = step_no_core,
    [JAIL_STEP_FDS] = step_fds,
    [JAIL_STEP_HOSTNAME] = step_hostname,
    [JAIL_STEP_PRIVATE] = step_private,
    [JAIL_STEP_ROOT] = step_root,
    [JAIL_STEP_BINDS] = step_binds,
    [JAIL_STEP_PIVOT] = step_pivot,
    [JAIL_STEP_READONLY] = step_readonly,
    [JAIL_STEP_KEYRING] = step_keyring,
    [JAIL_STEP_LIMITS] = step_limits,
    [JAIL_STEP_AMBIENT] = step_ambient,
    [JAIL_STEP_BOUNDING] = step_bounding,
    [JAIL_STEP_SECUREBITS] = step_securebits,
    [JAIL_STEP_GROUPS] = step_groups,
    [JAIL_STEP_IDS] = step_ids,
    [JAIL_STEP_CAPS] = step_caps,
    [JAIL_STEP_NO_NEW_PRIVS] = step_no_new_privs,
    [JAIL_STEP_DUMPABLE] = step_dumpable,
    [JAIL_STEP_UMASK] = step_umask,
    [JAIL_STEP_DEATH] = step_death,
    [JAIL_STEP_SECCOMP] = step_seccomp,
    [JAIL_STEP_EXEC] = step_exec,
};

void jail_child_run(struct jail_child *c)
{
    for (int s = JAIL_STEP_WAIT; s < JAIL_STEP_COUNT; s++) {
        int r = (c->skip & JAIL_SKIP(s)) != 0 ? 0 : steps[s](c);

        if (r < 0) {
            const struct jail_report failed = {.step = s, .errnum = -r, .bind = c->bind};

            (void)!tell(c->sock, &failed, -1);
            break;
        }
    }
    _exit(127);
}
