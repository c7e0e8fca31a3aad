/*
 * rehearsal.h - a machine that goes on from a template which is being built, and runs a program of one
 * line of ours the way that a job's would.
 */
#pragma once

#include <sys/types.h>

#include "base/base.h"
#include "base/err.h"

#include "sup/template.h"

struct rehearsal;

/*
 * Runs it to the end of its report; the machine is still there. file: memory, state and scratch disk
 * of a template in which an interpreter waits, without its footer, of which sizes are read. The caller
 * frees *ret with rehearsal_free(), which kills the machine. ERR_HOST/-EPROTO if it did not do
 * what it should; -ETIMEDOUT, -ECANCELED as template_take().
 */
must_use int rehearse(const struct template_request *request, int file,
                      const struct template_footer *footer, struct rehearsal **ret,
                      struct err *err) nonnull_all;

/* The monitor's, until rehearsal_free(). */
pid_t rehearsal_pid(const struct rehearsal *r) nonnull_all;

void rehearsal_free(struct rehearsal *take_r);

static inline void rehearsal_free_p(struct rehearsal **r)
{
    rehearsal_free(*r);
}

#define auto_rehearsal on_scope_exit(rehearsal_free_p)
