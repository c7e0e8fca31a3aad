/*
 * How it works: the hook lies in the agent's own root and is bound to a place of the image that no
 * program has a use for yet: /in for Python (a directory, by PYTHONPATH), /dev/null for Node (a
 * file, by --require: workers require it again and then find the null device, an empty module).
 * The mounts of the image are shared with those of the interpreter's namespace, so that what is
 * bound and unbound here is so there.  The process waits once before its exec, until the hook is
 * bound, and once in the hook, when it is unbound again.
 */
#include "guest/warm.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

#include "guest/boot.h"
#include "guest/cgroup.h"
#include "guest/file.h"
#include "guest/paths.h"
#include "guest/warm-hooks.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define WAIT_NS      (45 * NS_PER_S) /* emulated, on a busy host; the host's own deadline is 60 s */
#define HEAD_BYTES   11
#define FAREWELL_MAX 160 /* of what a failing interpreter says */

/* What programs are given at least: the first of each kind's envp. */
#define BASE_ENV 4

/* Filled at boot: procargs.h. */
static char room[sizeof(PROCARGS_NAME) + PROCARGS_SIZE];

struct warm_kind {
    const char *program; /* its first argument, and what the command line asks for */
    const char *interpreter;
    const char *envp[7]; /* the first BASE_ENV are a program's own; the last gets its room */
    const char *hook;    /* file in PATH_WARM */
    const char *from;    /* bound ... */
    const char *to;      /* ... to this place */
    const unsigned char *text, *text_end;
};

#define PYTHON                                                                       \
    .interpreter = "python3", .envp = {MSG_BASE_ENV, "PYTHONPATH=/in", room, NULL},  \
    .hook = PATH_WARM "/sitecustomize.py", .from = PATH_WARM, .to = PATH_ROOT "/in", \
    .text = warm_python_start, .text_end = warm_python_end
#define NODE                                                                                       \
    .interpreter = "node", .envp = {MSG_BASE_ENV, "NODE_OPTIONS=--require=/dev/null", room, NULL}, \
    .hook = PATH_WARM "/hook.js", .from = PATH_WARM "/hook.js", .to = PATH_ROOT "/dev/null",       \
    .text = warm_node_start, .text_end = warm_node_end

static const struct warm_kind kinds[] = {
    {.program = "main.py", PYTHON},
    {.program = "main.js", NODE},
    {.program = "main.mjs", NODE},
    {.program = "main.cjs", NODE},
};

static int find_kind(const struct warm_kind **ret, struct err *err)
{
    char name[32];
    int r = boot_parameter("warm", name, sizeof(name), err);

    *ret = NULL;
    if (r < 0 || name[0] == '\0') {
        return r;
    }
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        if (strcmp(name, kinds[i].program) == 0) {
            *ret = &kinds[i];
            return 0;
        }
    }
    return err_sys_num(err, EINVAL, "airlock.warm=%s", name);
}

static int set_clock_back(struct err *err)
{
    const struct timespec long_ago = {.tv_sec = MSG_SAVED_CLOCK_S};

    if (clock_settime(CLOCK_REALTIME, &long_ago) < 0) {
        return err_sys(err, "set the clock back");
    }
    return 0;
}

static int write_hook(const struct warm_kind *kind, struct err *err)
{
    auto_fd int fd = -1;
    int r = 0;

    if (mkdir(PATH_WARM, 0755) < 0 && errno != EEXIST) {
        return err_sys(err, "mkdir '%s'", PATH_WARM);
    }
    r = fd_open(AT_FDCWD, kind->hook, O_WRONLY | O_CREAT | O_TRUNC, 0444, &fd, err);
    return r < 0 ? r : fd_write_full(fd, kind->text, (size_t)(kind->text_end - kind->text), err);
}

static int bind_hook(const struct warm_kind *kind, struct err *err)
{
    if (mount(kind->from, kind->to, NULL, MS_BIND, NULL) < 0) {
        return err_sys(err, "bind '%s' to '%s'", kind->from, kind->to);
    }
    return 0;
}

