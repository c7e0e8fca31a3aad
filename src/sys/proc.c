#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/fd.h"

#define PROC_FDS_MAX 32

/* Child side: only async-signal-safe calls from here to exec. */

/* The highest descriptor the child will have; what is in the way moves above it. */
static int top_target(const struct proc_spec *spec)
{
    int top = 2;

    for (size_t i = 0; i < spec->n_fds; i++) {
        top = spec->fds[i].target > top ? spec->fds[i].target : top;
    }
    return top;
}

static int place_fds(const struct proc_spec *spec)
{
    int high[PROC_FDS_MAX];
    int top = top_target(spec);

    /* First everything out of the way of every target, then each to its place. */
    for (size_t i = 0; i < spec->n_fds; i++) {
        high[i] = fcntl(spec->fds[i].fd, F_DUPFD_CLOEXEC, top + 1);
        if (high[i] < 0) {
            return -1;
        }
    }
    for (int t = 0; t <= 2; t++) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        if (null < 0) {
            return -1;
        }
        if (null != t && dup2(null, t) < 0) {
            return -1;
        }
        if (null == t && fcntl(t, F_SETFD, 0) < 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < spec->n_fds; i++) {
        if (dup2(high[i], spec->fds[i].target) < 0) {
            return -1;
        }
    }
    /* Close what is not a target: gaps one by one, everything above by range. */
    for (int fd = 3; fd <= top; fd++) {
        bool named = false;

        for (size_t i = 0; i < spec->n_fds; i++) {
            named = named || spec->fds[i].target == fd;
        }
        if (!named && fcntl(fd, F_GETFD) >= 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
            return -1;
        }
    }
    return (int)syscall(SYS_close_range, (unsigned int)top + 1, ~0u, 4u /* CLOSE_RANGE_CLOEXEC */);
}

static int set_limits(const struct proc_spec *spec)
{
    struct rlimit none = {0, 0};
    struct rlimit fsize = {spec->fsize_max, spec->fsize_max};
    struct rlimit nofile = {spec->nofile, spec->nofile};

    if (setrlimit(RLIMIT_CORE, &none) < 0) {
        return -1;
    }
    if (spec->fsize_max != 0 && setrlimit(RLIMIT_FSIZE, &fsize) < 0) {
        return -1;
    }
    return spec->nofile != 0 ? setrlimit(RLIMIT_NOFILE, &nofile) : 0;
}

_Noreturn static void child_failed(int report, int e)
{
    (void)!write(report, &e, sizeof(e));
    _exit(127);
}

void proc_reset_signals(void)
{
    /* The kernel's own struct: the C library's sigaction() refuses its signals 32 and 33, which a
     * parent may have left ignored all the same. */
    const struct {
        void *handler;
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } dfl = {NULL, 0, NULL, 0};

    sigset_t none;

    for (int s = 1; s < NSIG; s++) {
        (void)syscall(SYS_rt_sigaction, s, &dfl, NULL, sizeof(dfl.mask)); /* not KILL, STOP */
    }
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

_Noreturn static void child(const struct proc_spec *spec, pid_t parent, int report)
{
    static const char *const no_env[] = {NULL};
    int high = -1;

    proc_reset_signals();
    (void)setsid();
    if (spec->die_with_parent) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent) {
            _exit(127);
        }
    }
    high = fcntl(report, F_DUPFD_CLOEXEC, top_target(spec) + 1);
    if (high < 0) {
        child_failed(report, errno);
    }
    /* Limits last: a small RLIMIT_NOFILE must not stop the moving of descriptors. */
    if (place_fds(spec) == 0 && set_limits(spec) == 0) {
        const char *const *envp = spec->envp != NULL ? spec->envp : no_env;

        union {
            const char *const *in;
            char *const *out;
        } argv = {spec->argv}, env = {envp}; /* execve()'s historic missing const */

        (void)execve(spec->argv[0], argv.out, env.out);
    }
    child_failed(high, errno);
}

