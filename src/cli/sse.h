/*
 * sse.h - server-sent events (WHATWG HTML, 9.2.6) out of bytes in whatever pieces they come.
 *
 * The server is a stranger: lines and events are bounded, and an event number must be a number.
 * What the standard would drop silently and airlockd never sends is an error here.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define SSE_NAME_SIZE 32u
#define SSE_DATA_MAX  (64 * MIB) /* of one event: the job object with its result */

struct sse_event {
    char name[SSE_NAME_SIZE]; /* "message" if the stream named none */
    uint64_t id;              /* of this event, or of the last one that had one; 0 = none so far */
    const uint8_t *data;      /* borrowed until the callback returns; NULL if there is none */
    size_t len;
};

/* Hears one event. A failure (-errno) ends sse_feed(), which returns it. */
typedef int sse_take_fn(void *ctx, const struct sse_event *event, struct err *err);

struct sse {
    sse_take_fn *take;
    void *ctx;
    struct buf line; /* the line that is not complete yet */
    struct buf data; /* of the event that is not complete yet */
    char name[SSE_NAME_SIZE];
    uint64_t id;
    bool has_data;
    bool begun;    /* past where a byte order mark may stand */
    bool after_cr; /* a LF now belongs to the CR before it */
    bool broken;
};

/* last_id: what Last-Event-ID said, so that events without a number keep it. */
void sse_init(struct sse *s, uint64_t last_id, sse_take_fn *take, void *ctx) nonnull_args(1, 3);
void sse_fini(struct sse *s) nonnull_all;

/*
 * Takes the next bytes and calls take for each event that they complete. An event that is not
 * complete when the stream ends never happened. ERR_HOST/-EPROTO if the stream breaks the rules, and
 * from then on.
 */
must_use int sse_feed(struct sse *s, const void *data, size_t len, struct err *err)
    nonnull_args(1, 4);
