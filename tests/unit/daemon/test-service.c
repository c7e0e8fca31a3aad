/*
 * The service with a launcher that the case plays: what becomes of jobs whose machines, disks or daemon
 * go away, told by result, row and files alike.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/api.h"
#include "daemon/jobfiles.h"
#include "daemon/request.h"
#include "daemon/service-internal.h"
#include "fake-launcher.h"
#include "job/result.h"
#include "job/spec-wire.h"
#include "store-fixture.h"
#include "sys/clock.h"

#define MACHINE "00000000000000000000000000000abc"

struct house {
    struct event_base *base;
    struct launcher launcher;
    struct jobstore *store;
    struct tenants *tenants;
    struct metrics *metrics;
    struct config config;
    struct tenant tenant;
    struct service *s;
    int jobs_fd;
    bool lost;
};

static struct house h;

static void on_lost(void *ctx)
{
    (void)ctx;
    h.lost = true;
}

static void start(void)
{
    struct service_config config = {.lost = on_lost};
    struct err err = ERR_INIT;

    fake_launcher_init(&h.launcher);
    h.store = open_store();
    config.base = h.base;
    config.launcher = &h.launcher;
    config.store = h.store;
    config.tenants = h.tenants;
    config.metrics = h.metrics;
    config.config = &h.config;
    config.state_fd = state_fd;
    config.jobs_fd = h.jobs_fd;
    assert_ok(service_new(&config, &h.s, &err), &err);
}

static void stop(void)
{
    service_free(STEAL_PTR(&h.s));
    fake_launcher_fini(&h.launcher);
    jobstore_free(STEAL_PTR(&h.store));
}

static int house_setup(void **state)
{
    const struct tenants_config tenants = {.tokens_fd = -1};
    struct err err = ERR_INIT;

    if (state_setup(state) != 0) {
        return 1;
    }
    h = (struct house){.base = event_base_new(), .jobs_fd = -1};
    config_init(&h.config);
    h.config.capacity.host = (struct ledger_capacity){.machines = 4,
                                                      .memory_total_bytes = 64 * GIB,
                                                      .memory_available_bytes = 64 * GIB,
                                                      .vcpus = 64,
                                                      .disk_free_bytes = 64 * GIB};
    h.config.capacity.fds = 1000;
    if (h.base == NULL || tenants_new(&tenants, &h.tenants, &err) < 0 ||
        metrics_new(&h.metrics, &err) < 0 || jobfiles_open_jobs(state_fd, &h.jobs_fd, &err) < 0) {
        return 1;
    }
    tenant_local(&h.config.default_quota, &h.tenant);
    start();
    return 0;
}

static int house_teardown(void **state)
{
    stop();
    metrics_free(h.metrics);
    tenants_free(h.tenants);
    config_fini(&h.config);
    fd_close_p(&h.jobs_fd);
    event_base_free(h.base);
    return state_teardown(state);
}

#define H(f) cmocka_unit_test_setup_teardown(f, house_setup, house_teardown)

static void turn(void)
{
    (void)event_base_loop(h.base, EVLOOP_NONBLOCK);
}

/* Until the condition holds; 10 s at most. */
#define AWAIT(condition)                                                 \
    do {                                                                 \
        uint64_t end_ns = clock_mono_ns() + 10 * NS_PER_S;               \
        for (turn(); !(condition) && clock_mono_ns() < end_ns; turn()) { \
            (void)usleep(2000);                                          \
        }                                                                \
        assert_true(condition);                                          \
    } while (0)

static struct job_info submit(uint64_t wall_ns, const char *program)
{
    auto_service_job struct service_job job;
    struct refusal refusal = {.status = 0};
    struct job_info info = {.state = JOB_QUEUED};
    struct err err = ERR_INIT;

