#include <errno.h>

#include "queue-fixture.h"

#define S NS_PER_S

static const struct queue_config defaults = {0};

static void jobs_of_a_tenant_start_in_the_order_they_came(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 10);

    for (unsigned int i = 0; i < 5; i++) {
        const struct queue_job job = job_of("a", i);

        assert_int_equal(put(q, &job, &wide, S + i), QUEUE_ACCEPTED);
    }
    for (int i = 0; i < 5; i++) {
        assert_int_equal(take(q, 10, 2 * S), i);
    }
    assert_int_equal(take(q, 10, 2 * S), -1);
    for (unsigned int i = 0; i < 5; i++) {
        end(q, i, 3 * S);
    }
    assert_empty(q);
}

static void a_higher_priority_goes_first_within_its_tenant_only(void **state)
{
    static const unsigned int priorities[] = {5, 0, 9, 5, 9};
    static const int order[] = {2, 4, 0, 3, 1};
    auto_queue struct queue *q = new_queue(&defaults, 10);
    struct queue_job job = job_of("b", 10);

    for (unsigned int i = 0; i < ARRAY_LEN(priorities); i++) {
        struct queue_job mine = job_of("a", i);

        mine.priority = priorities[i];
        assert_int_equal(put(q, &mine, &wide, S), QUEUE_ACCEPTED);
    }
    job.priority = 0;
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 10, S), order[0]);
    assert_int_equal(take(q, 10, S), 10); /* b has nothing yet: its least job goes first */
    for (size_t i = 1; i < ARRAY_LEN(order); i++) {
        assert_int_equal(take(q, 10, S), order[i]);
    }
}

static void a_tenant_with_thousands_of_jobs_does_not_hold_up_another(void **state)
{
    auto_queue struct queue *q = new_queue(&(struct queue_config){.queued_max = 5000}, 2);
    const struct queue_job late = job_of("b", 9000);

    for (unsigned int i = 0; i < 3000; i++) {
        const struct queue_job job = job_of("a", i);

        assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    }
    assert_int_equal(take(q, 2, S), 0);
    assert_int_equal(take(q, 2, S), 1);
    assert_int_equal(put(q, &late, &wide, 2 * S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 2, 2 * S), -1);
    end(q, 0, 3 * S);
    assert_int_equal(take(q, 2, 3 * S), 9000);
}

/* One machine at a time: whoever used less time goes next. */
static void tenants_share_one_machine_by_the_time_they_use(void **state)
{
    auto_queue struct queue *q = new_queue(&(struct queue_config){.queued_max = 5000}, 1);
    uint64_t now = S;
    uint64_t used[2] = {0};

    for (unsigned int i = 0; i < 1000; i++) {
        const struct queue_job slow = job_of("slow", i);
        const struct queue_job fast = job_of("fast", 1000 + i);

        assert_int_equal(put(q, &slow, &wide, now), QUEUE_ACCEPTED);
        assert_int_equal(put(q, &fast, &wide, now), QUEUE_ACCEPTED);
    }
    for (unsigned int i = 0; i < 500; i++) {
        int number = take(q, 1, now);
        bool is_slow = number < 1000;
        uint64_t held = is_slow ? 2 * S : S / 10;

        assert_true(number >= 0);
        used[is_slow ? 0 : 1] += held;
        now += held;
        end(q, (unsigned int)number, now);
    }
    assert_true(used[0] <= used[1] + 2 * S && used[1] <= used[0] + 2 * S);
}

static void a_tenant_that_was_away_gets_neither_credit_nor_debt(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 1);
    uint64_t now = S;
    unsigned int next = 0;
    unsigned int got[2] = {0};

    for (; next < 50; next++) { /* a alone, for a long time */
        const struct queue_job job = job_of("a", next);

        assert_int_equal(put(q, &job, &wide, now), QUEUE_ACCEPTED);
        assert_int_equal(take(q, 1, now), (int)next);
        now += 100 * S;
        end(q, next, now);
    }
    for (; next < 250; next++) { /* b came while a was away; then a comes back */
        const struct queue_job job = job_of(next < 60 || next % 2 == 0 ? "b" : "a", next);

        assert_int_equal(put(q, &job, &wide, now), QUEUE_ACCEPTED);
    }
    for (unsigned int i = 0; i < 40; i++) {
        int number = take(q, 1, now);

        got[number < 60 || number % 2 == 0 ? 0 : 1]++;
        now += S;
        end(q, (unsigned int)number, now);
    }
    assert_true(got[0] >= 19 && got[1] >= 19);
}

