/*
 * A host that lives through tens of thousands of random steps: jobs of many sizes come, start, fail, come
 * back, are removed, are too late and end. After every step all counters are right, no limit is
 * exceeded, and in the end every job that was accepted ended exactly once.
 */
#include "queue-fixture.h"

#define STEPS    20000u
#define TENANTS  6u
#define JOBS_MAX (STEPS + 1u)
#define HOST     12u

enum fate {
    UNKNOWN,
    WAITS,
    RUNS,
    GONE
};

struct world {
    struct queue *q;
    uint64_t now, seed;
    enum fate fate[JOBS_MAX];
    unsigned char tenant[JOBS_MAX];
    unsigned int running[HOST + 1];
    size_t n_running;
    unsigned int n_jobs;
    uint64_t n_accepted, n_gone;
    uint64_t held[TENANTS]; /* jobs of each that have slots */
};

static const struct queue_quota quotas[TENANTS] = {
    {1, 10}, {2, 40}, {100, 40}, {3, 5}, {100, 100}, {5, 20},
};

/* xorshift64*, so that a failure is the same everywhere. */
static uint64_t draw(struct world *w, uint64_t below)
{
    w->seed ^= w->seed >> 12;
    w->seed ^= w->seed << 25;
    w->seed ^= w->seed >> 27;
    return (w->seed * 2685821657736338717ull >> 33) % below;
}

static void gone(struct world *w, unsigned int number, enum fate from)
{
    assert_int_equal(w->fate[number], from);
    w->fate[number] = GONE;
    w->n_gone++;
}

static uint64_t waiting(const struct world *w, unsigned int tenant)
{
    uint64_t n = 0;

    for (unsigned int i = 0; i < w->n_jobs; i++) {
        n += w->fate[i] == WAITS && w->tenant[i] == tenant;
    }
    return n;
}

static void come(struct world *w)
{
    unsigned int tenant = (unsigned int)draw(w, TENANTS);
    char name[2] = {(char)('a' + tenant), '\0'};
    struct queue_job job = job_of(name, w->n_jobs);
    struct queue_answer answer = {0};
    struct err err = ERR_INIT;

    job.priority = (unsigned int)draw(w, 10);
    job.need = large(1 + draw(w, 6) * draw(w, 3));
    job.bytes = draw(w, 100);
    job.wall_ns = (1 + draw(w, 60)) * NS_PER_S;
    job.deadline_ns = draw(w, 3) == 0 ? w->now + draw(w, 100) * NS_PER_S : 0;
    assert_ok(queue_put(w->q, &job, &quotas[tenant], w->now, &answer, &err), &err);
    if (answer.verdict == QUEUE_ACCEPTED) {
        assert_true(waiting(w, tenant) < quotas[tenant].queued);
        w->fate[w->n_jobs] = WAITS;
        w->tenant[w->n_jobs] = (unsigned char)tenant;
        w->n_jobs++;
        w->n_accepted++;
    } else {
        assert_true(answer.verdict == QUEUE_TOO_LARGE || answer.retry_after_s > 0);
    }
}

static void start(struct world *w)
{
    struct capacity_need room = room_of(w->q, HOST);
    struct capacity_need lost = units(draw(w, 4) == 0 ? draw(w, HOST) : 0);
    struct queue_job job;
    struct err err = ERR_INIT;

    capacity_sub(&room, &lost); /* somebody else has it now */
    while (queue_take(w->q, &room, w->now, &job, &err) == 1) {
        unsigned int number = number_of(&job);
        unsigned int tenant = w->tenant[number];

        assert_int_equal(w->fate[number], WAITS);
        assert_true(capacity_fits(&room, &job.need, NULL));
        assert_true(job.deadline_ns == 0 || job.deadline_ns >= w->now);
        w->held[tenant]++;
        assert_true(w->held[tenant] <= quotas[tenant].concurrent);
        assert_true(w->n_running < HOST);
        w->fate[number] = RUNS;
        w->running[w->n_running] = number;
        w->n_running++;
        capacity_sub(&room, &job.need);
    }
}

static void stop(struct world *w, bool back)
{
    size_t i = w->n_running > 0 ? (size_t)draw(w, w->n_running) : 0;
    unsigned int number = w->running[i];
    const struct queue_job job = job_of("", number);
    struct err err = ERR_INIT;

    if (w->n_running == 0) {
        return;
    }
    w->n_running--;
    w->running[i] = w->running[w->n_running];
    w->held[w->tenant[number]]--;
    if (back) {
        enum queue_again why = draw(w, 2) == 0 ? QUEUE_AGAIN_FAILED : QUEUE_AGAIN_NO_CAPACITY;

        assert_ok(queue_requeue(w->q, job.id, why, w->now + draw(w, 3) * NS_PER_S, w->now, &err),
                  &err);
        w->fate[number] = WAITS;
    } else {
        assert_ok(queue_ended(w->q, job.id, draw(w, 5) > 0, w->now, &err), &err);
        gone(w, number, RUNS);
    }
}