    service_job_init(&job);
    job.spec.language = SPEC_PYTHON;
    job.spec.program_data = (uint8_t *)strdup(program);
    job.spec.program_len = strlen(program);
    job.spec.program_name = strdup("main.py");
    job.spec.limits.wall_ns = wall_ns;
    job.spec.limits.memory_bytes = 64 * MIB;
    if (service_submit(h.s, &h.tenant, &job, &info, &refusal, &err) != 0) {
        print_error("refused: %s%s\n", refusal.detail, err.msg);
        fail();
    }
    return info;
}

static struct job_info get(const char *id)
{
    struct job_info info = {.state = JOB_QUEUED};
    struct err err = ERR_INIT;

    assert_ok(jobstore_get(h.store, NULL, id, &info, &err), &err);
    return info;
}

static json_t *result_of(const char *id)
{
    auto_buf struct buf text = BUF_INIT(MIB);
    auto_fd int dir = -1;
    struct err err = ERR_INIT;
    json_t *root = NULL;

    assert_int_equal(jobfiles_find(h.jobs_fd, id, &dir, &err), 1);
    assert_ok(jobfiles_result(dir, &text, &err), &err);
    root = json_loadb((const char *)text.data, text.len, 0, NULL);
    assert_non_null(root);
    return root;
}

/* A job that runs and wrote this to stdout. */
static struct job_info running(const char *output)
{
    struct job_info info = submit(123 * NS_PER_S, "print(1)\n");

    AWAIT(h.launcher.n_starts == 1);
    fake_say(&h.launcher, 0, SUP_MACHINE, MACHINE, strlen(MACHINE));
    fake_say(&h.launcher, 0, SUP_PHASE, "run", 3);
    fake_say(&h.launcher, 0, SUP_STDOUT, output, strlen(output));
    AWAIT(get(info.id).state == JOB_RUNNING);
    turn();
    return info;
}

static int json_number(const json_t *root, const char *object, const char *name)
{
    const json_t *v = json_object_get(json_object_get(root, object), name);

    assert_true(json_is_integer(v));
    return (int)json_integer_value(v);
}

/* The result says what GET of the streams has. */
static void expect_streams(const char *id, const char *out, bool truncated)
{
    json_auto_t *root = result_of(id);
    const json_t *cut = json_object_get(json_object_get(root, "stdout"), "truncated");
    auto_fd int dir = -1;
    struct err err = ERR_INIT;
    char data[64];

    assert_int_equal(json_number(root, "stdout", "bytes"), strlen(out));
    assert_int_equal(json_number(root, "stderr", "bytes"), 0);
    assert_int_equal(json_number(root, "limits", "wall_ms"), 123000);
    assert_true(json_is_boolean(cut));
    assert_int_equal(json_is_true(cut), truncated);
    assert_string_equal(json_string_value(json_object_get(json_object_get(root, "machine"), "id")),
                        MACHINE);
    assert_int_equal(jobfiles_find(h.jobs_fd, id, &dir, &err), 1);
    assert_int_equal(jobfiles_stream(dir, JOBFILES_STDOUT, 0, data, sizeof(data), &err),
                     strlen(out));
    assert_memory_equal(data, out, strlen(out));
}

static void expect_failure(const char *id, const char *reason)
{
    const struct job_info info = get(id);

    assert_int_equal(info.verdict, AIRLOCK_SANDBOX_FAILURE);
    assert_string_equal(info.reason, reason);
}

static void a_supervisor_that_dies_leaves_what_was_written(void **state)
{
    const struct job_info job = running("some output\n");

    (void)state;
    fake_die(&h.launcher, 0);
    AWAIT(get(job.id).state == JOB_ENDED);
    expect_failure(job.id, "supervisor");
    expect_streams(job.id, "some output\n", false);
}