static void who_comes_back_does_not_get_what_it_did_not_use(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 1);
    uint64_t now = S;
    unsigned int got[2] = {0};

    for (unsigned int i = 0; i < 201; i++) { /* b uses a second, then a has the host */
        const struct queue_job job = job_of(i == 0 ? "b" : "a", i);

        assert_int_equal(put(q, &job, &wide, now), QUEUE_ACCEPTED);
    }
    for (unsigned int i = 0; i < 101; i++) {
        int number = take(q, 1, now);

        now += S;
        end(q, (unsigned int)number, now);
    }
    for (unsigned int i = 300; i < 400; i++) {
        const struct queue_job job = job_of("b", i);

        assert_int_equal(put(q, &job, &wide, now), QUEUE_ACCEPTED);
    }
    for (unsigned int i = 0; i < 40; i++) {
        int number = take(q, 1, now);

        got[number < 300 ? 0 : 1]++;
        now += S;
        end(q, (unsigned int)number, now);
    }
    assert_true(got[0] >= 19 && got[1] >= 19);
}

static void a_tenant_at_its_concurrency_is_passed_over(void **state)
{
    const struct queue_quota one = {.concurrent = 1, .queued = 10};
    auto_queue struct queue *q = new_queue(&defaults, 10);

    for (unsigned int i = 0; i < 3; i++) {
        const struct queue_job narrow_job = job_of("narrow", i);
        const struct queue_job wide_job = job_of("wide", 10 + i);

        assert_int_equal(put(q, &narrow_job, &one, S), QUEUE_ACCEPTED);
        assert_int_equal(put(q, &wide_job, &wide, S), QUEUE_ACCEPTED);
    }
    assert_int_equal(take(q, 10, S), 0);
    assert_int_equal(take(q, 10, S), 10);
    assert_int_equal(take(q, 10, S), 11);
    assert_int_equal(take(q, 10, S), 12);
    assert_int_equal(take(q, 10, S), -1);
    end(q, 0, 2 * S);
    assert_int_equal(take(q, 10, 2 * S), 1);
    queue_set_quota(q, "narrow", &(struct queue_quota){.concurrent = 2, .queued = 10});
    assert_int_equal(take(q, 10, 2 * S), 2);
    queue_set_quota(q, "nobody", &one);
}

static void what_is_full_is_refused_and_says_whose_fault_it_is(void **state)
{
    const struct queue_quota two = {.concurrent = 1, .queued = 2};
    auto_queue struct queue *q =
        new_queue(&(struct queue_config){.queued_max = 3, .bytes_max = 1000}, 1);
    struct queue_job job = job_of("a", 0);

    assert_int_equal(put(q, &job, &two, S), QUEUE_ACCEPTED);
    job = job_of("a", 1);
    job.bytes = 600;
    assert_int_equal(put(q, &job, &two, S), QUEUE_ACCEPTED);
    job = job_of("a", 2);
    assert_int_equal(put(q, &job, &two, S), QUEUE_TENANT_FULL);
    job = job_of("b", 3);
    job.bytes = 401;
    assert_int_equal(put(q, &job, &two, S), QUEUE_HOST_FULL);
    job.bytes = 400;
    assert_int_equal(put(q, &job, &two, S), QUEUE_ACCEPTED);
    job = job_of("b", 4);
    assert_int_equal(put(q, &job, &two, S), QUEUE_HOST_FULL);
    job = job_of("c", 5);
    job.need = large(2);
    assert_int_equal(put(q, &job, &two, S), QUEUE_TOO_LARGE);
    assert_true(queue_check(q));
}