static void expire(struct world *w)
{
    struct queue_job job;
    struct err err = ERR_INIT;

    while (queue_expire(w->q, w->now, &job, &err) == 1) {
        gone(w, number_of(&job), WAITS);
    }
}

static void forget(struct world *w)
{
    unsigned int number = w->n_jobs > 0 ? (unsigned int)draw(w, w->n_jobs) : 0;
    const struct queue_job job = job_of("", number);
    struct err err = ERR_INIT;

    if (queue_remove(w->q, job.id, &err) == 1) {
        gone(w, number, WAITS);
    }
}

static void step(struct world *w)
{
    uint64_t dice = draw(w, 100);

    w->now += draw(w, 10) * NS_PER_S / 10;
    if (dice < 40) {
        come(w);
    } else if (dice < 65) {
        start(w);
    } else if (dice < 88) {
        stop(w, false);
    } else if (dice < 93) {
        stop(w, true);
    } else if (dice < 97) {
        expire(w);
    } else {
        forget(w);
    }
    assert_true(queue_check(w->q));
    assert_true(queue_wake_ns(w->q, w->now) >= w->now);
}

static void assert_in_step(const struct world *w)
{
    struct queue_stats stats;

    queue_stats(w->q, w->now, &stats);
    assert_int_equal(stats.running, w->n_running);
    assert_int_equal(stats.waiting + stats.running + w->n_gone, w->n_accepted);
}

static void live(uint64_t seed)
{
    auto_free struct world *w = calloc(1, sizeof(*w));

    assert_non_null(w);
    w->q = new_queue(&(struct queue_config){.queued_max = 120, .bytes_max = 4000}, HOST);
    w->now = NS_PER_S;
    w->seed = seed;
    for (unsigned int i = 0; i < STEPS; i++) {
        step(w);
        assert_in_step(w);
    }
    /* The last jobs: only time and ends from now on; whatever waits gets its turn. */
    for (unsigned int i = 0; i < 10000 && w->n_gone < w->n_accepted; i++) {
        w->now += NS_PER_S;
        expire(w);
        start(w);
        stop(w, false);
        assert_in_step(w);
    }
    assert_int_equal(w->n_gone, w->n_accepted);
    assert_true(w->n_accepted > STEPS / 20);
    assert_empty(w->q);
    queue_free(w->q);
}

static void counters_hold_through_random_lives(void **state)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        live(seed * 7919);
    }
}

/*
 * All tenants always have jobs waiting, of very different sizes and lengths. By all of them together
 * each gets a part of the host's memory that is not far from equal.
 */
static void no_tenant_starves_while_others_flood(void **state)
{
    enum {
        N = 5,
        ROUNDS = 20000
    };

    static const struct {
        uint64_t size, seconds;
    } kinds[N] = {{1, 1}, {1, 20}, {2, 5}, {6, 10}, {3, 3}};
    auto_queue struct queue *q = new_queue(&(struct queue_config){.queued_max = 1000}, HOST);

    struct {
        unsigned int number;
        size_t kind;
        uint64_t end;
    } running[HOST];

    uint64_t got[N] = {0};
    uint64_t last[N] = {0};
    uint64_t waits[N] = {0};
    size_t n = 0;
    unsigned int next = 0;
    struct err err = ERR_INIT;

    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t now = round * NS_PER_S;
        struct capacity_need room;
        struct queue_job job;

        for (size_t i = n; i > 0; i--) {
            if (running[i - 1].end <= now) {
                end(q, running[i - 1].number, now);
                n--;
                running[i - 1] = running[n];
            }
        }
        for (size_t kind = 0; kind < N; kind++) {
            char name[2] = {(char)('a' + kind), '\0'};

            for (; waits[kind] < 15; waits[kind]++) {
                job = job_of(name, next);
                next++;
                job.need = large(kinds[kind].size);
                job.wall_ns = kinds[kind].seconds * NS_PER_S;
                assert_int_equal(put(q, &job, &wide, now), QUEUE_ACCEPTED);
            }
        }
        room = room_of(q, HOST);
        while (queue_take(q, &room, now, &job, &err) == 1) {
            size_t kind = (size_t)(job.tenant[0] - 'a');

            waits[kind]--;
            running[n].number = number_of(&job);
            running[n].kind = kind;
            running[n].end = now + kinds[kind].seconds * NS_PER_S;
            n++;
            got[kind] += kinds[kind].size * kinds[kind].seconds;
            assert_true(round - last[kind] < 120); /* never without a start for two minutes */
            last[kind] = round;
            capacity_sub(&room, &job.need);
        }
    }
    for (size_t kind = 0; kind < N; kind++) {
        print_message("# tenant %zu: %.1f %% of the host's memory\n", kind,
                      100.0 * (double)got[kind] / ((double)HOST * ROUNDS));
        assert_true(got[kind] * N * 2 > (uint64_t)HOST * ROUNDS); /* at least half of its part */
    }
}

TEST_MAIN(T(counters_hold_through_random_lives), T(no_tenant_starves_while_others_flood))
