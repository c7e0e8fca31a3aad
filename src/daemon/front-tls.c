#include "daemon/front-tls.h"

#include <errno.h>
#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>

static int tls_error(struct err *err, const char *what, const char *path)
{
    unsigned long code = ERR_get_error();
    const char *why = ERR_reason_error_string(code);

    ERR_clear_error();
    return err_usage(err, "%s '%s': %s; give PEM files that belong together", what, path,
                     why != NULL ? why : "not usable");
}

int front_tls_load(const char *cert, const char *key, SSL_CTX **ret, struct err *err)
{
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    int r = 0;

    if (ctx == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "set up TLS: out of memory");
    }
    (void)SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    if (SSL_CTX_use_certificate_chain_file(ctx, cert) != 1) {
        r = tls_error(err, "certificate", cert);
    } else if (SSL_CTX_use_PrivateKey_file(ctx, key, SSL_FILETYPE_PEM) != 1 ||
               SSL_CTX_check_private_key(ctx) != 1) {
        r = tls_error(err, "key", key);
    }
    if (r < 0) {
        SSL_CTX_free(ctx);
        return r;
    }
    *ret = ctx;
    return 0;
}

struct bufferevent *front_tls_accept(struct event_base *base, SSL_CTX *ctx, int fd)
{
    SSL *ssl = SSL_new(ctx);
    struct bufferevent *bev = NULL;

    if (ssl == NULL) {
        return NULL;
    }
    /* Takes ssl, also when it fails. */
    bev = bufferevent_openssl_socket_new(base, fd, ssl, BUFFEREVENT_SSL_ACCEPTING,
                                         BEV_OPT_CLOSE_ON_FREE);
    if (bev != NULL) {
        /* Lengths are ours to know: an end without close_notify cuts no request short unseen. */
        bufferevent_openssl_set_allow_dirty_shutdown(bev, 1);
    }
    return bev;
}

void front_tls_end(struct bufferevent *bev)
{
    SSL *ssl = bufferevent_openssl_get_ssl(bev);

    if (ssl != NULL && SSL_is_init_finished(ssl)) {
        (void)SSL_shutdown(ssl);
        ERR_clear_error();
    }
}
