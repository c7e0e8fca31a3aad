#include "cli/bench-pool.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cli/bench-memory.h"
#include "cli/run-options.h"
#include "sup/host.h"
#include "sys/clock.h"

#define WAIT_NS      (120 * NS_PER_S) /* for all members, refilled one after the other */
#define WAIT_MORE_NS (30 * NS_PER_S)  /* for each clone more, in density */
#define WAIT_STEP_NS (NS_PER_S / 2)   /* between two looks for a signal */

/* A job as the command line has it; the words must outlive the options. */
static int parse(struct bench *b, struct bench_kind kind, unsigned int place,
                 struct suite_words *words, struct run_options *options, struct err *err)
{
    char *argv[SUITE_WORDS_MAX + 1]; /* parsing moves them about */
    int exit_code = 0;
    int r = bench_words(&b->setup, kind, place, words, err);

    if (r < 0) {
        return r;
    }
    memcpy(argv, words->list + 1, words->n * sizeof(*argv)); /* from "run" to the last NULL */
    if (!run_options_parse(options, (int)words->n - 1, argv, &exit_code)) {
        return err_set(err, ERR_HOST, EINVAL, "the command line of a measured job");
    }
    if (options->fault.class != ERR_NONE) {
        *err = options->fault;
        return -err->errnum;
    }
    return spec_check(&options->spec, err);
}

/* Until all that is planned waits. */
static int wait_full(struct bench *b, struct pool *pool, uint64_t timeout_ns, struct err *err)
{
    uint64_t until = clock_mono_ns() + timeout_ns;

    for (;;) {
        struct err late = ERR_INIT;
        int r = pool_wait(pool, WAIT_STEP_NS, &late);

        if (r == 0) {
            return 0;
        }
        if (r != -ETIMEDOUT || clock_mono_ns() >= until) {
            *err = late;
            return r;
        }
        r = bench_go_on(b, err);
        if (r < 0) {
            return r;
        }
    }
}

static enum spec_engine engine_of(const struct bench *b)
{
    return strcmp(b->setup.engine, "kvm") == 0 ? SPEC_ENGINE_KVM : SPEC_ENGINE_TCG;
}

/* n clones for each language that is to be. */
static int plan(const struct bench *b, struct pool *pool, const bool wanted[2], size_t n,
                struct err *err)
{
    static const enum spec_language languages[] = {SPEC_PYTHON, SPEC_JAVASCRIPT};
    auto_spec struct spec python;
    auto_spec struct spec javascript;
    struct spec *const own[] = {&python, &javascript};
    const struct spec *specs[POOL_MEMBERS_MAX];
    size_t n_specs = 0;

    spec_init(&python);
    spec_init(&javascript);
    for (size_t k = 0; k < ARRAY_LEN(languages); k++) {
        own[k]->language = languages[k];
        own[k]->engine = engine_of(b);
        for (size_t i = 0; wanted[k] && i < n; i++) {
            if (n_specs == POOL_MEMBERS_MAX) {
                return err_usage(err, "--pool: at most %u clones of all languages together",
                                 POOL_MEMBERS_MAX);
            }
            specs[n_specs++] = own[k];
        }
    }
    return pool_plan(pool, specs, n_specs, err);
}

static int open_pool(struct bench *b, const bool wanted[2], unsigned int members, struct err *err)
{
    struct pool_config config = {.store = &b->store, .members_max = POOL_MEMBERS_MAX};
    int r = b->store.dirfd < 0 ? store_open(b->setup.state, &b->store, err) : 0;

    r = r < 0 ? r : pool_new(&config, &b->pool, err);
    return r < 0 ? r : plan(b, b->pool, wanted, members, err);
}

/* Waits for the result. NULL with the reason in why. */
static json_t *take_result(struct sup *sup, struct buf *why)
{
    struct sup_event ev = {0};
    struct err err = ERR_INIT;
    json_t *result = NULL;
    int r = 0;

    do {
        r = sup_next(sup, &ev, &err);
    } while (r == 1 && ev.kind != SUP_RESULT);
    if (r == 1) {
        result = json_loadb((const char *)ev.data, ev.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                            NULL);
    }
    if (result == NULL) {
        (void)!buf_printf(why, "%.200s", r < 0 ? err.msg : "no readable result");
    }
    return result;
}

/* One pooled job; 1 and why if it was no success of a clone that waited. */
static int run_pooled(struct bench *b, struct bench_kind kind, struct bench_sample *ret,
                      struct buf *why, struct err *err)
{
    auto_suite_words struct suite_words words = {.n = 0};
    auto_run_options struct run_options options;
    auto_sup struct sup sup = SUP_INIT;
    json_t *result = NULL;
    uint64_t start = 0;
    uint64_t cpu = 0;
    bool hit = false;
    bool good = false;
    int r = 0;

