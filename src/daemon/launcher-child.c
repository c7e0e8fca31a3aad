/*
 * How it works.  One poll loop over the socket, the pool and the pidfds of the supervisors.  A
 * question is answered before the next one is read; while an answer can't be written no question
 * is, so a front half that does not listen costs one answer's memory.
 *
 * How long one question holds up the others: about 1 ms for a small specification, 0.15 s for one of
 * 100 MiB and 0.6 s for 230 MiB (read, decoded, checked; measured on 2 shared cores of a VM), and at
 * most POOL_TAKE_NS for each waiting machine that does not take its job, which is then gone. KVM is
 * probed before the first question.
 *
 * The front half is not trusted with more than jobs. What it sends is read from files into our own
 * memory and checked as if a stranger had written it; the only thing of the host that it can name
 * is a directory of its own, and what is written there is written as its owner.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/launcher-internal.h"
#include "job/record.h"
#include "job/spec-wire.h"
#include "sup/engine.h"
#include "sup/hold.h"
#include "sys/clock.h"
#include "sys/fd.h"

/* Supervisors at once: their machines are bounded by the ledger, those without one end soon. */
#define CHILDREN_MAX (2ul * LEDGER_NUMBERS)
/* After the front half's end: for jobs that clean up. */
#define END_NS (20 * NS_PER_S)
/*
 * A longer specification gets a machine of its own: a waiting one has to read it, too, before it
 * says that it has the job (230 MiB: 2.3 s), and staging it takes longer than a restore.
 */
#define POOLED_BYTES_MAX (16 * MIB)

struct child {
    const struct launcher_half *half;
    struct pool *pool; /* NULL = none */
    struct proc procs[CHILDREN_MAX];
    size_t n_procs;
    struct pollfd polled[2 + CHILDREN_MAX];
    int out_fd; /* of ASK_OUT, owned */
    uint64_t out_number;
    struct tell_wire tell; /* the answer that could not be written yet */
    int tell_fd;           /* owned */
    bool must_tell;
    bool over;         /* the front half is gone */
    uint64_t tried_ns; /* KVM was tried once more; 0 = never */
};

/* --- answers --- */

static void try_to_tell(struct child *c)
{
    ssize_t n = fd_send(c->half->sock, &c->tell, sizeof(c->tell), c->tell_fd, MSG_DONTWAIT);

    if (n == -EAGAIN || n == -EINTR || n == -ETOOMANYREFS) {
        return; /* later */
    }
    c->over = c->over || n != (ssize_t)sizeof(c->tell);
    c->must_tell = false;
    fd_close_p(&c->tell_fd);
}

/* r and err as a function left them. Takes the descriptor that goes along; -1 = none. */
static void tell(struct child *c, uint64_t number, int r, const struct err *err, int take_fd)
{
    c->tell.number = number;
    c->tell.failed = r < 0 ? (uint32_t)-r : 0;
    c->tell.class = r < 0 ? (uint32_t)err->class : 0;
    memset(c->tell.why, 0, sizeof(c->tell.why));
    if (r < 0) {
        (void)snprintf(c->tell.why, sizeof(c->tell.why), "%s", err->msg);
    }
    c->tell_fd = take_fd;
    c->must_tell = true;
    try_to_tell(c);
}

/* --- specifications --- */

/* A file that the front half may go on writing: everything is looked at in our copy of it. */
static int read_file(int fd, struct buf *ret, struct err *err)
{
    struct stat st = {0};
    uint8_t *at = NULL;
    size_t n = 0;
    int r = 0;

    if (fd < 0 || fstat(fd, &st) < 0) {
        return err_set(err, ERR_HOST, EBADF, "a question came without its file");
    }
    if (!S_ISREG(st.st_mode) || st.st_size <= 0 || (uint64_t)st.st_size > ret->max) {
        return err_set(err, ERR_USAGE, EFBIG,
                       "a specification is a file of 1 to %zu bytes; give less inline data",
                       ret->max);
    }
    if (buf_reserve(ret, (size_t)st.st_size, &at) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for a specification");
    }
    r = fd_pread_full(fd, at, (size_t)st.st_size, 0, &n, err);
    ret->len = r < 0 ? 0 : n;
    return r;
}

/* Whatever of the host a specification can name: none of it is the front half's to name. */
static int refuse_host(const struct spec *spec, struct err *err)
{
    const struct {
        const char *what;
        bool is_there;
    } named[] = {
        {"the program", spec->program_path != NULL},
        {"the archive", spec->archive_path != NULL},
        {"stdin", spec->stdin_path != NULL},
        {"stdin's descriptor", spec->stdin_fd >= 0},
        {"the directory of outputs", spec->out_dir != NULL},
        {"the owner of outputs", spec->out_as_owner},
    };

    const char *what = NULL;

    for (size_t i = 0; i < ARRAY_LEN(named) && what == NULL; i++) {
        what = named[i].is_there ? named[i].what : NULL;
    }
    for (size_t i = 0; i < spec->n_inputs && what == NULL; i++) {
        what = spec->inputs[i].path != NULL ? "an input" : NULL;
    }
    return what == NULL ? 0
                        : err_set(err, ERR_USAGE, EPERM,
                                  "%s is named by a path of the host; send its bytes", what);
}

