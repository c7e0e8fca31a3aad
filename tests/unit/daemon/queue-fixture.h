/* queue-fixture.h - jobs of a host with so many machines of one size, for the tests of the queue. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "daemon/queue.h"
#include "test.h"

#define UNIT_MEMORY (100 * MIB)

/* n machines of the usual size. */
static inline struct capacity_need units(uint64_t n)
{
    return (struct capacity_need){
        .machines = n,
        .memory_bytes = n * UNIT_MEMORY,
        .vcpus = n,
        .disk_bytes = n * MIB,
        .processes = n * 100,
        .fds = n * 8,
    };
}

/* One machine that takes as much memory as n. */
static inline struct capacity_need large(uint64_t n)
{
    struct capacity_need need = units(1);

    need.memory_bytes = n * UNIT_MEMORY;
    return need;
}

static const struct queue_quota wide = {.concurrent = 1000, .queued = 100000};

static inline struct queue_job job_of(const char *tenant, unsigned int number)
{
    struct queue_job job = {.priority = JOB_PRIORITY, .need = units(1), .wall_ns = 10 * NS_PER_S};

    (void)snprintf(job.id, sizeof(job.id), "%032x", number);
    (void)snprintf(job.tenant, sizeof(job.tenant), "%s", tenant);
    return job;
}

static inline unsigned int number_of(const struct queue_job *job)
{
    return (unsigned int)strtoul(job->id, NULL, 16);
}

static inline struct queue *new_queue(const struct queue_config *config, uint64_t n)
{
    struct err err = ERR_INIT;
    struct queue *q = NULL;
    const struct capacity_need total = units(n);

    assert_ok(queue_new(config, &q, &err), &err);
    queue_set_total(q, &total);
    return q;
}

static inline enum queue_verdict put(struct queue *q, const struct queue_job *job,
                                     const struct queue_quota *quota, uint64_t now_ns)
{
    struct queue_answer answer = {0};
    struct err err = ERR_INIT;

    assert_ok(queue_put(q, job, quota, now_ns, &answer, &err), &err);
    assert_true((answer.retry_after_s > 0) ==
                (answer.verdict != QUEUE_ACCEPTED && answer.verdict != QUEUE_TOO_LARGE));
    assert_true(answer.retry_after_s <= 3600);
    return answer.verdict;
}

/* What is left of n units beside what runs. */
static inline struct capacity_need room_of(const struct queue *q, uint64_t n)
{
    struct capacity_need room = units(n);
    struct queue_stats stats;

    queue_stats(q, 0, &stats);
    capacity_sub(&room, &stats.taken);
    return room;
}

/* The number of the next job on a host of n units, or -1. */
static inline int take(struct queue *q, uint64_t n, uint64_t now_ns)
{
    const struct capacity_need room = room_of(q, n);
    struct err err = ERR_INIT;
    struct queue_job job;
    int r = queue_take(q, &room, now_ns, &job, &err);

    assert_true(r >= 0);
    assert_true(queue_check(q));
    return r == 0 ? -1 : (int)number_of(&job);
}

static inline void end(struct queue *q, unsigned int number, uint64_t now_ns)
{
    const struct queue_job job = job_of("", number);
    struct err err = ERR_INIT;

    assert_ok(queue_ended(q, job.id, true, now_ns, &err), &err);
    assert_true(queue_check(q));
}

static inline void requeue(struct queue *q, unsigned int number, enum queue_again why,
                           uint64_t not_before_ns, uint64_t now_ns)
{
    const struct queue_job job = job_of("", number);
    struct err err = ERR_INIT;

    assert_ok(queue_requeue(q, job.id, why, not_before_ns, now_ns, &err), &err);
    assert_true(queue_check(q));
}

static inline void assert_empty(const struct queue *q)
{
    const struct capacity_need nothing = {0};
    struct queue_stats stats;

    queue_stats(q, 0, &stats);
    assert_int_equal(stats.waiting, 0);
    assert_int_equal(stats.running, 0);
    assert_int_equal(stats.tenants, 0);
    assert_int_equal(stats.bytes, 0);
    assert_false(stats.reserved);
    assert_memory_equal(&stats.taken, &nothing, sizeof(nothing));
    assert_true(queue_check(q));
}
