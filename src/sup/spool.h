/* spool.h - the job's stdin, whole and unchanging before the machine starts. */
#pragma once

#include "base/base.h"
#include "base/err.h"

#include "job/spec.h"
#include "sup/client.h"

struct spool {
    int fd; /* owned; unnamed file, -1 = no stdin */
    uint64_t bytes;
};

/* True if the job has a stdin at all. */
must_use bool spool_needed(const struct spec *spec) nonnull_all;

/*
 * Copies stdin_data, stdin_path (regular file, no links followed) or stdin_fd (to its end) into an
 * unnamed file in tmp_dirfd. Over limits.stdin_bytes is ERR_LIMIT/-EFBIG. While it waits for a pipe
 * it listens to the caller: -ECANCELED when that one wants the end. ERR_USAGE/-ETIMEDOUT if the end
 * has not come at deadline_ns (monotonic).
 */
must_use int spool_stdin(const struct spec *spec, int tmp_dirfd, struct client *client,
                         uint64_t deadline_ns, struct spool *ret, struct err *err) nonnull_all;