static int take_spec(int fd, struct spec *ret, size_t *ret_bytes, struct err *err)
{
    auto_wiped_buf struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    int r = read_file(fd, &text, err);

    if (r == 0) {
        r = spec_decode(ret, text.data, text.len, err);
    }
    if (r == 0) {
        r = refuse_host(ret, err);
    }
    *ret_bytes = text.len;
    return r < 0 ? r : spec_check(ret, err);
}

/* --- a machine --- */

/* The directory becomes ours to work in; the supervisor is forked, or told, there. */
static int go_to_outputs(const struct child *c, int dirfd, struct spec *spec, struct err *err)
{
    struct stat st = {0};

    if (fstat(dirfd, &st) < 0) {
        return err_sys(err, "look at the directory of outputs");
    }
    if (!S_ISDIR(st.st_mode) || st.st_uid != c->half->owner) {
        return err_set(err, ERR_HOST, EPERM,
                       "outputs go only into directories of user %u, this one is user %u's",
                       (unsigned int)c->half->owner, (unsigned int)st.st_uid);
    }
    if (fchdir(dirfd) < 0) {
        return err_sys(err, "go to the directory of outputs");
    }
    spec->out_dir = strdup("out");
    spec->out_as_owner = true;
    return spec->out_dir == NULL ? err_set(err, ERR_HOST, ENOMEM, "out of memory") : 0;
}

static int start(struct child *c, const struct ask_wire *ask, int spec_fd, struct sup *ret,
                 struct err *err)
{
    auto_spec struct spec spec;
    auto_fd int out_fd = STEAL_FD(&c->out_fd);
    bool wanted = out_fd >= 0 && c->out_number == ask->number;
    bool hit = false;
    size_t bytes = 0;
    int r = 0;

    spec_init(&spec);
    if (c->n_procs == CHILDREN_MAX) {
        return err_set(err, ERR_LIMIT, EAGAIN, "%lu supervisors live; try again later",
                       CHILDREN_MAX);
    }
    r = take_spec(spec_fd, &spec, &bytes, err);
    if (r == 0 && wanted) {
        r = go_to_outputs(c, out_fd, &spec, err);
    }
    if (r == 0) {
        r = c->pool != NULL && bytes <= POOLED_BYTES_MAX
                ? pool_submit(c->pool, &spec, true, ret, &hit, err)
                : sup_start(&spec, c->half->store, true, ret, err);
    }
    c->tell.pooled = r == 0 && hit;
    if (chdir("/") < 0) {
        c->over = true; /* it can't be; paths would mean something else from here on */
    }
    return r;
}

static void do_start(struct child *c, const struct ask_wire *ask, int spec_fd)
{
    struct sup sup = SUP_INIT;
    struct err err = ERR_INIT;
    int r = start(c, ask, spec_fd, &sup, &err);

    if (r == 0) {
        c->procs[c->n_procs++] = sup.proc; /* the process is ours, the socket goes */
        buf_fini(&sup.in);
    }
    tell(c, ask->number, r, &err, r == 0 ? sup.fd : -1);
}

static void reap(struct child *c)
{
    for (size_t i = c->n_procs; i-- > 0;) {
        struct proc_end end = {0};
        struct err ignored = ERR_INIT;

        if (c->polled[2 + i].revents != 0 && proc_wait(&c->procs[i], 0, &end, &ignored) == 0) {
            proc_fini(&c->procs[i]);
            c->procs[i] = c->procs[--c->n_procs];
        }
    }
}

/* --- the pool's plan --- */

struct plan {
    struct spec specs[POOL_MEMBERS_MAX];
    const struct spec *list[POOL_MEMBERS_MAX];
    size_t n_specs, n_list;
};

static void plan_free_p(struct plan **plan)
{
    for (size_t i = 0; *plan != NULL && i < (*plan)->n_specs; i++) {
        spec_fini(&(*plan)->specs[i]);
    }
    free(*plan);
}

