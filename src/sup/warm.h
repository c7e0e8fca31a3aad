/*
 * warm.h - which jobs can have an interpreter that started before them (docs/warm.md).
 *
 * Only those of which a start of their own would make the same process: what an interpreter reads
 * of its environment when it starts must be what the one that waits has read.
 */
#pragma once

#include "job/spec.h"

/*
 * The program file that the interpreter which may wait for this job was started with ("main.py", a
 * constant), or NULL: then *ret_why is one sentence for the result, or NULL as well if the job runs
 * no interpreter of ours at all. A spec without a program is taken for one of its language.
 */
const char *warm_for(const struct spec *spec, const char **ret_why) nonnull_all;

/* What a job may use over what the waiting interpreter holds; below, it gets a fresh one. */
#define WARM_MARGIN_BYTES (16 * MIB)
