/*
 * airlockd's HTTP side over a service without machines (tests/unit/daemon/fake-service.h), for
 * tests/e2e/http-abuse.py and the test of openapi.json.
 *
 *   http-driver DIR [OPTION=VALUE...]     prints "port N", "unix DIR/socket" and
 *                                       "built plain|sanitized"; ends with SIGTERM
 *
 * Options: head-ms body-ms idle-ms stall-ms heartbeat-ms connections per-address body-bytes
 * bodies-bytes replies-bytes room waits; tokens=1; debug=1; host=NAME; cert=FILE key=FILE
 */
#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/num.h"

#include "fake-service.h"

#ifdef __SANITIZE_ADDRESS__
static const char sanitized[] = "sanitized"; /* its memory says nothing */
#else
static const char sanitized[] = "plain";
#endif

struct driver {
    struct server_options o;
    uint64_t tokens, room, debug;
    const char *host;
};

static int fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "http-driver: %s: %s\n", what, why);
    return 1;
}

static int listen_tcp(int *ret_port)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(fd, 4096) < 0 ||
        getsockname(fd, (struct sockaddr *)&in, &len) < 0) {
        return -1;
    }
    *ret_port = ntohs(in.sin_port);
    return fd;
}

static int listen_unix(const char *path)
{
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
    return fd >= 0 && bind(fd, (struct sockaddr *)&un, sizeof(un)) == 0 && listen(fd, 128) == 0
               ? fd
               : -1;
}

static bool take_number(struct driver *d, const char *name, uint64_t v)
{
    const struct {
        const char *name;
        uint64_t *to;
        uint64_t unit;
    } numbers[] = {
        {"head-ms", &d->o.head_ns, NS_PER_MS},
        {"body-ms", &d->o.body_ns, NS_PER_MS},
        {"idle-ms", &d->o.idle_ns, NS_PER_MS},
        {"stall-ms", &d->o.stall_ns, NS_PER_MS},
        {"body-bytes", &d->o.body_bytes, 1},
        {"bodies-bytes", &d->o.bodies_bytes, 1},
        {"connections", &d->o.connections, 1},
        {"per-address", &d->o.per_address, 1},
        {"heartbeat-ms", &d->o.heartbeat_ns, NS_PER_MS},
        {"tokens", &d->tokens, 1},
        {"room", &d->room, 1},
        {"waits", &d->o.waits, 1},
        {"replies-bytes", &d->o.replies_bytes, 1},
        {"debug", &d->debug, 1},
    };

    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (strcmp(numbers[i].name, name) == 0) {
            *numbers[i].to = v * numbers[i].unit;
            return true;
        }
    }
    return false;
}

static bool take_option(struct driver *d, char *arg)
{
    char *value = strchr(arg, '=');
    uint64_t v = 0;

    if (value == NULL) {
        return false;
    }
    *value++ = '\0';
    if (strcmp(arg, "host") == 0) {
        d->host = value;
    } else if (strcmp(arg, "cert") == 0) {
        d->o.tls_cert = value;
    } else if (strcmp(arg, "key") == 0) {
        d->o.tls_key = value;
    } else {
        return num_parse_u64(value, &v) == 0 && take_number(d, arg, v);
    }
    return true;
}

static void on_end(evutil_socket_t fd, short what, void *ctx)
{
    (void)fd;
    (void)what;
    (void)event_base_loopbreak(ctx);
}

static int serve(struct driver *d, const char *dir)
{
    struct event *end = evsignal_new(d->o.base, SIGTERM, on_end, d->o.base);
    struct server *server = NULL;
    struct err err = ERR_INIT;
    char path[100];
    int port = 0;
    int tcp = listen_tcp(&port);
    int un = -1;

    (void)snprintf(path, sizeof(path), "%s/socket", dir);
    un = listen_unix(path);
    if (tcp < 0 || un < 0) {
        return fail("listen", strerror(errno));
    }
    if (server_new(&d->o, &server, &err) < 0 || server_listen(server, &tcp, SERVER_TCP, &err) < 0 ||
        server_listen(server, &un, SERVER_UNIX, &err) < 0) {
        return fail("server", err.msg);
    }
    (void)event_add(end, NULL);
    (void)printf("port %d\nunix %s\nbuilt %s\n", port, path, sanitized);
    (void)fflush(stdout);
    (void)event_base_dispatch(d->o.base);
    server_free(server);
    event_free(end);
    (void)unlink(path);
    return 0;
}

int main(int argc, char **argv)
{
    struct driver d = {.room = FAKE_JOBS};
    struct service *service = NULL;
    struct log *log = NULL;
    struct metrics *metrics = NULL;
    struct err err = ERR_INIT;
    int r = 0;

    server_options_init(&d.o);
    for (int i = 2; i < argc; i++) {
        if (!take_option(&d, argv[i])) {
            return fail(argv[i], "not an option");
        }
    }
    if (argc < 2) {
        return fail("usage", "http-driver DIR [OPTION=VALUE...]");
    }
    (void)signal(SIGPIPE, SIG_IGN);
    d.o.base = event_base_new();
    if (d.o.base == NULL || fake_service_new(d.o.base, argv[1], true, &service, &err) < 0 ||
        log_new(d.o.base, STDERR_FILENO, d.debug != 0 ? LOG_DEBUG : LOG_WARNING, &log, &err) < 0 ||
        metrics_new(&metrics, &err) < 0) {
        return fail("start", err.msg);
    }
    d.o.service = service;
    d.o.authorize = fake_authorize;
    d.o.authorize_ctx = service;
    d.o.log = log;
    d.o.metrics = metrics;
    d.o.hosts = &d.host;
    d.o.n_hosts = d.host != NULL ? 1 : 0;
    fake_use_tokens(service, d.tokens != 0);
    fake_set_room(service, d.room);
    r = serve(&d, argv[1]);
    fake_service_free(service);
    metrics_free(metrics);
    log_free(log);
    event_base_free(d.o.base);
    return r;
}