static void a_disk_that_is_full_now_is_no_reason_for_ever(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 4);
    struct queue_job job = job_of("a", 0);
    struct queue_answer answer = {0};
    struct err err = ERR_INIT;

    job.need.disk_bytes = 100 * GIB;
    assert_ok(queue_put(q, &job, &wide, S, &answer, &err), &err);
    assert_int_equal(answer.verdict, QUEUE_HOST_FULL);
    assert_int_equal(answer.too_little, CAPACITY_DISK);
    assert_true(answer.retry_after_s > 0);
}

static void ten_times_the_capacity_at_once_runs_exactly_the_capacity(void **state)
{
    enum {
        CAPACITY = 8
    };
    auto_queue struct queue *q =
        new_queue(&(struct queue_config){.queued_max = 2 * (uint64_t)CAPACITY}, CAPACITY);
    static const char *const tenants[] = {"a", "b", "c"};
    struct queue_stats stats;
    unsigned int refused = 0;
    unsigned int done = 0;
    unsigned int running[10 * CAPACITY];
    size_t n_running = 0;

    for (unsigned int i = 0; i < 10 * CAPACITY; i++) {
        const struct queue_job job = job_of(tenants[i % ARRAY_LEN(tenants)], i);
        enum queue_verdict verdict = put(q, &job, &wide, S);
        int taken = take(q, CAPACITY, S);

        assert_true(verdict == QUEUE_ACCEPTED || verdict == QUEUE_HOST_FULL);
        refused += verdict == QUEUE_HOST_FULL ? 1 : 0;
        if (taken >= 0) {
            running[n_running] = (unsigned int)taken;
            n_running++;
        }
    }
    queue_stats(q, S, &stats);
    assert_int_equal(stats.running, CAPACITY);
    assert_int_equal(n_running, CAPACITY);
    assert_int_equal(stats.waiting, 2 * CAPACITY);
    assert_int_equal(refused, 7 * CAPACITY);
    for (uint64_t now = 2 * S; n_running > 0; now += S) {
        int taken = 0;

        n_running--;
        end(q, running[n_running], now);
        done++;
        taken = take(q, CAPACITY, now);
        if (taken >= 0) {
            running[n_running] = (unsigned int)taken;
            n_running++;
        }
    }
    assert_int_equal(done, 3 * CAPACITY);
    assert_empty(q);
}

static void a_job_that_comes_back_stands_in_front_and_waits_as_told(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 2);

    for (unsigned int i = 0; i < 4; i++) {
        const struct queue_job job = job_of("a", i);

        assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    }
    assert_int_equal(take(q, 2, S), 0);
    assert_int_equal(take(q, 2, S), 1);
    requeue(q, 1, QUEUE_AGAIN_FAILED, 0, 2 * S);
    requeue(q, 0, QUEUE_AGAIN_FAILED, 5 * S, 2 * S);
    assert_int_equal(queue_wake_ns(q, 2 * S), 5 * S);
    assert_int_equal(take(q, 2, 2 * S), 1); /* 0 must wait, and holds nobody up */
    assert_int_equal(take(q, 2, 2 * S), 2);
    end(q, 2, 5 * S);
    assert_int_equal(take(q, 2, 5 * S), 0);
    assert_int_equal(queue_wake_ns(q, 5 * S), QUEUE_NEVER);
}

static void jobs_that_come_back_keep_their_age(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 3);

    for (unsigned int i = 0; i < 3; i++) {
        const struct queue_job job = job_of("a", i);

        assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
        assert_int_equal(take(q, 3, S), (int)i);
    }
    requeue(q, 1, QUEUE_AGAIN_FAILED, 0, 2 * S);
    requeue(q, 2, QUEUE_AGAIN_FAILED, 0, 2 * S);
    requeue(q, 0, QUEUE_AGAIN_NO_CAPACITY, 0, 2 * S);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(take(q, 3, 2 * S), i);
    }
}

