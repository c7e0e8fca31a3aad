/*
 * How it works: child_start() clones the reaper into new namespaces. The reaper makes the image its
 * root (pivot_root, then the agent's world is unmounted), mounts /proc of its own pid namespace and
 * clones the program's process straight into the job's cgroup. That process drops everything it has
 * in an order in which each step still has the right to do the next one: session, limits, bounding
 * set, securebits, groups, uid, remaining capabilities, no_new_privs, exec.
 *
 * A job with root is given everything instead: no namespaces but a mount namespace (for the image to
 * be its root), every capability, /proc and /sys as they are. Nothing in the guest is meant to hold
 * it, the agent included; what encloses the machine is. Its orphans come to the reaper, as those of
 * others do, because it is a subreaper.
 *
 * The kernel refuses a fork's oom_score_adj to be lowered by the unprivileged below what a
 * privileged process wrote, so the reaper writes 500 into its own, clones, and takes it back.
 */
#include "guest/child.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/close_range.h>
#include <linux/sched.h>
#include <linux/securebits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guest/exec.h"
#include "guest/file.h"
#include "guest/paths.h"
#include "guest/warm.h"
#include "sys/fd.h"

#define SECUREBITS                                                          \
    (SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP_LOCKED | \
     SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

static void report(int fd, const struct report *what)
{
    (void)send(fd, what, sizeof(*what), MSG_NOSIGNAL);
}

/* Never returns. */
static void __attribute__((noreturn)) fail(int fd, const char *phase, const struct err *err)
{
    struct report what = {.kind = REPORT_FAILED, .value = err->errnum};

    (void)snprintf(what.phase, sizeof(what.phase), "%.15s", phase);
    (void)snprintf(what.text, sizeof(what.text), "%.*s", (int)sizeof(what.text) - 1, err->msg);
    report(fd, &what);
    _exit(127);
}

/* ---- the program's process, until its exec ---- */

static int set_limit(int resource, rlim_t soft, rlim_t hard, struct err *err)
{
    struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};

    if (setrlimit((__rlimit_resource_t)resource, &limit) < 0) {
        return err_sys(err, "set resource limit %d", resource);
    }
    return 0;
}

static int set_limits(struct err *err)
{
    int r = set_limit(RLIMIT_CORE, 0, 0, err);

    if (r < 0) {
        return r;
    }
    r = set_limit(RLIMIT_NOFILE, 1024, 4096, err);
    /* The cgroup's pids.max alone counts processes. */
    return r < 0 ? r : set_limit(RLIMIT_NPROC, RLIM_INFINITY, RLIM_INFINITY, err);
}

static void reset_signals(void)
{
    struct sigaction dfl = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int sig = 1; sig < NSIG; sig++) {
        (void)sigaction(sig, &dfl, NULL); /* SIGKILL, SIGSTOP and glibc's own refuse */
    }
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static int drop_privileges(struct err *err)
{
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[2] = {0};

    for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++) {
    }
    if (prctl(PR_CAPBSET_READ, 0, 0, 0, 0) != 0) {
        return err_sys_num(err, EPERM, "drop the capability bounding set");
    }
    if (prctl(PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0) < 0) {
        return err_sys(err, "lock the securebits");
    }
    if (setgroups(0, NULL) < 0 || setresgid(PROGRAM_GID, PROGRAM_GID, PROGRAM_GID) < 0 ||
        setresuid(PROGRAM_UID, PROGRAM_UID, PROGRAM_UID) < 0) {
        return err_sys(err, "become uid %d", PROGRAM_UID);
    }
    if (syscall(SYS_capset, &head, none) < 0) {
        return err_sys(err, "drop capabilities");
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) {
        return err_sys(err, "set no_new_privs");
    }
    return 0;
}

/* The two descriptors that an interpreter which waits keeps over its exec. */
static int keep_pipes(const struct child_spec *spec, int exec_fd, struct err *err)
{
    if (spec->go_fd >= 0 && (dup2(spec->go_fd, WARM_GO_FD) < 0 || dup2(exec_fd, WARM_ACK_FD) < 0)) {
        return err_sys(err, "keep the pipes of an interpreter that waits");
    }
    return 0;
}

/* Until what it shall find is in place. */
static int wait_for_go(const struct child_spec *spec, struct err *err)
{
    char byte = '\0';

    if (spec->go_fd >= 0 && read(WARM_GO_FD, &byte, 1) != 1) {
        return err_sys(err, "wait for the word to start an interpreter");
    }
    return 0;
}

