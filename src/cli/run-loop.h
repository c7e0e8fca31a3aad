/*
 * run-loop.h - between the supervisor of a started job and the caller's terminal.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "cli/outlet.h"
#include "sup/sup.h"

/*
 * From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT are counted, and SIGPIPE is ignored. Until
 * run_loop() takes over such a signal ends the process with the exit code of `canceled`, after
 * printing parting (borrowed for good; may be empty) to stdout: children of a step in progress die
 * with us. Call once.
 */
must_use int run_signals_init(const struct buf *parting, struct err *err) nonnull_all;

struct run_loop {
    struct sup *sup;
    struct outlet *out; /* NULL: the program's stdout and stderr are not passed on (--json) */
    struct outlet *err;
    struct buf *result; /* gets the text of the result */
    /* Hears which phase begins (len bytes, not a string), as it does; may be NULL. */
    void (*phase)(void *ctx, const char *name, size_t len);
    void *ctx;
};

/*
 * Passes events on until the result is there and all output is written. A signal or a broken
 * outlet cancels the job; the result is still awaited. A second signal ends the process at once
 * (the supervisor cleans up by itself). ERR_HOST if the supervisor died or memory ran out.
 */
must_use int run_loop(struct run_loop *loop, struct err *err) nonnull_all;

/* Writes what is queued, waiting for the reader until a signal comes. */
void run_drain(struct outlet *const *outlets, size_t n) nonnull_all;
