/*
 * front.h - what stands between a client and the HTTP library.
 *
 * Accepts, ends TLS, reads the framing of every request (framing.h), and passes what is good on
 * through a socket pair; answers come back the same way. So nothing reaches the library that can
 * be read in two ways; and deadlines, the number of connections and what one may hold are
 * decided here, in absolute terms. One request of a connection is passed on at a time.
 *
 * A connection is freed by the front alone; between attach() and gone() the library's side may
 * look it up by the number of its descriptor.
 */
#pragma once

#include <event2/event.h>

#include "base/base.h"
#include "base/err.h"

#include "daemon/server.h"

struct front;
struct front_conn;

struct front_ops {
    /* Takes fd, a connected stream socket, on success. 0 or -errno. */
    int (*attach)(void *ctx, int fd);
    /* The client is gone while its request was pending: nobody reads the answer. */
    void (*gone)(void *ctx, void *request);
};

/* o is borrowed for the life of the front. */
must_use int front_new(const struct server_options *o, const struct front_ops *ops, void *ctx,
                       struct front **ret, struct err *err) nonnull_all;
void front_free(struct front *f);
/* Ends every connection at once; gone() is told of those that have a request. */
void front_close_all(struct front *f) nonnull_all;
must_use int front_listen(struct front *f, int *take_fd, enum server_kind kind,
                          struct err *err) nonnull_all;
void front_close_listeners(struct front *f) nonnull_all;
must_use int front_reload_tls(struct front *f, struct err *err) nonnull_all;
size_t front_connections(const struct front *f) nonnull_all;

/* By the library's descriptor; NULL if its client is gone. */
struct front_conn *front_find(struct front *f, int fd) nonnull_all;
/* What gone() is told; NULL: nothing. */
void front_set_request(struct front_conn *c, void *request) nonnull_args(1);
/* A client that closes its side while its request waits is gone. */
void front_set_waiting(struct front_conn *c, bool waiting) nonnull_all;
/* The library wrote the whole answer. */
void front_done(struct front_conn *c) nonnull_all;
/* Over a unix socket, or from a loopback address. */
bool front_is_local(const struct front_conn *c) nonnull_all;
enum server_kind front_kind(const struct front_conn *c) nonnull_all;
/* The address of the server's end, as Host may name it: "127.0.0.1", "[::1]". "" = unix socket. */
const char *front_address(const struct front_conn *c) nonnull_all;
/* Answers in the library's place, in the middle of a body, and ends the connection. */
void front_refuse(struct front_conn *c, const struct refusal *refusal) nonnull_all;
