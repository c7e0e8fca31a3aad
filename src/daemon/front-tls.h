/* front-tls.h - TLS of the front: certificate and key of files, OpenSSL below libevent. */
#pragma once

#include <event2/bufferevent.h>
#include <openssl/ssl.h>

#include "base/base.h"
#include "base/err.h"

/* TLS 1.2 and later, no renegotiation. The caller frees *ret with SSL_CTX_free(). */
must_use int front_tls_load(const char *cert, const char *key, SSL_CTX **ret,
                            struct err *err) nonnull_all;
/* A connection that takes fd. NULL: no memory; fd is still the caller's. */
struct bufferevent *front_tls_accept(struct event_base *base, SSL_CTX *ctx, int fd) nonnull_all;
/* Tells the peer that nothing more comes, if it is a connection of TLS. */
void front_tls_end(struct bufferevent *bev) nonnull_all;
