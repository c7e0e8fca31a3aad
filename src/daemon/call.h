/*
 * call.h - one request on its way through the API: what the handlers (api-*.c) get and give.
 *
 * A call begins with its request line and ends when its answer was written or its client is gone.
 * A handler answers at once, or suspends the call and is asked again when the call is resumed.
 */
#pragma once

#include <microhttpd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "daemon/query.h"
#include "daemon/reply.h"
#include "daemon/server.h"

#define CALL_NAME_MAX 4096u

struct call;
struct route;

/* Negative without a status in *ret_refusal: err (500). */
#define CALL_WAITS 1 /* call_suspend() was called; ask again */
typedef int call_handler(struct call *call, struct reply *ret, struct refusal *ret_refusal,
                         struct err *err);

struct route_match {
    const struct route *route;
    char id[JOB_ID_SIZE];
    char name[CALL_NAME_MAX];
};

struct call {
    struct server *server;
    struct call *next, *prev; /* of the server's */
    const struct server_options *o;
    struct MHD_Connection *mhd;
    int fd;       /* the library's, its number */
    char *target; /* owned; raw */
    struct route_match match;
    struct query query;
    const struct tenant *tenant; /* while a handler runs; NULL on open routes */
    struct tenant who;           /* its name stays; its pointers do not */
    struct buf body;
    uint64_t body_max;
    uint64_t held;      /* bytes of a large answer in memory */
    struct reply early; /* of a refusal that has not been queued yet */
    uint64_t begun_ns;
    unsigned int status; /* of the answer; 0 = none yet */
    bool dispatched;     /* the handler was called */
    bool suspended;
    bool slow;                 /* it waits by design: not in the histogram of times */
    bool gone;                 /* nobody reads the answer any more */
    void *state;               /* a handler's own, freed by fini */
    void (*fini)(void *state); /* when the call ends */
};

/* The request's header, NULL if it is not there. */
const char *call_header(const struct call *call, const char *name) nonnull_all;
/*
 * Before a call begins to wait: refused (429) if its tenant has too many that do, so that one can't
 * take all connections. 0 or -EINVAL.
 */
must_use int call_may_wait(struct call *call, struct refusal *ret_refusal) nonnull_all;
/*
 * Takes bytes of memory for an answer until the call ends: a client that does not read would make the
 * daemon keep them. Small ones are free. False: the tenant, or all together, hold too much.
 */
must_use bool call_hold(struct call *call, size_t bytes) nonnull_all;
/* A long answer asks now and then whether its token is still good. */
must_use bool call_still_allowed(struct call *call) nonnull_all;
/* Between suspend and resume the library does nothing for the call. */
void call_suspend(struct call *call) nonnull_all;
/* From anywhere on the loop; idempotent. */
void call_resume(struct call *call) nonnull_all;
/* The body was made use of: its memory goes. */
void call_drop_body(struct call *call) nonnull_all;
/* A tenant of the call's name alone, for questions after a wait. */
struct tenant call_tenant(const struct call *call) nonnull_all;
