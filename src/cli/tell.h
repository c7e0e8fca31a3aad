/*
 * tell.h - how `airlock run` and those who do the same through a daemon speak: the program's streams,
 * progress, the summary line or the JSON object, and the exit code.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "airlock/verdict.h"
#include "cli/outlet.h"
#include "cli/run-options.h"

struct teller {
    const struct run_options *options; /* borrowed */
    struct outlet out;
    struct outlet err;
    struct buf result; /* JSON text */
    const char *step;  /* what is being done: the reason if it fails */
    char kept[128];    /* where outputs are without --out; "" = nowhere */
};

#define TELLER_INIT                            \
    {                                          \
        .out = OUTLET_INIT, .err = OUTLET_INIT \
    }
void teller_fini(struct teller *t) nonnull_all;
#define auto_teller on_scope_exit(teller_fini)

/*
 * Opens the streams and takes the signals over (run_signals_init()). Once in a process. False: exit
 * with *ret_exit.
 */
must_use bool teller_begin(struct teller *t, const struct run_options *options,
                           int *ret_exit) nonnull_all;

/* "airlock: " and a line on stderr, harmless; straight to the descriptor, in order with progress. */
void teller_say(struct teller *t, const char *text) nonnull_all;
/* The same, unless --quiet. */
void teller_step(struct teller *t, const char *text) nonnull_all;

/* t->result is there: says what happened. Returns the exit code. */
must_use int teller_end(struct teller *t) nonnull_all;
/* Failed without a result from a supervisor; the reason is t->step. Returns the exit code. */
must_use int teller_fail(struct teller *t, enum airlock_verdict verdict,
                         const struct err *err) nonnull_all;
