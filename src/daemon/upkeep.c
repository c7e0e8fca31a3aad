/* upkeep.c - retention, and what the launcher is asked for now and then. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/retention.h"
#include "daemon/service-internal.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define RETENTION_NS    (10 * NS_PER_S)
#define PAGE            128
#define PURGES_MAX      PAGE /* at once: each is a rename and a row, the sweep is the long part */
#define TENANTS_MAX     256
#define IMAGES_EVERY_NS (10 * NS_PER_S)
#define JUMP_MS         60000u
#define ODD_MS          3600000u

void upkeep_ask_record(struct service *s, const struct job_info *info, bool recovering,
                       unsigned int tries)
{
    struct asked_record *r = calloc(1, sizeof(*r));
    struct err err = ERR_INIT;

    if (r == NULL) {
        return;
    }
    r->recovering = recovering;
    r->tries = tries;
    memcpy(r->id, info->id, sizeof(r->id));
    r->next = s->records;
    s->records = r;
    if (tries > 0) {
        return; /* with the next tick */
    }
    r->number = ++s->number;
    if (launcher_ask_text(s->c.launcher, r->number, LAUNCHER_RECORD, info->machine_id, &err) < 0) {
        r->number = 0; /* with the next tick */
    }
}

/* Evidence that the state directory has as well: not worth a flush. One that is cut is none. */
static int write_record(int dir, const struct buf *text, struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open_nolink(dir, SERVICE_RECORD_NAME, O_WRONLY | O_CREAT | O_TRUNC, 0600, &fd, err);

    return r < 0 ? r : fd_write_full(fd, text->data, text->len, err);
}

static void keep_record(struct service *s, const char *id, const struct buf *text)
{
    struct err err = ERR_INIT;
    auto_fd int dir = -1;

    if (jobfiles_find(s->c.jobs_fd, id, &dir, &err) == 1 && write_record(dir, text, &err) < 0) {
        service_complain(s, "record", id, &err);
    }
}

static void on_record(struct service *s, struct asked_record *asked,
                      const struct launcher_answer *answer)
{
    if (asked->recovering) {
        recover_answer(s, asked, answer);
    } else if (answer->failed == 0) {
        keep_record(s, asked->id, &answer->text);
    } else {
        log_event(s->c.log, LOG_WARNING, "no-record", asked->id, LOG_TEXT("error", answer->why));
    }
}

static void keep_json(json_t **place, const struct launcher_answer *answer)
{
    json_t *json = answer->failed != 0 ? NULL
                                       : json_loadb((const char *)answer->text.data,
                                                    answer->text.len, JSON_ALLOW_NUL, NULL);

    if (json != NULL) {
        json_decref(*place);
        *place = json;
    }
}

static uint64_t number_of(const json_t *o, const char *name)
{
    json_int_t v = json_integer_value(json_object_get(o, name));

    return v > 0 ? (uint64_t)v : 0;
}

static void on_capacity(struct service *s)
{
    struct metrics *m = s->c.metrics;
    const json_t *c = s->capacity;

    s->untouched_bytes = number_of(c, "memory_untouched_bytes");
    s->taken_since = 0;
    metrics_set(m, METRIC_CAPACITY_TOTAL, METRIC_CAPACITY_MACHINES, number_of(c, "machines"));
    metrics_set(m, METRIC_CAPACITY_TOTAL, METRIC_CAPACITY_MEMORY, number_of(c, "memory_bytes"));
    metrics_set(m, METRIC_CAPACITY_TOTAL, METRIC_CAPACITY_VCPUS, number_of(c, "vcpus"));
    metrics_set(m, METRIC_CAPACITY_TOTAL, METRIC_CAPACITY_DISK, number_of(c, "disk_bytes"));
    metrics_set(m, METRIC_QUARANTINED, 0, number_of(c, "stale_slots"));
    metrics_set(m, METRIC_POOL_WAITING, 0, number_of(json_object_get(c, "pool"), "waiting"));
}