static void a_machine_that_failed_is_not_charged(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 1);
    struct err err = ERR_INIT;

    for (unsigned int i = 0; i < 2; i++) {
        const struct queue_job mine = job_of("unlucky", i);
        const struct queue_job other = job_of("other", 10 + i);

        assert_int_equal(put(q, &mine, &wide, S), QUEUE_ACCEPTED);
        assert_int_equal(put(q, &other, &wide, S), QUEUE_ACCEPTED);
    }
    assert_int_equal(take(q, 1, S), 0);
    requeue(q, 0, QUEUE_AGAIN_FAILED, 0, 100 * S);
    assert_int_equal(take(q, 1, 100 * S), 10);
    end(q, 10, 101 * S);
    assert_int_equal(take(q, 1, 101 * S), 0);
    assert_ok(queue_ended(q, job_of("", 0).id, false, 200 * S, &err), &err);
    assert_int_equal(take(q, 1, 200 * S), 1); /* still nothing used */
}

static void a_deadline_that_cannot_be_met_is_refused_with_the_time(void **state)
{
    auto_queue struct queue *q =
        new_queue(&(struct queue_config){.overhead_ns = S, .lead_ns = S / 10}, 1);
    struct queue_job job = job_of("a", 0);
    struct queue_answer answer = {0};
    struct err err = ERR_INIT;

    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 1, S), 0); /* until 12 s, by its wall limit and the overhead */
    job = job_of("b", 1);
    job.deadline_ns = 6 * S;
    assert_ok(queue_put(q, &job, &wide, S, &answer, &err), &err);
    assert_int_equal(answer.verdict, QUEUE_TOO_LATE);
    assert_int_equal(answer.retry_after_s, 7);
    job.deadline_ns = 12 * S + S / 10;
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    /* b's job goes first, a has the machine: until 23 s. */
    job = job_of("a", 2);
    job.deadline_ns = 23 * S;
    assert_int_equal(put(q, &job, &wide, S), QUEUE_TOO_LATE);
    job.deadline_ns = 24 * S;
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    job = job_of("c", 3);
    job.deadline_ns = S + S / 20; /* even on an idle host the program starts too late */
    end(q, 0, S);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_TOO_LATE);
}

static void a_higher_priority_may_meet_a_deadline_that_a_lower_one_cannot(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 1);
    struct queue_job job;

    for (unsigned int i = 0; i < 5; i++) {
        job = job_of("a", i);
        assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    }
    assert_int_equal(take(q, 1, S), 0);
    job = job_of("a", 10);
    job.deadline_ns = 20 * S;
    assert_int_equal(put(q, &job, &wide, S), QUEUE_TOO_LATE);
    job.priority = 6;
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
}

static void a_deadline_counts_on_no_more_than_the_tenants_own_concurrency(void **state)
{
    const struct queue_quota one = {.concurrent = 1, .queued = 10};
    auto_queue struct queue *q = new_queue(&defaults, 10);
    struct queue_job job = job_of("a", 1);

    assert_int_equal(put(q, &job, &one, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 10, S), 1);
    job = job_of("a", 2);
    job.deadline_ns = 5 * S;
    assert_int_equal(put(q, &job, &one, S), QUEUE_TOO_LATE);
    job = job_of("b", 3);
    job.deadline_ns = 5 * S;
    assert_int_equal(put(q, &job, &one, S), QUEUE_ACCEPTED);
}

static void short_jobs_of_the_past_make_deadlines_meetable(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 1);
    struct queue_job job;
    unsigned int i = 0;
    uint64_t now = S;

    for (; i < 8; i++) {
        job = job_of("a", i);
        assert_int_equal(put(q, &job, &wide, now), QUEUE_ACCEPTED);
        assert_int_equal(take(q, 1, now), (int)i);
        now += S / 10;
        end(q, i, now);
    }
    for (; i < 18; i++) {
        job = job_of("a", i);
        assert_int_equal(put(q, &job, &wide, now), QUEUE_ACCEPTED);
    }
    job = job_of("a", i);
    job.deadline_ns = now + 2 * S; /* ten jobs of 100 ms, whatever their limits are */
    assert_int_equal(put(q, &job, &wide, now), QUEUE_ACCEPTED);
    job = job_of("a", i + 1);
    job.deadline_ns = now + S / 2;
    assert_int_equal(put(q, &job, &wide, now), QUEUE_TOO_LATE);
}

