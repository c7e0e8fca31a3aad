/*
 * bench-memory.h - the memory of everything that this process started.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "cli/bench-report.h"

/*
 * Fills monitor_pss and monitors from the descendants of this process that are machines, and
 * rest_pss from all others. A process that ends meanwhile does not count.
 */
must_use int bench_descendants(struct bench_density *d, struct err *err) nonnull_all;
