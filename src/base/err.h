/*
 * err.h - the one way a fallible function reports failure.
 *
 * The caller owns a struct err on its stack and passes it last.  On failure the
 * callee fills it once and returns a negative errno; on success it is untouched.
 * The text is one sentence fragment that names the thing, the reason and, where
 * there is one, the remedy ("open '/x': No such file; build it with ...").
 */
#pragma once

#include "base/base.h"

enum err_class {
    ERR_NONE,
    ERR_USAGE, /* the caller asked for something invalid or unavailable here */
    ERR_GUEST, /* the guest broke the rules; ends this run only */
    ERR_LIMIT, /* a limit or the host's capacity was reached */
    ERR_HOST,  /* the host failed us: syscall, disk, monitor */
};

#define ERR_MSG_MAX 1024

struct err {
    enum err_class class;
    int errnum; /* positive errno */
    int line;
    const char *file;
    char msg[ERR_MSG_MAX];
};

#define ERR_INIT          \
    {                     \
        .class = ERR_NONE \
    }

/* Every function here returns a negative errno: tells compiler and analyzer, who cannot know. */
static inline int err_negative(int r)
{
    if (r >= 0) {
        __builtin_unreachable();
    }
    return r;
}

/* Fills err and returns -errnum. err must be empty. Text that does not fit is cut. */
int err_set_at(struct err *err, const char *file, int line, enum err_class class, int errnum,
               const char *fmt, ...) printf_like(6, 7) nonnull_args(1, 2, 6);

#define err_set(err, class, errnum, ...) \
    err_negative(err_set_at((err), __FILE__, __LINE__, (class), (errnum), __VA_ARGS__))
#define err_usage(err, ...) err_set((err), ERR_USAGE, EINVAL, __VA_ARGS__)
#define err_guest(err, ...) err_set((err), ERR_GUEST, EPROTO, __VA_ARGS__)

/* Like err_set(ERR_HOST, errno, ...) with ": strerror" appended to the text. */
int err_sys_at(struct err *err, const char *file, int line, int errnum, const char *fmt, ...)
    printf_like(5, 6) nonnull_args(1, 2, 5);
#define err_sys(err, ...) err_sys_num((err), errno, __VA_ARGS__)
#define err_sys_num(err, errnum, ...) \
    err_negative(err_sys_at((err), __FILE__, __LINE__, (errnum), __VA_ARGS__))

/* Prepends "context: "; returns the negative errno again, so it can be returned directly. */
int err_wrap_text(struct err *err, const char *fmt, ...) printf_like(2, 3) nonnull_all;
#define err_wrap(err, ...) err_negative(err_wrap_text((err), __VA_ARGS__))
