/* The pool's bookkeeping, with supervisors that only play their part on the socket. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sup/handover.h"
#include "sup/pool.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "test.h"

/* What the next supervisors do. */
static enum {
    GOOD,
    UNFIT,        /* could not restore */
    KILLED,       /* dies before it waits */
    DIES_WAITING, /* says that it waits, and dies */
    DEAF,         /* waits and never takes a job */
    REFUSES,      /* ends with a reason when it gets a job */
} mode;

static unsigned int n_prepared, n_started;

static int fake_class_of(const struct store *store, const struct spec *spec,
                         struct machine_class *ret, struct err *err)
{
    (void)store;
    if (spec->image == NULL) {
        return err_usage(err, "no image is named");
    }
    *ret = (struct machine_class){
        .engine = "tcg", .vcpus = spec->limits.vcpus, .memory_bytes = spec->limits.memory_bytes};
    (void)snprintf(ret->image, sizeof(ret->image), "%s", spec->image);
    return 0;
}

static void say(int fd, enum sup_event_kind kind, const char *text)
{
    uint32_t head[2] = {(uint32_t)kind, (uint32_t)strlen(text)};

    (void)!write(fd, head, sizeof(head));
    (void)!write(fd, text, strlen(text));
}

_Noreturn static void serve_one(int fd)
{
    auto_handover struct handover h = HANDOVER_INIT;
    struct err err = ERR_INIT;
    char result[64];

    if (handover_receive(fd, &h, &err) < 0) {
        _exit(0);
    }
    if (mode == REFUSES) {
        say(fd, SUP_UNFIT, "its monitor is gone");
        _exit(0);
    }
    say(fd, SUP_TAKEN, "");
    (void)snprintf(result, sizeof(result), "{\"pid\":%d}", (int)getpid());
    say(fd, SUP_RESULT, result);
    _exit(0);
}

_Noreturn static void play(int fd)
{
    if (mode == KILLED) {
        _exit(1);
    }
    say(fd, SUP_PHASE, "boot");
    if (mode == UNFIT) {
        say(fd, SUP_UNFIT, "no room for another machine now");
        _exit(0);
    }
    say(fd, SUP_WAITS, "");
    if (mode == DIES_WAITING) {
        _exit(1);
    }
    if (mode == DEAF) { /* until it is let go, or killed */
        struct pollfd p = {.fd = fd, .events = POLLRDHUP};

        (void)poll(&p, 1, -1);
        _exit(0);
    }
    serve_one(fd);
}

static int fake_supervisor(struct sup *ret, bool waits, struct err *err)
{
    int pair[2];
    int r = 0;

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    r = proc_fork(&ret->proc, err);
    if (r == 1) {
        int keep[] = {pair[1]};

        fd_keep_only(keep, 1);
        if (waits) {
            play(pair[1]);
        }
        say(pair[1], SUP_RESULT, "{}");
        _exit(0);
    }
    (void)close(pair[1]);
    ret->fd = pair[0];
    ret->in = (struct buf)BUF_INIT(4096);
    ret->waits = waits;
    return r;
}

static int fake_prepare(const struct machine_class *class, const struct store *store,
                        struct sup *ret, struct err *err)
{
    (void)class;
    (void)store;
    n_prepared++;
    return fake_supervisor(ret, true, err);
}

static int fake_start(const struct spec *spec, const struct store *store, bool streaming,
                      struct sup *ret, struct err *err)
{
    (void)spec;
    (void)store;
    (void)streaming;
    n_started++;
    return fake_supervisor(ret, false, err);
}

static const struct pool_source source = {.class_of = fake_class_of,
                                          .prepare = fake_prepare,
                                          .start = fake_start};

static struct pool *make_pool(struct pool_config config)
{
    static const struct store store = STORE_INIT;
    struct pool *pool = NULL;
    struct err err = ERR_INIT;

    mode = GOOD;
    n_prepared = 0;
    n_started = 0;
    config.store = &store;
    config.source = &source;
    assert_ok(pool_new(&config, &pool, &err), &err);
    return pool;
}

static void make_spec(struct spec *spec, const char *image)
{
    struct err err = ERR_INIT;

    spec_init(spec);
    spec->language = SPEC_COMMAND;
    assert_ok(spec_set_image(spec, image, &err), &err);
    assert_ok(spec_add_arg(spec, "true", &err), &err);
}