static int parse_plan(const struct buf *text, struct plan *plan, struct err *err)
{
    size_t at = 0;

    while (at < text->len) {
        struct spec *spec = &plan->specs[plan->n_specs];
        struct plan_wire head = {0};
        int r = 0;

        if (plan->n_specs == POOL_MEMBERS_MAX || text->len - at < sizeof(head)) {
            return err_set(err, ERR_HOST, EPROTO, "a plan that does not fit");
        }
        memcpy(&head, text->data + at, sizeof(head));
        at += sizeof(head);
        if (head.len > text->len - at || head.times == 0 ||
            head.times > POOL_MEMBERS_MAX - plan->n_list) {
            return err_set(err, ERR_HOST, EPROTO, "a plan with a bad number");
        }
        spec_init(spec);
        plan->n_specs++;
        r = spec_decode(spec, text->data + at, head.len, err);
        if (r < 0) {
            return r;
        }
        at += head.len;
        for (uint32_t i = 0; i < head.times; i++) {
            plan->list[plan->n_list++] = spec;
        }
    }
    return 0;
}

static int take_plan(struct child *c, uint32_t empty, int fd, struct err *err)
{
    on_scope_exit(plan_free_p) struct plan *plan = calloc(1, sizeof(*plan));
    auto_buf struct buf text = BUF_INIT(PLAN_MAX);
    int r = 0;

    if (plan == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (empty == 0) {
        r = read_file(fd, &text, err);
    }
    if (r == 0) {
        r = parse_plan(&text, plan, err);
    }
    if (r == 0 && c->pool != NULL) {
        r = pool_plan(c->pool, plan->list, plan->n_list, err);
    }
    return r;
}

/* --- texts --- */

static int make_text(const struct child *c, const struct ask_wire *ask, struct buf *out,
                     struct err *err)
{
    switch (ask->aux) {
    case LAUNCHER_IMAGES:
        return launcher_text_images(c->half->store, out, err);
    case LAUNCHER_CAPACITY:
        return launcher_text_capacity(c->half->store, &c->half->config->capacity, c->pool, out,
                                      err);
    case LAUNCHER_RECORD:
        if (!job_id_ok(ask->id)) {
            return err_usage(err, "a record's name is 32 hex digits");
        }
        return launcher_text_record(c->half->store, ask->id, out, err);
    default:
        return err_set(err, ERR_HOST, EPROTO, "a text that is not known was asked for");
    }
}

static void do_text(struct child *c, const struct ask_wire *ask)
{
    auto_buf struct buf text = BUF_INIT(LAUNCHER_TEXT_MAX);
    auto_fd int fd = memfd_create("airlock-text", MFD_CLOEXEC);
    struct err err = ERR_INIT;
    int r = fd < 0 ? err_sys(&err, "memfd_create") : make_text(c, ask, &text, &err);

    if (r == 0) {
        r = fd_write_full(fd, text.data, text.len, &err);
    }
    tell(c, ask->number, r, &err, r == 0 ? STEAL_FD(&fd) : -1);
}

/* --- engines --- */

static bool front_is_gone(void *ctx)
{
    const struct child *c = ctx;
    struct pollfd p = {.fd = c->half->sock, .events = 0};

    return poll(&p, 1, 0) > 0;
}

/* No wish for more than what is remembered of KVM. */
static struct engine_wish kvm_wish(struct child *c)
{
    return (struct engine_wish){.store = c->half->store,
                                .wanted = SPEC_ENGINE_AUTO,
                                .weakest = SPEC_ISOLATION_EMULATED,
                                .stop = front_is_gone,
                                .ctx = c};
}

_Noreturn static void try_kvm(struct child *c)
{
    const int keep[] = {c->half->sock, c->half->store->dirfd, c->half->store->tmpfd};
    struct engine_wish wish = kvm_wish(c);
    struct engine_probe probe = {.works = false};
    struct err ignored = ERR_INIT;

    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* the socket must not outlive the launcher */
    (void)prctl(PR_SET_NAME, "airlock-probe");
    fd_keep_only(keep, ARRAY_LEN(keep));
    wish.again = true;
    _exit(engine_probe_kvm(&wish, false, &probe, &ignored) < 0);
}

/*
 * A probe that was late proves nothing, but the front half refuses what needs hardware meanwhile: so
 * nobody else tries. In a process of its own: no question waits.
 */
static void try_kvm_again(struct child *c)
{
    const struct engine_wish wish = kvm_wish(c);
    struct engine_probe probe = {.works = false};
    struct err ignored = ERR_INIT;
    uint64_t now = clock_mono_ns();
    int r = 0;

    if ((c->tried_ns != 0 && now - c->tried_ns < ENGINE_AGAIN_NS) || c->n_procs == CHILDREN_MAX ||
        engine_probe_kvm(&wish, false, &probe, &ignored) < 0 || !probe.due) {
        return;
    }
    c->tried_ns = now;
    r = proc_fork(&c->procs[c->n_procs], &ignored);
    if (r == 1) {
        try_kvm(c);
    }
    c->n_procs += r == 0;
}

/* What a probe of KVM found is remembered: no question waits for one later. */
static void try_engines(struct child *c)
{
    const struct engine_wish wish = kvm_wish(c);
    const struct engine *engine = NULL;
    struct err ignored = ERR_INIT; /* LAUNCHER_CAPACITY says it, and each job's result */

    (void)!engine_select(&wish, &engine, &ignored);
}

/* --- the loop --- */

static void serve_one(struct child *c)
{
    struct ask_wire ask = {0};
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    int r = fd_receive(c->half->sock, &ask, sizeof(ask), &fd, &err);

    if (r == -EAGAIN) {
        return;
    }
    if (r <= 0 || ask.id[sizeof(ask.id) - 1] != '\0') { /* gone, or not one of ours */
        c->over = true;
        return;
    }
    c->tell.pooled = 0;
    switch (ask.kind) {
    case ASK_OUT:
        fd_close_p(&c->out_fd);
        c->out_fd = STEAL_FD(&fd);
        c->out_number = ask.number;
        return;
    case ASK_START:
        do_start(c, &ask, fd);
        return;
    case ASK_PLAN:
        r = take_plan(c, ask.aux, fd, &err);
        tell(c, ask.number, r, &err, -1);
        return;
    case ASK_TEXT:
        do_text(c, &ask);
        if (ask.aux == LAUNCHER_CAPACITY) { /* about once a second */
            try_kvm_again(c);
        }
        return;
    default:
        c->over = true;
    }
}

static void turn(struct child *c, int timeout_ms)
{
    struct pollfd *p = c->polled;

    p[0] = (struct pollfd){.fd = c->over ? -1 : c->half->sock,
                           .events = c->must_tell ? POLLOUT : POLLIN};
    p[1] = (struct pollfd){.fd = c->pool != NULL ? pool_fd(c->pool) : -1, .events = POLLIN};
    for (size_t i = 0; i < c->n_procs; i++) {
        p[2 + i] = (struct pollfd){.fd = c->procs[i].pidfd, .events = POLLIN};
    }
    if (poll(p, 2 + c->n_procs, timeout_ms) < 0) {
        return;
    }
    reap(c);
    if (p[1].revents != 0) {
        pool_tick(c->pool);
    }
    if (p[0].revents != 0 && c->must_tell) {
        c->over = (p[0].revents & (POLLHUP | POLLERR)) != 0;
        try_to_tell(c);
    } else if (p[0].revents != 0) {
        serve_one(c);
    }
}

/*
 * The end of the socket alone ends it; signals are the front half's to act on. They are blocked
 * since before the fork, and one that is ignored before it is let through is gone.
 */
static void take_signals(void)
{
    static const int deaf[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGPIPE};
    struct sigaction act = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int s = 1; s < NSIG; s++) {
        act.sa_handler = SIG_DFL;
        for (size_t i = 0; i < ARRAY_LEN(deaf); i++) {
            act.sa_handler = deaf[i] == s ? SIG_IGN : act.sa_handler;
        }
        (void)sigaction(s, &act, NULL);
    }
    (void)sigemptyset(&none);
    (void)pthread_sigmask(SIG_SETMASK, &none, NULL);
}