static void a_job_past_its_deadline_is_handed_back_and_never_started(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 1);
    struct queue_job job = job_of("a", 0);
    struct queue_job late;
    struct err err = ERR_INIT;

    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    for (unsigned int i = 1; i < 4; i++) {
        job = job_of("a", i);
        job.deadline_ns = (70 - 10 * i) * S;
        assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    }
    assert_int_equal(take(q, 1, S), 0);
    assert_int_equal(queue_wake_ns(q, S), 40 * S + 1);
    assert_int_equal(queue_expire(q, 40 * S, &late, &err), 0);
    end(q, 0, 51 * S);
    assert_int_equal(take(q, 1, 51 * S), 1); /* 2 and 3 are too late, asked for or not */
    assert_int_equal(queue_expire(q, 51 * S, &late, &err), 1);
    assert_int_equal(number_of(&late), 3);
    assert_int_equal(queue_expire(q, 51 * S, &late, &err), 1);
    assert_int_equal(number_of(&late), 2);
    assert_int_equal(queue_expire(q, 51 * S, &late, &err), 0);
    requeue(q, 1, QUEUE_AGAIN_FAILED, 61 * S, 52 * S); /* not before 61 s, but by 60 s */
    assert_int_equal(queue_wake_ns(q, 52 * S), 52 * S);
    assert_int_equal(queue_expire(q, 52 * S, &late, &err), 1);
    assert_int_equal(number_of(&late), 1);
    assert_empty(q);
}

/* A stream of small jobs that always fit, against one that needs half of the host. */
static unsigned int small_jobs_before_the_large_one(uint64_t small_wall, uint64_t small_held)
{
    auto_queue struct queue *q =
        new_queue(&(struct queue_config){.reserve_after_ns = 10 * S, .overhead_ns = S}, 4);
    struct queue_job job = job_of("large", 1);
    uint64_t ends[4] = {0};
    unsigned int running[4] = {0};
    unsigned int next = 100;

    job.need = large(3);
    for (uint64_t now = S; now < 1000 * S; now += S / 4) {
        for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
            if (running[i] != 0 && now >= ends[i]) {
                end(q, running[i], now);
                running[i] = 0;
            }
        }
        for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
            const struct queue_job small = job_of("small", next);
            int number = 0;

            if (running[i] != 0) {
                continue;
            }
            if (put(q, &small, &wide, now) == QUEUE_ACCEPTED) {
                next++;
            }
            number = take(q, 4, now);
            if (number == 1) {
                return next - 100;
            }
            if (number > 0) {
                running[i] = (unsigned int)number;
                ends[i] = now + small_held + i * S / 4;
            }
        }
        if (now == 2 * S) {
            assert_int_equal(put(q, &job, &wide, now), QUEUE_ACCEPTED);
        }
    }
    return UINT32_MAX;
}

static void small_jobs_cannot_starve_a_large_one(void **state)
{
    /* By 12 s it is reserved; then at most the wall limit of what still runs. */
    assert_true(small_jobs_before_the_large_one(10 * S, 2 * S) < 200);
}

