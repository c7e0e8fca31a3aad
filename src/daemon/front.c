/*
 * How it works: a connection is a state (below), two bufferevents and one timer. "client" is the
 * socket, "inner" our end of the pair whose other end the library has; it is made with the first
 * whole head, so connections that send nothing cost a descriptor and little memory.
 *
 *   HEAD     bytes collect until a head is whole; timer: idle_ns or head_ns
 *   BODY     the body is checked and passed on; timer: body_ns
 *   ANSWER   the request was passed on, its answer is awaited; no more is read than one buffer
 *   LINGER   the last answer is sent; what still comes is dropped, so that closing does not
 *            destroy the answer on its way (a reset overtakes unread data)
 *
 * Every queue between two sockets is bounded: past its mark the source is not read.
 */
#include "daemon/front.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/framing.h"
#include "daemon/front-tls.h"

#define READ_MARK       (64 * KIB)  /* of a client, not yet passed on */
#define QUEUE_MARK      (128 * KIB) /* passed on, not yet taken by the other side */
#define PAIR_BUFFER     (64 * KIB)
#define LINGER_NS       (1 * NS_PER_S)
#define LINGER_BYTES    (8 * MIB)
#define ACCEPT_PAUSE_NS (200 * NS_PER_MS)
#define LISTENERS_MAX   16u
#define ADDRESS_SIZE    (INET6_ADDRSTRLEN + 2)

enum state {
    STATE_HEAD,
    STATE_BODY,
    STATE_ANSWER,
    STATE_LINGER,
};

struct address {
    char text[ADDRESS_SIZE]; /* "" = unix socket */
    bool loopback;
};

struct front_conn {
    struct front *front;
    struct front_conn *next, *prev;
    struct bufferevent *client, *inner;
    struct event *timer;
    int client_fd; /* the bufferevent's */
    int inner_fd;  /* the library's end, its number alone; -1 = none */
    enum server_kind kind;
    enum state state;
    struct framing framing;
    struct address own, peer;
    void *request;
    bool waiting;     /* the request waits for a job */
    bool eof;         /* the client sends no more */
    bool in_head;     /* the timer is that of a head which began */
    bool shut;        /* LINGER: our side is closed */
    size_t dropped;   /* LINGER: bytes */
    uint64_t answers; /* so far */
};

/* What the library's descriptor of that number belongs to. */
struct slot {
    struct front_conn *conn;
};

struct listener {
    struct front *front;
    struct evconnlistener *ev;
    enum server_kind kind;
};

struct front {
    const struct server_options *o;
    const struct front_ops *ops;
    void *ctx;
    SSL_CTX *tls;
    struct listener listeners[LISTENERS_MAX];
    size_t n_listeners;
    bool closing; /* no more requests after those that are pending */
    struct event *accept_timer;
    struct front_conn *first, *last; /* newest first */
    size_t n;
    struct slot *by_fd;
    size_t by_fd_len;
};

static void client_advance(struct front_conn *c);

static struct timeval to_timeval(uint64_t ns)
{
    return (struct timeval){.tv_sec = (time_t)(ns / NS_PER_S),
                            .tv_usec = (suseconds_t)(ns % NS_PER_S / 1000)};
}

static void set_timer(struct front_conn *c, uint64_t ns)
{
    struct timeval tv = to_timeval(ns);

    (void)evtimer_add(c->timer, &tv);
}

static void pause_accepting(struct front *f, bool pause)
{
    for (size_t i = 0; i < f->n_listeners; i++) {
        if (f->listeners[i].ev != NULL) {
            (void)(pause ? evconnlistener_disable : evconnlistener_enable)(f->listeners[i].ev);
        }
    }
}

static void detach(struct front_conn *c)
{
    struct front *f = c->front;

    if (c->request != NULL) {
        f->ops->gone(f->ctx, STEAL_PTR(&c->request));
    }
    if (c->inner_fd >= 0 && f->by_fd[c->inner_fd].conn == c) {
        f->by_fd[c->inner_fd].conn = NULL;
    }
    c->inner_fd = -1;
    if (c->inner != NULL) {
        bufferevent_free(STEAL_PTR(&c->inner));
    }
}