static void leave_session(const struct launcher_half *half)
{
    const int keep[] = {half->sock, half->store->dirfd, half->store->tmpfd};
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    (void)setsid();
    (void)prctl(PR_SET_NAME, "airlock-launch");
    take_signals();
    if (null >= 0) {
        (void)dup2(null, 0);
        (void)dup2(null, 1);
    }
    fd_keep_only(keep, ARRAY_LEN(keep));
}

static void end(struct child *c)
{
    uint64_t deadline = 0;
    uint64_t now = 0;

    /* The jobs clean up meanwhile: their sockets ended with the front half. */
    pool_free(STEAL_PTR(&c->pool));
    deadline = clock_mono_ns() + END_NS;
    for (now = clock_mono_ns(); c->n_procs > 0 && now < deadline; now = clock_mono_ns()) {
        turn(c, (int)((deadline - now) / NS_PER_MS) + 1);
    }
}

void launcher_child(const struct launcher_half *half)
{
    static struct child c; /* large */
    struct pool_config pool = {.store = half->store,
                               .members_max = half->config->pool,
                               .restore_percent = half->config->pool_percent};
    struct err err = ERR_INIT;

    c.half = half;
    c.out_fd = -1;
    c.tell_fd = -1;
    leave_session(half);
    launcher_kin_begin(half->store);
    hold_set_capacity(&half->config->capacity);
    if (chdir("/") < 0 || (half->config->pool > 0 && pool_new(&pool, &c.pool, &err) < 0)) {
        _exit(1);
    }
    try_engines(&c);
    while (!c.over) {
        turn(&c, -1);
    }
    end(&c);
    _exit(0);
}
