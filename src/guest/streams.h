/*
 * streams.h - the program's three streams, agent side.
 *
 * Output pipes are larger than the caps, so that a program that never waits for its output to be
 * taken (Node at process.exit()) loses nothing. Forwarding stops one byte over the cap: the host
 * must see the overflow, nobody needs more. Input is taken from the host only within the credit
 * given to it, so that no amount of unread input stands in the way of control frames.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "guest/channel.h"
#include "proto/msg.h"

#define STDIN_CREDIT 262144u

struct stream {
    int fd; /* read end; -1: at its end or over its cap */
    enum frame_type type;
    uint64_t cap;
    uint64_t forwarded; /* bytes; at most cap + 1 */
};

struct input {
    int fd;            /* write end; -1: closed */
    bool eof;          /* the host sent its last byte */
    uint32_t credit;   /* bytes the host may still send */
    uint32_t returned; /* bytes taken by the program, not yet granted again */
    struct buf buf;    /* received, not yet taken; at most STDIN_CREDIT */
};

struct streams {
    struct stream out;
    struct stream err;
    struct input in;
    int child[3]; /* the program's ends; closed here once it was cloned */
};

#define STREAMS_INIT                                                                           \
    {                                                                                          \
        .out = {.fd = -1}, .err = {.fd = -1}, .in = {.fd = -1, .buf = BUF_INIT(STDIN_CREDIT)}, \
        .child = {                                                                             \
            -1,                                                                                \
            -1,                                                                                \
            -1                                                                                 \
        }                                                                                      \
    }

void streams_fini(struct streams *io) nonnull_all;

/* Makes the pipes. */
must_use int streams_open(struct streams *io, struct err *err) nonnull_all;

/*
 * Gives the pipes what a job needs: sizes by its caps, no writer of stdin if it has none. ERR_HOST
 * if a pipe of the size its cap needs can't be had.
 */
must_use int streams_fit(struct streams *io, const struct msg_job *job,
                         struct err *err) nonnull_all;

/*
 * Makes the pipes the program's own: a pipe is its maker's, mode 0600, and opening /dev/stdin or
 * /dev/stdout opens it anew.
 */
must_use int streams_give(const struct streams *io, uid_t uid, gid_t gid,
                          struct err *err) nonnull_all;

/* Closes the program's ends. */
void streams_close_child(struct streams *io) nonnull_all;

/*
 * Reads the stream once into the channel's queue, which must have room. Closes it at its end and
 * past its cap. 0, or -EAGAIN (err untouched) if nothing is there now.
 */
must_use int stream_forward(struct stream *stream, struct channel *ch, struct err *err) nonnull_all;

/* Grants the first credit, if the job has stdin. */
must_use int streams_start_input(struct streams *io, struct channel *ch,
                                 struct err *err) nonnull_all;

/* Takes a STDIN frame. ERR_GUEST if it is over the credit or after the end. */
must_use int input_receive(struct input *in, const uint8_t *data, size_t len, struct err *err)
    nonnull_args(1, 4);
void input_receive_eof(struct input *in) nonnull_all;

/*
 * Writes what the pipe takes and grants the host as much again. A program that closed its stdin
 * ends the stream: what was received is dropped and no further credit is given.
 */
must_use int input_write(struct input *in, struct channel *ch, struct err *err) nonnull_all;

/* Drops the input for good; the host gets no further credit. */
void input_close(struct input *in) nonnull_all;