static void conn_free(struct front_conn *c)
{
    struct front *f = c->front;

    detach(c);
    if (c->client != NULL) {
        bufferevent_free(c->client);
    }
    if (c->timer != NULL) {
        event_free(c->timer);
    }
    *(c->prev != NULL ? &c->prev->next : &f->first) = c->next;
    *(c->next != NULL ? &c->next->prev : &f->last) = c->prev;
    free(c);
    f->n--;
    metrics_set(f->o->metrics, METRIC_CONNECTIONS, 0, f->n);
    pause_accepting(f, false);
}

/* What the library wrote so far goes to the client before anything of ours. */
static void drain_inner(struct front_conn *c)
{
    struct evbuffer *out = bufferevent_get_output(c->client);

    if (c->inner == NULL) {
        return;
    }
    (void)evbuffer_add_buffer(out, bufferevent_get_input(c->inner));
    while (evbuffer_read(out, bufferevent_getfd(c->inner), (int)PAIR_BUFFER) > 0) {
    }
}

/* The client has been sent everything; what it still sends is dropped for a moment. */
static void linger_sent(struct front_conn *c)
{
    if (c->eof) {
        conn_free(c);
        return;
    }
    c->shut = true;
    front_tls_end(c->client);
    (void)shutdown(c->client_fd, SHUT_WR);
    set_timer(c, LINGER_NS);
}

/* c may be freed when this returns. */
static void linger(struct front_conn *c)
{
    drain_inner(c);
    detach(c);
    (void)evtimer_del(c->timer);
    c->state = STATE_LINGER;
    (void)evbuffer_drain(bufferevent_get_input(c->client),
                         evbuffer_get_length(bufferevent_get_input(c->client)));
    if (!c->eof) {
        (void)bufferevent_enable(c->client, EV_READ);
    }
    if (evbuffer_get_length(bufferevent_get_output(c->client)) == 0) {
        linger_sent(c);
    }
}

/* An answer of our own, then the end. Not while the library's answer is on its way. */
static void refuse(struct front_conn *c, const struct refusal *refusal)
{
    struct evbuffer *out = bufferevent_get_output(c->client);
    auto_buf struct buf body = BUF_INIT(4 * KIB);

    drain_inner(c);
    detach(c);
    metrics_add(c->front->o->metrics, METRIC_HTTP_REJECTED, 0, 1);
    log_event(c->front->o->log, LOG_DEBUG, "request-rejected", NULL,
              LOG_NUMBER("status", refusal->status), LOG_TEXT("why", refusal->detail));
    if (problem_json(refusal, &body) == 0) {
        (void)evbuffer_add_printf(out,
                                  "HTTP/1.1 %u %s\r\nContent-Type: application/problem+json\r\n"
                                  "Content-Length: %zu\r\nCache-Control: no-store\r\n"
                                  "X-Content-Type-Options: nosniff\r\n",
                                  refusal->status, problem_reason(refusal->status), body.len);
        if (refusal->retry_after_s > 0) {
            (void)evbuffer_add_printf(out, "Retry-After: %llu\r\n",
                                      (unsigned long long)refusal->retry_after_s);
        }
        (void)evbuffer_add_printf(out, "Connection: close\r\n\r\n");
        (void)evbuffer_add(out, body.data, body.len);
    }
    linger(c);
}

static void refuse_problem(struct front_conn *c, enum problem problem, const char *detail)
{
    struct refusal refusal = {0};

    (void)problem_set(&refusal, problem, "", "%s", detail);
    refuse(c, &refusal);
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
    struct front_conn *c = ctx;

    (void)fd;
    (void)what;
    if (c->state == STATE_BODY) {
        refuse_problem(c, PROBLEM_TIMEOUT, "the request's body did not arrive in time");
    } else if (c->state == STATE_HEAD && c->in_head) {
        refuse_problem(c, PROBLEM_TIMEOUT, "the request's head did not arrive in time");
    } else {
        conn_free(c);
    }
}

