/*
 * How it works: the front (front.c) hands us one end of a socket pair for each client, libmicrohttpd
 * reads requests from it. The library has no thread: its epoll descriptor is one event of ours, and
 * whatever may have given it work (a new connection, a resumed one) activates that event. A request
 * is checked as soon as its head is known, before a byte of its body is taken: Host, Origin, route,
 * token, query, length. Bodies are counted while they come, one by one and all together.
 */
#include "daemon/server.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/num.h"

#include "daemon/call.h"
#include "daemon/front.h"
#include "daemon/request.h"
#include "daemon/route.h"
#include "sys/clock.h"

/* The head, its parsed form and an answer's head; bodies are not kept in it. */
#define POOL_BYTES (4 * SERVER_HEAD_MAX)
#define HELD_FREE  (32 * KIB) /* of an answer; not counted */
#define NAMES_MAX  64u

struct server {
    struct server_options o;
    char *hosts[NAMES_MAX];
    char *origins[NAMES_MAX];
    char *tls[2];
    struct front *front;
    struct MHD_Daemon *mhd;
    struct event *run;   /* the library's epoll descriptor */
    struct event *later; /* when the library wants to be called without any */
    uint64_t bodies;     /* bytes of all bodies */
    uint64_t held;       /* bytes of all large answers */
    struct call *calls;
    size_t pending;
    bool closing;
};

static const char hosts_loopback[][12] = {"localhost", "127.0.0.1", "[::1]"};

const char *call_header(const struct call *call, const char *name)
{
    return MHD_lookup_connection_value(call->mhd, MHD_HEADER_KIND, name);
}

bool call_hold(struct call *call, size_t bytes)
{
    struct server *s = call->server;
    uint64_t same = bytes;

    if (bytes <= HELD_FREE) {
        return true;
    }
    for (const struct call *other = s->calls; other != NULL; other = other->next) {
        same += strcmp(other->who.name, call->who.name) == 0 ? other->held : 0;
    }
    if (same > s->o.replies_bytes / 4 || s->held + bytes > s->o.replies_bytes) {
        return false;
    }
    call->held += bytes;
    s->held += bytes;
    return true;
}

int call_may_wait(struct call *call, struct refusal *ret_refusal)
{
    size_t n = 0;

    for (const struct call *other = call->server->calls; other != NULL; other = other->next) {
        n += other != call && other->slow && strcmp(other->who.name, call->who.name) == 0 ? 1 : 0;
    }
    if (n < call->o->waits) {
        call->slow = true;
        return 0;
    }
    (void)problem_set(ret_refusal, PROBLEM_WAITING, "",
                      "%zu requests of this tenant wait for jobs; ask without waiting", n);
    ret_refusal->retry_after_s = 1;
    return -EINVAL;
}

void call_suspend(struct call *call)
{
    struct front_conn *conn = front_find(call->server->front, call->fd);

    if (conn != NULL) {
        front_set_waiting(conn, true);
    }
    call->suspended = true;
    MHD_suspend_connection(call->mhd);
}

void call_resume(struct call *call)
{
    if (!call->suspended) {
        return;
    }
    call->suspended = false;
    MHD_resume_connection(call->mhd);
    event_active(call->server->run, EV_READ, 0);
}

void call_drop_body(struct call *call)
{
    call->server->bodies -= call->body.len;
    buf_fini(&call->body);
    call->body = (struct buf)BUF_INIT(call->body_max);
}

struct tenant call_tenant(const struct call *call)
{
    struct tenant t = {0};

    memcpy(t.name, call->who.name, sizeof(t.name));
    return t;
}

static void call_free(struct call *call)
{
    struct server *s = call->server;

    if (call->fini != NULL) {
        call->fini(call->state);
    }
    s->bodies -= call->body.len;
    s->held -= call->held;
    s->pending--;
    *(call->prev != NULL ? &call->prev->next : &s->calls) = call->next;
    if (call->next != NULL) {
        call->next->prev = call->prev;
    }
    reply_drop(&call->early);
    buf_fini(&call->body);
    free(call->target);
    free(call);
}

/* The library read a request line. What is returned comes back with every callback. */
static void *on_target(void *ctx, const char *uri, struct MHD_Connection *mhd)
{
    struct server *s = ctx;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct call *call = calloc(1, sizeof(*call));

    if (call == NULL || info == NULL) {
        free(call);
        return NULL;
    }
    call->target = strdup(uri);
    if (call->target == NULL) {
        free(call);
        return NULL;
    }
    call->server = s;
    call->o = &s->o;
    call->mhd = mhd;
    call->fd = info->connect_fd;
    call->begun_ns = clock_mono_ns();
    call->next = s->calls;
    if (s->calls != NULL) {
        s->calls->prev = call;
    }
    s->calls = call;
    s->pending++;
    return call;
}

