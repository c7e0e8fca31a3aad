/*
 * wire.h - little-endian integers in byte arrays, whose room the caller has checked; the cursor that
 * checks it, and the one that writes.
 */
#pragma once

#include "base/base.h"
#include "base/buf.h"

static inline void wire_put_u16(uint8_t *at, uint16_t v)
{
    at[0] = (uint8_t)(v & 0xffu);
    at[1] = (uint8_t)(v >> 8);
}

static inline void wire_put_u32(uint8_t *at, uint32_t v)
{
    wire_put_u16(at, (uint16_t)(v & 0xffffu));
    wire_put_u16(at + 2, (uint16_t)(v >> 16));
}

static inline void wire_put_u64(uint8_t *at, uint64_t v)
{
    wire_put_u32(at, (uint32_t)(v & 0xffffffffu));
    wire_put_u32(at + 4, (uint32_t)(v >> 32));
}

static inline uint16_t wire_get_u16(const uint8_t *at)
{
    return (uint16_t)(at[0] | (uint16_t)(at[1] << 8));
}

static inline uint32_t wire_get_u32(const uint8_t *at)
{
    return (uint32_t)wire_get_u16(at) | ((uint32_t)wire_get_u16(at + 2) << 16);
}

static inline uint64_t wire_get_u64(const uint8_t *at)
{
    return (uint64_t)wire_get_u32(at) | ((uint64_t)wire_get_u32(at + 4) << 32);
}

/* What is left to decode. */
struct wire_in {
    const uint8_t *at;
    size_t left;
};

/* The next len bytes; NULL, and nothing is taken, if there are fewer. */
static inline const uint8_t *wire_take(struct wire_in *in, size_t len)
{
    const uint8_t *at = in->at;

    if (len > in->left) {
        return NULL;
    }
    in->at += len;
    in->left -= len;
    return at;
}

/* A message that is being written: the first failure sticks, and takes back all of it. */
struct wire_out {
    struct buf *buf;
    size_t start;
    int error; /* -errno of buf_put(), or the caller's own */
};

static inline struct wire_out wire_out_start(struct buf *buf)
{
    return (struct wire_out){.buf = buf, .start = buf->len};
}

/* 0 or the failure; then the buffer is as long as it was. */
static inline int wire_out_end(struct wire_out *w)
{
    if (w->error < 0) {
        w->buf->len = w->start;
    }
    return w->error;
}

static inline void wire_write(struct wire_out *w, const void *data, size_t len)
{
    if (w->error == 0 && len > 0) {
        w->error = buf_put(w->buf, data, len);
    }
}

static inline void wire_write_u8(struct wire_out *w, uint8_t v)
{
    wire_write(w, &v, sizeof(v));
}

static inline void wire_write_u32(struct wire_out *w, uint32_t v)
{
    uint8_t raw[4];

    wire_put_u32(raw, v);
    wire_write(w, raw, sizeof(raw));
}

static inline void wire_write_u64(struct wire_out *w, uint64_t v)
{
    uint8_t raw[8];

    wire_put_u64(raw, v);
    wire_write(w, raw, sizeof(raw));
}