static void inner_read(struct bufferevent *bev, void *ctx)
{
    struct front_conn *c = ctx;
    struct evbuffer *out = bufferevent_get_output(c->client);

    (void)evbuffer_add_buffer(out, bufferevent_get_input(bev));
    if (evbuffer_get_length(out) > QUEUE_MARK) {
        (void)bufferevent_disable(bev, EV_READ);
    }
}

static void inner_write(struct bufferevent *bev, void *ctx)
{
    struct front_conn *c = ctx;

    (void)bev;
    if (c->state == STATE_BODY) {
        if (!c->eof) {
            (void)bufferevent_enable(c->client, EV_READ);
        }
        client_advance(c);
    }
}

/* The library closed, or its end failed: what it wrote is sent, then the end. */
static void inner_event(struct bufferevent *bev, short what, void *ctx)
{
    struct front_conn *c = ctx;

    (void)bev;
    if ((what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)) != 0) {
        linger(c);
    }
}

static int remember(struct front_conn *c, int fd)
{
    struct front *f = c->front;

    if ((size_t)fd >= f->by_fd_len) {
        size_t n = (size_t)fd + 64;
        struct slot *p = reallocarray(f->by_fd, n, sizeof(*p));

        if (p == NULL) {
            return -ENOMEM;
        }
        memset(p + f->by_fd_len, 0, (n - f->by_fd_len) * sizeof(*p));
        f->by_fd = p;
        f->by_fd_len = n;
    }
    f->by_fd[fd].conn = c;
    c->inner_fd = fd;
    return 0;
}

/* The way to the library. 0 or -errno. */
static int attach(struct front_conn *c)
{
    struct front *f = c->front;
    int pair[2] = {-1, -1};
    int size = (int)PAIR_BUFFER;
    int r = 0;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0) {
        return -errno;
    }
    (void)setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    c->inner = bufferevent_socket_new(f->o->base, pair[0], BEV_OPT_CLOSE_ON_FREE);
    if (c->inner == NULL) {
        (void)close(pair[0]);
        (void)close(pair[1]);
        return -ENOMEM;
    }
    bufferevent_setcb(c->inner, inner_read, inner_write, inner_event, c);
    bufferevent_setwatermark(c->inner, EV_WRITE, READ_MARK, 0);
    bufferevent_setwatermark(c->inner, EV_READ, 0, QUEUE_MARK);
    (void)bufferevent_enable(c->inner, EV_READ | EV_WRITE);
    r = remember(c, pair[1]);
    if (r == 0) {
        r = f->ops->attach(f->ctx, pair[1]);
    }
    if (r < 0) {
        (void)close(pair[1]);
        detach(c);
    }
    return r;
}

/* A head, once it is whole. True if there is more to do with what has come. */
static bool advance_head(struct front_conn *c, struct evbuffer *in)
{
    size_t len = evbuffer_get_length(in);
    size_t look = len < SERVER_HEAD_MAX ? len : SERVER_HEAD_MAX;
    struct refusal refusal = {0};
    int head = 0;

    if (len == 0) {
        return false;
    }
    head = framing_head(&c->framing, evbuffer_pullup(in, (ssize_t)look), look, SERVER_HEAD_MAX,
                        &refusal);
    if (head < 0) {
        refuse(c, &refusal);
        return false;
    }
    if (head == 0) {
        if (!c->in_head) {
            c->in_head = true;
            if (c->answers > 0) {
                set_timer(c, c->front->o->head_ns);
            }
        }
        return false;
    }
    if (c->inner == NULL && attach(c) < 0) {
        refuse_problem(c, PROBLEM_BUSY, "the server can't take another connection now");
        return false;
    }
    (void)evbuffer_remove_buffer(in, bufferevent_get_output(c->inner), (size_t)head);
    c->in_head = false;
    c->state = STATE_BODY;
    set_timer(c, c->front->o->body_ns);
    return true;
}