static void beside_a_reservation_only_what_ends_in_time_or_fits_beside_it_starts(void **state)
{
    auto_queue struct queue *q =
        new_queue(&(struct queue_config){.reserve_after_ns = 10 * S, .overhead_ns = S}, 4);
    struct queue_job job = job_of("a", 1);
    struct queue_stats stats;

    job.need = large(2);
    job.wall_ns = 99 * S;
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 4, S), 1); /* to 101 s */
    job = job_of("large", 2);
    job.need = large(3);
    assert_int_equal(put(q, &job, &wide, 2 * S), QUEUE_ACCEPTED);
    job = job_of("b", 3);
    assert_int_equal(put(q, &job, &wide, 2 * S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 4, 2 * S), 3); /* overtakes: the large one is blocked from now on */
    end(q, 3, 12 * S);
    for (unsigned int i = 4; i < 8; i++) {
        job = job_of("c", i);
        job.wall_ns = i == 7 ? 60 * S : 200 * S;
        job.priority = i == 7 ? 0 : 5;
        assert_int_equal(put(q, &job, &wide, 12 * S), QUEUE_ACCEPTED);
    }
    /* At 101 s three of four units are for the large one: one long job fits beside it. */
    assert_int_equal(take(q, 4, 12 * S), 4);
    queue_stats(q, 12 * S, &stats);
    assert_true(stats.reserved);
    assert_int_equal(take(q, 4, 12 * S), -1);
    job = job_of("d", 8);
    job.wall_ns = 60 * S;
    assert_int_equal(put(q, &job, &wide, 12 * S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 4, 12 * S), 8); /* ends at 73 s */
    end(q, 8, 73 * S);
    end(q, 1, 80 * S);
    assert_int_equal(take(q, 4, 80 * S), 2);
    queue_stats(q, 80 * S, &stats);
    assert_false(stats.reserved);
}

static void a_reservation_that_does_not_come_true_ends(void **state)
{
    auto_queue struct queue *q = new_queue(&(struct queue_config){.reserve_after_ns = 10 * S}, 4);
    struct queue_job job = job_of("large", 1);
    struct queue_stats stats;

    job.need = large(4);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 4, S), 1);
    requeue(q, 1, QUEUE_AGAIN_NO_CAPACITY, 12 * S, S); /* the ledger knew better */
    job = job_of("a", 2);
    assert_int_equal(put(q, &job, &wide, 11 * S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 4, 11 * S), -1);
    queue_stats(q, 11 * S, &stats);
    assert_true(stats.reserved);
    assert_int_equal(queue_wake_ns(q, 11 * S), 12 * S);
    assert_int_equal(take(q, 4, 12 * S), 1);
    requeue(q, 1, QUEUE_AGAIN_NO_CAPACITY, 40 * S, 12 * S);
    assert_int_equal(take(q, 4, 12 * S), 2); /* it has to wait for another one */
}

static void a_machine_that_outlives_its_limit_ends_the_reservation(void **state)
{
    auto_queue struct queue *q =
        new_queue(&(struct queue_config){.reserve_after_ns = S, .overhead_ns = S}, 2);
    struct queue_job job = job_of("a", 1);

    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 2, S), 1); /* to 12 s */
    job = job_of("b", 2);
    job.need = large(2);
    assert_int_equal(put(q, &job, &wide, 2 * S), QUEUE_ACCEPTED);
    job = job_of("c", 3);
    assert_int_equal(put(q, &job, &wide, 2 * S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 2, 2 * S), 3);
    end(q, 3, 4 * S);
    job = job_of("c", 4);
    job.wall_ns = 500 * S;
    assert_int_equal(put(q, &job, &wide, 4 * S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 2, 4 * S), -1);
    assert_int_equal(queue_wake_ns(q, 4 * S), 17 * S); /* 5 s of grace */
    assert_int_equal(take(q, 2, 16 * S), -1);
    assert_int_equal(take(q, 2, 17 * S), 4);
}

static void what_others_hold_for_good_is_never_waited_for(void **state)
{
    auto_queue struct queue *q = new_queue(&(struct queue_config){.reserve_after_ns = S}, 4);
    struct queue_job job = job_of("large", 1);

    job.need = large(4);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    for (unsigned int i = 2; i < 12; i++) {
        job = job_of("a", i);
        assert_int_equal(put(q, &job, &wide, i * S), QUEUE_ACCEPTED);
        assert_int_equal(take(q, 2, i * S), (int)i); /* of four units two are somebody else's */
        end(q, i, i * S + S / 2);
    }
}

