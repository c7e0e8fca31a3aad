#include "daemon/rate.h"

#include <errno.h>
#include <string.h>

#define MINUTE_NS (60 * NS_PER_S)

struct rates_entry {
    char tenant[JOB_TENANT_SIZE];
    struct rate rate;
};

struct rates {
    struct rates_entry *v;
    size_t n, cap;
};

/* Time in which one token comes, at least 1 ns. */
static uint64_t interval(uint64_t per_minute)
{
    return MINUTE_NS / (per_minute > RATE_PER_MINUTE_MAX ? RATE_PER_MINUTE_MAX : per_minute);
}

static uint64_t tokens(uint64_t burst)
{
    if (burst == 0) {
        return 1;
    }
    return burst > RATE_BURST_MAX ? RATE_BURST_MAX : burst;
}

bool rate_take(struct rate *rate, uint64_t per_minute, uint64_t burst, uint64_t now_ns,
               uint64_t *ret_wait_ns)
{
    uint64_t full = rate->full_ns > now_ns ? rate->full_ns : now_ns;
    uint64_t step = 0;
    uint64_t depth = 0;

    if (per_minute == 0) {
        return true;
    }
    step = interval(per_minute);
    depth = step * tokens(burst); /* at most a minute times RATE_BURST_MAX: 2^56 ns */
    if (full + step - now_ns > depth) {
        *ret_wait_ns = full + step - now_ns - depth;
        return false;
    }
    rate->full_ns = full + step;
    return true;
}

void rate_give_back(struct rate *rate, uint64_t per_minute)
{
    uint64_t step = per_minute != 0 ? interval(per_minute) : 0;

    rate->full_ns = rate->full_ns > step ? rate->full_ns - step : 0;
}

int rates_new(struct rates **ret, struct err *err)
{
    struct rates *rates = calloc(1, sizeof(*rates));

    if (rates == NULL) {
        return err_sys_num(err, ENOMEM, "keep the rates of tenants");
    }
    *ret = rates;
    return 0;
}

void rates_free(struct rates *rates)
{
    if (rates != NULL) {
        free(rates->v);
        free(rates);
    }
}

/* Without those whose buckets are full: a new one is the same. */
static void forget_full(struct rates *rates, uint64_t now_ns)
{
    size_t n = 0;

    for (size_t i = 0; i < rates->n; i++) {
        if (rates->v[i].rate.full_ns > now_ns) {
            rates->v[n] = rates->v[i];
            n++;
        }
    }
    rates->n = n;
}

static bool grow(struct rates *rates)
{
    size_t cap = rates->cap == 0 ? 16 : 2 * rates->cap;
    struct rates_entry *v = NULL;

    if (rates->n < rates->cap) {
        return true;
    }
    cap = cap > RATE_TENANTS_MAX ? RATE_TENANTS_MAX : cap;
    if (rates->n == cap) {
        return false;
    }
    v = reallocarray(rates->v, cap, sizeof(*v));
    if (v == NULL) {
        return false;
    }
    rates->v = v;
    rates->cap = cap;
    return true;
}

struct rate *rates_of(struct rates *rates, const char *tenant, uint64_t now_ns)
{
    struct rates_entry *e = NULL;
    size_t len = strlen(tenant);

    for (size_t i = 0; i < rates->n; i++) {
        if (strcmp(rates->v[i].tenant, tenant) == 0) {
            return &rates->v[i].rate;
        }
    }
    if (rates->n == rates->cap) {
        forget_full(rates, now_ns);
    }
    if (len >= sizeof(e->tenant) || !grow(rates)) {
        return NULL;
    }
    e = &rates->v[rates->n];
    rates->n++;
    *e = (struct rates_entry){0};
    memcpy(e->tenant, tenant, len + 1);
    return &e->rate;
}