static void a_daemon_that_was_killed_tells_what_was_written(void **state)
{
    static const struct {
        const char *record;
        bool truncated;
    } cases[] = {
        {"{\"state\":\"finished\",\"phases\":{\"started_ns\":5},\"stdout\":{\"bytes\":4,"
         "\"truncated\":false}}",
         false},
        {"{\"state\":\"finished\",\"phases\":{\"started_ns\":5},\"stdout\":{\"bytes\":4,"
         "\"truncated\":true}}",
         true},
        {"{\"state\":\"ending\",\"phases\":{\"started_ns\":5},\"stdout\":{\"bytes\":5,"
         "\"truncated\":false}}",
         true},
        {"{\"state\":\"lost\",\"stdout\":{\"bytes\":0,\"truncated\":false}}", false},
        {"{}", false},
        {"no JSON", false},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct job_info job = running("some");

        stop();
        start();
        h.launcher.record_text = cases[i].record;
        AWAIT(get(job.id).state == JOB_ENDED);
        expect_failure(job.id, "daemon");
        expect_streams(job.id, "some", cases[i].truncated);
        stop();
        start();
    }
}

static void nobody_waits_for_a_record_that_cannot_come(void **state)
{
    const struct job_info job = running("some");

    (void)state;
    stop();
    start();
    h.launcher.record_failed = ENOENT;
    AWAIT(h.launcher.records_asked == 3);
    assert_int_equal(get(job.id).state, JOB_RUNNING);
    h.launcher.record_failed = ESRCH;
    AWAIT(get(job.id).state == JOB_ENDED);
    assert_true(h.launcher.records_asked <= 5); /* one more: to keep it with the job */
    expect_failure(job.id, "daemon");
    expect_streams(job.id, "some", false);
}

static void a_job_that_had_not_started_waits_again(void **state)
{
    const struct job_info job = submit(NS_PER_S, "print(1)\n");

    (void)state;
    AWAIT(h.launcher.n_starts == 1);
    fake_say(&h.launcher, 0, SUP_MACHINE, MACHINE, strlen(MACHINE));
    AWAIT(strcmp(get(job.id).machine_id, MACHINE) == 0);
    stop();
    start();
    h.launcher.record_text = "{\"state\":\"finished\",\"phases\":{\"started_ns\":null}}";
    AWAIT(h.launcher.n_starts == 1);
    assert_int_equal(get(job.id).state, JOB_STARTING);
}

/* It counts for what becomes of the job, and what became of it is told once. */
static void a_cancel_while_a_record_is_awaited_is_kept(void **state)
{
    const struct job_info job = running("some");
    struct job_info info = {.state = JOB_QUEUED};
    struct err err = ERR_INIT;
    const char *why = NULL;

    (void)state;
    stop();
    start();
    h.launcher.record_failed = ENOENT;
    AWAIT(h.launcher.records_asked == 1);
    assert_ok(service_cancel(h.s, &h.tenant, job.id, &info, &err), &err);
    assert_int_equal(info.state, JOB_RUNNING);
    assert_true(get(job.id).cancel);
    h.launcher.record_failed = ESRCH;
    AWAIT(get(job.id).state == JOB_ENDED);
    expect_failure(job.id, "daemon"); /* it had started */
    AWAIT(service_running(h.s) == 0);
    assert_true(service_ready(h.s, &why) || why != NULL);
    AWAIT(service_ready(h.s, &why));
}

static void fill_machines(void)
{
    h.config.capacity.host.machines = 1;
    (void)submit(NS_PER_S, "first");
    AWAIT(h.launcher.n_starts == 1);
}

