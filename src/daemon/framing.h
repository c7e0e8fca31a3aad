/*
 * framing.h - where a request of HTTP/1.1 begins and ends, read strictly.
 *
 * Pure: bytes in, decisions out. What leaves room for two readings is refused, so that no proxy in
 * front and no library behind can see other requests than these: bare LF, folded lines, blanks
 * before the colon, NUL, two lengths, a length and a coding, a coding that is not plain "chunked",
 * chunk extensions, trailers, a second Host.
 */
#pragma once

#include "base/base.h"

#include "daemon/problem.h"

#define FRAMING_HEADERS_MAX 64u
#define FRAMING_CHUNK_MAX   UINT32_MAX

enum framing_state {
    FRAMING_HEAD,       /* before or in a head */
    FRAMING_LENGTH,     /* in a body of known length */
    FRAMING_CHUNK_SIZE, /* in the line of a chunk's size */
    FRAMING_CHUNK_DATA,
    FRAMING_CHUNK_END,  /* the CRLF behind a chunk */
    FRAMING_CHUNK_LAST, /* the CRLF behind the last size */
    FRAMING_DONE,       /* the request is whole */
};

struct framing {
    enum framing_state state;
    size_t scanned;      /* FRAMING_HEAD: bytes that were looked at before */
    size_t line;         /* FRAMING_HEAD: where the line that is being looked at begins */
    uint64_t left;       /* of a body, or of a chunk */
    unsigned int digits; /* of a chunk's size */
    bool cr;             /* the byte before was the CR of a line's end */
};

/* Before each request: all zero. */
#define FRAMING_INIT           \
    {                          \
        .state = FRAMING_HEAD, \
    }

/*
 * data: everything since the request's first byte. The head's length when it is whole and good (the
 * state says what follows), 0 if more is needed (len < max), -EINVAL with *ret_refusal.
 */
must_use int framing_head(struct framing *f, const uint8_t *data, size_t len, size_t max,
                          struct refusal *ret_refusal) nonnull_all;

/* The next bytes behind the head: *ret_used of them belong to the request. 0 or -EINVAL as above. */
must_use int framing_body(struct framing *f, const uint8_t *data, size_t len, size_t *ret_used,
                          struct refusal *ret_refusal) nonnull_all;
