/* clock.h - the only clock that decides: CLOCK_MONOTONIC, in nanoseconds. */
#pragma once

#include <time.h>

#include "base/base.h"

static inline uint64_t clock_ns(clockid_t id)
{
    struct timespec ts = {0};

    (void)clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static inline uint64_t clock_mono_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}
