/*
 * How it works: poll() over a self-pipe of the signal handler, the supervisor's socket and whatever
 * outlet has something queued.  While much is queued the supervisor isn't read, so that its flow
 * control reaches the program; after a cancel it always is, and output that nobody takes is
 * dropped: a stuck reader must not keep the job from ending.
 */
#include "cli/run-loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/fd.h"

/* How long output may still take to reach a slow reader after a cancel. */
#define PARTING_NS (2 * NS_PER_S)

static int signal_pipe[2] = {-1, -1};
static volatile sig_atomic_t in_loop;
static pid_t owner;
static const struct buf *parting_text;

static void on_signal(int number)
{
    int saved = errno;
    char byte = (char)number;

    if (getpid() != owner) {
        return; /* a child between fork and exec: Ctrl-C reaches it too, but the parent decides */
    }
    if (in_loop == 0) {
        if (parting_text->len > 0) {
            (void)!write(STDOUT_FILENO, parting_text->data, parting_text->len);
        }
        _exit(AIRLOCK_CANCELED);
    }
    (void)!write(signal_pipe[1], &byte, 1);
    errno = saved;
}

int run_signals_init(const struct buf *parting, struct err *err)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction act = {.sa_handler = on_signal}; /* no SA_RESTART: a stuck write() must end */
    struct sigaction old;

    parting_text = parting;
    owner = getpid();
    if (pipe2(signal_pipe, O_CLOEXEC | O_NONBLOCK) < 0) {
        return err_sys(err, "pipe");
    }
    if (sigaction(SIGPIPE, &ignore, NULL) < 0) {
        return err_sys(err, "ignore SIGPIPE");
    }
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        /* nohup and background jobs of sh have them ignored: that stays. */
        if (sigaction(numbers[i], NULL, &old) < 0 ||
            (old.sa_handler != SIG_IGN && sigaction(numbers[i], &act, NULL) < 0)) {
            return err_sys(err, "handle signal %d", numbers[i]);
        }
    }
    return 0;
}

static size_t signals_taken(void)
{
    char bytes[64];
    ssize_t n = read(signal_pipe[0], bytes, sizeof(bytes));

    return n > 0 ? (size_t)n : 0;
}

struct state {
    struct run_loop *loop;
    struct outlet *outlets[2];
    size_t n_outlets;
    size_t signals;
    bool canceled;
    uint64_t give_up_ns; /* after a cancel: when unread output is dropped */
    bool done;           /* the result came */
};

static void cancel(struct state *s)
{
    if (!s->canceled) {
        s->canceled = true;
        s->give_up_ns = clock_mono_ns() + PARTING_NS;
        sup_cancel(s->loop->sup);
    }
}

static size_t pending(const struct state *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n_outlets; i++) {
        n += outlet_pending(s->outlets[i]);
    }
    return n;
}

static void pump(struct state *s)
{
    for (size_t i = 0; i < s->n_outlets; i++) {
        outlet_pump(s->outlets[i]);
        if (s->outlets[i]->broken) {
            cancel(s);
        }
    }
}

static int take_event(struct state *s, struct err *err)
{
    struct sup_event ev = {0};
    struct outlet *to = NULL;
    int r = sup_next(s->loop->sup, &ev, err);

    if (r < 0) {
        return r;
    }
    if (r == 0) {
        return err_set(err, ERR_HOST, EPIPE, "the supervisor ended without a result");
    }
    switch (ev.kind) {
    case SUP_STDOUT:
        to = s->loop->out;
        break;
    case SUP_STDERR:
        to = s->loop->err;
        break;
    case SUP_RESULT:
        s->done = true;
        if (buf_put(s->loop->result, ev.data, ev.len) < 0) {
            return err_set(err, ERR_HOST, ENOMEM, "out of memory for the result");
        }
        return 0;
    case SUP_PHASE:
        if (s->loop->phase != NULL) {
            s->loop->phase(s->loop->ctx, (const char *)ev.data, ev.len);
        }
        return 0;
    case SUP_MACHINE: /* the result has it, too */
    case SUP_WAITS:   /* these three never come to a caller that has a job */
    case SUP_TAKEN:
    case SUP_UNFIT:
        return 0;
    }
    if (to == NULL || (s->canceled && pending(s) > OUTLET_HIGH)) {
        return 0;
    }
    return outlet_put(to, ev.data, ev.len, err);
}

/* How long poll() may sleep, in ms; -1 = for ever. */
static int patience(const struct state *s)
{
    uint64_t now = clock_mono_ns();

    if (!s->canceled || pending(s) == 0) {
        return -1;
    }
    return now < s->give_up_ns ? (int)((s->give_up_ns - now) / NS_PER_MS) + 1 : 0;
}

/* One turn: sleep until something can be done, and do it. */
static int turn(struct state *s, struct err *err)
{
    struct pollfd fds[4] = {{.fd = signal_pipe[0], .events = POLLIN}, {.fd = -1, .events = POLLIN}};
    bool listen = !s->done && (s->canceled || pending(s) < OUTLET_HIGH);

    fds[1].fd = listen ? s->loop->sup->fd : -1;
    for (size_t i = 0; i < 2; i++) {
        bool want = i < s->n_outlets && outlet_pending(s->outlets[i]) > 0;

        fds[2 + i] = (struct pollfd){.fd = want ? s->outlets[i]->fd : -1, .events = POLLOUT};
    }
    if (poll(fds, ARRAY_LEN(fds), patience(s)) < 0) {
        return errno == EINTR ? 0 : err_sys(err, "poll");
    }
    for (size_t n = signals_taken(); n > 0; n--) {
        if (++s->signals > 1) {
            _exit(AIRLOCK_CANCELED);
        }
        cancel(s);
    }
    if (fds[1].revents != 0) {
        int r = take_event(s, err);

        if (r < 0) {
            return r;
        }
    }
    pump(s);
    return 0;
}

static bool over(const struct state *s)
{
    return s->done && (pending(s) == 0 || (s->canceled && clock_mono_ns() >= s->give_up_ns));
}

int run_loop(struct run_loop *loop, struct err *err)
{
    struct state s = {.loop = loop};
    int r = 0;

    in_loop = 1;
    if (loop->out != NULL) {
        s.outlets[s.n_outlets++] = loop->out;
    }
    if (loop->err != NULL) {
        s.outlets[s.n_outlets++] = loop->err;
    }
    while (r == 0 && !over(&s)) {
        r = turn(&s, err);
        for (size_t i = 0; s.done && r == 0 && i < s.n_outlets; i++) {
            r = outlet_end(s.outlets[i], err);
        }
    }
    return r;
}

void run_drain(struct outlet *const *outlets, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        for (outlet_pump(outlets[i]); outlet_pending(outlets[i]) > 0; outlet_pump(outlets[i])) {
            struct pollfd fds[2] = {{.fd = outlets[i]->fd, .events = POLLOUT},
                                    {.fd = signal_pipe[0], .events = POLLIN}};

            if ((poll(fds, 2, -1) < 0 && errno != EINTR) || fds[1].revents != 0) {
                return;
            }
        }
    }
}
