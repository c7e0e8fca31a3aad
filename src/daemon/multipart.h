/*
 * multipart.h - multipart/form-data (RFC 7578) of a whole body, read strictly.
 *
 * A part points into the body. Every part needs a Content-Disposition of form-data with a quoted
 * name; other headers than Content-Type are refused, so is anything before the first and behind the
 * last boundary. libmicrohttpd's own reader is not used: it takes bodies without their last
 * boundary, ignores headers that it can't read and gives names of files as it finds them.
 */
#pragma once

#include "base/base.h"

#include "daemon/problem.h"

#define MULTIPART_PARTS_MAX    1100u
#define MULTIPART_NAME_MAX     255u
#define MULTIPART_BOUNDARY_MAX 70u

struct multipart_part {
    char name[MULTIPART_NAME_MAX + 1];
    char filename[MULTIPART_NAME_MAX + 1];
    bool has_filename;
    const uint8_t *data; /* borrowed of the body */
    size_t len;
};

struct multipart {
    const uint8_t *body;
    size_t len, at;
    char delimiter[MULTIPART_BOUNDARY_MAX + 5]; /* CR LF "--" BOUNDARY */
    size_t n;
    bool over;
};

/* type: the Content-Type header. -EINVAL with *ret_refusal if it is no multipart with a boundary. */
must_use int multipart_begin(struct multipart *m, const char *type, const uint8_t *body, size_t len,
                             struct refusal *ret_refusal) nonnull_args(1, 2, 5);
/* The next part: 1; 0 behind the last one; -EINVAL with *ret_refusal. */
must_use int multipart_next(struct multipart *m, struct multipart_part *ret,
                            struct refusal *ret_refusal) nonnull_all;
