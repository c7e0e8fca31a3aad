#include "sup/monitor.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sys/fd.h"

/* Before anything else of this size: the machine can be lost, the host not. */
#define MONITOR_OOM_SCORE 500

void monitor_give(struct monitor *m, int fd, int number)
{
    assert(m->n_fds < MONITOR_FDS_MAX); /* the list is ours, and so is its length */
    if (fd >= 0) {
        m->fds[m->n_fds++] = (struct proc_fd){fd, number};
    }
}

static int spawn(const struct monitor *m, const struct machine_config *c, struct machine *ret,
                 struct err *err)
{
    int procs_fds[CGROUP_TREES_MAX];
    struct jail_spec spec = {
        .argv = m->argv,
        .fds = m->fds,
        .n_fds = m->n_fds,
        .binds = m->files->binds,
        .n_binds = m->files->n,
        .uid = c->uid,
        .gid = c->uid,
        .nofile_max = m->nofile_max,
        .fsize_bytes = c->scratch_bytes,
        .threads_max = m->threads_max,
        .oom_score_adj = MONITOR_OOM_SCORE,
        .cgroup_fd = c->group != NULL ? cgroup_clone_fd(c->group) : -1,
        .procs_fds = procs_fds,
        .filter = m->filter,
        .open_fd = m->open_fd,
        .ret_exec_ns = &ret->exec_ns,
    };

    for (size_t i = 0; c->group != NULL && i < c->group->n_members; i++) {
        if (!c->group->members[i].v2) {
            procs_fds[spec.n_procs_fds++] = c->group->members[i].procs_fd;
        }
    }
    return jail_spawn(&spec, &ret->proc, err);
}

/* A monitor that ended at once said why on its console. */
static int with_last_words(int console_fd, struct err *err)
{
    struct err ignored = ERR_INIT;
    char said[2048];
    char words[512] = "";
    ssize_t n =
        fd_set_nonblock(console_fd, &ignored) == 0 ? read(console_fd, said, sizeof(said)) : -1;

    if (n > 0) {
        engine_last_words(said, (size_t)n, words, sizeof(words));
    }
    return words[0] == '\0' ? err_negative(-err->errnum)
                            : err_wrap(err, "the monitor ended at its start (%s)", words);
}

int monitor_start(const struct monitor *m, const struct machine_config *config, struct machine *ret,
                  struct err *err)
{
    struct monitor all = *m;
    int pair[2] = {-1, -1};
    int console[2] = {-1, -1};
    auto_fd int ours = -1;
    auto_fd int theirs = -1;
    auto_fd int console_rd = -1;
    auto_fd int console_wr = -1;
    int r = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return err_sys(err, "socketpair");
    }
    ours = pair[0];
    theirs = pair[1];
    if (pipe2(console, O_CLOEXEC) < 0) {
        return err_sys(err, "pipe");
    }
    console_rd = console[0];
    console_wr = console[1];
    /* A monitor waits for neither: a guest that prints must not stop the thread that serves it. */
    r = fd_set_nonblock(theirs, err);
    if (r == 0) {
        r = fd_set_nonblock(console_wr, err);
    }
    if (r < 0) {
        return r;
    }
    monitor_give(&all, console_wr, MONITOR_FD_CONSOLE);
    monitor_give(&all, console_wr, MONITOR_FD_COMPLAIN);
    monitor_give(&all, theirs, MONITOR_FD_CHANNEL);
    r = spawn(&all, config, ret, err);
    if (r < 0) {
        return with_last_words(console_rd, err);
    }
    ret->channel_fd = STEAL_FD(&ours);
    ret->console_fd = STEAL_FD(&console_rd);
    return 0;
}

void monitor_how_it_ended(const struct engine *engine, const struct proc *proc, char *ret,
                          size_t size)
{
    struct proc_end end = {.code = 0};
    const char *words = NULL;

    ret[0] = '\0';
    if (!proc_peek(proc, &end)) {
        return;
    }
    if (end.signaled && end.code == SIGSYS) {
        (void)snprintf(
            ret, size,
            "the monitor made a system call that its jail does not allow, and was killed "
            "(SIGSYS)");
    } else if (end.signaled) {
        (void)snprintf(ret, size, "the monitor was ended by signal %d", end.code);
    } else {
        words = engine->exit_words != NULL ? engine->exit_words(end.code) : NULL;
        (void)snprintf(ret, size, "%s", words != NULL ? words : "the machine ended by itself");
    }
}