/* c may be freed when this returns. */
static void advance_body(struct front_conn *c, struct evbuffer *in)
{
    struct evbuffer *out = bufferevent_get_output(c->inner);
    size_t len = evbuffer_get_length(in);
    size_t used = 0;
    struct refusal refusal = {0};

    if (evbuffer_get_length(out) > QUEUE_MARK) {
        (void)bufferevent_disable(c->client, EV_READ);
        return;
    }
    if (framing_body(&c->framing, len > 0 ? evbuffer_pullup(in, -1) : (const uint8_t *)"", len,
                     &used, &refusal) < 0) {
        /* Nothing of an answer is on its way, but perhaps a "100 Continue": front_done() ends BODY. */
        refuse(c, &refusal);
        return;
    }
    (void)evbuffer_remove_buffer(in, out, used);
    if (c->framing.state == FRAMING_DONE) {
        c->state = STATE_ANSWER;
        (void)evtimer_del(c->timer);
    } else if (c->eof) {
        conn_free(c);
    }
}

/* c may be freed when this returns. */
static void client_advance(struct front_conn *c)
{
    struct evbuffer *in = bufferevent_get_input(c->client);

    if (c->state == STATE_LINGER) {
        c->dropped += evbuffer_get_length(in);
        (void)evbuffer_drain(in, evbuffer_get_length(in));
        if (c->dropped > LINGER_BYTES) {
            conn_free(c);
        }
        return;
    }
    if (c->state == STATE_HEAD && !advance_head(c, in)) {
        return;
    }
    if (c->state == STATE_BODY) {
        advance_body(c, in);
    }
}

static void client_read(struct bufferevent *bev, void *ctx)
{
    (void)bev;
    client_advance(ctx);
}

static void client_write(struct bufferevent *bev, void *ctx)
{
    struct front_conn *c = ctx;

    if (c->inner != NULL) {
        (void)bufferevent_enable(c->inner, EV_READ);
    }
    if (c->state == STATE_LINGER && !c->shut &&
        evbuffer_get_length(bufferevent_get_output(bev)) == 0) {
        linger_sent(c);
    }
}

static void client_event(struct bufferevent *bev, short what, void *ctx)
{
    struct front_conn *c = ctx;

    if ((what & BEV_EVENT_CONNECTED) != 0) {
        return; /* the end of TLS's handshake */
    }
    c->eof = true;
    if ((what & BEV_EVENT_EOF) != 0 && c->state == STATE_ANSWER && !c->waiting) {
        return;
    }
    if ((what & BEV_EVENT_EOF) != 0 && c->state == STATE_LINGER && !c->shut) {
        return;
    }
    if ((what & BEV_EVENT_EOF) != 0 && c->state == STATE_BODY &&
        evbuffer_get_length(bufferevent_get_input(bev)) > 0) {
        return; /* all of it came, not all of it was passed on */
    }
    conn_free(c);
}

struct front_conn *front_find(struct front *f, int fd)
{
    return fd >= 0 && (size_t)fd < f->by_fd_len ? f->by_fd[fd].conn : NULL;
}

void front_set_request(struct front_conn *c, void *request)
{
    c->request = request;
}

/* The end may have come before the library had read that there is something to wait for. */
void front_set_waiting(struct front_conn *c, bool waiting)
{
    if (c->eof && c->state == STATE_ANSWER && waiting != c->waiting) {
        if (waiting) {
            set_timer(c, 0); /* freed from the loop: the library is in the middle of its work */
        } else {
            (void)evtimer_del(c->timer);
        }
    }
    c->waiting = waiting;
}

/* Called by the library, so never while one of the callbacks above is at work. */
void front_done(struct front_conn *c)
{
    c->request = NULL;
    c->waiting = false;
    c->answers++;
    if (c->state != STATE_ANSWER || c->front->closing) {
        /* Answered before the body was read (too large, no such path): there is no next request. */
        linger(c);
        return;
    }
    c->framing = (struct framing)FRAMING_INIT;
    c->state = STATE_HEAD;
    c->in_head = false;
    if (c->eof && evbuffer_get_length(bufferevent_get_input(c->client)) == 0) {
        linger(c);
        return;
    }
    set_timer(c, c->front->o->idle_ns);
    /* What came meanwhile is looked at from the loop: the library is in the middle of its work. */
    bufferevent_trigger(c->client, EV_READ, BEV_TRIG_IGNORE_WATERMARKS | BEV_TRIG_DEFER_CALLBACKS);
}