void upkeep_answer(struct service *s, struct launcher_answer *answer)
{
    struct asked_record **at = &s->records;

    if (answer->number == s->images_asked) {
        s->images_asked = 0;
        keep_json(&s->images, answer);
        return;
    }
    if (answer->number == s->capacity_asked) {
        s->capacity_asked = 0;
        keep_json(&s->capacity, answer);
        on_capacity(s);
        return;
    }
    while (*at != NULL && (*at)->number != answer->number) {
        at = &(*at)->next;
    }
    if (*at != NULL) {
        struct asked_record *asked = *at;

        *at = asked->next;
        on_record(s, asked, answer);
        free(asked);
    }
}

static void ask(struct service *s, enum launcher_text what, uint64_t *number)
{
    struct err err = ERR_INIT;

    if (*number != 0) {
        return; /* still on its way */
    }
    *number = ++s->number;
    if (launcher_ask_text(s->c.launcher, *number, what, "", &err) < 0) {
        *number = 0;
    }
}

static void ask_records(struct service *s)
{
    struct asked_record **at = &s->records;

    while (*at != NULL) {
        struct asked_record *r = *at;
        struct job_info info;
        struct err err = ERR_INIT;
        int n = r->number != 0 ? 0 : jobstore_get(s->c.store, NULL, r->id, &info, &err);

        if (n == -ENOENT) { /* nobody knows the job any more */
            *at = r->next;
            free(r);
            continue;
        }
        if (n == 0 && r->number == 0) {
            r->number = ++s->number;
            if (launcher_ask_text(s->c.launcher, r->number, LAUNCHER_RECORD, info.machine_id,
                                  &err) < 0) {
                r->number = 0;
                return;
            }
        }
        at = &r->next;
    }
}

static bool purge(struct service *s, const struct job_info *info)
{
    struct err err = ERR_INIT;
    int r = jobfiles_discard(s->c.jobs_fd, info->id, false, &err);

    if (r == 0) {
        r = jobstore_purged(s->c.store, info->id, &err);
    }
    if (r < 0) {
        service_complain(s, "retention", info->id, &err);
        return false;
    }
    metrics_add(s->c.metrics, METRIC_RETENTION_REMOVED, 0, 1);
    log_event(s->c.log, LOG_INFO, "job-purged", info->id, LOG_TEXT("by", "retention"));
    return true;
}

/* What each tenant keeps and may keep; the jobs that wait are held to the quota of now as well. */
static int accounts(struct service *s, struct retention_tenant *ret, size_t *ret_n, struct err *err)
{
    char names[TENANTS_MAX][JOB_TENANT_SIZE];
    size_t n = 0;
    int r = jobstore_tenants(s->c.store, s->accounts_after, names, TENANTS_MAX, &n, err);

    /* As many at a look; the next one goes on behind them. */
    (void)snprintf(s->accounts_after, sizeof(s->accounts_after), "%s",
                   n == TENANTS_MAX ? names[n - 1] : "");

    for (size_t i = 0; r == 0 && i < n; i++) {
        struct jobstore_tenant account;
        struct tenant tenant;

        r = jobstore_tenant(s->c.store, names[i], &account, err);
        service_quota(s, names[i], &tenant);
        queue_set_quota(s->queue, names[i],
                        &(struct queue_quota){.concurrent = tenant.quota.concurrent,
                                              .queued = tenant.quota.queued});
        memcpy(ret[i].name, names[i], sizeof(ret[i].name));
        ret[i].kept_bytes = account.kept_bytes;
        ret[i].limit_bytes = tenant.quota.kept_bytes;
    }
    *ret_n = n;
    return r;
}

/* One look at the jobs that ended first, of a tenant or of all (NULL): how many of max went. */
static int retain_of(struct service *s, struct retention *policy, const char *tenant, size_t max,
                     struct err *err)
{
    struct job_info jobs[PAGE];
    size_t chosen[PURGES_MAX];
    struct jobstore_page page = {.jobs = jobs, .max = PAGE};
    size_t n = 0;
    int purged = 0;
    int r = jobstore_kept(s->c.store, tenant, "", &page, err);

    if (r < 0) {
        return r;
    }
    n = retention_choose(policy, jobs, page.n, chosen, max);
    for (size_t i = 0; i < n; i++) {
        purged += purge(s, &jobs[chosen[i]]);
    }
    return purged;
}

