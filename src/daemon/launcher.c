#include "daemon/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/launcher-internal.h"
#include "job/spec-wire.h"
#include "sys/account.h"
#include "sys/cgroup.h"
#include "sys/fd.h"

/* Longer than the launcher needs for pool and jobs. */
#define END_NS (40 * NS_PER_S)

struct launcher {
    struct proc proc;
    int sock; /* non-blocking */
    bool has_pool;
    struct ask_wire asked[LAUNCHER_ASKED_MAX]; /* a ring, the oldest at first */
    size_t first, n_asked;
};

static void launcher_free_p(struct launcher **l)
{
    launcher_free(*l);
}

void launcher_free(struct launcher *l)
{
    struct proc_end end = {0};
    struct err ignored = ERR_INIT;

    if (l == NULL) {
        return;
    }
    fd_close_p(&l->sock);
    if (l->proc.pid > 0) {
        /* Never killed: it lets go of what others could not clean up, and may be root's. */
        (void)!proc_wait(&l->proc, END_NS, &end, &ignored);
    }
    fd_close_p(&l->proc.pidfd);
    free(l);
}

/* Outside the root of the groups no process may stay beside the machines', the front half included. */
static int enter_leaf(struct err *err)
{
    auto_free struct cgroup_host *host = calloc(1, sizeof(*host));
    int r =
        host == NULL ? err_set(err, ERR_HOST, ENOMEM, "out of memory") : cgroup_detect(host, err);

    return r < 0 ? r : cgroup_prepare(host, err);
}

static int fork_child(struct launcher *l, struct launcher_half *half, struct err *err)
{
    int pair[2] = {-1, -1};
    auto_fd int theirs = -1;
    sigset_t all;
    sigset_t before;
    int r = 0;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
        return err_sys(err, "socketpair");
    }
    l->sock = pair[0];
    theirs = pair[1];
    half->sock = theirs;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    r = proc_fork(&l->proc, err);
    if (r == 1) {
        launcher_child(half);
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return r < 0 ? err_wrap(err, "start the launcher") : 0;
}

