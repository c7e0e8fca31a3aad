/*
 * sup.h - one supervisor process per job: the only judge.
 *
 * sup_start() forks it into a session of its own. Caller and supervisor share one socketpair: if
 * either dies the other notices (end of file) and cleans up. The supervisor stages, starts the
 * machine, talks to the agent, keeps time and bytes, kills, inspects, exports and answers with one
 * JSON result. It never shares memory with the caller.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "airlock/verdict.h"
#include "image/store.h"
#include "job/spec.h"
#include "sup/class.h"
#include "sys/proc.h"

enum sup_event_kind {
    SUP_STDOUT, /* bytes as they came from the program, in order, up to the cap */
    SUP_STDERR,
    SUP_PHASE, /* text: the phase that begins ("boot", "run", "collect", ...) */
    /* text: the machine's id, 32 hex digits, as soon as it is drawn: its record has this name */
    SUP_MACHINE,
    SUP_RESULT, /* the JSON object of the contract; last */
    /* From a supervisor without a job alone, see sup_prepare(). */
    SUP_WAITS, /* its machine is ready; it waits for a job */
    SUP_TAKEN, /* it has the job: from here on it is like any other */
    SUP_UNFIT, /* text: why it will take none; last */
};

/* A phase that not every job has: nobody built the template of such a machine before. */
#define SUP_PHASE_BUILD "template-build"
/* ... or to find out whether KVM works here. */
#define SUP_PHASE_PROBE "engine-probe"

struct sup_event {
    enum sup_event_kind kind;
    const uint8_t *data; /* borrowed until the next call */
    size_t len;
};

struct sup {
    struct proc proc; /* the supervisor process */
    int fd;           /* our end of the socketpair; readable = sup_next() has something */
    struct buf in;
    bool given;    /* in is an event that sup_try_next() gave */
    bool waits;    /* it has no job yet: sup_submit() */
    bool finished; /* SUP_RESULT or SUP_UNFIT was given */
};

#define SUP_INIT                    \
    {                               \
        .proc = PROC_INIT, .fd = -1 \
    }

/*
 * Forks the supervisor for a checked spec. The store and spec are used by the child as they are.
 * streaming: stdout and stderr come as events and are left out of the result (their data is null);
 * otherwise there are no such events and the result holds them.
 */
must_use int sup_start(const struct spec *spec, const struct store *store, bool streaming,
                       struct sup *ret, struct err *err) nonnull_all;

/*
 * Forks a supervisor without a job: it takes a slot, restores a machine of the class and then gives
 * SUP_WAITS, or SUP_UNFIT if it could not. Let go of it with sup_fini(), at any time.
 */
must_use int sup_prepare(const struct machine_class *class, const struct store *store,
                         struct sup *ret, struct err *err) nonnull_all;

/*
 * After SUP_WAITS: gives it a checked spec of its class, and waits at most timeout_ns until it has
 * taken it. From then on it is as one from sup_start(), whose arguments mean the same. If this fails
 * the job was not begun and never will be: the supervisor is gone or was killed (call sup_fini()).
 */
must_use int sup_submit(struct sup *sup, const struct spec *spec, bool streaming,
                        uint64_t timeout_ns, struct err *err) nonnull_all;

/* Waits for the next event. 1 and *ret, or 0 after SUP_RESULT was given; ERR_HOST if it died. */
must_use int sup_next(struct sup *sup, struct sup_event *ret, struct err *err) nonnull_all;

/*
 * The same without waiting: 1 and *ret, or 0 if no event is complete yet, or if SUP_RESULT was given
 * (then finished is set). Not to be mixed with sup_next().
 */
must_use int sup_try_next(struct sup *sup, struct sup_event *ret, struct err *err) nonnull_all;

/*
 * Forks a process that speaks as a supervisor does: 0 in the caller with *ret, 1 in the child, whose
 * end of the socket is *ret_fd.
 */
must_use int sup_fork(struct sup *ret, int *ret_fd, struct err *err) nonnull_all;

/*
 * The end of the socket of a supervisor that another process of ours forked and waits for: all but
 * sup_submit() can be done with it. Takes the descriptor.
 */
void sup_adopt(int take_fd, struct sup *ret) nonnull_all;

/* Asks for the end; the result will say `canceled` unless something ended it before. */
void sup_cancel(struct sup *sup) nonnull_all;

void sup_fini(struct sup *sup) nonnull_all;
#define auto_sup on_scope_exit(sup_fini)