void front_refuse(struct front_conn *c, const struct refusal *refusal)
{
    c->request = NULL;
    refuse(c, refusal);
}

bool front_is_local(const struct front_conn *c)
{
    return c->kind == SERVER_UNIX || c->peer.loopback;
}

enum server_kind front_kind(const struct front_conn *c)
{
    return c->kind;
}

const char *front_address(const struct front_conn *c)
{
    return c->own.text;
}

static struct address address_of(const struct sockaddr_storage *ss)
{
    struct address a = {0};
    char text[INET6_ADDRSTRLEN] = "";

    if (ss->ss_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)ss;

        (void)inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
        (void)snprintf(a.text, sizeof(a.text), "%s", text);
        a.loopback = ntohl(in->sin_addr.s_addr) >> 24 == 127;
    } else if (ss->ss_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)ss;

        (void)inet_ntop(AF_INET6, &in->sin6_addr, text, sizeof(text));
        (void)snprintf(a.text, sizeof(a.text), "[%s]", text);
        a.loopback = IN6_IS_ADDR_LOOPBACK(&in->sin6_addr) != 0;
    }
    return a;
}

/* Is there room for one more from there? If not, whoever idles longest goes. */
static bool make_room(struct front *f, const struct address *peer)
{
    struct front_conn *idle = NULL;
    size_t same = 0;

    for (struct front_conn *c = f->first; c != NULL; c = c->next) {
        same += peer->text[0] != '\0' && strcmp(c->peer.text, peer->text) == 0 ? 1 : 0;
        if (c->state == STATE_HEAD || c->state == STATE_LINGER) {
            idle = c; /* the list is from the newest to the oldest */
        }
    }
    if (f->o->per_address > 0 && same >= f->o->per_address) {
        return false;
    }
    if (f->n < f->o->connections) {
        return true;
    }
    if (idle == NULL) {
        return false;
    }
    conn_free(idle);
    return true;
}

static struct front_conn *conn_new(struct front *f, int fd, enum server_kind kind)
{
    struct front_conn *c = calloc(1, sizeof(*c));

    if (c == NULL) {
        return NULL;
    }
    c->timer = evtimer_new(f->o->base, on_timer, c);
    c->client = c->timer == NULL ? NULL
                : f->tls != NULL && kind == SERVER_TCP
                    ? front_tls_accept(f->o->base, f->tls, fd)
                    : bufferevent_socket_new(f->o->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (c->client == NULL) {
        if (c->timer != NULL) {
            event_free(c->timer);
        }
        free(c);
        return NULL;
    }
    c->front = f;
    c->client_fd = fd;
    c->inner_fd = -1;
    c->kind = kind;
    c->next = f->first;
    *(f->first != NULL ? &f->first->prev : &f->last) = c;
    f->first = c;
    f->n++;
    return c;
}

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd, struct sockaddr *sa, int len,
                      void *ctx)
{
    struct listener *l = ctx;
    struct front *f = l->front;
    struct front_conn *c = NULL;
    struct sockaddr_storage own = {0};
    struct sockaddr_storage peer = {0};
    socklen_t own_len = sizeof(own);
    struct address peer_address;
    struct timeval stall = to_timeval(f->o->stall_ns);
    int one = 1;

    (void)ev;
    memcpy(&peer, sa, (size_t)len < sizeof(peer) ? (size_t)len : sizeof(peer));
    peer_address = address_of(&peer);
    c = make_room(f, &peer_address) ? conn_new(f, fd, l->kind) : NULL;
    if (c == NULL) {
        (void)close(fd);
        return;
    }
    if (l->kind == SERVER_TCP) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        if (getsockname(fd, (struct sockaddr *)&own, &own_len) == 0) {
            c->own = address_of(&own);
        }
        c->peer = peer_address;
    }
    metrics_set(f->o->metrics, METRIC_CONNECTIONS, 0, f->n);
    bufferevent_setcb(c->client, client_read, client_write, client_event, c);
    bufferevent_setwatermark(c->client, EV_READ, 0, READ_MARK);
    bufferevent_setwatermark(c->client, EV_WRITE, READ_MARK, 0);
    bufferevent_set_timeouts(c->client, NULL, &stall);
    (void)bufferevent_enable(c->client, EV_READ | EV_WRITE);
    set_timer(c, f->o->head_ns);
}