/* However long the specification is, and whatever became of its end. */
static void the_end_of_a_waiting_job_reads_the_beginning_of_its_specification(void **state)
{
    char path[JOB_ID_SIZE + sizeof("/spec")];
    struct job_info info = {.state = JOB_QUEUED};
    struct job_info job;
    struct err err = ERR_INIT;
    auto_fd int spec = -1;

    (void)state;
    fill_machines();
    job = submit(123 * NS_PER_S, "second");
    (void)snprintf(path, sizeof(path), "%s/spec", job.id);
    spec = openat(h.jobs_fd, path, O_RDWR | O_CLOEXEC);
    assert_true(spec >= 0);
    assert_int_equal(ftruncate(spec, SPEC_WIRE_HEAD_MAX), 0);
    assert_ok(service_cancel(h.s, &h.tenant, job.id, &info, &err), &err);
    assert_int_equal(info.verdict, AIRLOCK_CANCELED);
    {
        json_auto_t *root = result_of(job.id);

        assert_int_equal(json_number(root, "limits", "wall_ms"), 123000);
        assert_int_equal(json_number(root, "stdout", "bytes"), 0);
    }
}

/* Before its data is removed, which is told when all of it is gone. */
static void the_specification_of_an_ended_job_is_overwritten(void **state)
{
    const struct job_info job = submit(NS_PER_S, "print('secret')");
    char path[JOB_ID_SIZE + sizeof("/spec")];
    struct job_info info = {.state = JOB_QUEUED};
    struct err err = ERR_INIT;
    auto_fd int spec = -1;
    char data[4096];
    ssize_t n = 0;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/spec", job.id);
    spec = openat(h.jobs_fd, path, O_RDONLY | O_CLOEXEC);
    assert_true(spec >= 0);
    n = pread(spec, data, sizeof(data), 0);
    assert_true(n > 0 && memmem(data, (size_t)n, "secret", 6) != NULL);
    AWAIT(h.launcher.n_starts == 1);
    assert_ok(service_cancel(h.s, &h.tenant, job.id, &info, &err), &err);
    fake_die(&h.launcher, 0);
    AWAIT(get(job.id).state == JOB_ENDED && service_running(h.s) == 0);
    assert_int_equal(service_purge(h.s, &h.tenant, job.id, &err), 1);
    AWAIT(service_purge(h.s, &h.tenant, job.id, &err) == 0);
    assert_int_equal(pread(spec, data, sizeof(data), 0), n);
    for (ssize_t i = 0; i < n; i++) {
        assert_int_equal(data[i], 0);
    }
}

/* Else who submits and cancels would fill the disk as fast as the network is. */
static void what_waits_to_be_overwritten_is_bounded(void **state)
{
    enum {
        HALF = 40 * 1024
    };

    static char program[HALF + 1];
    auto_service_job struct service_job job;
    struct refusal refusal = {.status = 0};
    struct job_info info = {.state = JOB_QUEUED};
    struct err err = ERR_INIT;

    (void)state;
    memset(program, '#', HALF);
    stop();
    h.config.queue_bytes = 2ull * HALF;
    start();
    fill_machines();
    for (int i = 0; i < 2; i++) {
        const struct job_info one = submit(NS_PER_S, program);

        assert_ok(service_cancel(h.s, &h.tenant, one.id, &info, &err), &err);
    }
    service_job_init(&job);
    job.spec.language = SPEC_PYTHON;
    job.spec.program_data = (uint8_t *)strdup("x");
    job.spec.program_len = 1;
    job.spec.program_name = strdup("main.py");
    assert_true(service_submit(h.s, &h.tenant, &job, &info, &refusal, &err) < 0);
    assert_int_equal(refusal.status, 503);
    assert_int_equal(refusal.retry_after_s, 1);
    upkeep_tick(h.s);
    AWAIT(h.s->wiping_bytes == 0);
    (void)submit(NS_PER_S, program);
}

/* Not only when the daemon is started again. */
static void the_end_of_the_service_overwrites_what_waits_for_it(void **state)
{
    struct job_info info = {.state = JOB_QUEUED};
    struct job_info job;
    struct err err = ERR_INIT;

    (void)state;
    fill_machines();
    job = submit(NS_PER_S, "second");
    assert_ok(service_cancel(h.s, &h.tenant, job.id, &info, &err), &err);
    assert_true(jobfiles_wiping(h.jobs_fd, job.id));
    stop();
    assert_false(jobfiles_wiping(h.jobs_fd, job.id));
    start();
}

