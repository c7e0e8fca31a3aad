/*
 * How it works.  sup_start() forks; the child leaves the caller's session, drops every descriptor
 * it does not need, becomes a subreaper and runs the job.  The socket between the two is the only
 * tie: the child sees its end of file when the caller dies, kills the machine and ends; the
 * machine dies with the child (PR_SET_PDEATHSIG), and what has a name then, control groups and
 * the slot, is removed by the reaper, so kill -9 of either leaves nothing.
 */
#include "sup/sup.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "job/result.h"
#include "sup/client.h"
#include "sup/hold.h"
#include "sup/run.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* Time the supervisor has to clean up after its caller let go, before it is killed. */
#define SUP_END_NS (15 * NS_PER_S)

/* Most bytes of one event a caller accepts; a result is the longest. */
#define SUP_EVENT_MAX RESULT_JSON_MAX

static void detach_stdio(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = 0; fd <= 2 && null >= 0; fd++) {
        (void)dup2(null, fd);
    }
    if (null > 2) {
        (void)close(null);
    }
}

_Noreturn static void supervisor(const struct spec *spec, const struct store *store,
                                 struct hold *hold, int fd, uint64_t submitted_ns, bool streaming)
{
    const int keep[] = {fd, store->dirfd, store->tmpfd, spec->stdin_fd};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct client client;
    int r = 0;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "airlock-sup");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    proc_reset_signals();
    (void)sigaction(SIGPIPE, &ignore, NULL);
    fd_keep_only(keep, ARRAY_LEN(keep));
    if (spec->stdin_fd != 0) {
        detach_stdio();
    } else {
        /* The caller's stdin is the job's: keep it as 0, let the other two go. */
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)dup2(null, 1);
        (void)dup2(null, 2);
        (void)close(null);
    }
    client_init(&client, fd,
                2 * (spec->limits.stdout_bytes + spec->limits.stderr_bytes) + RESULT_JSON_MAX);
    r = run_job(spec, store, hold, &client, submitted_ns, streaming);
    hold_free(hold);
    client_drain(&client);
    client_fini(&client);
    _exit(r == 0 ? 0 : 1);
}

int sup_start(const struct spec *spec, const struct store *store, bool streaming, struct sup *ret,
              struct err *err)
{
    uint64_t submitted_ns = clock_mono_ns();
    int pair[2] = {-1, -1};
    auto_fd int ours = -1;
    auto_fd int theirs = -1;
    auto_hold struct hold *hold = hold_new();
    int r = 0;

    if (hold == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = hold_prepare(hold, err); /* before the fork: it may have to move this process */
    if (r < 0) {
        return r;
    }
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return err_sys(err, "socketpair");
    }
    ours = pair[0];
    theirs = pair[1];
    r = proc_fork(&ret->proc, err);
    if (r < 0) {
        return err_wrap(err, "start the supervisor");
    }
    if (r == 1) {
        supervisor(spec, store, hold, theirs, submitted_ns, streaming);
    }
    ret->fd = STEAL_FD(&ours);
    ret->in = (struct buf)BUF_INIT(SUP_EVENT_MAX);
    ret->finished = false;
    return 0;
}

static int died(struct sup *sup, struct err *err)
{
    struct proc_end end = {0};
    struct err ignored = ERR_INIT;

    if (proc_wait(&sup->proc, SUP_END_NS, &end, &ignored) < 0) {
        return err_set(err, ERR_HOST, EPIPE, "the supervisor closed its channel without a result");
    }
    return err_set(err, ERR_HOST, EPIPE,
                   "the supervisor died (%s %d) before it had a result; its machine died with it",
                   end.signaled ? "signal" : "exit code", end.code);
}

static int read_exact(struct sup *sup, size_t len, uint8_t **ret, struct err *err)
{
    uint8_t *at = NULL;
    size_t got = 0;
    int r = 0;

    if (buf_reserve(&sup->in, len, &at) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for the result");
    }
    r = fd_read_full(sup->fd, at, len, &got, err);
    if (r < 0) {
        return r;
    }
    if (got < len) {
        return died(sup, err);
    }
    sup->in.len += len;
    *ret = at;
    return 0;
}

int sup_next(struct sup *sup, struct sup_event *ret, struct err *err)
{
    uint32_t head[2];
    uint8_t *at = NULL;
    int r = 0;

    if (sup->finished) {
        return 0;
    }
    sup->in.len = 0;
    r = read_exact(sup, sizeof(head), &at, err);
    if (r < 0) {
        return r;
    }
    memcpy(head, at, sizeof(head));
    sup->in.len = 0;
    if (head[0] > SUP_RESULT) {
        return err_set(err, ERR_HOST, EPROTO, "the supervisor sent an unknown event");
    }
    r = read_exact(sup, head[1], &at, err);
    if (r < 0) {
        return r;
    }
    ret->kind = (enum sup_event_kind)head[0];
    ret->data = at;
    ret->len = head[1];
    sup->finished = ret->kind == SUP_RESULT;
    return 1;
}

void sup_cancel(struct sup *sup)
{
    if (sup->fd >= 0) {
        (void)send(sup->fd, "c", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
    }
}

void sup_fini(struct sup *sup)
{
    struct proc_end end = {0};
    struct err ignored = ERR_INIT;

    /* Letting go of the socket is the order to clean up; killing comes only after that failed. */
    fd_close_p(&sup->fd);
    if (sup->proc.pid > 0) {
        (void)!proc_wait(&sup->proc, SUP_END_NS, &end, &ignored);
    }
    proc_fini(&sup->proc);
    buf_fini(&sup->in);
}