static void the_reserved_job_may_be_removed(void **state)
{
    auto_queue struct queue *q = new_queue(&(struct queue_config){.reserve_after_ns = S}, 2);
    struct queue_job job = job_of("a", 1);
    struct queue_stats stats;
    struct err err = ERR_INIT;

    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 2, S), 1);
    job = job_of("b", 2);
    job.need = large(2);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    job = job_of("c", 3);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 2, S), 3);
    end(q, 3, 3 * S);
    job = job_of("c", 4);
    job.wall_ns = 500 * S;
    assert_int_equal(put(q, &job, &wide, 3 * S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 2, 3 * S), -1);
    queue_stats(q, 3 * S, &stats);
    assert_true(stats.reserved);
    assert_int_equal(queue_remove(q, job_of("", 2).id, &err), 1);
    assert_int_equal(take(q, 2, 3 * S), 4);
}

static void a_job_is_removed_once_and_only_while_it_waits(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 1);
    struct err err = ERR_INIT;
    const struct queue_job a = job_of("a", 1);
    const struct queue_job b = job_of("a", 2);

    assert_int_equal(put(q, &a, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(put(q, &b, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 1, S), 1);
    assert_int_equal(queue_remove(q, a.id, &err), 0);
    assert_int_equal(queue_remove(q, b.id, &err), 1);
    assert_int_equal(queue_remove(q, b.id, &err), 0);
    end(q, 1, 2 * S);
    assert_empty(q);
}

static void what_is_not_there_cannot_end_start_or_come_back(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 1);
    const struct queue_job job = job_of("a", 1);
    struct err err = ERR_INIT;
    struct err err2 = ERR_INIT;
    struct err err3 = ERR_INIT;

    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(queue_ended(q, job.id, true, S, &err), -ENOENT);
    assert_int_equal(queue_started(q, job.id, S, &err2), -ENOENT);
    assert_int_equal(queue_requeue(q, job.id, QUEUE_AGAIN_FAILED, 0, S, &err3), -ENOENT);
}

static void jobs_that_make_no_sense_are_errors_not_refusals(void **state)
{
    auto_queue struct queue *q = new_queue(&defaults, 1);
    const struct queue_quota none = {.concurrent = 0, .queued = 1};
    struct queue_answer answer = {0};
    struct queue_job job = job_of("a", 1);
    struct queue_job bad = job;
    struct err err[6] = {0};

    assert_ok(queue_put(q, &job, &wide, S, &answer, &err[0]), &err[0]);
    assert_int_equal(queue_put(q, &job, &wide, S, &answer, &err[0]), -EEXIST);
    bad = job_of("a", 2);
    bad.priority = 10;
    assert_int_equal(queue_put(q, &bad, &wide, S, &answer, &err[1]), -EINVAL);
    bad = job_of("a", 2);
    bad.need.memory_bytes = UINT64_MAX;
    assert_int_equal(queue_put(q, &bad, &wide, S, &answer, &err[2]), -EINVAL);
    bad = job_of("a", 2);
    bad.id[0] = 'x';
    assert_int_equal(queue_put(q, &bad, &wide, S, &answer, &err[3]), -EINVAL);
    bad = job_of("", 2);
    assert_int_equal(queue_put(q, &bad, &wide, S, &answer, &err[4]), -EINVAL);
    bad = job_of("a", 2);
    assert_int_equal(queue_put(q, &bad, &none, S, &answer, &err[5]), -EINVAL);
    assert_true(queue_check(q));
}

static void a_restart_brings_back_more_than_a_queue_would_take(void **state)
{
    const struct queue_quota one = {.concurrent = 1, .queued = 1};
    auto_queue struct queue *q = new_queue(&(struct queue_config){.queued_max = 1}, 2);
    struct err err = ERR_INIT;
    struct queue_job job;

    for (unsigned int i = 0; i < 10; i++) {
        job = job_of("a", i);
        job.deadline_ns = i == 3 ? 1 : 0; /* passed while the daemon was down */
        assert_ok(queue_restore(q, &job, &one, S, &err), &err);
    }
    job = job_of("b", 100);
    assert_int_equal(put(q, &job, &one, S), QUEUE_HOST_FULL);
    assert_int_equal(queue_expire(q, S, &job, &err), 1);
    assert_int_equal(number_of(&job), 3);
    assert_int_equal(take(q, 2, S), 0);
    assert_int_equal(take(q, 2, S), -1);
    end(q, 0, 2 * S);
    assert_int_equal(take(q, 2, 2 * S), 1);
}