int proc_fork(struct proc *ret, struct err *err)
{
    auto_proc struct proc proc = PROC_INIT;

    proc.pid = fork();
    if (proc.pid < 0) {
        proc.pid = 0;
        return err_sys(err, "fork");
    }
    if (proc.pid == 0) {
        return 1;
    }
    proc.pidfd = (int)syscall(SYS_pidfd_open, proc.pid, 0); /* close-on-exec by itself */
    if (proc.pidfd < 0) {
        return err_sys(err, "pidfd_open");
    }
    *ret = proc;
    proc = (struct proc)PROC_INIT;
    return 0;
}

int proc_spawn(const struct proc_spec *spec, struct proc *ret, struct err *err)
{
    int pipe_fds[2] = {-1, -1};
    auto_fd int rd = -1;
    auto_fd int wr = -1;
    auto_proc struct proc proc = PROC_INIT;
    pid_t parent = getpid();
    int child_errno = 0;
    size_t got = 0;
    int r = 0;

    if (spec->n_fds > PROC_FDS_MAX) {
        return err_set(err, ERR_HOST, E2BIG, "too many descriptors for a child");
    }
    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        return err_sys(err, "pipe");
    }
    rd = pipe_fds[0];
    wr = pipe_fds[1];
    r = proc_fork(&proc, err);
    if (r < 0) {
        return r;
    }
    if (r == 1) {
        child(spec, parent, wr);
    }
    fd_close_p(&wr);
    r = fd_read_full(rd, &child_errno, sizeof(child_errno), &got, err);
    if (r < 0) {
        return r;
    }
    if (got == sizeof(child_errno)) {
        return err_sys_num(err, child_errno > 0 ? child_errno : EIO, "start '%s'", spec->argv[0]);
    }
    *ret = proc;
    proc = (struct proc)PROC_INIT;
    return 0;
}

void proc_kill(struct proc *proc)
{
    if (proc->pidfd >= 0) {
        (void)syscall(SYS_pidfd_send_signal, proc->pidfd, SIGKILL, NULL, 0);
    } else if (proc->pid > 0) {
        (void)kill(proc->pid, SIGKILL); /* our own unreaped child: the number cannot be reused */
    }
}

int proc_wait(struct proc *proc, uint64_t timeout_ns, struct proc_end *ret, struct err *err)
{
    uint64_t deadline = clock_mono_ns() + timeout_ns;
    int status = 0;

    for (;;) {
        uint64_t now = clock_mono_ns();
        uint64_t left_ms = now < deadline ? (deadline - now) / NS_PER_MS + 1 : 0;
        struct pollfd p = {.fd = proc->pidfd, .events = POLLIN};
        int n = poll(&p, 1, left_ms > 60000 ? 60000 : (int)left_ms);

        if (n < 0 && errno != EINTR) {
            return err_sys(err, "poll");
        }
        if (n > 0) {
            break;
        }
        if (clock_mono_ns() >= deadline) {
            return err_set(err, ERR_HOST, ETIMEDOUT, "process %d did not end in time",
                           (int)proc->pid);
        }
    }
    while (waitpid(proc->pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return err_sys(err, "waitpid");
        }
    }
    ret->signaled = WIFSIGNALED(status);
    ret->code = ret->signaled ? WTERMSIG(status) : WEXITSTATUS(status);
    proc->pid = 0;
    fd_close_p(&proc->pidfd);
    return 0;
}