struct listener {
    struct service_watch watch;
    size_t heard;
};

static void on_heard(struct service_watch *watch)
{
    ((struct listener *)(void *)((char *)watch - offsetof(struct listener, watch)))->heard++;
}

/* Removals are many; thousands may wait for other things. */
static void a_removal_is_heard_by_who_waits_for_one(void **state)
{
    struct listener waits = {.watch = {.changed = on_heard}};
    struct listener removes = {.watch = {.changed = on_heard, .removal = true}};

    (void)state;
    service_watch(h.s, MACHINE, &waits.watch);
    service_watch(h.s, MACHINE, &removes.watch);
    remover_ask(h.s->remover);
    AWAIT(removes.heard > 0);
    assert_int_equal(waits.heard, 0);
    service_news(h.s, MACHINE);
    assert_int_equal(waits.heard, 1);
    service_unwatch(&waits.watch);
    service_unwatch(&removes.watch);
}

/* What cannot be started for want of its files is no reason to try for ever. */
static void a_job_whose_directory_is_gone_ends(void **state)
{
    struct job_info job;
    struct err err = ERR_INIT;

    (void)state;
    fill_machines();
    job = submit(NS_PER_S, "second");
    assert_ok(jobfiles_remove(h.jobs_fd, job.id, false, &err), &err);
    fake_die(&h.launcher, 0);
    AWAIT(get(job.id).state == JOB_ENDED);
    expect_failure(job.id, "files");
    AWAIT(service_running(h.s) <= 1); /* the first one, which is tried again */
}

static bool store_fails;

int __real_jobstore_get(struct jobstore *s, const char *tenant, const char *job_id,
                        struct job_info *ret, struct err *err);
int __wrap_jobstore_get(struct jobstore *s, const char *tenant, const char *job_id,
                        struct job_info *ret, struct err *err);

int __wrap_jobstore_get(struct jobstore *s, const char *tenant, const char *job_id,
                        struct job_info *ret, struct err *err)
{
    return store_fails ? err_set(err, ERR_HOST, EIO, "played")
                       : __real_jobstore_get(s, tenant, job_id, ret, err);
}

/* Once it is in store and queue nothing may tell its client that it is not. */
static void an_accepted_job_is_told_whatever_fails_then(void **state)
{
    struct job_info job;

    (void)state;
    store_fails = true;
    job = submit(NS_PER_S, "print(1)\n"); /* fails the case if it is refused */
    store_fails = false;
    assert_true(job_id_ok(job.id));
    assert_int_equal(job.state, JOB_QUEUED);
    assert_int_equal(get(job.id).state, JOB_QUEUED);
    AWAIT(h.launcher.n_starts == 1);
}

static void only_an_id_names_a_machine(void **state)
{
    const struct job_info job = submit(NS_PER_S, "print(1)\n");
    static const char odd[] = "../../../../../../../etc/shadow0";

    (void)state;
    assert_int_equal(strlen(odd), JOB_ID_SIZE - 1);
    AWAIT(h.launcher.n_starts == 1);
    fake_say(&h.launcher, 0, SUP_MACHINE, odd, strlen(odd));
    fake_say(&h.launcher, 0, SUP_MACHINE, "abc", 3);
    fake_say(&h.launcher, 0, SUP_PHASE, "run", 3);
    AWAIT(get(job.id).state == JOB_RUNNING);
    assert_string_equal(get(job.id).machine_id, "");
}