int launcher_start(const struct launcher_config *config, struct launcher **ret, struct err *err)
{
    on_scope_exit(launcher_free_p) struct launcher *l = calloc(1, sizeof(*l));
    auto_store struct store store = STORE_INIT;
    struct launcher_half half = {.config = config, .store = &store, .sock = -1};
    struct user owner = {.uid = 0};
    int r = 0;

    if (l == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    l->sock = -1;
    l->proc = (struct proc)PROC_INIT;
    l->has_pool = config->pool > 0;
    if (config->pool > POOL_MEMBERS_MAX || config->pool_percent > 100) {
        return err_usage(err, "a pool holds at most %u machines, and spends at most 100 percent",
                         POOL_MEMBERS_MAX);
    }
    r = user_find(config->user, &owner, err);
    half.owner = owner.uid;
    if (r == 0) {
        r = store_open(config->state, &store, err);
    }
    if (r == 0) {
        r = enter_leaf(err);
    }
    if (r == 0) {
        r = fork_child(l, &half, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = STEAL_PTR(&l);
    return 0;
}

int launcher_fd(const struct launcher *l)
{
    return l->sock;
}

/* --- questions --- */

static int gone(struct launcher *l, struct err *err)
{
    struct proc_end end = {0};
    struct err ignored = ERR_INIT;

    if (proc_wait(&l->proc, NS_PER_S, &end, &ignored) < 0) {
        return err_set(err, ERR_HOST, EPIPE, "the launcher closed its socket");
    }
    return err_set(err, ERR_HOST, EPIPE, "the launcher ended (%s %d)",
                   end.signaled ? "signal" : "exit code", end.code);
}

static int send_ask(struct launcher *l, const struct ask_wire *ask, int fd, struct err *err)
{
    ssize_t n = fd_send(l->sock, ask, sizeof(*ask), fd, MSG_DONTWAIT);

    if (n == (ssize_t)sizeof(*ask)) {
        return 0;
    }
    if (n == -EAGAIN) {
        return err_set(err, ERR_LIMIT, EAGAIN, "the launcher has enough to do; ask again later");
    }
    return n == -EPIPE || n == -ECONNRESET
               ? gone(l, err)
               : err_sys_num(err, n < 0 ? (int)-n : EPROTO, "ask the launcher");
}

static int may_ask(const struct launcher *l, struct err *err)
{
    return l->n_asked < LAUNCHER_ASKED_MAX
               ? 0
               : err_set(err, ERR_LIMIT, EAGAIN,
                         "%u questions to the launcher wait for an answer; ask again later",
                         LAUNCHER_ASKED_MAX);
}

/* Sends it, and notes that an answer will come. */
static int ask_one(struct launcher *l, const struct ask_wire *ask, int fd, struct err *err)
{
    int r = send_ask(l, ask, fd, err);

    if (r == 0) {
        l->asked[(l->first + l->n_asked++) % LAUNCHER_ASKED_MAX] = *ask;
    }
    return r;
}

int launcher_ask_start(struct launcher *l, uint64_t number, int spec_fd, int out_dirfd,
                       struct err *err)
{
    const struct ask_wire out = {.kind = ASK_OUT, .number = number};
    const struct ask_wire start = {.kind = ASK_START, .number = number};
    int r = may_ask(l, err);

    if (r == 0 && out_dirfd >= 0) {
        r = send_ask(l, &out, out_dirfd, err);
    }
    return r < 0 ? r : ask_one(l, &start, spec_fd, err);
}

int launcher_ask_text(struct launcher *l, uint64_t number, enum launcher_text what, const char *id,
                      struct err *err)
{
    struct ask_wire ask = {.kind = ASK_TEXT, .aux = (uint32_t)what, .number = number};
    int r = may_ask(l, err);

    if (r == 0 && what == LAUNCHER_RECORD) {
        if (id == NULL || !job_id_ok(id)) {
            return err_usage(err, "a record's name is 32 hex digits");
        }
        memcpy(ask.id, id, sizeof(ask.id));
    }
    return r < 0 ? r : ask_one(l, &ask, -1, err);
}

/* What a machine is made of; not what it runs. The copy borrows, and is not to be let go of. */
static struct spec bare(const struct spec *spec)
{
    struct spec b = {
        .language = spec->language,
        .engine = spec->engine,
        .isolation = spec->isolation,
        .image = spec->image,
        .limits = spec->limits,
        .root = spec->root,
        .cold_interpreter = spec->cold_interpreter,
        .cpu_given = spec->cpu_given,
        .stdin_fd = -1,
    };

    b.contract.kind = CONTRACT_NONE;
    return b;
}

static int put_plan_spec(struct buf *out, const struct spec *spec, uint32_t times, struct err *err)
{
    auto_buf struct buf text = BUF_INIT(PLAN_SPEC_MAX);
    const struct spec b = bare(spec);
    struct plan_wire head = {.times = times};
    int r = spec_encode(&b, &text, err);

    if (r < 0) {
        return r;
    }
    head.len = (uint32_t)text.len;
    if (buf_put(out, &head, sizeof(head)) < 0 || buf_put(out, text.data, text.len) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for the pool's plan");
    }
    return 0;
}

int launcher_plan(struct launcher *l, const struct spec *const *specs, size_t n, struct err *err)
{
    const struct ask_wire ask = {.kind = ASK_PLAN, .aux = n == 0};
    auto_buf struct buf text = BUF_INIT(PLAN_MAX);
    auto_fd int fd = -1;
    int r = may_ask(l, err);

    if (r < 0 || !l->has_pool) {
        return r;
    }
    if (n > POOL_MEMBERS_MAX) {
        return err_usage(err, "a plan has at most %u machines", POOL_MEMBERS_MAX);
    }
    for (size_t i = 0, same = 0; i < n && r == 0; i += same) {
        for (same = 1; i + same < n && specs[i + same] == specs[i]; same++) {
        }
        r = put_plan_spec(&text, specs[i], (uint32_t)same, err);
    }
    if (r == 0 && n > 0) {
        fd = memfd_create("airlock-plan", MFD_CLOEXEC);
        r = fd < 0 ? err_sys(err, "memfd_create") : fd_write_full(fd, text.data, text.len, err);
    }
    return r < 0 ? r : ask_one(l, &ask, fd, err);
}

/* --- answers --- */

void launcher_answer_fini(struct launcher_answer *a)
{
    fd_close_p(&a->sup.fd);
    buf_fini(&a->sup.in);
    buf_fini(&a->text);
}

static int take_text(int fd, struct buf *ret, struct err *err)
{
    if (fd < 0) {
        return err_set(err, ERR_HOST, EPROTO, "an answer of the launcher has no text");
    }
    if (lseek(fd, 0, SEEK_SET) < 0) {
        return err_sys(err, "read an answer of the launcher");
    }
    return fd_read_all(fd, "an answer of the launcher", ret, err);
}

static int take_tell(const struct ask_wire *ask, const struct tell_wire *tell, int take_fd,
                     struct launcher_answer *ret, struct err *err)
{
    auto_fd int fd = take_fd;
    int r = 0;

    if (tell->number != ask->number || tell->failed > INT16_MAX || tell->class > ERR_HOST ||
        tell->why[sizeof(tell->why) - 1] != '\0') {
        return err_set(err, ERR_HOST, EPROTO, "the launcher answered what nobody asked");
    }
    ret->number = tell->number;
    ret->failed = (int)tell->failed;
    ret->class = (enum err_class)tell->class;
    ret->pooled = tell->pooled != 0;
    memcpy(ret->why, tell->why, sizeof(ret->why));
    if (tell->failed == 0 && ask->kind == ASK_TEXT) {
        r = take_text(fd, &ret->text, err);
    }
    if (tell->failed == 0 && ask->kind == ASK_START) {
        if (fd < 0) {
            return err_set(err, ERR_HOST, EPROTO, "an answer of the launcher has no machine");
        }
        sup_adopt(STEAL_FD(&fd), &ret->sup);
    }
    return r;
}

/* 1, 0 if there is none yet. */
static int receive(struct launcher *l, struct tell_wire *ret, int *ret_fd, struct err *err)
{
    struct pollfd p = {.fd = l->sock, .events = POLLIN};
    int r = 0;

    if (poll(&p, 1, 0) <= 0) {
        return 0;
    }
    r = fd_receive(l->sock, ret, sizeof(*ret), ret_fd, err);
    if (r == 0 || r == -ECONNRESET) { /* reset: it left questions unread */
        *err = (struct err)ERR_INIT;
        return gone(l, err);
    }
    return r;
}

int launcher_answer(struct launcher *l, struct launcher_answer *ret, struct err *err)
{
    for (;;) {
        struct launcher_answer a = {.sup = SUP_INIT, .text = BUF_INIT(LAUNCHER_TEXT_MAX)};
        struct tell_wire tell = {0};
        struct ask_wire ask = {0};
        int fd = -1;
        int r = receive(l, &tell, &fd, err);

        if (r <= 0) {
            return r;
        }
        if (l->n_asked == 0) {
            fd_close_p(&fd);
            return err_set(err, ERR_HOST, EPROTO, "the launcher answered what nobody asked");
        }
        ask = l->asked[l->first];
        l->first = (l->first + 1) % LAUNCHER_ASKED_MAX;
        l->n_asked--;
        r = take_tell(&ask, &tell, fd, &a, err);
        if (r < 0) {
            launcher_answer_fini(&a);
            return r;
        }
        if (ask.kind != ASK_PLAN) { /* nobody waits for it; a pool that fails tells in its stats */
            *ret = a;
            return 1;
        }
    }
}