/* 1: there may be more to remove. */
static int retain_all(struct service *s, struct retention *policy, struct err *err)
{
    int r = retain_of(s, policy, NULL, PURGES_MAX, err);
    size_t n = r > 0 ? (size_t)r : 0;

    for (size_t i = 0; r >= 0 && n < PURGES_MAX && i < policy->n_tenants; i++) {
        const struct retention_tenant *t = &policy->tenants[i];

        if (t->limit_bytes != 0 && t->kept_bytes > t->limit_bytes) {
            r = retain_of(s, policy, t->name, PURGES_MAX - n, err);
            n += r > 0 ? (size_t)r : 0;
        }
    }
    if (n > 0) {
        remover_ask(s->remover);
    }
    return r < 0 ? r : n == PURGES_MAX;
}

/*
 * A clock that jumps ahead makes everything old at once, and what is removed for that does not come
 * back with the right time. So for an hour nothing is: whoever keeps the host's time has that long.
 */
static bool clock_is_odd(struct service *s)
{
    uint64_t real_ms = service_real_ms();
    uint64_t boot_ms = clock_ns(CLOCK_BOOTTIME) / NS_PER_MS;

    if (s->real_ms != 0 && real_ms > s->real_ms + (boot_ms - s->boot_ms) + JUMP_MS) {
        s->odd_until_ms = boot_ms + ODD_MS;
        log_event(s->c.log, LOG_WARNING, "clock-jumped", NULL,
                  LOG_NUMBER("ahead_s", (real_ms - s->real_ms) / 1000),
                  LOG_NUMBER("nothing_goes_for_its_age_s", ODD_MS / 1000));
    }
    s->real_ms = real_ms;
    s->boot_ms = boot_ms;
    return boot_ms < s->odd_until_ms;
}

/* 1: there may be more, at the next tick: a look is bounded, what is accepted meanwhile is not. */
static int retain(struct service *s, bool by_age, struct err *err)
{
    struct retention_tenant tenants[TENANTS_MAX];
    struct jobstore_counts counts = {0};
    struct retention policy = {
        .limits = {.age_ms = by_age ? s->c.config->retention_age_ms : 0,
                   .bytes = s->c.config->retention_bytes},
        .now_ms = service_real_ms(),
        .tenants = tenants,
    };
    uint64_t rows_ms = s->c.config->retention_rows_ms;
    uint64_t n_gone = 0;
    bool more = false;
    int r = jobstore_counts(s->c.store, &counts, err);

    policy.kept_bytes = counts.kept_bytes;
    r = r < 0 ? r : accounts(s, tenants, &policy.n_tenants, err);
    r = r < 0 ? r : retain_all(s, &policy, err);
    more = r == 1;
    if (r < 0 || !by_age) {
        return r;
    }
    if (rows_ms != 0 && rows_ms < policy.now_ms) {
        r = jobstore_forget(s->c.store, policy.now_ms - rows_ms, INT64_MAX, &n_gone, err);
        more = more || n_gone == JOBSTORE_DELETE_MAX;
    }
    r = r < 0 ? r : jobstore_expire_keys(s->c.store, policy.now_ms, &n_gone, err);
    return r < 0 ? r : more || n_gone == JOBSTORE_DELETE_MAX;
}

void upkeep_wipe(struct service *s)
{
    if (s->wipe_bytes > 0 && s->remover != NULL) {
        s->wiping_bytes += s->wipe_bytes;
        s->wipe_bytes = 0;
        remover_ask(s->remover);
    }
}

void upkeep_tick(struct service *s)
{
    uint64_t now_ns = clock_mono_ns();
    struct err err = ERR_INIT;
    bool odd = clock_is_odd(s);

    if (s->lost_launcher) {
        return;
    }
    if (s->images == NULL || now_ns - s->images_ns > IMAGES_EVERY_NS) {
        s->images_ns = now_ns;
        ask(s, LAUNCHER_IMAGES, &s->images_asked);
    }
    ask(s, LAUNCHER_CAPACITY, &s->capacity_asked);
    ask_records(s);
    upkeep_wipe(s); /* of a second together */
    if (now_ns - s->upkeep_ns > RETENTION_NS) {
        int r = retain(s, !odd, &err);

        s->upkeep_ns = r == 1 ? 0 : now_ns;
        if (r < 0) {
            service_complain(s, "retention", NULL, &err);
        }
        if (s->removal_failed) {
            s->removal_failed = false;
            remover_ask(s->remover);
        }
    }
    service_schedule(s);
}