static void __attribute__((noreturn))
program_main(const struct child_spec *spec, int exec_fd, int report_fd)
{
    const struct report here = {.kind = REPORT_MAIN};
    struct err err = ERR_INIT;

    /* stdio fds are all above 2: the agent holds /dev/null there. */
    for (int i = 0; i < 3; i++) {
        if (dup2(spec->stdio[i], i) < 0) {
            (void)err_sys(&err, "dup2 to %d", i);
            fail(report_fd, "start", &err);
        }
    }
    if (close_range(3, ~0u, CLOSE_RANGE_CLOEXEC) < 0 || setsid() < 0) {
        (void)err_sys(&err, "new session");
        fail(report_fd, "start", &err);
    }
    (void)umask(022);
    if (keep_pipes(spec, exec_fd, &err) < 0 || set_limits(&err) < 0 ||
        (!spec->root && drop_privileges(&err) < 0)) {
        fail(report_fd, "start", &err);
    }
    if (chdir("/work") < 0) {
        (void)err_sys(&err, "chdir '/work'");
        fail(report_fd, "start", &err);
    }
    reset_signals();
    report(report_fd, &here);
    if (wait_for_go(spec, &err) < 0) {
        fail(report_fd, "start", &err);
    }
    exec_search(spec->argv, spec->envp, &err);
    fail(report_fd, "exec", &err);
}

/* ---- the reaper ---- */

/* Before the first process of another uid exists here; afterwards nothing is changed any more. */
static int mount_proc(struct err *err)
{
    static const char *const masked[] = {
        "/proc/kcore",         "/proc/keys",       "/proc/kmsg",
        "/proc/kallsyms",      "/proc/interrupts", "/proc/iomem",
        "/proc/sysrq-trigger", "/proc/timer_list", "/proc/sched_debug",
    };
    const unsigned long flags = MS_NOSUID | MS_NODEV | MS_NOEXEC;

    if (mount("proc", "/proc", "proc", flags, "hidepid=invisible") < 0) {
        return err_sys(err, "mount '/proc' (the image needs this directory)");
    }
    for (size_t i = 0; i < ARRAY_LEN(masked); i++) {
        if (mount("/dev/null", masked[i], NULL, MS_BIND, NULL) < 0 && errno != ENOENT) {
            return err_sys(err, "mask '%s'", masked[i]);
        }
    }
    if (mount(NULL, "/proc", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) < 0) {
        return err_sys(err, "make '/proc' read-only");
    }
    return 0;
}

static int mount_for_root(const char *type, const char *where, struct err *err)
{
    if (mkdir(where, 0755) < 0 && errno != EEXIST) {
        return err_sys(err, "mkdir '%s'", where);
    }
    if (mount(type, where, type, 0, NULL) < 0) {
        return err_sys(err, "mount %s on '%s'", type, where);
    }
    return 0;
}

static int mount_all(struct err *err)
{
    static const char *const all[][2] = {
        {"proc", "/proc"},
        {"sysfs", "/sys"},
        {"cgroup2", "/sys/fs/cgroup"},
    };

    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        int r = mount_for_root(all[i][0], all[i][1], err);

        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* What the agent mounts below the image later is mounted here as well, and never the other way. */
static int enter_root(bool as_root, struct err *err)
{
    if (mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0) {
        return err_sys(err, "take mounts from the agent only");
    }
    if (chdir(PATH_ROOT) < 0 || syscall(SYS_pivot_root, ".", ".") < 0) {
        return err_sys(err, "make the image the root");
    }
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0) {
        return err_sys(err, "leave the agent's root");
    }
    return as_root ? mount_all(err) : mount_proc(err);
}

static int write_fd(int fd, const char *text, struct err *err)
{
    if (write(fd, text, strlen(text)) < 0) {
        return err_sys(err, "set oom_score_adj to %s", text);
    }
    return 0;
}

static pid_t clone_into(int cgroup_fd)
{
    struct clone_args args = {
        .flags = CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = (uint64_t)cgroup_fd,
    };

    return (pid_t)syscall(SYS_clone3, &args, sizeof(args));
}

/* The reaper's whole life after the program started. It ends only by being killed. */
static void __attribute__((noreturn)) reap_forever(pid_t program, int report_fd)
{
    for (;;) {
        struct report end = {.kind = REPORT_END};
        pid_t pid = waitpid(-1, &end.value, 0); /* stops and continues are not reported */

        if (pid == program) {
            report(report_fd, &end);
        } else if (pid < 0 && errno != EINTR) {
            (void)pause(); /* no children left; the agent ends us */
        }
    }
}

