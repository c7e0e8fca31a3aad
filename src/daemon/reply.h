/*
 * reply.h - answers: libmicrohttpd's responses, with the headers that every one must have.
 *
 * A reply is owned by whoever made it until it is queued or dropped. Files are sent by the kernel
 * from their descriptors and never read into memory.
 */
#pragma once

#include <jansson.h>
#include <microhttpd.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#include "daemon/problem.h"

struct reply {
    unsigned int status;
    struct MHD_Response *response; /* owned; NULL = none */
    size_t bytes;                  /* that it keeps in memory */
};

#define REPLY_INIT        \
    {                     \
        .response = NULL, \
    }

void reply_drop(struct reply *r) nonnull_all;
#define auto_reply on_scope_exit(reply_drop)

/* All: 0, or ERR_HOST/-ENOMEM. type: "application/json"; text is ours or JSON. */
must_use int reply_bytes(struct reply *ret, unsigned int status, const char *type, const void *data,
                         size_t len, struct err *err) nonnull_all;
/* Constant data, not copied. */
must_use int reply_constant(struct reply *ret, unsigned int status, const char *type,
                            const void *data, size_t len, struct err *err) nonnull_all;
must_use int reply_json(struct reply *ret, unsigned int status, const json_t *json,
                        struct err *err) nonnull_all;
/* JSON; takes it (malloc'd) in every case. */
must_use int reply_text(struct reply *ret, unsigned int status, char *take_text,
                        struct err *err) nonnull_all;
must_use int reply_problem(struct reply *ret, const struct refusal *refusal,
                           struct err *err) nonnull_all;
must_use int reply_empty(struct reply *ret, unsigned int status, struct err *err) nonnull_all;

/*
 * Bytes of a user: as an attachment, never to be shown or run by a browser. Takes fd (-1 afterwards)
 * on success. total: the file's size now. range: the header's value, or NULL; "bytes=A-B", "bytes=A-"
 * and "bytes=-N" are known, other forms are ignored as RFC 9110, 14.2 wants; one that begins behind the
 * end is -EINVAL with *ret_refusal (416).
 */
must_use int reply_file(struct reply *ret, int *take_fd, uint64_t total, const char *range,
                        struct refusal *ret_refusal, struct err *err) nonnull_args(1, 2, 5, 6);

/* Bytes as fn gives them (MHD_ContentReaderCallback), until it says that there are no more. */
must_use int reply_stream(struct reply *ret, const char *type, MHD_ContentReaderCallback fn,
                          void *ctx, size_t block, struct err *err) nonnull_all;

must_use int reply_header(struct reply *r, const char *name, const char *value,
                          struct err *err) nonnull_all;