static int wait_readable(int fd, uint64_t deadline, struct err *err)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    uint64_t now = clock_mono_ns();

    if (now >= deadline || poll(&p, 1, (int)((deadline - now) / NS_PER_MS) + 1) == 0) {
        return err_sys_num(err, ETIMEDOUT, "the interpreter did not start in %d s",
                           (int)(WAIT_NS / NS_PER_S));
    }
    return 0;
}

/* The process stands before its exec; anything else it reports is its failure. */
static int wait_born(const struct child *child, uint64_t deadline, pid_t *ret, struct err *err)
{
    struct report report = {0};
    int r = wait_readable(child->report_fd, deadline, err);

    if (r == 0) {
        r = child_report(child, &report, err);
    }
    if (r < 0) {
        return r;
    }
    if (r == 1 && report.kind == REPORT_MAIN) {
        *ret = report.pid;
        return 0;
    }
    return err_sys_num(err, ECHILD, "%.*s", (int)sizeof(report.text) - 1,
                       report.text[0] != '\0' ? report.text : "its process was not started");
}

/* What it said before it ended, on one line. */
static int ended_early(const struct streams *io, const struct child *child, struct err *err)
{
    char said[FAREWELL_MAX + 1] = "";
    struct report report = {0};
    ssize_t n = 0;

    if (child_report(child, &report, err) == 1 && report.kind == REPORT_FAILED) {
        return err_sys_num(err, report.value, "%.*s", (int)sizeof(report.text) - 1, report.text);
    }
    n = read(io->err.fd, said, sizeof(said) - 1);
    for (ssize_t i = 0; i < n; i++) {
        if (said[i] < ' ' || said[i] > '~') {
            said[i] = ' ';
        }
    }
    return err_sys_num(err, ECHILD, "the interpreter ended before it waited: %s", said);
}

static int wait_waiting(const struct streams *io, const struct child *child, uint64_t deadline,
                        struct err *err)
{
    char answer = '\0';
    int bytes[2] = {0, 0};
    int r = wait_readable(child->exec_fd, deadline, err);

    if (r < 0) {
        return r;
    }
    if (read(child->exec_fd, &answer, 1) != 1 || answer != 'r') {
        return ended_early(io, child, err);
    }
    if (ioctl(io->out.fd, FIONREAD, &bytes[0]) < 0 || ioctl(io->err.fd, FIONREAD, &bytes[1]) < 0) {
        return err_sys(err, "look into the interpreter's output");
    }
    if (bytes[0] + bytes[1] != 0) {
        return ended_early(io, child, err);
    }
    return 0;
}

/* The hook is bound only while the interpreter reads it: no program shall find it. */
static int load_hook(const struct warm *w, const struct streams *io, const struct child *child,
                     uint64_t deadline, struct err *err)
{
    int r = bind_hook(w->kind, err);

    if (r < 0) {
        return r;
    }
    r = fd_write_full(w->go_fd, "x", 1, err);
    r = r < 0 ? r : wait_waiting(io, child, deadline, err);
    if (umount2(w->kind->to, MNT_DETACH) < 0 && r == 0) {
        r = err_sys(err, "take the hook from '%s'", w->kind->to);
    }
    return r;
}

/* const away: argv and envp of an exec are not written to, but are not const either. */
static char *const *as_exec(const char *const *list)
{
    union {
        const char *const *in;
        char *const *out;
    } u = {list};

    return u.out;
}

