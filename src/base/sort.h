/* sort.h - a sort that takes no memory and asks the system nothing, for the helper (sup/helper.h). */
#pragma once

#include "base/base.h"

#define SORT_SIZE_MAX 64u

/*
 * Sorts n elements of size bytes (at most SORT_SIZE_MAX) in place: heap sort, not stable, never more
 * than n log n steps. qsort() takes memory, first asks how much there is (sysinfo), and without it
 * falls back to what a stranger's order can make quadratic.
 */
void sort_array(void *base, size_t n, size_t size,
                int (*compare)(const void *a, const void *b, void *ctx), void *ctx) nonnull_args(4);