static void plan(struct pool *pool, const struct spec *spec, size_t n)
{
    const struct spec *list[POOL_MEMBERS_MAX];
    struct err err = ERR_INIT;

    for (size_t i = 0; i < n; i++) {
        list[i] = spec;
    }
    assert_ok(pool_plan(pool, list, n, &err), &err);
}

static struct pool_stats stats_of(const struct pool *pool)
{
    struct pool_stats s;

    pool_stats(pool, &s);
    return s;
}

static void wait_all(struct pool *pool)
{
    struct err err = ERR_INIT;

    assert_ok(pool_wait(pool, 10 * NS_PER_S, &err), &err);
}

/* Serves the pool until so many have failed or died, at most 10 s. */
static void tick_until(struct pool *pool, uint64_t lost)
{
    uint64_t end = clock_mono_ns() + 10 * NS_PER_S;

    while (stats_of(pool).failed + stats_of(pool).died < lost && clock_mono_ns() < end) {
        struct pollfd p = {.fd = pool_fd(pool), .events = POLLIN};

        (void)poll(&p, 1, 100);
        pool_tick(pool);
    }
    assert_true(stats_of(pool).failed + stats_of(pool).died >= lost);
}

/* The pid that served it; 0 if it was a new supervisor. */
static int run_one(struct pool *pool, const struct spec *spec, bool want_hit)
{
    auto_sup struct sup sup = SUP_INIT;
    struct sup_event ev = {0};
    struct err err = ERR_INIT;
    bool hit = !want_hit;
    int pid = 0;

    assert_ok(pool_submit(pool, spec, false, &sup, &hit, &err), &err);
    assert_int_equal(hit, want_hit);
    pid = hit ? (int)sup.proc.pid : 0;
    assert_int_equal(sup_next(&sup, &ev, &err), 1);
    assert_int_equal(ev.kind, SUP_RESULT);
    return pid;
}

static void what_is_planned_comes_to_wait_and_serves_one_job_each(void **state)
{
    auto_pool struct pool *pool = make_pool((struct pool_config){.members_max = 3});
    auto_spec struct spec spec;
    int first = 0;
    int second = 0;

    (void)state;
    make_spec(&spec, "python");
    plan(pool, &spec, 3);
    assert_int_equal(pool_outlook(pool, &spec), POOL_COMING);
    wait_all(pool);
    assert_int_equal(pool_outlook(pool, &spec), POOL_HAS);
    assert_int_equal(n_prepared, 3);
    first = run_one(pool, &spec, true);
    second = run_one(pool, &spec, true);
    assert_int_not_equal(first, second);
    assert_int_equal(stats_of(pool).waiting, 1);
    assert_int_equal(stats_of(pool).hits, 2);
    wait_all(pool); /* what was used is replaced */
    assert_int_equal(n_prepared, 5);
    assert_int_equal(n_started, 0);
}

static void a_job_that_no_member_fits_gets_a_supervisor_of_its_own(void **state)
{
    auto_pool struct pool *pool = make_pool((struct pool_config){.members_max = 2});
    auto_spec struct spec spec;
    auto_spec struct spec other;
    auto_spec struct spec more;

    (void)state;
    make_spec(&spec, "python");
    make_spec(&other, "javascript");
    make_spec(&more, "python");
    more.limits.vcpus = 2;
    plan(pool, &spec, 1);
    wait_all(pool);
    assert_int_equal(pool_outlook(pool, &other), POOL_NONE);
    (void)run_one(pool, &other, false);
    (void)run_one(pool, &more, false);
    assert_int_equal(stats_of(pool).misses, 2);
    assert_int_equal(n_started, 2);
    (void)run_one(pool, &spec, true);
    (void)run_one(pool, &spec, false); /* none is left */
    assert_int_equal(stats_of(pool).misses, 3);
}

