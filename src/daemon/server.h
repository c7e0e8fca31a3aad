/*
 * server.h - HTTP in front of service.h: listening sockets in, calls of the service out.
 *
 * Everything runs on the caller's event loop, in the thread that runs it. A client's bytes pass
 * front.c (strict framing, deadlines, TLS), then libmicrohttpd, then the table of routes
 * (docs/decisions/0034). The server owns its sockets and connections and nothing else.
 */
#pragma once

#include <event2/event.h>

#include "base/base.h"
#include "base/err.h"

#include "daemon/log.h"
#include "daemon/metrics.h"
#include "daemon/service.h"
#include "daemon/tenant.h"

struct server;

#define SERVER_CONNECTIONS   4096u
#define SERVER_HEAD_MAX      (16 * KIB) /* request line and headers */
#define SERVER_HEAD_NS       (10 * NS_PER_S)
#define SERVER_BODY_NS       (30 * NS_PER_S)
#define SERVER_IDLE_NS       (60 * NS_PER_S)
#define SERVER_STALL_NS      (60 * NS_PER_S)
#define SERVER_HEARTBEAT_NS  (15 * NS_PER_S)
#define SERVER_BODY_BYTES    (100 * MIB)
#define SERVER_BODIES_BYTES  (256 * MIB)
#define SERVER_REPLIES_BYTES (256 * MIB)
#define SERVER_WAITS         256u /* of one tenant, at once */
#define SERVER_WAIT_S_MAX    60u

enum server_kind {
    SERVER_TCP,
    SERVER_UNIX,
};

/*
 * Who asks. authorization: the header's value, NULL if there is none. local: the socket is a unix
 * socket or the peer a loopback address. What *ret_tenant points to lives at least until the loop's
 * next turn. Negative: *ret_refusal if its status is not 0, else err (500).
 */
typedef int server_authorize(void *ctx, const char *authorization, bool local,
                             struct tenant *ret_tenant, struct refusal *ret_refusal,
                             struct err *err);

struct server_options {
    struct event_base *base; /* borrowed, as all pointers here */
    struct service *service;
    server_authorize *authorize;
    void *authorize_ctx;
    struct log *log;          /* or NULL */
    struct metrics *metrics;  /* or NULL */
    const char *const *hosts; /* names taken in Host on TCP besides loopback and the address */
    size_t n_hosts;
    const char *const *origins; /* values of Origin that are taken; none = no browser */
    size_t n_origins;
    const char *tls_cert, *tls_key; /* PEM files; both or none. TCP speaks TLS then */
    size_t connections;             /* most at once; the longest idle one makes room */
    size_t waits;                   /* requests of one tenant that wait for a job or follow one */
    size_t per_address;             /* most from one TCP address; 0 = no limit */
    uint64_t head_ns;               /* a request's head, from its first byte (or the connection) */
    uint64_t body_ns;               /* its whole body */
    uint64_t idle_ns;               /* between two requests */
    uint64_t stall_ns;              /* an answer of which the client takes nothing */
    uint64_t heartbeat_ns;          /* comments in quiet event streams */
    uint64_t body_bytes;            /* of one request */
    uint64_t replies_bytes;         /* of large answers in memory; a quarter of it for one tenant */
    uint64_t bodies_bytes;          /* of all that are being read or handled */
};

/* The defaults above; everything else empty. */
void server_options_init(struct server_options *o) nonnull_all;

/* Copies the options and the names in it. */
must_use int server_new(const struct server_options *o, struct server **ret,
                        struct err *err) nonnull_all;
/* Closes everything, answers nothing. NULL is fine. Before the service, log and metrics go. */
void server_free(struct server *s);

/* Accepts on a bound, listening stream socket; takes it (-1 afterwards) on success. */
must_use int server_listen(struct server *s, int *take_fd, enum server_kind kind,
                           struct err *err) nonnull_all;

/* For a drain: nothing is accepted any more; connections end after their answer. */
void server_close_listeners(struct server *s) nonnull_all;
/* Requests that have no whole answer yet. */
must_use size_t server_pending(const struct server *s) nonnull_all;
must_use size_t server_connections(const struct server *s) nonnull_all;
/* Reads the TLS files again (SIGHUP); on failure the old ones stay. */
must_use int server_reload_tls(struct server *s, struct err *err) nonnull_all;
