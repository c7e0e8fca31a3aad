#include "base/err.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Appends text to a message of length at, cutting what does not fit. Returns the new length. */
static size_t msg_append(struct err *err, size_t at, const char *text)
{
    size_t room = sizeof(err->msg) - 1 - at;
    size_t len = strlen(text);

    if (len > room) {
        len = room;
    }
    memcpy(err->msg + at, text, len);
    err->msg[at + len] = '\0';
    return at + len;
}

static size_t printf_like(2, 0) msg_format(struct err *err, const char *fmt, va_list ap)
{
    int n = vsnprintf(err->msg, sizeof(err->msg), fmt, ap);

    if (n < 0) {
        err->msg[0] = '\0';
        return 0;
    }
    return (size_t)n < sizeof(err->msg) ? (size_t)n : sizeof(err->msg) - 1;
}

static void fill(struct err *err, const char *file, int line, enum err_class class, int errnum)
{
    assert(err->class == ERR_NONE);
    assert(errnum > 0);
    err->class = class;
    err->errnum = errnum;
    err->file = file;
    err->line = line;
}

int err_set_at(struct err *err, const char *file, int line, enum err_class class, int errnum,
               const char *fmt, ...)
{
    va_list ap;

    fill(err, file, line, class, errnum);
    va_start(ap, fmt);
    (void)msg_format(err, fmt, ap);
    va_end(ap);
    return -errnum;
}

int err_sys_at(struct err *err, const char *file, int line, int errnum, const char *fmt, ...)
{
    char text[128];
    size_t at = 0;
    va_list ap;

    fill(err, file, line, ERR_HOST, errnum);
    va_start(ap, fmt);
    at = msg_format(err, fmt, ap);
    va_end(ap);
    at = msg_append(err, at, ": ");
    (void)msg_append(err, at, strerror_r(errnum, text, sizeof(text)));
    return -errnum;
}

int err_wrap_text(struct err *err, const char *fmt, ...)
{
    char inner[sizeof(err->msg)];
    size_t at = 0;
    va_list ap;

    assert(err->class != ERR_NONE);
    memcpy(inner, err->msg, sizeof(inner));
    va_start(ap, fmt);
    at = msg_format(err, fmt, ap);
    va_end(ap);
    at = msg_append(err, at, ": ");
    (void)msg_append(err, at, inner);
    return -err->errnum;
}
