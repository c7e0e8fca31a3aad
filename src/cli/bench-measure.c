#include "cli/bench-measure.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "image/build.h"
#include "sys/clock.h"
#include "sys/fd.h"

void bench_fini(struct bench *b)
{
    for (size_t i = 0; i < b->facts.n_rows; i++) {
        free(b->facts.rows[i].samples);
    }
    free(b->facts.rows);
    b->facts.rows = NULL;
    b->facts.n_rows = 0;
    pool_free(b->pool);
    b->pool = NULL;
    store_fini(&b->store);
    bench_setup_fini(&b->setup);
    fd_close_p(&b->signals);
}

int bench_add_row(struct bench *b, struct bench_kind kind, enum bench_mode mode, struct err *err)
{
    struct bench_row *rows =
        reallocarray(b->facts.rows, b->facts.n_rows + 1, sizeof(*b->facts.rows));
    struct bench_sample *samples = calloc(b->facts.rounds, sizeof(*samples));

    if (rows != NULL) {
        b->facts.rows = rows;
    }
    if (rows == NULL || samples == NULL) {
        free(samples);
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    rows[b->facts.n_rows++] = (struct bench_row){.kind = kind, .mode = mode, .samples = samples};
    return 0;
}

int bench_go_on(struct bench *b, struct err *err)
{
    struct signalfd_siginfo info;

    if (b->signals >= 0 && read(b->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        return err_set(err, ERR_USAGE, EINTR, "interrupted");
    }
    return 0;
}

void bench_note(struct bench_row *row, const struct bench_sample *sample, bool failed,
                const struct buf *why)
{
    if (!failed) {
        row->samples[row->n++] = *sample;
        return;
    }
    row->failed++;
    (void)snprintf(row->why, sizeof(row->why), "%.*s", (int)why->len,
                   why->data != NULL ? (const char *)why->data : "");
}

static int run_one(struct bench *b, struct bench_kind kind, struct bench_sample *ret,
                   struct buf *why, struct err *err)
{
    auto_bench_job struct bench_job job = BENCH_JOB_INIT;
    int r = bench_go_on(b, err);

    r = r < 0 ? r : bench_job_start(&b->setup, kind, &job, err);
    return r < 0 ? r : bench_job_end(&b->setup, kind, &job, ret, why, err);
}

int bench_warm_up(struct bench *b, struct err *err)
{
    for (size_t i = 0; i < b->facts.n_rows; i++) {
        auto_buf struct buf why = BUF_INIT(BENCH_WHY_MAX);
        struct bench_sample sample = {0};
        int r = 0;

        if (b->facts.rows[i].mode != BENCH_BY_CLONE) {
            continue;
        }
        r = run_one(b, b->facts.rows[i].kind, &sample, &why, err);
        if (r < 0) {
            return r;
        }
        if (r == 1) { /* it would fail every time */
            return err_set(
                err, ERR_HOST, EPROTO, "a first run of %s: %.*s",
                bench_program_name(b->facts.rows[i].kind.work, b->facts.rows[i].kind.language),
                (int)why.len, why.data != NULL ? (const char *)why.data : "");
        }
    }
    return 0;
}

int bench_clones(struct bench *b, struct err *err)
{
    for (size_t i = 0; i < b->facts.n_rows; i++) {
        auto_buf struct buf why = BUF_INIT(BENCH_WHY_MAX);
        struct bench_row *row = &b->facts.rows[i];
        struct bench_sample sample = {0};
        int r = 0;

        if (row->mode != BENCH_BY_CLONE) {
            continue;
        }
        r = run_one(b, row->kind, &sample, &why, err);
        if (r < 0) {
            return r;
        }
        bench_note(row, &sample, r == 1, &why);
    }
    return 0;
}

struct lanes {
    struct bench_job jobs[BENCH_AT_ONCE_MAX];
    unsigned int n;
};

static void lanes_fini(struct lanes *lanes)
{
    for (unsigned int i = 0; i < lanes->n; i++) {
        bench_job_fini(&lanes->jobs[i]);
    }
}

static const struct bench_kind python_hello = {BENCH_HELLO, SPEC_PYTHON};

/* Starts in every free lane; returns how many run. */
static int fill(struct bench *b, struct lanes *lanes, bool more, struct err *err)
{
    int running = 0;

    for (unsigned int i = 0; i < lanes->n; i++) {
        struct bench_job *job = &lanes->jobs[i];

        if (job->proc.pid <= 0 && more) {
            int r = bench_job_start(&b->setup, python_hello, job, err);

            if (r < 0) {
                return r;
            }
        }
        running += job->proc.pid > 0;
    }
    return running;
}

static int wait_lanes(struct bench *b, struct lanes *lanes, struct bench_rate *rate,
                      struct err *err)
{
    struct pollfd p[BENCH_AT_ONCE_MAX];

    for (unsigned int i = 0; i < lanes->n; i++) {
        p[i] = (struct pollfd){.fd = lanes->jobs[i].proc.pidfd, .events = POLLIN};
    }
    if (poll(p, lanes->n, -1) < 0 && errno != EINTR) {
        return err_sys(err, "poll");
    }
    for (unsigned int i = 0; i < lanes->n; i++) {
        auto_buf struct buf why = BUF_INIT(BENCH_WHY_MAX);
        struct bench_sample sample = {0};
        int r = 0;

        if (p[i].fd < 0 || p[i].revents == 0) {
            continue;
        }
        r = bench_job_end(&b->setup, python_hello, &lanes->jobs[i], &sample, &why, err);
        if (r < 0) {
            return r;
        }
        rate->jobs += r == 0;
        rate->failed += r == 1;
    }
    return bench_go_on(b, err);
}

int bench_clone_rate(struct bench *b, unsigned int at_once, uint64_t ns, struct err *err)
{
    __attribute__((cleanup(lanes_fini))) struct lanes lanes = {.n = at_once};
    struct bench_rate *rate = &b->facts.rates[BENCH_BY_CLONE];
    uint64_t start = clock_mono_ns();
    uint64_t cpu = bench_children_cpu_ns();
    int running = 0;

    *rate = (struct bench_rate){.mode = BENCH_BY_CLONE, .measured = true, .at_once = at_once};
    for (unsigned int i = 0; i < at_once; i++) {
        lanes.jobs[i] = (struct bench_job)BENCH_JOB_INIT;
        lanes.jobs[i].place = i;
    }
    do {
        int r = 0;

        running = fill(b, &lanes, clock_mono_ns() - start < ns, err);
        r = running > 0 ? wait_lanes(b, &lanes, rate, err) : running;
        if (r < 0) {
            return r;
        }
    } while (running > 0);
    rate->ns = clock_mono_ns() - start;
    rate->cpu_ns = bench_children_cpu_ns() - cpu;
    return 0;
}

/* Written files first: only clean pages go. Root alone may, and only where /proc/sys is writable. */
static bool drop_caches(void)
{
    auto_fd int fd = -1;
    struct err ignored = ERR_INIT;

    sync();
    return fd_open(AT_FDCWD, "/proc/sys/vm/drop_caches", O_WRONLY, 0, &fd, &ignored) == 0 &&
           fd_write_full(fd, "3", 1, &ignored) == 0;
}

static int build(const struct bench *b, const char *image, struct err *err)
{
    auto_store struct store store = STORE_INIT;
    struct build_progress progress = {0};
    int r = store_open(b->setup.state, &store, err);

    return r < 0 ? r : build_ensure(&store, image, &progress, err);
}

int bench_from_empty(struct bench *b, enum spec_language language, struct err *err)
{
    struct bench_empty *e = &b->facts.empty[language == SPEC_JAVASCRIPT];
    const struct bench_kind kind = {BENCH_HELLO, language};
    const char *state = b->setup.state;
    auto_buf struct buf why = BUF_INIT(BENCH_WHY_MAX);
    struct bench_sample first = {0};
    struct bench_sample again = {0};
    struct err ignored = ERR_INIT;
    char own[320];
    uint64_t start = 0;
    int r = 0;

    (void)snprintf(own, sizeof(own), "%s/state", b->setup.dir);
    *e = (struct bench_empty){.measured = true, .language = language, .dropped = drop_caches()};
    b->setup.state = own;
    start = clock_mono_ns();
    r = build(b, bench_language_name(language), err);
    e->image_ns = clock_mono_ns() - start;
    if (r == 0) {
        (void)drop_caches();
        r = run_one(b, kind, &first, &why, err);
        e->first_ns = first.wall_ns;
        e->template_ns = first.template_ns;
    }
    if (r == 0) {
        (void)drop_caches();
        r = run_one(b, kind, &again, &why, err);
        e->again_ns = again.wall_ns;
    }
    if (r == 1) {
        (void)snprintf(e->why, sizeof(e->why), "%.*s", (int)why.len,
                       why.data != NULL ? (const char *)why.data : "");
    }
    b->setup.state = state;
    if (r < 0) {
        (void)!fd_remove_tree(b->setup.dirfd, "state", &ignored);
        return r;
    }
    return fd_remove_tree(b->setup.dirfd, "state", err);
}
