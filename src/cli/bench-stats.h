/*
 * bench-stats.h - what is said of many measurements of one thing.
 */
#pragma once

#include "base/base.h"

struct bench_stat {
    uint64_t median; /* the mean of the middle two if there is no middle one */
    uint64_t p95;    /* the smallest value that 95 % do not exceed (nearest rank) */
    uint64_t min;
    size_t n; /* 0: nothing was measured, and the others are 0 */
};

/* Sorts values. */
struct bench_stat bench_stat(uint64_t *values, size_t n) nonnull_args(1);
