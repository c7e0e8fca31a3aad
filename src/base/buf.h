/*
 * buf.h - a growing byte buffer with a maximum set at birth.
 *
 * data is NULL while empty. len <= max always. buf_put() past max changes nothing and returns
 * -ENOBUFS. A terminating NUL stands behind the bytes, not counted, once anything was put.
 */
#pragma once

#include "base/base.h"

struct buf {
    uint8_t *data;
    size_t len;
    size_t cap; /* allocated bytes */
    size_t max; /* most bytes it may ever hold */
};

#define BUF_INIT(maximum) \
    {                     \
        .max = (maximum)  \
    }

void buf_fini(struct buf *buf) nonnull_all;
#define auto_buf on_scope_exit(buf_fini)
/* Overwrites what is in it first: for programs, variables and other secrets of users. */
void buf_wipe(struct buf *buf) nonnull_all;
#define auto_wiped_buf on_scope_exit(buf_wipe)

/* Each returns 0, -ENOBUFS (over max) or -ENOMEM; on failure the buffer is unchanged. */
must_use int buf_put(struct buf *buf, const void *data, size_t len) nonnull_args(1);
must_use int buf_printf(struct buf *buf, const char *fmt, ...) printf_like(2, 3) nonnull_args(1);
/* Makes room for len more bytes and returns where they go; the caller then adds to buf->len. */
must_use int buf_reserve(struct buf *buf, size_t len, uint8_t **ret) nonnull_all;

/* Drops n bytes (<= len) from the front. */
void buf_consume(struct buf *buf, size_t n) nonnull_all;