    run_options_init(&options);
    r = parse(b, kind, 0, &words, &options, err);
    r = r < 0 ? r : wait_full(b, b->pool, WAIT_NS, err);
    if (r < 0) {
        return r;
    }
    cpu = bench_children_cpu_ns();
    start = clock_mono_ns();
    r = pool_submit(b->pool, &options.spec, false, &sup, &hit, err);
    if (r < 0) {
        return r;
    }
    result = take_result(&sup, why);
    *ret = (struct bench_sample){.wall_ns = clock_mono_ns() - start};
    sup_fini(&sup);
    sup = (struct sup)SUP_INIT;
    ret->cpu_ns = bench_children_cpu_ns() - cpu;
    good = result != NULL && bench_is_good(result, &b->setup.lines[kind.work], why);
    if (good && !hit) {
        good = false;
        r = buf_printf(why, "no clone of the pool took it");
    }
    bench_parts(result, ret);
    json_decref(result);
    return good ? 0 : 1;
}

int bench_pooled(struct bench *b, unsigned int members, struct err *err)
{
    bool wanted[2] = {false, false};
    int r = 0;

    for (size_t i = 0; i < b->facts.n_rows; i++) {
        wanted[b->facts.rows[i].kind.language == SPEC_JAVASCRIPT] = true;
    }
    if (b->pool == NULL) {
        r = open_pool(b, wanted, members, err);
    }
    for (size_t i = 0; i < b->facts.n_rows && r >= 0; i++) {
        auto_buf struct buf why = BUF_INIT(BENCH_WHY_MAX);
        struct bench_row *row = &b->facts.rows[i];
        struct bench_sample sample = {0};

        if (row->mode != BENCH_BY_POOL) {
            continue;
        }
        r = run_pooled(b, row->kind, &sample, &why, err);
        if (r >= 0) {
            bench_note(row, &sample, r == 1, &why);
        }
    }
    return r < 0 ? r : 0;
}

struct lanes {
    struct sup sups[BENCH_AT_ONCE_MAX];
    bool busy[BENCH_AT_ONCE_MAX];
    unsigned int n;
};

static void lanes_fini(struct lanes *lanes)
{
    for (unsigned int i = 0; i < lanes->n; i++) {
        sup_fini(&lanes->sups[i]);
    }
}

static int fill(struct bench *b, struct lanes *lanes, const struct spec *spec, bool more,
                struct err *err)
{
    int running = 0;

    for (unsigned int i = 0; i < lanes->n; i++) {
        bool hit = false;
        int r = !lanes->busy[i] && more
                    ? pool_submit(b->pool, spec, false, &lanes->sups[i], &hit, err)
                    : 0;

        if (r < 0) {
            return r;
        }
        lanes->busy[i] = lanes->busy[i] || more;
        running += lanes->busy[i];
    }
    return running;
}

static void end_lane(struct bench *b, struct lanes *lanes, unsigned int i, struct bench_rate *rate)
{
    struct bench_kind hello = {BENCH_HELLO, SPEC_PYTHON};
    auto_buf struct buf why = BUF_INIT(BENCH_WHY_MAX);
    json_t *result = take_result(&lanes->sups[i], &why);
    bool good = result != NULL && bench_is_good(result, &b->setup.lines[hello.work], &why);

    rate->jobs += good;
    rate->failed += !good;
    json_decref(result);
    sup_fini(&lanes->sups[i]);
    lanes->sups[i] = (struct sup)SUP_INIT;
    lanes->busy[i] = false;
}

static int wait_lanes(struct bench *b, struct lanes *lanes, struct bench_rate *rate,
                      struct err *err)
{
    struct pollfd p[BENCH_AT_ONCE_MAX + 1];

    for (unsigned int i = 0; i < lanes->n; i++) {
        p[i] = (struct pollfd){.fd = lanes->busy[i] ? lanes->sups[i].fd : -1, .events = POLLIN};
    }
    p[lanes->n] = (struct pollfd){.fd = pool_fd(b->pool), .events = POLLIN};
    if (poll(p, lanes->n + 1, -1) < 0 && errno != EINTR) {
        return err_sys(err, "poll");
    }
    if (p[lanes->n].revents != 0) {
        pool_tick(b->pool);
    }
    for (unsigned int i = 0; i < lanes->n; i++) {
        if (p[i].fd >= 0 && p[i].revents != 0) {
            end_lane(b, lanes, i, rate);
        }
    }
    return bench_go_on(b, err);
}

