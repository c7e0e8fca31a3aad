/*
 * client.h - the supervisor's end of the socket to its caller.
 *
 * Frames of a u32 kind (enum sup_event_kind) and a u32 length go to the caller; from the caller
 * come single bytes 'c' (cancel).  Everything is queued and written when the caller reads, so a
 * caller that never reads holds nothing up; the queue is bounded by the caps of the job.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "sup/sup.h"

#define CLIENT_FRAME_HEADER 8u
#define CLIENT_FRAME_MAX    (256 * KIB) /* stream frames grow up to this while they wait */

struct client {
    int fd; /* owned, non-blocking */
    struct buf queue;
    size_t sent;    /* bytes at the front of queue already written */
    size_t last;    /* where the last frame's header stands in queue */
    bool last_open; /* the last frame can still grow */
    bool gone;      /* the caller closed its end */
    bool canceled;  /* ... or asked for the end */
};

/* Room for whatever a job of these limits can have waiting. */
size_t client_queue_max(const struct spec_limits *limits) nonnull_all;
void client_init(struct client *c, int fd, size_t queue_max) nonnull_all;
void client_fini(struct client *c) nonnull_all;

must_use int client_put(struct client *c, enum sup_event_kind kind, const void *data, size_t len)
    nonnull_args(1);
/* Writes what the socket takes now. A caller that is gone is noted, not an error. */
void client_flush(struct client *c) nonnull_all;
/* Reads what the caller said: sets canceled or gone. */
void client_listen(struct client *c) nonnull_all;
must_use bool client_wants_write(const struct client *c) nonnull_all;
/* Writes the rest, waiting for the caller for as long as it lives. */
void client_drain(struct client *c) nonnull_all;
