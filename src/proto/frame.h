/*
 * frame.h - the framing of the host <-> guest channel, built into both sides.
 *
 * A frame is a 16-byte little-endian header and a payload:
 *
 *   0  u32  magic   0x316b6c61 ("alk1")
 *   4  u16  type    enum frame_type; each type belongs to one direction
 *   6  u16  zero
 *   8  u32  len     payload bytes, at most frame_len_max(type)
 *  12  u32  seq     0, 1, 2, ... per direction
 *
 * Nothing is used before it is checked. Anything else is a protocol error, final for the channel.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define FRAME_MAGIC       0x316b6c61u
#define FRAME_HEADER_SIZE 16u
#define FRAME_DATA_MAX    65536u   /* payload of stream frames */
#define FRAME_JOB_MAX     1048576u /* payload of a JOB frame */
#define PROTO_VERSION     3u       /* in READY and JOB; both must agree */

enum frame_type {
    /* host -> guest */
    FRAME_JOB = 1,       /* struct msg_job, once */
    FRAME_STDIN = 2,     /* bytes for the program's stdin, within the credit */
    FRAME_STDIN_EOF = 3, /* empty */
    FRAME_STOP = 4,      /* empty: kill the program now, then report as usual */
    /* guest -> host */
    FRAME_READY = 16,      /* struct msg_ready, once, first */
    FRAME_STARTED = 17,    /* empty: the program was executed */
    FRAME_STDOUT = 18,     /* bytes */
    FRAME_STDERR = 19,     /* bytes */
    FRAME_CREDIT = 20,     /* u32: further stdin bytes the host may send */
    FRAME_EXIT = 21,       /* struct msg_exit: everything of the program is dead, streams drained */
    FRAME_OUTPUT = 22,     /* bytes of the output stream (outar.h), after EXIT */
    FRAME_OUTPUT_END = 23, /* struct msg_output_end */
    FRAME_FAILED = 24,     /* struct msg_failed: the agent could not do its part */
};

enum frame_side {
    FRAME_TO_GUEST,
    FRAME_TO_HOST
};

struct frame {
    enum frame_type type;
    uint32_t len;
    const uint8_t *data; /* borrowed from the decoder until its next call */
};

/* Most payload bytes of the type, or -1 for an unknown type or one of the other direction. */
must_use int64_t frame_len_max(uint32_t type, enum frame_side side);

/* Writes a header. len must be within frame_len_max(type). */
void frame_header_encode(uint8_t out[FRAME_HEADER_SIZE], enum frame_type type, uint32_t len,
                         uint32_t seq) nonnull_all;

/* Takes bytes as they come and gives whole frames; bounded by one largest frame. */
struct frame_decoder {
    enum frame_side side;
    uint32_t next_seq;
    bool broken; /* after an error every call fails */
    struct buf buf;
    size_t taken; /* bytes at the front of buf that earlier frames used */
};

void frame_decoder_init(struct frame_decoder *dec, enum frame_side side) nonnull_all;
void frame_decoder_fini(struct frame_decoder *dec) nonnull_all;

/* Where and how much to read next (large reads: up to 128 KiB). Then call frame_decoder_fed(). */
must_use int frame_decoder_space(struct frame_decoder *dec, uint8_t **ret, size_t *ret_len,
                                 struct err *err) nonnull_all;
void frame_decoder_fed(struct frame_decoder *dec, size_t len) nonnull_all;

/* 1 and *ret a frame, 0 if more bytes are needed, -EPROTO (ERR_GUEST) when broken. */
must_use int frame_decoder_next(struct frame_decoder *dec, struct frame *ret,
                                struct err *err) nonnull_all;
