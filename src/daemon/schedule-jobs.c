/* schedule-jobs.c - which job gets a machine, when; and what the pool shall hold. */
#include <errno.h>
#include <string.h>

#include "daemon/service-internal.h"
#include "sup/pool.h"
#include "sys/clock.h"

#define LATE_MS_MAX 3600000u

static void expire(struct service *s, uint64_t now_ns)
{
    struct queue_job job;
    struct err err = ERR_INIT;
    int r = 0;

    while ((r = queue_expire(s->queue, now_ns, &job, &err)) == 1) {
        ending_waiting(s, job.id, AIRLOCK_CAPACITY_REJECTED, "deadline",
                       "the job could not start before its deadline");
    }
    if (r < 0) {
        service_complain(s, "queue", NULL, &err);
    }
}

/* What is left of the host for new machines. */
static int read_room(struct service *s, struct capacity_need *ret, struct err *err)
{
    struct capacity capacity;
    struct capacity_load load = {.untouched_bytes = s->untouched_bytes + s->taken_since};
    struct queue_stats stats;
    int r = capacity_read(s->c.state_fd, &s->c.config->capacity, &capacity, err);

    if (r < 0) {
        return r;
    }
    queue_set_total(s->queue, &capacity.total);
    queue_stats(s->queue, clock_mono_ns(), &stats);
    load.promised = stats.taken;
    capacity_free(&capacity, &load, ret);
    return 0;
}

/*
 * A job whose start failed for a reason of ours waits a moment, and says so. What it brought does not
 * come back, though: where that is gone or damaged it ends.
 */
static void put_back(struct service *s, const struct queue_job *job, const struct err *why)
{
    uint64_t now_ns = clock_mono_ns();
    struct err err = ERR_INIT;

    service_complain(s, "start", job->id, why);
    if (why->errnum == ENOENT || why->errnum == EUCLEAN) {
        (void)!queue_ended(s->queue, job->id, false, now_ns, &err);
        ending_waiting(s, job->id, AIRLOCK_SANDBOX_FAILURE, "files",
                       "the files of the job are gone or damaged on the host");
        return;
    }
    if (queue_requeue(s->queue, job->id, QUEUE_AGAIN_NO_CAPACITY, now_ns + NS_PER_S, now_ns, &err) <
        0) {
        service_complain(s, "queue", job->id, &err);
    }
}

static void take_all(struct service *s)
{
    struct capacity_need room;
    struct queue_job job;
    struct err err = ERR_INIT;
    int r = 0;

    while (r == 0 && s->starts < SERVICE_STARTS_MAX) {
        r = read_room(s, &room, &err);
        if (r == 0) {
            r = queue_take(s->queue, &room, clock_mono_ns(), &job, &err);
            if (r == 0) {
                return;
            }
        }
        if (r == 1) {
            struct err why = ERR_INIT;

            r = runner_begin(s, &job, &why);
            if (r < 0) {
                put_back(s, &job, &why);
                return;
            }
        }
    }
    if (r < 0) {
        service_complain(s, "schedule", NULL, &err);
    }
}

static void plan(struct service *s)
{
    const struct spec *list[POOL_MEMBERS_MAX];
    size_t max = (size_t)s->c.config->pool;
    struct err err = ERR_INIT;
    size_t n = 0;

    if (max == 0 || !s->plan.changed) {
        return;
    }
    n = plan_choose(&s->plan, list, max < POOL_MEMBERS_MAX ? max : POOL_MEMBERS_MAX);
    if (launcher_plan(s->c.launcher, list, n, &err) < 0) {
        s->plan.changed = true; /* asked too much at the moment: the next turn */
    }
}

static void wake(struct service *s)
{
    uint64_t now_ns = clock_mono_ns();
    uint64_t at_ns = queue_wake_ns(s->queue, now_ns);
    uint64_t wait_ms = at_ns <= now_ns ? 0 : (at_ns - now_ns) / NS_PER_MS + 1;
    struct timeval tv;

    if (at_ns == QUEUE_NEVER) {
        (void)event_del(s->kick);
        return;
    }
    wait_ms = wait_ms < LATE_MS_MAX ? wait_ms : LATE_MS_MAX;
    tv = (struct timeval){.tv_sec = (time_t)(wait_ms / 1000),
                          .tv_usec = (suseconds_t)(wait_ms % 1000) * 1000};
    (void)event_add(s->kick, &tv);
}

void service_schedule(struct service *s)
{
    expire(s, clock_mono_ns());
    if (!s->draining && !s->lost_launcher) {
        take_all(s);
        plan(s);
    }
    wake(s);
}

void service_kick(struct service *s)
{
    const struct timeval now = {.tv_sec = 0};

    (void)event_add(s->kick, &now);
}
