/* tarball.h - writes tar streams for tests, well-formed or not, field by field. */
#pragma once

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"

#include "../test.h"

#define TAR_BLOCK 512u

/* The sum over the header with blanks in its own place (POSIX ustar). */
static inline void tar_sum(uint8_t *h)
{
    unsigned sum = 0;

    memset(h + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK; i++) {
        sum += h[i];
    }
    (void)snprintf((char *)h + 148, 8, "%06o", sum);
}

static inline void tar_header(struct buf *b, char kind, const char *name, uint64_t size)
{
    uint8_t h[TAR_BLOCK] = {0};
    size_t len = strlen(name);

    memcpy(h, name, len < 100 ? len : 100);
    memcpy(h + 100, "0000644", 8);
    memcpy(h + 108, "0000000", 8);
    memcpy(h + 116, "0000000", 8);
    for (size_t i = 0; i < 11; i++) { /* octal */
        h[134 - i] = (uint8_t)('0' + (size >> (3 * i) & 7));
    }
    memcpy(h + 136, "00000000000", 12);
    h[156] = (uint8_t)kind;
    if (kind == '1' || kind == '2') {
        memcpy(h + 157, "target", 6);
    }
    memcpy(h + 257,
           "ustar\0"
           "00",
           8);
    tar_sum(h);
    assert_int_equal(buf_put(b, h, sizeof(h)), 0);
}

static inline void tar_body(struct buf *b, const void *data, size_t len)
{
    static const uint8_t zeros[TAR_BLOCK];

    assert_int_equal(buf_put(b, data, len), 0);
    assert_int_equal(buf_put(b, zeros, (TAR_BLOCK - len % TAR_BLOCK) % TAR_BLOCK), 0);
}

static inline void tar_file(struct buf *b, const char *name, const char *data)
{
    tar_header(b, '0', name, strlen(data));
    tar_body(b, data, strlen(data));
}

static inline void tar_dir(struct buf *b, const char *name)
{
    tar_header(b, '5', name, 0);
}

/* A pax header with these records, taken as they are. */
static inline void tar_pax(struct buf *b, const char *records, size_t len)
{
    tar_header(b, 'x', "pax", len);
    tar_body(b, records, len);
}

static inline void tar_end(struct buf *b)
{
    static const uint8_t zeros[2 * TAR_BLOCK];

    assert_int_equal(buf_put(b, zeros, sizeof(zeros)), 0);
}

/* A file with the bytes so far. */
static inline int archive_fd(const struct buf *b)
{
    int fd = memfd_create("archive", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, b->data, b->len), (ssize_t)b->len);
    return fd;
}