/* More of them than one look takes: the next comes soon, however many there are. */
static void retention_keeps_up_with_what_ends(void **state)
{
    enum {
        JOBS = 500
    };
    struct jobstore_counts counts = {.kept_bytes = 1};
    struct err err = ERR_INIT;

    (void)state;
    stop();
    h.store = open_store();
    for (unsigned int i = 1; i <= JOBS; i++) {
        const struct job_info job = job_of(i, "local");
        const struct job_info ended = ended_of(i, "local", 4096);

        insert(h.store, &job);
        assert_ok(jobstore_end(h.store, &ended, NULL, &err), &err);
    }
    assert_ok(jobstore_counts(h.store, &counts, &err), &err);
    assert_int_equal(counts.kept_bytes, JOBS * 4096);
    jobstore_free(STEAL_PTR(&h.store));
    start();
    AWAIT(jobstore_counts(h.store, &counts, &err) == 0 && counts.kept_bytes == 0);
}

static time_t ahead_s; /* of the clock that others set */

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
    int r = __real_clock_gettime(clock, ret);

    ret->tv_sec += clock == CLOCK_REALTIME ? ahead_s : 0;
    return r;
}

static void tick(void)
{
    h.s->upkeep_ns = 0;
    upkeep_tick(h.s);
}

/* Not until it has had an hour to be put right. */
static void a_clock_that_jumps_ahead_removes_nothing(void **state)
{
    struct job_info job;
    struct job_info info = {.state = JOB_QUEUED};
    struct err err = ERR_INIT;

    (void)state;
    fill_machines();
    job = submit(NS_PER_S, "second");
    assert_ok(service_cancel(h.s, &h.tenant, job.id, &info, &err), &err);
    tick();
    ahead_s = 400 * 24 * 3600;
    tick();
    tick();
    assert_false(get(job.id).purged);
    h.s->odd_until_ms = 0; /* the hour is over */
    tick();
    assert_int_equal(jobstore_get(h.store, NULL, job.id, &info, &err), -ENOENT); /* row and all */
    ahead_s = 0;
}

/* The most that a program can have its result say: names of bytes that take the most room. */
static void the_largest_result_can_be_served(void **state)
{
    enum {
        ITEMS = 65536
    };

    static const char long_name[] = {[0 ... 4095] = '\xff'};
    auto_buf struct buf text = BUF_INIT(RESULT_JSON_MAX);
    struct output_item *items = calloc(ITEMS, sizeof(*items));
    struct outputs outputs = {.items = items, .n_items = ITEMS};
    struct events events = {0};
    struct spec spec;
    struct result result = {.spec = &spec, .events = &events, .outputs = &outputs};

    (void)state;
    spec_init(&spec);
    assert_non_null(items);
    for (size_t i = 0; i < ITEMS; i++) {
        union {
            const char *in;
            uint8_t *out;
        } name = {.in = long_name};

        items[i].name = name.out;
        items[i].name_len = OUTPUTS_NAMES_BYTES / ITEMS;
        items[i].bytes = UINT32_MAX;
        memset(items[i].digest.hex, 'a', sizeof(items[i].digest.hex) - 1);
    }
    assert_int_equal(result_json(&result, &text), 0);
    print_message("# %zu bytes\n", text.len);
    assert_true(text.len < API_RESULT_MAX);
    spec_fini(&spec);
    free(items);
}

TEST_MAIN(H(an_accepted_job_is_told_whatever_fails_then), H(only_an_id_names_a_machine),
          H(retention_keeps_up_with_what_ends), T(the_largest_result_can_be_served),
          H(a_clock_that_jumps_ahead_removes_nothing),
          H(a_supervisor_that_dies_leaves_what_was_written),
          H(a_daemon_that_was_killed_tells_what_was_written),
          H(nobody_waits_for_a_record_that_cannot_come), H(a_job_that_had_not_started_waits_again),
          H(a_cancel_while_a_record_is_awaited_is_kept),
          H(the_end_of_a_waiting_job_reads_the_beginning_of_its_specification),
          H(the_specification_of_an_ended_job_is_overwritten),
          H(what_waits_to_be_overwritten_is_bounded),
          H(the_end_of_the_service_overwrites_what_waits_for_it),
          H(a_removal_is_heard_by_who_waits_for_one), H(a_job_whose_directory_is_gone_ends))