static void a_spec_without_a_class_is_a_miss_and_no_part_of_a_plan(void **state)
{
    auto_pool struct pool *pool = make_pool((struct pool_config){.members_max = 4});
    auto_spec struct spec none;
    auto_spec struct spec spec;
    const struct spec *list[] = {&none, &none, &spec, &spec};
    struct err err = ERR_INIT;

    (void)state;
    spec_init(&none);
    make_spec(&spec, "python");
    assert_int_equal(spec_add_arg(&none, "true", &err), 0);
    assert_ok(pool_plan(pool, list, ARRAY_LEN(list), &err), &err);
    assert_int_equal(stats_of(pool).planned, 2);
    wait_all(pool);
    (void)run_one(pool, &none, false);
}

static void a_plan_lets_go_of_what_it_does_not_name(void **state)
{
    auto_pool struct pool *pool = make_pool((struct pool_config){.members_max = 3});
    auto_spec struct spec a;
    auto_spec struct spec b;
    const struct spec *list[] = {&b, &a, &b};
    struct err err = ERR_INIT;

    (void)state;
    make_spec(&a, "python");
    make_spec(&b, "javascript");
    plan(pool, &a, 3);
    wait_all(pool);
    assert_ok(pool_plan(pool, list, ARRAY_LEN(list), &err), &err);
    wait_all(pool);
    pool_tick(pool);
    assert_int_equal(stats_of(pool).retired, 2);
    assert_int_equal(stats_of(pool).waiting, 3);
    assert_int_equal(n_prepared, 5);
    plan(pool, &a, 0);
    pool_tick(pool);
    assert_int_equal(stats_of(pool).waiting, 0);
    assert_int_equal(stats_of(pool).retired, 5);
}

static void no_more_machines_than_allowed_are_restored_at_once(void **state)
{
    auto_pool struct pool *pool = make_pool((struct pool_config){.members_max = 4, .restores = 2});
    auto_spec struct spec spec;

    (void)state;
    make_spec(&spec, "python");
    plan(pool, &spec, 9); /* and no more than members_max */
    assert_int_equal(stats_of(pool).planned, 4);
    pool_tick(pool);
    assert_int_equal(stats_of(pool).preparing, 2);
    assert_int_equal(n_prepared, 2);
    wait_all(pool);
    assert_int_equal(n_prepared, 4);
}

static void a_member_that_is_too_old_is_replaced_and_gets_no_job(void **state)
{
    auto_pool struct pool *pool =
        make_pool((struct pool_config){.members_max = 1, .age_max_ns = 100 * NS_PER_MS});
    auto_spec struct spec spec;
    const struct timespec while_ns = {.tv_nsec = 150 * (long)NS_PER_MS};
    struct pollfd p = {.events = POLLIN};

    (void)state;
    make_spec(&spec, "python");
    plan(pool, &spec, 1);
    wait_all(pool);
    (void)nanosleep(&while_ns, NULL);
    assert_int_equal(pool_outlook(pool, &spec), POOL_COMING);
    (void)run_one(pool, &spec, false);
    p.fd = pool_fd(pool); /* the timer says that there is something to do */
    assert_int_equal(poll(&p, 1, 0), 1);
    pool_tick(pool);
    assert_int_equal(stats_of(pool).retired, 1);
    wait_all(pool);
    assert_int_equal(n_prepared, 2);
}

static void failures_are_told_and_tried_again_later_each_time(void **state)
{
    auto_pool struct pool *pool = make_pool((struct pool_config){.members_max = 2});
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    make_spec(&spec, "python");
    mode = UNFIT;
    plan(pool, &spec, 2);
    tick_until(pool, 1);
    assert_non_null(strstr(stats_of(pool).why, "no room for another machine"));
    assert_int_equal(pool_outlook(pool, &spec), POOL_NONE);
    pool_tick(pool);
    assert_int_equal(n_prepared, 1); /* not before a second has passed */
    assert_int_equal(pool_wait(pool, 10 * NS_PER_MS, &err), -ETIMEDOUT);
    assert_non_null(strstr(err.msg, "no room for another machine"));
    (void)run_one(pool, &spec, false);
    mode = KILLED;
    tick_until(pool, 2);
    assert_non_null(strstr(stats_of(pool).why, "was killed"));
    mode = GOOD;
    wait_all(pool);
    assert_int_equal(pool_outlook(pool, &spec), POOL_HAS);
    assert_int_equal(stats_of(pool).failed, 2);
}