static void __attribute__((noreturn))
reaper_main(const struct child_spec *spec, int exec_fd, int report_fd)
{
    int cgroup = open(PATH_JOB_CGROUP, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int oom = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    struct err err = ERR_INIT;
    pid_t program = 0;

    if (cgroup < 0 || oom < 0) {
        (void)err_sys(&err, "open the job's cgroup");
        fail(report_fd, "start", &err);
    }
    if (enter_root(spec->root, &err) < 0) {
        fail(report_fd, "mount", &err);
    }
    if (spec->root && prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
        (void)err_sys(&err, "become a subreaper");
        fail(report_fd, "start", &err);
    }
    if (write_fd(oom, "500", &err) < 0) {
        fail(report_fd, "start", &err);
    }
    program = clone_into(cgroup);
    if (program == 0) {
        program_main(spec, exec_fd, report_fd);
    }
    if (program < 0) {
        (void)err_sys(&err, "clone the program's process");
        fail(report_fd, "start", &err);
    }
    if (write_fd(oom, "-1000", &err) < 0) {
        fail(report_fd, "start", &err);
    }
    /* No end of the program's pipes, nor of the host channel, may stay open here. */
    if (dup3(report_fd, 3, O_CLOEXEC) < 0 || close_range(4, ~0u, 0) < 0) {
        (void)err_sys(&err, "close the reaper's descriptors");
        fail(report_fd, "start", &err);
    }
    reap_forever(program, 3);
}

/* ---- the agent's side ---- */

int child_start(const struct child_spec *spec, struct child *ret, struct err *err)
{
    int pidfd = -1;
    struct clone_args args = {
        .flags = CLONE_NEWNS | CLONE_PIDFD |
                 (spec->root ? 0 : CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET),
        .pidfd = (uint64_t)(uintptr_t)&pidfd,
        .exit_signal = SIGCHLD,
    };
    const int on = 1;
    int sockets[2] = {-1, -1};
    int pipe_fds[2] = {-1, -1};
    pid_t pid = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0) {
        return err_sys(err, "socketpair");
    }
    ret->report_fd = sockets[0];
    if (setsockopt(sockets[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0 ||
        fcntl(sockets[0], F_SETFL, O_NONBLOCK) < 0 || pipe2(pipe_fds, O_CLOEXEC) < 0) {
        (void)close(sockets[1]);
        return err_sys(err, "set up the report socket");
    }
    ret->exec_fd = pipe_fds[0];
    ret->waits = spec->go_fd >= 0;
    pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0) {
        reaper_main(spec, pipe_fds[1], sockets[1]);
    }
    (void)close(sockets[1]);
    (void)close(pipe_fds[1]);
    if (pid < 0) {
        return err_sys(err, "clone the reaper");
    }
    ret->reaper = pid;
    ret->pidfd = pidfd;
    return 0;
}

int child_exec_event(struct child *child, struct err *err)
{
    char answer = '\0';
    ssize_t n = read(child->exec_fd, &answer, 1);

    if (n < 0 && errno == EINTR) {
        return 0;
    }
    if (n < 0 || (child->waits ? n != 1 || answer != 'g' : n != 0)) {
        return err_sys_num(err, n < 0 ? errno : EPROTO, "the start of the program");
    }
    if (!child->rehearses) {
        fd_close_p(&child->exec_fd);
    }
    return 1;
}

int child_rehearsed(struct child *child, struct err *err)
{
    char answer = '\0';

    if (read(child->exec_fd, &answer, 1) != 1 || answer != 'h') {
        return err_sys_num(err, EPROTO, "the rehearsal failed");
    }
    child->rehearses = false;
    return 0;
}

int child_report(const struct child *child, struct report *ret, struct err *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control = {0};
    struct iovec iov = {.iov_base = ret, .iov_len = sizeof(*ret)};
    struct msghdr msg = {
        .msg_iov = &iov,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof(control),
    };
    ssize_t n = recvmsg(child->report_fd, &msg, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
    struct ucred cred = {0};

    if (n == 0 || (n < 0 && errno == EAGAIN)) {
        return 0;
    }
    if (n < 0) {
        return err_sys(err, "receive a report");
    }
    if (n != (ssize_t)sizeof(*ret) || cmsg == NULL || cmsg->cmsg_type != SCM_CREDENTIALS) {
        return err_sys_num(err, EPROTO, "a report of %zd bytes", n);
    }
    /* With root the reaper may be the program's by now. */
    ret->phase[sizeof(ret->phase) - 1] = '\0';
    ret->text[sizeof(ret->text) - 1] = '\0';
    memcpy(&cred, CMSG_DATA(cmsg), sizeof(cred));
    ret->pid = cred.pid;
    return 1;
}

void child_kill(const struct child *child)
{
    if (child->pidfd >= 0) {
        (void)syscall(SYS_pidfd_send_signal, child->pidfd, SIGKILL, NULL, 0);
    }
}

void child_reap(struct child *child)
{
    siginfo_t info;

    if (child->pidfd >= 0) {
        (void)waitid(P_PIDFD, (id_t)child->pidfd, &info, WEXITED);
    }
    fd_close_p(&child->pidfd);
    fd_close_p(&child->report_fd);
    fd_close_p(&child->exec_fd);
    child->reaper = 0;
}