static int start(struct warm *w, struct streams *io, struct child *child, struct err *err)
{
    const struct warm_kind *kind = w->kind;
    uint64_t deadline = clock_mono_ns() + WAIT_NS;
    int go[2] = {-1, -1};
    auto_fd int their_go = -1;
    const char *const argv[] = {kind->interpreter, kind->program, NULL};
    struct child_spec spec = {
        .argv = as_exec(argv), .envp = as_exec(kind->envp), .stdio = io->child};
    int r = streams_open(io, err);

    if (r == 0) {
        r = streams_give(io, PROGRAM_UID, PROGRAM_GID, err);
    }
    if (r < 0) {
        return r;
    }
    if (pipe2(go, O_CLOEXEC) < 0) {
        return err_sys(err, "pipe");
    }
    their_go = go[0];
    w->go_fd = go[1];
    (void)snprintf(room, sizeof(room), PROCARGS_NAME "%0*d", (int)PROCARGS_SIZE - 1, 0);
    spec.go_fd = their_go;
    r = child_start(&spec, child, err);
    if (r == 0) {
        r = wait_born(child, deadline, &w->pid, err);
    }
    if (r == 0) {
        streams_close_child(io);
        r = load_hook(w, io, child, deadline, err);
    }
    if (r == 0) {
        r = procargs_init(&w->args, w->pid, kind->envp, BASE_ENV, err);
    }
    /* It was stopped for that, so all it took until now is counted. */
    return r < 0 ? r : cgroup_cpu_usec(&w->cpu_usec, err);
}

int warm_boot(struct warm *w, struct streams *io, struct child *child, struct err *err)
{
    int r = find_kind(&w->kind, err);

    if (r < 0 || w->kind == NULL) {
        return r;
    }
    r = set_clock_back(err);
    if (r == 0) {
        r = write_hook(w->kind, err);
    }
    if (r == 0) {
        r = start(w, io, child, err);
    }
    if (r < 0) {
        child_kill(child);
        child_reap(child);
        streams_fini(io);
        fd_close_p(&w->go_fd);
    }
    return r;
}

static bool same(char *const *a, const char *const *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (a[i] == NULL || strcmp(a[i], b[i]) != 0) {
            return false;
        }
    }
    return a[n] == NULL;
}

/* Most jobs have neither arguments nor an environment of their own: there is nothing to change. */
static int show(struct warm *w, const struct msg_job *job, struct err *err)
{
    const char *const argv[] = {w->kind->interpreter, w->kind->program};

    return procargs_show(&w->args, w->pid,
                         same(job->argv, argv, ARRAY_LEN(argv)) ? NULL : job->argv,
                         same(job->envp, w->kind->envp, BASE_ENV) ? NULL : job->envp, err);
}

/* Python runs archives, too, and is asked whether this is one: 0, 1, or ? for a program on a device. */
static char is_archive(const struct msg_job *job)
{
    static const char end_of_directory[] = "PK\5\6";

    if (job->program_data == NULL) {
        return '?';
    }
    return memmem(job->program_data, job->program_len, end_of_directory,
                  sizeof(end_of_directory) - 1) != NULL
               ? '1'
               : '0';
}

/*
 * J or R, is it an archive, the length of the rest in 9 digits; number of arguments, they,
 * environment: each with NUL. One write: the interpreter wakes up once.
 */
int warm_go(struct warm *w, const struct msg_job *job, struct err *err)
{
    struct buf text = BUF_INIT((size_t)2 * MSG_STRINGS_BYTES);
    char head[HEAD_BYTES + 1];
    size_t n = 0;
    int r = show(w, job, err);

    if (r < 0) {
        return r;
    }
    while (job->argv[n] != NULL) {
        n++;
    }
    r = buf_printf(&text, "%0*d", HEAD_BYTES, 0);
    r = r < 0 ? r : buf_printf(&text, "%zu", n);
    r = r < 0 ? r : buf_put(&text, "", 1);
    for (size_t i = 0; r == 0 && job->argv[i] != NULL; i++) {
        r = buf_put(&text, job->argv[i], strlen(job->argv[i]) + 1);
    }
    for (size_t i = 0; r == 0 && job->envp[i] != NULL; i++) {
        r = buf_put(&text, job->envp[i], strlen(job->envp[i]) + 1);
    }
    if (r < 0) {
        r = err_sys_num(err, ENOMEM, "write down the job for the interpreter");
    } else {
        (void)snprintf(head, sizeof(head), "%c%c%09zu", job->rehearsal ? 'R' : 'J', is_archive(job),
                       text.len - HEAD_BYTES);
        memcpy(text.data, head, HEAD_BYTES);
        r = fd_write_full(w->go_fd, text.data, text.len, err);
    }
    buf_fini(&text);
    if (!job->rehearsal) {
        fd_close_p(&w->go_fd);
    }
    return r;
}
