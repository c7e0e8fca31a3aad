/*
 * remover.h - the thread in which discarded directories of jobs go: overwriting takes as long as the
 * disk does, and everybody else would wait for it.
 *
 * It does one thing, jobfiles_sweep() when it is asked to, so that removals happen in one place.
 */
#pragma once

#include "base/base.h"
#include "base/err.h"

struct remover;

/* jobs_fd is borrowed and outlives it. The thread takes no signals. ERR_HOST. */
must_use int remover_start(int jobs_fd, struct remover **ret, struct err *err) nonnull_all;
/* Ends it after the sweep that is under way, or was asked for; what is left is found by the next start. */
void remover_free(struct remover *r);

/* A look at all that was discarded before this call. */
void remover_ask(struct remover *r) nonnull_all;
/* Readable when a look has ended. Borrowed. */
must_use int remover_fd(const struct remover *r) nonnull_all;
/* Takes note of it: 0, or the error of the last look that failed. */
must_use int remover_done(struct remover *r, struct err *err) nonnull_all;
/* Every look that was asked for has ended. */
must_use bool remover_idle(struct remover *r) nonnull_all;
