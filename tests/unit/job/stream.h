/* stream.h - writes output streams for tests, well-formed or not. */
#pragma once

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"

#include "../test.h"
#include "proto/outar.h"

static inline void stream_raw(struct buf *b, const void *data, size_t len)
{
    assert_int_equal(buf_put(b, data, len), 0);
}

/* A record as the header says, then the name and the data given, whatever their lengths. */
static inline void stream_record(struct buf *b, const struct outar_header *h, const char *name,
                                 const void *data, size_t len)
{
    uint8_t raw[OUTAR_HEADER_SIZE];

    outar_header_encode(raw, h);
    stream_raw(b, raw, sizeof(raw));
    stream_raw(b, name, h->name_len);
    stream_raw(b, data, len);
}

static inline void stream_put(struct buf *b, enum outar_kind kind, const char *name,
                              const char *data)
{
    stream_record(b,
                  &(struct outar_header){.kind = kind,
                                         .mode = kind == OUTAR_END ? 0 : 0644,
                                         .name_len = (uint32_t)strlen(name),
                                         .size = strlen(data)},
                  name, data, strlen(data));
}

static inline void stream_end(struct buf *b)
{
    stream_put(b, OUTAR_END, "", "");
}

/* A file with the bytes so far. */
static inline int stream_fd(const struct buf *b)
{
    int fd = memfd_create("stream", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, b->data, b->len), (ssize_t)b->len);
    return fd;
}