/* The jobs one after the other in their lanes, until the time is over and the last has ended. */
static int run_lanes(struct bench *b, struct lanes *lanes, const struct spec *spec, uint64_t ns,
                     struct err *err)
{
    struct bench_rate *rate = &b->facts.rates[BENCH_BY_POOL];
    uint64_t start = clock_mono_ns();
    uint64_t cpu = bench_children_cpu_ns();
    int running = 0;

    do {
        int r = 0;

        running = fill(b, lanes, spec, clock_mono_ns() - start < ns, err);
        r = running > 0 ? wait_lanes(b, lanes, rate, err) : running;
        if (r < 0) {
            return r;
        }
    } while (running > 0);
    rate->ns = clock_mono_ns() - start;
    rate->cpu_ns = bench_children_cpu_ns() - cpu;
    return 0;
}

int bench_pool_rate(struct bench *b, unsigned int at_once, unsigned int members, uint64_t ns,
                    struct err *err)
{
    static const bool python[2] = {true, false};
    const struct bench_kind hello = {BENCH_HELLO, SPEC_PYTHON};
    __attribute__((cleanup(lanes_fini))) struct lanes lanes = {.n = at_once};
    auto_suite_words struct suite_words words = {.n = 0};
    auto_run_options struct run_options options;
    int r = 0;

    b->facts.rates[BENCH_BY_POOL] =
        (struct bench_rate){.mode = BENCH_BY_POOL, .measured = true, .at_once = at_once};
    for (unsigned int i = 0; i < at_once; i++) {
        lanes.sups[i] = (struct sup)SUP_INIT;
    }
    pool_free(b->pool);
    b->pool = NULL;
    run_options_init(&options);
    r = parse(b, hello, 0, &words, &options, err);
    r = r < 0 ? r : open_pool(b, python, members, err);
    r = r < 0 ? r : wait_full(b, b->pool, WAIT_NS, err);
    return r < 0 ? r : run_lanes(b, &lanes, &options.spec, ns, err);
}

/* Pools of POOL_MEMBERS_MAX clones each. */
struct pools {
    struct pool *list[BENCH_DENSITY_MAX / POOL_MEMBERS_MAX + 1];
    size_t n;
};

static void pools_fini(struct pools *pools)
{
    for (size_t i = 0; i < pools->n; i++) {
        pool_free(pools->list[i]);
    }
}

/* One pool more with n clones that wait; ret_waiting is how many did, if it fails too. */
static int add_pool(struct bench *b, struct pools *pools, size_t n, size_t *ret_waiting,
                    struct err *err)
{
    static const bool python[2] = {true, false};
    struct pool_config config = {.store = &b->store, .members_max = POOL_MEMBERS_MAX};
    struct pool_stats stats = {0};
    struct pool *pool = NULL;
    int r = pool_new(&config, &pool, err);

    if (r < 0) {
        return r;
    }
    pools->list[pools->n++] = pool;
    r = plan(b, pool, python, n, err);
    r = r < 0 ? r : wait_full(b, pool, WAIT_MORE_NS * n, err);
    pool_stats(pool, &stats);
    *ret_waiting = stats.waiting;
    return r;
}

static int look_at_memory(struct bench_density *d, uint64_t before, struct err *err)
{
    uint64_t after = 0;
    int r = bench_descendants(d, err);

    r = r < 0 ? r : host_memory_available(&after, err);
    d->available_bytes = before > after ? before - after : 0;
    return r;
}

int bench_measure_density(struct bench *b, size_t n, struct err *err)
{
    __attribute__((cleanup(pools_fini))) struct pools pools = {.n = 0};
    struct bench_density *d = b->density;
    struct err late = ERR_INIT;
    uint64_t before = 0;
    uint64_t start = 0;
    int r = 0;

    *d = (struct bench_density){.measured = true, .asked = n};
    pool_free(b->pool);
    b->pool = NULL;
    r = b->store.dirfd < 0 ? store_open(b->setup.state, &b->store, err) : 0;
    r = r < 0 ? r : host_memory_available(&before, err);
    if (r < 0) {
        return r;
    }
    start = clock_mono_ns();
    while (d->waiting < n && late.class == ERR_NONE) {
        size_t more = n - d->waiting;
        size_t waiting = 0;

        r = add_pool(b, &pools, more < POOL_MEMBERS_MAX ? more : POOL_MEMBERS_MAX, &waiting, &late);
        d->waiting += waiting;
        if (r == -EINTR) {
            *err = late;
            return r;
        }
    }
    d->ns = clock_mono_ns() - start;
    if (late.class != ERR_NONE) {
        (void)snprintf(d->why, sizeof(d->why), "%.*s", (int)sizeof(d->why) - 1, late.msg);
    }
    return look_at_memory(d, before, err);
}
