/*
 * term.h - a program's output on its way to a terminal: harmless, whatever pieces it comes in.
 *
 * Off a terminal the bytes pass as they are. On one they pass through str_escape(); a UTF-8
 * sequence cut by the end of a piece waits for the next piece.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"

struct term {
    bool escape;
    bool mid_line;   /* the last byte given out was not a newline */
    uint8_t held[4]; /* beginning of a sequence that is not complete yet */
    size_t held_len; /* < 4 */
};

/* Appends to out what may be shown. Returns 0 or what buf_put() returns. */
must_use int term_put(struct term *term, const void *data, size_t len, struct buf *out)
    nonnull_args(1, 4);

/* The stream ended: what is still held comes out escaped. */
must_use int term_end(struct term *term, struct buf *out) nonnull_all;