/* No descriptors or no memory: a pause instead of a loop that asks again and again. */
static void on_accept_error(struct evconnlistener *ev, void *ctx)
{
    struct listener *l = ctx;
    struct timeval tv = to_timeval(ACCEPT_PAUSE_NS);

    (void)ev;
    log_event(l->front->o->log, LOG_WARNING, "accept-failed", NULL,
              LOG_NUMBER("errno", (uint64_t)EVUTIL_SOCKET_ERROR()));
    pause_accepting(l->front, true);
    (void)evtimer_add(l->front->accept_timer, &tv);
}

static void on_accept_timer(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    pause_accepting(ctx, false);
}

int front_new(const struct server_options *o, const struct front_ops *ops, void *ctx,
              struct front **ret, struct err *err)
{
    struct front *f = calloc(1, sizeof(*f));

    if (f == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "set up the HTTP front: out of memory");
    }
    f->o = o;
    f->ops = ops;
    f->ctx = ctx;
    f->accept_timer = evtimer_new(o->base, on_accept_timer, f);
    if (f->accept_timer == NULL) {
        front_free(f);
        return err_set(err, ERR_HOST, ENOMEM, "set up the HTTP front: out of memory");
    }
    if (o->tls_cert != NULL && o->tls_key != NULL) {
        int r = front_tls_load(o->tls_cert, o->tls_key, &f->tls, err);

        if (r < 0) {
            front_free(f);
            return r;
        }
    }
    *ret = f;
    return 0;
}

void front_close_all(struct front *f)
{
    front_close_listeners(f);
    while (f->first != NULL) {
        conn_free(f->first);
    }
}

void front_free(struct front *f)
{
    if (f == NULL) {
        return;
    }
    front_close_all(f);
    if (f->accept_timer != NULL) {
        event_free(f->accept_timer);
    }
    SSL_CTX_free(f->tls);
    free(f->by_fd);
    free(f);
}

int front_listen(struct front *f, int *take_fd, enum server_kind kind, struct err *err)
{
    struct listener *l = &f->listeners[f->n_listeners];

    if (f->n_listeners == LISTENERS_MAX) {
        return err_usage(err, "more than %u sockets to listen on", LISTENERS_MAX);
    }
    if (evutil_make_socket_nonblocking(*take_fd) < 0) {
        return err_sys(err, "prepare the listening socket");
    }
    *l = (struct listener){.front = f, .kind = kind};
    l->ev = evconnlistener_new(f->o->base, on_accept, l,
                               LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, *take_fd);
    if (l->ev == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "listen: out of memory");
    }
    *take_fd = -1;
    evconnlistener_set_error_cb(l->ev, on_accept_error);
    f->n_listeners++;
    return 0;
}

void front_close_listeners(struct front *f)
{
    struct front_conn *next = NULL;

    f->closing = true;
    for (size_t i = 0; i < f->n_listeners; i++) {
        if (f->listeners[i].ev != NULL) {
            evconnlistener_free(STEAL_PTR(&f->listeners[i].ev));
        }
    }
    for (struct front_conn *c = f->first; c != NULL; c = next) {
        next = c->next;
        if (c->state == STATE_HEAD && !c->in_head) {
            linger(c);
        }
    }
}

int front_reload_tls(struct front *f, struct err *err)
{
    SSL_CTX *fresh = NULL;
    int r = 0;

    if (f->tls == NULL) {
        return 0;
    }
    r = front_tls_load(f->o->tls_cert, f->o->tls_key, &fresh, err);
    if (r < 0) {
        return r;
    }
    SSL_CTX_free(f->tls);
    f->tls = fresh;
    return 0;
}

size_t front_connections(const struct front *f)
{
    return f->n;
}
