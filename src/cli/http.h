/*
 * http.h - the one HTTP client: a daemon's address and token, requests with bounded answers.
 *
 * Plain and encrypted HTTP and Unix sockets; no redirects, no proxies, no other protocol. The token
 * goes nowhere but to the daemon: not over plain HTTP to another host, and nobody can read it from a
 * command line. One thread; a struct http serves one request at a time and keeps the connection.
 */
#pragma once

#include <poll.h>

#include "base/base.h"
#include "base/buf.h"
#include "base/err.h"

#define HTTP_URL_DEFAULT "http://127.0.0.1:7380"
#define HTTP_ANSWER_MAX  (64 * MIB) /* of a JSON answer */

struct http;

/* Where and as whom; NULL members are taken from the environment: AIRLOCK_URL, AIRLOCK_TOKEN. */
struct http_config {
    const char *url; /* http://HOST:PORT, https://HOST:PORT or unix:PATH */
    const char *token_file;
    const char *cacert; /* PEM; NULL = what the system trusts */
};

/* Checks all of it; connects later. ERR_USAGE says what to write instead. The caller owns *ret. */
must_use int http_new(const struct http_config *config, struct http **ret,
                      struct err *err) nonnull_all;
void http_free(struct http *h);

static inline void http_free_p(struct http **h)
{
    http_free(*h);
}

#define auto_http on_scope_exit(http_free_p)

/* The address, for messages. Borrowed. */
const char *http_url(const struct http *h) nonnull_all;

/* One part of a form; everything borrowed. */
struct http_part {
    const char *name;
    const char *filename; /* NULL = none */
    const char *type;     /* NULL = none */
    const void *data;
    size_t len;
};

/* What a body of an answer does instead of being collected: returns 0, 1 to be given the same bytes
 * again later (once turn() returns 1), or -errno. Only of answers with status 200. */
typedef int http_body_fn(void *ctx, const void *data, size_t len, struct err *err);

/*
 * Called whenever something happened, and before each wait; may set what else shall be waited for.
 * -errno ends the request. Returns 1 to go on with a body that was put off, else 0.
 */
typedef int http_turn_fn(void *ctx, struct pollfd *also, struct err *err);

struct http_request {
    const char *method;     /* "GET", "POST", "DELETE" */
    const char *path;       /* "/v1/jobs?limit=3"; percent-encoded by the caller */
    const char *headers[4]; /* "Name: value", NULL-terminated */
    const void *body;       /* JSON; NULL = none */
    size_t body_len;
    const struct http_part *parts; /* instead of a body */
    size_t n_parts;
    uint64_t silence_ns;  /* most time without a byte either way; 0 = 60 s */
    size_t answer_max;    /* 0 = HTTP_ANSWER_MAX */
    http_body_fn *stream; /* NULL = collect */
    http_turn_fn *turn;   /* NULL = just wait */
    void *ctx;
};

struct http_answer {
    unsigned int status;
    char type[64];          /* Content-Type without parameters, lower case */
    uint64_t retry_after_s; /* 0 = not said */
    struct buf body;        /* what was collected */
};

void http_answer_fini(struct http_answer *a) nonnull_all;
#define auto_http_answer on_scope_exit(http_answer_fini)

/*
 * One request and its answer, whatever its status. *ret is emptied first and is the caller's, also
 * after a failure: status 0 then says that there was no answer. ERR_HOST for what the network or the
 * server did (-ECONNREFUSED, -ETIMEDOUT, -EPROTO, ...; the text names the remedy), or whatever a
 * callback returned.
 */
must_use int http_do(struct http *h, const struct http_request *request, struct http_answer *ret,
                     struct err *err) nonnull_all;