static bool in_list(const char *const *list, size_t n, const char *s, size_t len)
{
    for (size_t i = 0; i < n; i++) {
        if (strlen(list[i]) == len && strncasecmp(list[i], s, len) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * A page of evil.example that makes its own name point at 127.0.0.1 sends that name here: only names
 * that are known to be ours are served (DNS rebinding).
 */
static int check_host(const struct call *call, const struct front_conn *conn, struct refusal *ret)
{
    const char *host = call_header(call, "Host");
    size_t len = 0;
    uint64_t port = 0;

    if (front_kind(conn) == SERVER_UNIX) {
        return 0;
    }
    if (host == NULL) {
        return problem_set(ret, PROBLEM_BAD_REQUEST, "Host", "Host is missing");
    }
    len = host[0] == '[' ? strcspn(host, "]") + 1 : strcspn(host, ":");
    if (len > strlen(host) ||
        (host[len] != '\0' &&
         (host[len] != ':' || num_parse_u64(host + len + 1, &port) < 0 || port > 65535))) {
        return problem_set(ret, PROBLEM_BAD_REQUEST, "Host", "Host is not a name and a port");
    }
    for (size_t i = 0; i < ARRAY_LEN(hosts_loopback); i++) {
        if (strlen(hosts_loopback[i]) == len && strncasecmp(hosts_loopback[i], host, len) == 0) {
            return 0;
        }
    }
    if ((strlen(front_address(conn)) == len && strncasecmp(front_address(conn), host, len) == 0) ||
        in_list(call->o->hosts, call->o->n_hosts, host, len)) {
        return 0;
    }
    return problem_set(ret, PROBLEM_MISDIRECTED, "Host",
                       "Host names no name of this server; use its address, or add the name to "
                       "'hosts' in its configuration");
}

static int check_origin(const struct call *call, struct refusal *ret)
{
    const char *origin = call_header(call, "Origin");

    if (origin == NULL || in_list(call->o->origins, call->o->n_origins, origin, strlen(origin))) {
        return 0;
    }
    return problem_set(ret, PROBLEM_ORIGIN, "Origin",
                       "pages of other sites may not ask; add the origin to 'origins' in the "
                       "configuration if this one may");
}

static int check_body(struct call *call, struct refusal *ret)
{
    const char *length = call_header(call, "Content-Length");
    const char *encoding = call_header(call, "Content-Encoding");
    uint64_t bytes = 0;

    if (length != NULL && num_parse_u64(length, &bytes) < 0) {
        return problem_set(ret, PROBLEM_BAD_REQUEST, "Content-Length",
                           "Content-Length is not a number");
    }
    if ((call->match.route->flags & ROUTE_BODY) == 0) {
        return bytes == 0 && call_header(call, "Transfer-Encoding") == NULL
                   ? 0
                   : problem_set(ret, PROBLEM_BAD_REQUEST, "", "this path and method take no body");
    }
    if (encoding != NULL) {
        return problem_set(ret, PROBLEM_MEDIA_TYPE, "Content-Encoding",
                           "bodies are taken as they are, without a coding");
    }
    call->body_max = request_body_max(call_header(call, "Content-Type"), call->o->body_bytes);
    call->body = (struct buf)BUF_INIT(call->body_max);
    if (bytes > call->body_max) {
        return problem_set(
            ret, PROBLEM_TOO_LARGE, "Content-Length", "the body has more than %llu bytes%s",
            (unsigned long long)call->body_max,
            call->body_max < call->o->body_bytes ? "; send files as parts of multipart/form-data"
                                                 : "");
    }
    return 0;
}

static int authorize(struct call *call, const struct front_conn *conn, struct refusal *ret,
                     struct err *err)
{
    int r = 0;

    call->tenant = NULL;
    if ((call->match.route->flags & ROUTE_OPEN) != 0) {
        return 0;
    }
    r = call->o->authorize(call->o->authorize_ctx, call_header(call, "Authorization"),
                           front_is_local(conn), &call->who, ret, err);
    if (r == 0) {
        call->tenant = &call->who;
    }
    return r;
}

bool call_still_allowed(struct call *call)
{
    const struct front_conn *conn = front_find(call->server->front, call->fd);
    struct refusal refusal = {0};
    struct err err = ERR_INIT;
    bool allowed = conn != NULL && authorize(call, conn, &refusal, &err) == 0;

    call->tenant = NULL;
    return allowed;
}

/* Everything that can be said before the body comes. ret_allow: of a 405. */
static int check_head(struct call *call, const char *method, const struct front_conn *conn,
                      char ret_allow[64], struct refusal *ret, struct err *err)
{
    size_t path = strcspn(call->target, "?");
    const char *query = call->target[path] == '?' ? call->target + path + 1 : "";
    int r = check_origin(call, ret);

    if (r == 0) {
        r = route_find(method, call->target, path, &call->match, ret_allow, ret);
    }
    /* A wrong Host is told first, so that a stranger's page learns nothing of what there is. */
    if (r < 0 || (call->match.route->flags & ROUTE_ANY_HOST) == 0) {
        int h = check_host(call, conn, ret);

        r = h < 0 ? h : r;
    }
    if (r == 0) {
        r = authorize(call, conn, ret, err);
    }
    if (r == 0) {
        r = query_parse(query, call->match.route->query, &call->query, ret);
    }
    return r == 0 ? check_body(call, ret) : r;
}

/* A negative return as an answer; what the host did wrong goes to the log, not to the client. */
static int reply_failure(struct call *call, struct refusal *refusal, const struct err *cause,
                         struct reply *ret, struct err *err)
{
    if (refusal->status == 0) {
        log_event(call->o->log, LOG_ERROR, "request-failed",
                  call->match.id[0] != '\0' ? call->match.id : NULL, LOG_TEXT("why", cause->msg));
        (void)problem_set_err(refusal, PROBLEM_INTERNAL, "", cause);
        refusal->status = problem_status(PROBLEM_INTERNAL);
        refusal->type = problem_type(PROBLEM_INTERNAL);
    }
    return reply_problem(ret, refusal, err);
}

static enum MHD_Result queue_reply(struct call *call, struct reply *reply)
{
    auto_reply struct reply owned = STEAL(reply, (struct reply)REPLY_INIT);
    struct err err = ERR_INIT;

    if (call->server->closing && reply_header(&owned, "Connection", "close", &err) < 0) {
        return MHD_NO;
    }
    call->status = owned.status;
    return MHD_queue_response(call->mhd, owned.status, owned.response);
}

static int make_failure(struct call *call, struct refusal *refusal, const struct err *cause,
                        const char *allow, struct reply *ret)
{
    struct err err = ERR_INIT;
    int r = reply_failure(call, refusal, cause, ret, &err);

    return r == 0 && allow[0] != '\0' ? reply_header(ret, "Allow", allow, &err) : r;
}

static bool has_body(const struct call *call)
{
    const char *length = call_header(call, "Content-Length");

    return call_header(call, "Transfer-Encoding") != NULL ||
           (length != NULL && strcmp(length, "0") != 0);
}

/* A refusal comes before the body. Without one it waits a turn, or the library would close. */
static enum MHD_Result begin(struct call *call, const char *method, struct front_conn *conn)
{
    struct refusal refusal = {0};
    struct err err = ERR_INIT;
    char allow[64] = "";

    front_set_request(conn, call);
    if (check_head(call, method, conn, allow, &refusal, &err) == 0) {
        return MHD_YES;
    }
    if (make_failure(call, &refusal, &err, allow, &call->early) < 0) {
        return MHD_NO;
    }
    return has_body(call) ? queue_reply(call, &call->early) : MHD_YES;
}

/* In the middle of a body the library takes no answer: the front gives it. */
static enum MHD_Result take_body(struct call *call, struct front_conn *conn, const char *data,
                                 size_t *len)
{
    struct server *s = call->server;
    struct refusal refusal = {0};
    size_t n = *len;

    *len = 0;
    if (s->bodies + n > s->o.bodies_bytes) {
        (void)problem_set(&refusal, PROBLEM_BUSY, "", "too many large requests at once; try again");
        refusal.retry_after_s = 1;
    } else if (buf_put(&call->body, data, n) < 0) {
        (void)problem_set(&refusal, PROBLEM_TOO_LARGE, "", "the body has more than %llu bytes",
                          (unsigned long long)call->body_max);
    } else {
        s->bodies += n;
        return MHD_YES;
    }
    front_refuse(conn, &refusal);
    return MHD_NO;
}

static enum MHD_Result dispatch(struct call *call, struct front_conn *conn)
{
    auto_reply struct reply reply = REPLY_INIT;
    struct refusal refusal = {0};
    struct err err = ERR_INIT;
    int r = 0;

    if (call->early.response != NULL) {
        return queue_reply(call, &call->early);
    }
    /* Again: while the body came, or the call waited, the token may have been revoked. */
    r = authorize(call, conn, &refusal, &err);
    if (r == 0) {
        r = call->match.route->handle(call, &reply, &refusal, &err);
    }
    call->tenant = NULL;
    if (r == CALL_WAITS) {
        return MHD_YES;
    }
    if (r == 0 && call->held == 0 && !call_hold(call, reply.bytes)) {
        reply_drop(&reply);
        r = problem_set(&refusal, PROBLEM_BUSY, "", "too many large answers are not read yet");
        refusal.retry_after_s = 1;
    }
    if (r < 0 && make_failure(call, &refusal, &err, "", &reply) < 0) {
        return MHD_NO;
    }
    return queue_reply(call, &reply);
}

/* The parameters are the library's. NOLINTNEXTLINE(readability-function-size) */
static enum MHD_Result on_request(void *ctx, struct MHD_Connection *mhd, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *len, void **call_ptr)
{
    struct server *s = ctx;
    struct call *call = *call_ptr;
    struct front_conn *conn = call != NULL ? front_find(s->front, call->fd) : NULL;

    (void)mhd;
    (void)url;
    (void)version;
    if (conn == NULL || call->gone) {
        return MHD_NO;
    }
    front_set_waiting(conn, false);
    if (!call->dispatched) {
        call->dispatched = true;
        return begin(call, method, conn);
    }
    return *len > 0 ? take_body(call, conn, data, len) : dispatch(call, conn);
}

static void on_completed(void *ctx, struct MHD_Connection *mhd, void **call_ptr,
                         enum MHD_RequestTerminationCode how)
{
    struct server *s = ctx;
    struct call *call = *call_ptr;
    struct front_conn *conn = NULL;
    uint64_t ns = 0;

    (void)mhd;
    if (call == NULL) {
        return;
    }
    *call_ptr = NULL;
    conn = front_find(s->front, call->fd);
    ns = clock_mono_ns() - call->begun_ns;
    if (call->status != 0) {
        metrics_http(s->o.metrics,
                     (unsigned int)(call->match.route != NULL ? call->match.route - routes
                                                              : (ptrdiff_t)routes_len),
                     call->status);
        if (!call->slow) {
            metrics_observe(s->o.metrics, METRIC_HTTP_SECONDS, 0, ns);
        }
    }
    log_event(s->o.log, LOG_DEBUG, "request", call->match.id[0] != '\0' ? call->match.id : NULL,
              LOG_TEXT("method", call->match.route != NULL ? call->match.route->method : "-"),
              LOG_TEXT("route", call->match.route != NULL ? call->match.route->path : "-"),
              LOG_NUMBER("status", call->status), LOG_TEXT("tenant", call->who.name),
              LOG_NUMBER("us", ns / 1000));
    if (conn != NULL) {
        front_set_request(conn, NULL);
        if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK) {
            front_done(conn);
        }
    }
    call_free(call);
}

/* The client of a call is gone. If the call waits the library must hear of it. */
static void on_gone(void *ctx, void *request)
{
    struct call *call = request;

    (void)ctx;
    call->gone = true;
    call_resume(call);
}

static int on_attach(void *ctx, int fd)
{
    struct server *s = ctx;
    struct sockaddr_un sun = {.sun_family = AF_UNIX};

    if (MHD_add_connection(s->mhd, fd, (struct sockaddr *)&sun, sizeof(sun)) != MHD_YES) {
        return -EMFILE;
    }
    event_active(s->run, EV_READ, 0);
    return 0;
}

static void on_run(evutil_socket_t fd, short what, void *ctx)
{
    struct server *s = ctx;
    MHD_UNSIGNED_LONG_LONG ms = 0;

    (void)fd;
    (void)what;
    (void)MHD_run(s->mhd);
    if (MHD_get_timeout(s->mhd, &ms) == MHD_YES) {
        struct timeval tv = {.tv_sec = (time_t)(ms / 1000),
                             .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

        (void)evtimer_add(s->later, &tv);
    } else {
        (void)evtimer_del(s->later);
    }
}

void server_options_init(struct server_options *o)
{
    *o = (struct server_options){
        .connections = SERVER_CONNECTIONS,
        .waits = SERVER_WAITS,
        .head_ns = SERVER_HEAD_NS,
        .body_ns = SERVER_BODY_NS,
        .idle_ns = SERVER_IDLE_NS,
        .stall_ns = SERVER_STALL_NS,
        .heartbeat_ns = SERVER_HEARTBEAT_NS,
        .body_bytes = SERVER_BODY_BYTES,
        .bodies_bytes = SERVER_BODIES_BYTES,
        .replies_bytes = SERVER_REPLIES_BYTES,
    };
}

static int no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "set up HTTP: out of memory");
}

static int copy_names(const char *const *names, size_t n, char *ret[NAMES_MAX], struct err *err)
{
    if (n > NAMES_MAX) {
        return err_usage(err, "more than %u names of hosts or origins", NAMES_MAX);
    }
    for (size_t i = 0; i < n; i++) {
        ret[i] = strdup(names[i]);
        if (ret[i] == NULL) {
            return no_memory(err);
        }
    }
    return 0;
}

static int copy_options(struct server *s, const struct server_options *o, struct err *err)
{
    int r = copy_names(o->hosts, o->n_hosts, s->hosts, err);

    s->o = *o;
    if (r == 0) {
        r = copy_names(o->origins, o->n_origins, s->origins, err);
    }
    s->o.hosts = (const char *const *)s->hosts;
    s->o.origins = (const char *const *)s->origins;
    if (r < 0 || o->tls_cert == NULL || o->tls_key == NULL) {
        return r;
    }
    s->tls[0] = strdup(o->tls_cert);
    s->tls[1] = strdup(o->tls_key);
    s->o.tls_cert = s->tls[0];
    s->o.tls_key = s->tls[1];
    return s->tls[0] != NULL && s->tls[1] != NULL ? 0 : no_memory(err);
}

static int start_library(struct server *s, struct err *err)
{
    const union MHD_DaemonInfo *info = NULL;

    s->mhd = MHD_start_daemon(
        MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
        on_request, s, MHD_OPTION_CONNECTION_LIMIT, (unsigned int)s->o.connections * 2,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)POOL_BYTES, MHD_OPTION_CONNECTION_TIMEOUT, 0u,
        MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_URI_LOG_CALLBACK, on_target, s,
        MHD_OPTION_NOTIFY_COMPLETED, on_completed, s, MHD_OPTION_END);
    if (s->mhd == NULL) {
        return err_set(err, ERR_HOST, errno != 0 ? errno : ENOMEM, "libmicrohttpd did not start");
    }
    info = MHD_get_daemon_info(s->mhd, MHD_DAEMON_INFO_EPOLL_FD);
    if (info == NULL) {
        return err_set(err, ERR_HOST, ENOTSUP, "libmicrohttpd has no epoll descriptor");
    }
    s->run = event_new(s->o.base, info->epoll_fd, EV_READ | EV_PERSIST, on_run, s);
    s->later = evtimer_new(s->o.base, on_run, s);
    if (s->run == NULL || s->later == NULL || event_add(s->run, NULL) < 0) {
        return no_memory(err);
    }
    return 0;
}

