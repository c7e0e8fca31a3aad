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
#include "sup/handover.h"
#include "sup/hold.h"
#include "sup/run.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* Time the supervisor has to clean up after its caller let go, before it is killed. */
#define SUP_END_NS (15 * NS_PER_S)

/* Most bytes of one event a caller accepts; a result is the longest. */
#define SUP_EVENT_MAX (CLIENT_FRAME_HEADER + RESULT_JSON_MAX)

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

/* What a supervisor is forked for. */
struct task {
    const struct spec *spec; /* the job's, or the model of a machine that gets its job later */
    const struct store *store;
    struct hold *hold;
    uint64_t submitted_ns;
    bool has_job;
    bool streaming;
};

static void let_go_of_stdio(const struct task *task)
{
    if (task->spec->stdin_fd != 0) {
        detach_stdio();
    } else {
        /* The caller's stdin is the job's: keep it as 0, let the other two go. */
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);

        (void)dup2(null, 1);
        (void)dup2(null, 2);
        (void)close(null);
    }
}

_Noreturn static void supervisor(const struct task *task, int fd)
{
    const int keep[] = {fd, task->store->dirfd, task->store->tmpfd, task->spec->stdin_fd};
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct client client;
    int r = 0;

    (void)setsid();
    (void)prctl(PR_SET_NAME, "airlock-sup");
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    proc_reset_signals();
    (void)sigaction(SIGPIPE, &ignore, NULL);
    fd_keep_only(keep, ARRAY_LEN(keep));
    let_go_of_stdio(task);
    client_init(&client, fd, client_queue_max(&task->spec->limits));
    r = task->has_job ? run_job(task->spec, task->store, task->hold, &client, task->submitted_ns,
                                task->streaming)
                      : run_member(task->spec, task->store, task->hold, &client);
    hold_free(task->hold);
    client_drain(&client);
    client_fini(&client);
    _exit(r == 0 ? 0 : 1);
}

int sup_fork(struct sup *ret, int *ret_fd, struct err *err)
{
    int pair[2] = {-1, -1};
    auto_fd int ours = -1;
    auto_fd int theirs = -1;
    int r = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
        return err_sys(err, "socketpair");
    }
    ours = pair[0];
    theirs = pair[1];
    r = proc_fork(&ret->proc, err);
    if (r == 1) {
        *ret_fd = STEAL_FD(&theirs);
        return 1;
    }
    if (r == 0) {
        ret->fd = STEAL_FD(&ours);
        ret->in = (struct buf)BUF_INIT(SUP_EVENT_MAX);
        ret->waits = false;
        ret->finished = false;
        ret->given = false;
    }
    return r;
}

