/*
 * channel.h - the agent's end of the host channel.
 *
 * Frames are queued and written as the port takes them; nothing here blocks but
 * channel_drain_to(). Stream data is only queued while channel_has_room(), which leaves most of
 * the queue to control frames, so that these always fit.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "proto/frame.h"

#define CHANNEL_QUEUE_MAX   ((size_t)1024 * 1024)
#define CHANNEL_STREAM_ROOM ((size_t)256 * 1024)

struct channel {
    int fd; /* owned, non-blocking */
    struct frame_decoder in;
    struct buf out; /* whole frames; the first out_done bytes are written */
    size_t out_done;
    uint32_t out_seq;
};

/* Takes fd, which must be non-blocking. */
void channel_init(struct channel *ch, int fd) nonnull_all;
void channel_fini(struct channel *ch) nonnull_all;

must_use size_t channel_queued(const struct channel *ch) nonnull_all;
must_use bool channel_has_room(const struct channel *ch) nonnull_all;

/* Queues one frame. -ENOBUFS when the queue is full, which is a bug of the caller's. */
must_use int channel_send(struct channel *ch, enum frame_type type, const void *data, size_t len,
                          struct err *err) nonnull_args(1, 5);

/*
 * Reads up to max bytes (<= FRAME_DATA_MAX) from fd straight into one frame of the queue. *ret_len
 * is the count, 0 at end of file. -EAGAIN (err untouched) if nothing is there now.
 */
must_use int channel_send_from(struct channel *ch, enum frame_type type, int fd, size_t max,
                               size_t *ret_len, struct err *err) nonnull_all;

/* Writes what the port takes now. -EPIPE: the host closed its end. */
must_use int channel_flush(struct channel *ch, struct err *err) nonnull_all;

/* Writes, waiting for the port, until at most `left` bytes are queued. -EPIPE as above. */
must_use int channel_drain_to(struct channel *ch, size_t left, struct err *err) nonnull_all;

/* Reads what is there now into the decoder. 0, -EAGAIN (err untouched), -EPIPE as above. */
must_use int channel_fill(struct channel *ch, struct err *err) nonnull_all;
