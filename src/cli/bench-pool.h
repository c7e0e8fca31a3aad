/*
 * bench-pool.h - the measurements that need clones which wait: pooled jobs, and density.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/bench-measure.h"

/*
 * One round of all rows of mode pool; members clones wait for each language. Before each job all of
 * them wait, so that nothing else is being restored while it runs.
 */
must_use int bench_pooled(struct bench *b, unsigned int members, struct err *err) nonnull_all;

/* Python hello, at_once at a time for so long, from a pool of members clones refilled meanwhile. */
must_use int bench_pool_rate(struct bench *b, unsigned int at_once, unsigned int members,
                             uint64_t ns, struct err *err) nonnull_all;

/* Lets n clones wait at once, or as many as the host takes, and looks at their memory. */
must_use int bench_measure_density(struct bench *b, size_t n, struct err *err) nonnull_all;
