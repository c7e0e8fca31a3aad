/*
 * wire.h - little-endian integers in byte arrays, whose room the caller has checked, and the cursor
 * that checks it.
 */
#pragma once

#include "base/base.h"

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
