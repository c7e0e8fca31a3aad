#include "base/buf.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void buf_fini(struct buf *buf)
{
    free(buf->data);
    buf->data = NULL;
    buf->len = 0;
    buf->cap = 0;
}

void buf_wipe(struct buf *buf)
{
    if (buf->data != NULL) {
        explicit_bzero(buf->data, buf->len);
    }
    buf_fini(buf);
}

int buf_reserve(struct buf *buf, size_t len, uint8_t **ret)
{
    size_t need = 0;
    size_t cap = 0;
    uint8_t *data = NULL;

    if (len > buf->max - buf->len) {
        return -ENOBUFS;
    }
    need = buf->len + len + 1;
    if (need > buf->cap) {
        cap = buf->cap < 128 ? 256 : buf->cap * 2;
        if (cap < need) {
            cap = need;
        }
        if (cap > buf->max + 1) {
            cap = buf->max + 1;
        }
        data = realloc(buf->data, cap);
        if (data == NULL) {
            return -ENOMEM;
        }
        buf->data = data;
        buf->cap = cap;
    }
    *ret = buf->data + buf->len;
    return 0;
}

int buf_put(struct buf *buf, const void *data, size_t len)
{
    uint8_t *at = NULL;
    int r = buf_reserve(buf, len, &at);

    if (r < 0) {
        return r;
    }
    if (len > 0) {
        memcpy(at, data, len);
    }
    buf->len += len;
    buf->data[buf->len] = '\0';
    return 0;
}

int buf_printf(struct buf *buf, const char *fmt, ...)
{
    uint8_t *at = NULL;
    va_list ap;
    int r = 0;
    int n = 0;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        return -EINVAL;
    }
    r = buf_reserve(buf, (size_t)n, &at);
    if (r < 0) {
        return r;
    }
    va_start(ap, fmt);
    (void)vsnprintf((char *)at, (size_t)n + 1, fmt, ap);
    va_end(ap);
    buf->len += (size_t)n;
    return 0;
}

void buf_consume(struct buf *buf, size_t n)
{
    assert(n <= buf->len);
    if (n == 0) {
        return;
    }
    memmove(buf->data, buf->data + n, buf->len - n);
    buf->len -= n;
    buf->data[buf->len] = '\0';
}