static void tenants_that_are_idle_make_room_for_others(void **state)
{
    auto_queue struct queue *q =
        new_queue(&(struct queue_config){.tenants_max = 2, .queued_max = 10}, 10);
    struct queue_job job = job_of("a", 1);

    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    job = job_of("b", 2);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    job = job_of("c", 3);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_HOST_FULL);
    assert_int_equal(take(q, 10, S), 1);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_HOST_FULL); /* a has a slot */
    end(q, 1, S);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_true(queue_check(q));
}

static void the_time_to_come_again_follows_what_runs(void **state)
{
    auto_queue struct queue *q =
        new_queue(&(struct queue_config){.queued_max = 1, .overhead_ns = S}, 1);
    struct queue_answer answer = {0};
    struct queue_job job = job_of("a", 1);
    struct err err = ERR_INIT;

    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    assert_int_equal(take(q, 1, S), 1);
    assert_ok(queue_started(q, job.id, S, &err), &err);
    job = job_of("a", 2);
    assert_int_equal(put(q, &job, &wide, S), QUEUE_ACCEPTED);
    job = job_of("a", 3);
    assert_ok(queue_put(q, &job, &wide, 5 * S, &answer, &err), &err);
    assert_int_equal(answer.verdict, QUEUE_HOST_FULL);
    assert_int_equal(answer.retry_after_s, 7); /* at 12 s the first one is over */
    assert_int_equal(queue_retry_after_s(q, "a", 5 * S), 7);
}

static void numbers_out_of_range_make_no_queue(void **state)
{
    struct err err = ERR_INIT;
    struct queue *q = NULL;

    assert_int_equal(
        queue_new(&(struct queue_config){.queued_max = QUEUE_QUEUED_MAX + 1}, &q, &err), -EINVAL);
    assert_null(q);
}

TEST_MAIN(T(jobs_of_a_tenant_start_in_the_order_they_came),
          T(a_higher_priority_goes_first_within_its_tenant_only),
          T(a_tenant_with_thousands_of_jobs_does_not_hold_up_another),
          T(tenants_share_one_machine_by_the_time_they_use),
          T(a_tenant_that_was_away_gets_neither_credit_nor_debt),
          T(who_comes_back_does_not_get_what_it_did_not_use),
          T(a_tenant_at_its_concurrency_is_passed_over),
          T(a_machine_that_outlives_its_limit_ends_the_reservation),
          T(a_deadline_counts_on_no_more_than_the_tenants_own_concurrency),
          T(what_is_full_is_refused_and_says_whose_fault_it_is),
          T(a_disk_that_is_full_now_is_no_reason_for_ever),
          T(ten_times_the_capacity_at_once_runs_exactly_the_capacity),
          T(a_job_that_comes_back_stands_in_front_and_waits_as_told),
          T(jobs_that_come_back_keep_their_age), T(a_machine_that_failed_is_not_charged),
          T(a_deadline_that_cannot_be_met_is_refused_with_the_time),
          T(a_higher_priority_may_meet_a_deadline_that_a_lower_one_cannot),
          T(short_jobs_of_the_past_make_deadlines_meetable),
          T(a_job_past_its_deadline_is_handed_back_and_never_started),
          T(small_jobs_cannot_starve_a_large_one),
          T(beside_a_reservation_only_what_ends_in_time_or_fits_beside_it_starts),
          T(a_reservation_that_does_not_come_true_ends),
          T(what_others_hold_for_good_is_never_waited_for), T(the_reserved_job_may_be_removed),
          T(a_job_is_removed_once_and_only_while_it_waits),
          T(what_is_not_there_cannot_end_start_or_come_back),
          T(jobs_that_make_no_sense_are_errors_not_refusals),
          T(a_restart_brings_back_more_than_a_queue_would_take),
          T(tenants_that_are_idle_make_room_for_others),
          T(the_time_to_come_again_follows_what_runs), T(numbers_out_of_range_make_no_queue))
