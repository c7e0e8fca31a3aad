/*
 * outlet.h - our stdout or stderr, written without ever blocking.
 *
 * O_NONBLOCK on descriptor 1 would change it for everyone who shares it (the shell, the terminal),
 * so a pipe or a terminal is opened anew for ourselves; a socket takes a flag per call; a regular
 * file does not block. Where opening anew is not allowed, small writes after poll() have to do.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "cli/term.h"

#define OUTLET_QUEUE_MAX (1024 * MIB)
#define OUTLET_HIGH      (256 * KIB) /* above it the source should wait */

enum outlet_way {
    OUTLET_PLAIN,
    OUTLET_OWN,
    OUTLET_SOCKET,
    OUTLET_CAREFUL
};

struct outlet {
    const char *name; /* "standard output" */
    int fd;           /* what is written to; borrowed unless way is OUTLET_OWN */
    enum outlet_way way;
    struct term term;
    struct buf queue;
    size_t sent;   /* of queue */
    bool broken;   /* a write failed: everything further is dropped */
    int broken_by; /* errno */
};

#define OUTLET_INIT                                   \
    {                                                 \
        .fd = -1, .queue = BUF_INIT(OUTLET_QUEUE_MAX) \
    }

/* fd is 1 or 2. escape: make output harmless if fd is a terminal. */
void outlet_init(struct outlet *o, int fd, const char *name, bool escape) nonnull_all;
void outlet_fini(struct outlet *o) nonnull_all;
#define auto_outlet on_scope_exit(outlet_fini)

/* Queues; dropped silently when broken. ERR_HOST when out of memory. */
must_use int outlet_put(struct outlet *o, const void *data, size_t len, struct err *err)
    nonnull_args(1, 4);
/* End of the stream: gives out what term held. */
must_use int outlet_end(struct outlet *o, struct err *err) nonnull_all;

size_t outlet_pending(const struct outlet *o) nonnull_all;

/* Writes what goes without waiting; a failure marks the outlet broken and empties it. */
void outlet_pump(struct outlet *o) nonnull_all;