int server_new(const struct server_options *o, struct server **ret, struct err *err)
{
    static const struct front_ops ops = {.attach = on_attach, .gone = on_gone};
    struct server *s = NULL;
    int r = 0;

    if ((o->tls_cert == NULL) != (o->tls_key == NULL)) {
        return err_usage(err, "TLS needs a certificate and its key; give both files or none");
    }
    s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return no_memory(err);
    }
    r = copy_options(s, o, err);
    if (r == 0) {
        r = start_library(s, err);
    }
    if (r == 0) {
        r = front_new(&s->o, &ops, s, &s->front, err);
    }
    if (r < 0) {
        server_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

void server_free(struct server *s)
{
    if (s == NULL) {
        return;
    }
    /* First the clients: waiting calls are resumed, or the library would not stop. */
    if (s->front != NULL) {
        s->closing = true;
        front_close_all(s->front);
    }
    if (s->mhd != NULL) {
        MHD_stop_daemon(s->mhd);
    }
    front_free(s->front);
    if (s->run != NULL) {
        event_free(s->run);
    }
    if (s->later != NULL) {
        event_free(s->later);
    }
    for (size_t i = 0; i < NAMES_MAX; i++) {
        free(s->hosts[i]);
        free(s->origins[i]);
    }
    free(s->tls[0]);
    free(s->tls[1]);
    free(s);
}

int server_listen(struct server *s, int *take_fd, enum server_kind kind, struct err *err)
{
    return front_listen(s->front, take_fd, kind, err);
}

void server_close_listeners(struct server *s)
{
    s->closing = true;
    front_close_listeners(s->front);
}

size_t server_pending(const struct server *s)
{
    return s->pending;
}

size_t server_connections(const struct server *s)
{
    return front_connections(s->front);
}

int server_reload_tls(struct server *s, struct err *err)
{
    return front_reload_tls(s->front, err);
}