static int start(struct task *task, struct sup *ret, struct err *err)
{
    int theirs = -1;
    auto_hold struct hold *hold = hold_new();
    int r = 0;

    if (hold == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    task->hold = hold;
    r = hold_prepare(hold, err); /* before the fork: it may have to move this process */
    if (r < 0) {
        return r;
    }
    r = sup_fork(ret, &theirs, err);
    if (r < 0) {
        return err_wrap(err, "start the supervisor");
    }
    if (r == 1) {
        supervisor(task, theirs);
    }
    ret->waits = !task->has_job;
    return 0;
}

int sup_start(const struct spec *spec, const struct store *store, bool streaming, struct sup *ret,
              struct err *err)
{
    struct task task = {.spec = spec,
                        .store = store,
                        .submitted_ns = clock_mono_ns(),
                        .has_job = true,
                        .streaming = streaming};

    return start(&task, ret, err);
}

int sup_prepare(const struct machine_class *class, const struct store *store, struct sup *ret,
                struct err *err)
{
    auto_spec struct spec model;
    struct task task = {.spec = &model, .store = store};
    int r = 0;

    spec_init(&model);
    r = class_model(class, &model, err);
    return r < 0 ? r : start(&task, ret, err);
}

/* The next event, once there is one; false when time is up. */
static bool has_event(const struct sup *sup, uint64_t deadline_ns)
{
    for (;;) {
        struct pollfd p = {.fd = sup->fd, .events = POLLIN};
        uint64_t now = clock_mono_ns();
        uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
        struct timespec ts = {.tv_sec = (time_t)(left / NS_PER_S),
                              .tv_nsec = (long)(left % NS_PER_S)};
        int n = ppoll(&p, 1, &ts, NULL);

        if (n >= 0 || errno != EINTR) {
            return n > 0;
        }
    }
}

static int await_taken(struct sup *sup, uint64_t deadline_ns, struct err *err)
{
    for (;;) {
        struct sup_event ev = {0};
        int r = has_event(sup, deadline_ns)
                    ? sup_next(sup, &ev, err)
                    : err_set(err, ERR_HOST, ETIMEDOUT, "a waiting machine did not take its job");

        if (r < 0) {
            return r;
        }
        if (r == 0 || ev.kind == SUP_UNFIT) {
            return err_set(err, ERR_HOST, EPIPE, "a waiting machine was lost: %.*s", (int)ev.len,
                           ev.len > 0 ? (const char *)ev.data : "");
        }
        if (ev.kind == SUP_TAKEN) {
            return 0;
        }
    }
}

int sup_submit(struct sup *sup, const struct spec *spec, bool streaming, uint64_t timeout_ns,
               struct err *err)
{
    uint64_t now = clock_mono_ns();
    int r = handover_send(sup->fd, spec, streaming, now, err);

    if (r == 0) {
        r = await_taken(sup, now + timeout_ns, err);
    }
    if (r < 0) {
        /* It must not begin the job later: certain only when it is dead. Its reaper cleans up. */
        struct proc_end end = {0};
        struct err ignored = ERR_INIT;

        proc_kill(&sup->proc);
        (void)!proc_wait(&sup->proc, SUP_END_NS, &end, &ignored);
        return r;
    }
    sup->waits = false;
    return 0;
}

static int died(struct sup *sup, struct err *err)
{
    struct proc_end end = {0};
    struct err ignored = ERR_INIT;

    if (sup->proc.pid == 0 || proc_wait(&sup->proc, SUP_END_NS, &end, &ignored) < 0) {
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
        return err_negative(died(sup, err));
    }
    sup->in.len += len;
    *ret = at;
    return 0;
}

static int check_kind(const struct sup *sup, uint32_t kind, struct err *err)
{
    return kind > SUP_UNFIT || (kind > SUP_RESULT && !sup->waits)
               ? err_set(err, ERR_HOST, EPROTO, "the supervisor sent an unknown event")
               : 0;
}

static void give(struct sup *sup, const uint32_t head[2], const uint8_t *data,
                 struct sup_event *ret)
{
    ret->kind = (enum sup_event_kind)head[0];
    ret->data = data;
    ret->len = head[1];
    sup->finished = ret->kind == SUP_RESULT || ret->kind == SUP_UNFIT;
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
    r = check_kind(sup, head[0], err);
    if (r == 0) {
        r = read_exact(sup, head[1], &at, err);
    }
    if (r < 0) {
        return r;
    }
    give(sup, head, at, ret);
    return 1;
}

/* Reads what there is of the next len bytes: 1 when all of them are there, 0 if not yet. */
static int read_some(struct sup *sup, size_t len, struct err *err)
{
    while (sup->in.len < len) {
        uint8_t *at = NULL;
        ssize_t n = 0;

        if (buf_reserve(&sup->in, len - sup->in.len, &at) < 0) {
            return err_set(err, ERR_HOST, ENOMEM, "no room for an event of %zu bytes", len);
        }
        n = recv(sup->fd, at, len - sup->in.len, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno == ECONNRESET)) {
            return err_negative(died(sup, err));
        }
        if (n < 0 && errno == EAGAIN) {
            return 0;
        }
        if (n < 0 && errno != EINTR) {
            return err_sys(err, "hear the supervisor");
        }
        sup->in.len += n > 0 ? (size_t)n : 0;
    }
    return 1;
}

int sup_try_next(struct sup *sup, struct sup_event *ret, struct err *err)
{
    uint32_t head[2];
    int r = 0;

    if (sup->finished) {
        return 0;
    }
    if (sup->given) {
        sup->in.len = 0;
        sup->given = false;
    }
    r = read_some(sup, sizeof(head), err);
    if (r <= 0) {
        return r;
    }
    memcpy(head, sup->in.data, sizeof(head));
    r = check_kind(sup, head[0], err);
    if (r == 0) {
        r = read_some(sup, sizeof(head) + head[1], err);
    }
    if (r <= 0) {
        return r;
    }
    sup->given = true;
    give(sup, head, sup->in.data + sizeof(head), ret);
    return 1;
}

void sup_adopt(int take_fd, struct sup *ret)
{
    *ret = (struct sup){.proc = PROC_INIT, .fd = take_fd, .in = BUF_INIT(SUP_EVENT_MAX)};
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
