#include "daemon/retention.h"

#include <string.h>

static bool old(const struct retention *r, const struct job_info *job)
{
    return r->limits.age_ms != 0 && r->now_ms > job->ended_ms &&
           r->now_ms - job->ended_ms > r->limits.age_ms;
}

static bool tenant_over(const struct retention_tenant *t)
{
    return t != NULL && t->limit_bytes != 0 && t->kept_bytes > t->limit_bytes;
}

static bool all_over(const struct retention *r)
{
    return r->limits.bytes != 0 && r->kept_bytes > r->limits.bytes;
}

static struct retention_tenant *tenant_of(const struct retention *r, const char *name)
{
    for (size_t i = 0; i < r->n_tenants; i++) {
        if (strcmp(r->tenants[i].name, name) == 0) {
            return &r->tenants[i];
        }
    }
    return NULL;
}

/* Accounts and rows may be of different moments: never below nothing. */
static void take(uint64_t *account, uint64_t bytes)
{
    *account -= bytes < *account ? bytes : *account;
}

size_t retention_choose(struct retention *r, const struct job_info *jobs, size_t n, size_t *ret,
                        size_t max)
{
    size_t chosen = 0;

    for (size_t i = 0; i < n && chosen < max; i++) {
        struct retention_tenant *tenant = NULL;

        if (jobs[i].state != JOB_ENDED || jobs[i].purged) {
            continue;
        }
        tenant = tenant_of(r, jobs[i].tenant);
        /* Space is not won by what takes none. */
        if (old(r, &jobs[i]) || (jobs[i].kept_bytes > 0 && (tenant_over(tenant) || all_over(r)))) {
            ret[chosen++] = i;
            take(&r->kept_bytes, jobs[i].kept_bytes);
            if (tenant != NULL) {
                take(&tenant->kept_bytes, jobs[i].kept_bytes);
            }
        }
    }
    return chosen;
}
