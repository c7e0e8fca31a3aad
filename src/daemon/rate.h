/*
 * rate.h - how often a tenant may submit: a token bucket each, in one number.
 *
 * Kept as the time at which the bucket is full again (GCRA, the generic cell rate algorithm: exact,
 * without fractions). A bucket that is full is no state at all, so the table forgets it.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "daemon/job.h"

#define RATE_TENANTS_MAX    4096u /* with buckets that are not full; beyond that: refused */
#define RATE_PER_MINUTE_MAX 60000000u
#define RATE_BURST_MAX      1000000u

struct rate {
    uint64_t full_ns; /* monotonic */
};

/*
 * Takes one: true. False, and *ret_wait_ns says in how many ns there is one; nothing is taken.
 * per_minute 0: no limit. burst 0 counts as 1; both are cut at their maxima.
 */
must_use bool rate_take(struct rate *rate, uint64_t per_minute, uint64_t burst, uint64_t now_ns,
                        uint64_t *ret_wait_ns) nonnull_all;
/* Gives one back: it was taken, but the job was refused for want of room. */
void rate_give_back(struct rate *rate, uint64_t per_minute) nonnull_all;

struct rates;

must_use int rates_new(struct rates **ret, struct err *err) nonnull_all;
void rates_free(struct rates *rates);

static inline void rates_free_p(struct rates **rates)
{
    rates_free(*rates);
}

#define auto_rates on_scope_exit(rates_free_p)

/* The tenant's bucket; borrowed until the next call. NULL: the table is full, or no memory. */
must_use struct rate *rates_of(struct rates *rates, const char *tenant,
                               uint64_t now_ns) nonnull_all;