bool proc_peek(const struct proc *proc, struct proc_end *ret)
{
    siginfo_t info = {.si_pid = 0};

    if (proc->pidfd < 0 ||
        waitid(P_PIDFD, (id_t)proc->pidfd, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
        info.si_pid == 0) {
        return false;
    }
    ret->signaled = info.si_code != CLD_EXITED;
    ret->code = info.si_status;
    return true;
}

void proc_fini(struct proc *proc)
{
    if (proc->pid > 0) {
        proc_kill(proc);
        while (waitpid(proc->pid, NULL, 0) < 0 && errno == EINTR) {
        }
        proc->pid = 0;
    }
    fd_close_p(&proc->pidfd);
}

/* Until there is something to read: 0, or -ETIMEDOUT at the deadline. */
static int await_input(int fd, uint64_t deadline, struct err *err)
{
    for (;;) {
        uint64_t now = clock_mono_ns();
        uint64_t left = now < deadline ? (deadline - now) / NS_PER_MS + 1 : 0;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int ready = poll(&p, 1, left > 60000 ? 60000 : (int)left);

        if (ready > 0) {
            return 0;
        }
        if (ready < 0 && errno != EINTR) {
            return err_sys(err, "poll");
        }
        if (clock_mono_ns() >= deadline) {
            return err_set(err, ERR_HOST, ETIMEDOUT, "it did not end in time");
        }
    }
}

/* Reads what the helper prints until it closes its end or the time is over. */
static int drain(int fd, uint64_t deadline, struct buf *out, struct err *err)
{
    char chunk[4096];

    for (;;) {
        size_t room = out->max - out->len;
        ssize_t n = 0;
        int r = await_input(fd, deadline, err);

        if (r < 0) {
            return r;
        }
        n = read(fd, chunk, sizeof(chunk));
        if (n == 0) {
            return 0;
        }
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_sys(err, "read");
        }
        if (buf_put(out, chunk, (size_t)n < room ? (size_t)n : room) < 0) {
            return err_set(err, ERR_HOST, ENOMEM, "out of memory");
        }
    }
}

/* The last line that is not empty, for an error message. */
static const char *last_line(const struct buf *out, char *text, size_t size)
{
    size_t end = out->len;
    size_t start = 0;

    while (end > 0 && (out->data[end - 1] == '\n' || out->data[end - 1] == ' ')) {
        end--;
    }
    start = end;
    while (start > 0 && out->data[start - 1] != '\n') {
        start--;
    }
    (void)snprintf(text, size, "%.*s", (int)(end - start),
                   out->data != NULL ? (const char *)out->data + start : "");
    return text[0] != '\0' ? text : "it printed nothing";
}

int proc_run(const char *const *argv, const char *const *envp, uint64_t timeout_ns, struct buf *out,
             struct err *err)
{
    int pipe_fds[2] = {-1, -1};
    auto_fd int rd = -1;
    auto_fd int wr = -1;
    auto_proc struct proc proc = PROC_INIT;
    struct proc_end end = {0};
    uint64_t deadline = clock_mono_ns() + timeout_ns;
    char line[400];
    int r = 0;

    if (pipe2(pipe_fds, O_CLOEXEC) < 0) {
        return err_sys(err, "pipe");
    }
    rd = pipe_fds[0];
    wr = pipe_fds[1];
    r = proc_spawn(&(struct proc_spec){.argv = argv,
                                       .envp = envp,
                                       .fds = (struct proc_fd[]){{wr, 1}, {wr, 2}},
                                       .n_fds = 2,
                                       .die_with_parent = true},
                   &proc, err);
    if (r < 0) {
        return r;
    }
    fd_close_p(&wr);
    r = drain(rd, deadline, out, err);
    if (r < 0) {
        return err_wrap(err, "%s", argv[0]);
    }
    r = proc_wait(&proc, 10 * NS_PER_S, &end, err);
    if (r < 0) {
        return err_wrap(err, "%s", argv[0]);
    }
    if (end.signaled || end.code != 0) {
        return err_set(err, ERR_HOST, ECHILD, "%s %s %d: %s", argv[0],
                       end.signaled ? "was ended by signal" : "failed with exit code", end.code,
                       last_line(out, line, sizeof(line)));
    }
    return 0;
}

int proc_find(const char *name, const char *package, char ret[PROC_PATH_MAX], struct err *err)
{
    static const char *const dirs[] = {"/usr/sbin", "/usr/bin", "/sbin", "/bin"};

    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        int n = snprintf(ret, PROC_PATH_MAX, "%s/%s", dirs[i], name);

        if (n > 0 && n < PROC_PATH_MAX && access(ret, X_OK) == 0) {
            return 0;
        }
    }
    return err_set(err, ERR_USAGE, ENOENT,
                   "the program '%s' is missing; install it with: apt-get install %s", name,
                   package);
}