static void a_member_that_dies_is_replaced(void **state)
{
    auto_pool struct pool *pool = make_pool((struct pool_config){.members_max = 1});
    auto_spec struct spec spec;

    (void)state;
    make_spec(&spec, "python");
    mode = DIES_WAITING;
    plan(pool, &spec, 1);
    tick_until(pool, 2); /* the first and what came in its place */
    assert_true(n_prepared >= 2);
    assert_int_equal(stats_of(pool).failed, 0);
    plan(pool, &spec, 0);
    pool_tick(pool);
    mode = GOOD;
    plan(pool, &spec, 1);
    wait_all(pool);
    (void)run_one(pool, &spec, true);
}

static void a_job_that_a_member_does_not_take_goes_elsewhere(void **state)
{
    auto_pool struct pool *pool = make_pool((struct pool_config){.members_max = 2});
    auto_spec struct spec spec;

    (void)state;
    make_spec(&spec, "python");
    mode = REFUSES;
    plan(pool, &spec, 1);
    wait_all(pool);
    mode = GOOD;
    plan(pool, &spec, 2);
    wait_all(pool);
    (void)run_one(pool, &spec, true); /* by the second: the first refused */
    assert_int_equal(stats_of(pool).died, 1);
    assert_non_null(strstr(stats_of(pool).why, "its monitor is gone"));
    plan(pool, &spec, 0);
    pool_tick(pool);
    mode = DEAF;
    plan(pool, &spec, 1);
    wait_all(pool);
    (void)run_one(pool, &spec, false); /* after POOL_TAKE_NS, and the deaf one was killed */
    assert_int_equal(stats_of(pool).died, 2);
}

static void the_pace_leaves_time_between_restores(void **state)
{
    auto_pool struct pool *pool =
        make_pool((struct pool_config){.members_max = 2, .restore_percent = 1});
    auto_spec struct spec spec;

    (void)state;
    make_spec(&spec, "python");
    plan(pool, &spec, 2);
    pool_tick(pool);
    while (stats_of(pool).waiting == 0) {
        pool_tick(pool);
    }
    pool_tick(pool);
    assert_int_equal(n_prepared, 1); /* 99 times as long as the first took */
    assert_int_equal(pool_outlook(pool, &spec), POOL_HAS);
    wait_all(pool);
    assert_int_equal(n_prepared, 2);
}

static void the_end_of_the_pool_is_the_end_of_its_members(void **state)
{
    struct pool *pool = make_pool((struct pool_config){.members_max = 2});
    auto_spec struct spec spec;
    auto_sup struct sup sup = SUP_INIT;
    struct sup_event ev = {0};
    struct err err = ERR_INIT;
    bool hit = false;

    (void)state;
    make_spec(&spec, "python");
    plan(pool, &spec, 2);
    wait_all(pool);
    assert_ok(pool_submit(pool, &spec, false, &sup, &hit, &err), &err);
    pool_free(pool);
    assert_int_equal(sup_next(&sup, &ev, &err), 1); /* but a job goes on */
    assert_int_equal(ev.kind, SUP_RESULT);
}

static void numbers_out_of_range_are_refused(void **state)
{
    static const struct pool_config bad[] = {
        {.members_max = 0},
        {.members_max = POOL_MEMBERS_MAX + 1},
        {.members_max = 1, .restore_percent = 101},
        {.members_max = 1, .restores = POOL_MEMBERS_MAX + 1},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct pool *pool = NULL;
        struct err err = ERR_INIT;

        assert_int_equal(pool_new(&bad[i], &pool, &err), -EINVAL);
        assert_null(pool);
    }
}

TEST_MAIN(T(what_is_planned_comes_to_wait_and_serves_one_job_each),
          T(a_job_that_no_member_fits_gets_a_supervisor_of_its_own),
          T(a_spec_without_a_class_is_a_miss_and_no_part_of_a_plan),
          T(a_plan_lets_go_of_what_it_does_not_name),
          T(no_more_machines_than_allowed_are_restored_at_once),
          T(a_member_that_is_too_old_is_replaced_and_gets_no_job),
          T(failures_are_told_and_tried_again_later_each_time), T(a_member_that_dies_is_replaced),
          T(a_job_that_a_member_does_not_take_goes_elsewhere),
          T(the_pace_leaves_time_between_restores),
          T(the_end_of_the_pool_is_the_end_of_its_members), T(numbers_out_of_range_are_refused))
