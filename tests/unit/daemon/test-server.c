/* The whole HTTP side in one process and thread: the client's side is pumped with the server's loop. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake-service.h"
#include "job/verdict.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "test.h"

#define JOB  "{\"language\":\"python\",\"code\":\"print(1)\"}"
#define HOST "Host: localhost\r\n"

struct world {
    char dir[40];
    struct server_options o;
    struct service *service;
    struct metrics *metrics;
    struct server *server;
    int port;
};

struct client {
    int fd;
    SSL *ssl; /* or NULL */
    bool over;
    char text[512 * 1024];
    size_t len;
};

static void listen_on_loopback(struct world *w)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(in);
    struct err err = ERR_INIT;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(listen(fd, 128), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
    w->port = ntohs(in.sin_port);
    assert_ok(server_listen(w->server, &fd, SERVER_TCP, &err), &err);
    assert_int_equal(fd, -1);
}

/* Before world_start() the options may be changed. */
static void world_init(struct world *w, bool play)
{
    struct err err = ERR_INIT;

    memset(w, 0, sizeof(*w));
    memcpy(w->dir, "/tmp/airlock-server-XXXXXX", 27);
    assert_non_null(mkdtemp(w->dir));
    server_options_init(&w->o);
    w->o.base = event_base_new();
    assert_non_null(w->o.base);
    assert_ok(fake_service_new(w->o.base, w->dir, play, &w->service, &err), &err);
    assert_ok(metrics_new(&w->metrics, &err), &err);
    w->o.service = w->service;
    w->o.metrics = w->metrics;
    w->o.authorize = fake_authorize;
    w->o.authorize_ctx = w->service;
}

static void world_start(struct world *w)
{
    struct err err = ERR_INIT;

    assert_ok(server_new(&w->o, &w->server, &err), &err);
    listen_on_loopback(w);
}

static void world_end(struct world *w)
{
    struct err err = ERR_INIT;

    server_free(w->server);
    assert_int_equal(fake_watches(w->service), 0);
    fake_service_free(w->service);
    metrics_free(w->metrics);
    event_base_free(w->o.base);
    assert_ok(fd_remove_tree(AT_FDCWD, w->dir, &err), &err);
}

static void client_open(struct world *w, struct client *c)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)w->port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};

    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    c->ssl = NULL;
    c->over = false;
    c->len = 0;
    assert_int_equal(connect(c->fd, (struct sockaddr *)&in, sizeof(in)), 0);
    assert_int_equal(fcntl(c->fd, F_SETFL, O_NONBLOCK), 0);
}

static void client_close(struct client *c)
{
    SSL_free(c->ssl);
    (void)close(c->fd);
}

/* A server and one client of it, as most cases begin and end. */
static void world_open(struct world *w, struct client *c)
{
    world_init(w, false);
    world_start(w);
    client_open(w, c);
}

static void world_open_unready(struct world *w, struct client *c)
{
    world_init(w, false);
    fake_set_ready(w->service, false);
    world_start(w);
    client_open(w, c);
}

static void world_close(struct world *w, struct client *c)
{
    client_close(c);
    world_end(w);
}

/* Takes what is there. True if something came. */
static bool client_read(struct client *c)
{
    ssize_t n = 0;

    if (c->ssl != NULL) {
        int got = SSL_read(c->ssl, c->text + c->len, (int)(sizeof(c->text) - 1 - c->len));

        n = got > 0 ? got : (SSL_get_error(c->ssl, got) == SSL_ERROR_WANT_READ ? -1 : 0);
        errno = EAGAIN;
    } else {
        n = recv(c->fd, c->text + c->len, sizeof(c->text) - 1 - c->len, 0);
    }
    c->over = c->over || n == 0 || (n < 0 && errno != EAGAIN);
    c->len += n > 0 ? (size_t)n : 0;
    c->text[c->len] = '\0';
    return n > 0;
}

static void pump(struct world *w, struct client *c, uint64_t ms)
{
    uint64_t until = clock_mono_ns() + ms * NS_PER_MS;

    do {
        (void)event_base_loop(w->o.base, EVLOOP_NONBLOCK);
        if (c != NULL) {
            (void)client_read(c);
        }
        (void)usleep(500);
    } while (clock_mono_ns() < until);
}

/* Until text has come (or the end), 5 s at most. */
static bool wait_for(struct world *w, struct client *c, const char *text)
{
    for (unsigned int i = 0; i < 5000; i++) {
        pump(w, c, 1);
        if (strstr(c->text, text) != NULL) {
            return true;
        }
        if (c->over) {
            return false;
        }
    }
    return false;
}

static void wait_over(struct world *w, struct client *c)
{
    for (unsigned int i = 0; i < 5000 && !c->over; i++) {
        pump(w, c, 1);
    }
    assert_true(c->over);
}

static void client_send(struct world *w, struct client *c, const char *text)
{
    size_t len = strlen(text);

    c->len = 0;
    c->text[0] = '\0';
    for (size_t at = 0; at < len;) {
        ssize_t n = c->ssl != NULL ? SSL_write(c->ssl, text + at, (int)(len - at))
                                   : send(c->fd, text + at, len - at, MSG_NOSIGNAL);

        if (n <= 0) {
            pump(w, c, 1);
            assert_false(c->over);
        }
        at += n > 0 ? (size_t)n : 0;
    }
}

static void post(struct world *w, struct client *c, const char *path, const char *more,
                 const char *body)
{
    char text[4096];

    (void)snprintf(text, sizeof(text),
                   "POST %s HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n%s"
                   "Content-Length: %zu\r\n\r\n%s",
                   path, more, strlen(body), body);
    client_send(w, c, text);
}

static void get(struct world *w, struct client *c, const char *path, const char *more)
{
    char text[4096];

    (void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n" HOST "%s\r\n", path, more);
    client_send(w, c, text);
}

static void assert_answer(struct world *w, struct client *c, const char *text)
{
    if (!wait_for(w, c, text)) {
        print_error("'%s' did not come, but: %s\n", text, c->text);
        fail();
    }
}

static void a_connection_serves_many_requests(void **state)
{
    static struct client c;
    struct world w;

    world_open(&w, &c);
    for (unsigned int i = 0; i < 100; i++) {
        get(&w, &c, "/healthz", "");
        assert_answer(&w, &c, "\r\n\r\nok\n");
    }
    assert_int_equal(server_connections(w.server), 1);
    assert_int_equal(server_pending(w.server), 0);
    client_send(&w, &c,
                "GET /healthz HTTP/1.1\r\n" HOST "\r\nGET /readyz HTTP/1.1\r\n" HOST
                "Connection: close\r\n\r\n");
    assert_answer(&w, &c, "ready\n");
    assert_non_null(strstr(c.text, "ok\n"));
    wait_over(&w, &c);
    world_close(&w, &c);
}

static void a_job_goes_in_and_its_members_arrive(void **state)
{
    static struct client c;
    struct world w;

    world_open(&w, &c);
    post(&w, &c, "/v1/jobs", "Idempotency-Key: k 1\r\n",
         "{\"language\":\"python\",\"code\":\"print(1)\",\"priority\":7,\"deadline_ms\":5000}");
    assert_answer(&w, &c, "\"result\":null}");
    assert_memory_equal(c.text, "HTTP/1.1 202 Accepted\r\n", 23);
    assert_non_null(strstr(c.text, fake_last(w.service)));
    assert_int_equal(fake_job(w.service)->priority, 7);
    assert_int_equal(fake_job(w.service)->deadline_ms, 5000);
    assert_string_equal(fake_job(w.service)->key, "k 1");
    assert_int_equal(fake_job(w.service)->spec.program_len, 8);
    world_close(&w, &c);
}

static void a_body_may_come_in_chunks(void **state)
{
    static struct client c;
    struct world w;

    world_open(&w, &c);
    client_send(&w, &c,
                "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n14\r\n{\"language\":\"python\"\r\n");
    pump(&w, &c, 5);
    client_send(&w, &c, "a\r\n,\"code\":\"\"}\r\n0\r\n\r\n");
    assert_answer(&w, &c, "HTTP/1.1 400"); /* ten bytes were announced, eleven came */
    wait_over(&w, &c);
    client_close(&c);
    client_open(&w, &c);
    client_send(&w, &c,
                "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n14\r\n{\"language\":\"python\"\r\n");
    pump(&w, &c, 5);
    client_send(&w, &c, "a\r\n,\"code\":\"\"\r\n1\r\n}\r\n0\r\n\r\n");
    assert_answer(&w, &c, "HTTP/1.1 202");
    world_close(&w, &c);
}

static void tenants_do_not_see_each_other(void **state)
{
    static struct client c;
    struct world w;
    char path[100];

    world_init(&w, false);
    fake_use_tokens(w.service, true);
    world_start(&w);
    client_open(&w, &c);
    post(&w, &c, "/v1/jobs", "Authorization: Bearer alk_a\r\n", JOB);
    assert_answer(&w, &c, "\"tenant\":\"a\"");
    (void)snprintf(path, sizeof(path), "/v1/jobs/%s", fake_last(w.service));
    get(&w, &c, path, "Authorization: Bearer alk_b\r\n");
    assert_answer(&w, &c, "HTTP/1.1 404");
    get(&w, &c, path, "Authorization: Bearer alk_a\r\n");
    assert_answer(&w, &c, "HTTP/1.1 200");
    get(&w, &c, "/v1/jobs", "Authorization: Bearer alk_b\r\n");
    assert_answer(&w, &c, "{\"jobs\":[],\"next\":null}");
    get(&w, &c, path, "");
    assert_answer(&w, &c, "HTTP/1.1 401");
    assert_answer(&w, &c, "WWW-Authenticate: Bearer");
    get(&w, &c, "/metrics", "");
    assert_answer(&w, &c, "HTTP/1.1 401");
    get(&w, &c, "/healthz", "");
    assert_answer(&w, &c, "HTTP/1.1 200");
    world_close(&w, &c);
}

static void a_wait_ends_with_the_job(void **state)
{
    static struct client c;
    struct world w;
    struct err err = ERR_INIT;

    world_open(&w, &c);
    post(&w, &c, "/v1/jobs?wait=60", "", JOB);
    pump(&w, &c, 50);
    assert_int_equal(c.len, 0);
    assert_int_equal(server_pending(w.server), 1);
    assert_int_equal(fake_watches(w.service), 1);
    assert_ok(fake_run(w.service, fake_last(w.service), &err), &err);
    pump(&w, &c, 20);
    assert_int_equal(c.len, 0);
    assert_ok(fake_print(w.service, fake_last(w.service), "\xff\0", 2, &err), &err);
    assert_ok(fake_end(w.service, fake_last(w.service), AIRLOCK_OOM, &err), &err);
    assert_answer(&w, &c, "\"verdict\":\"oom\",\"reason\":null,\"message\"");
    assert_memory_equal(c.text, "HTTP/1.1 200 OK\r\n", 17);
    assert_non_null(
        strstr(c.text, "\"stdout\":{\"encoding\":\"base64\",\"data\":\"/wA=\",\"bytes\":2"));
    assert_int_equal(fake_watches(w.service), 0);
    world_close(&w, &c);
}

/* What the host did to the result is told to who asks for it; who submits must know the job. */
static void who_submits_hears_of_the_job_without_its_result(void **state)
{
    static struct client c;
    struct world w;
    struct err err = ERR_INIT;
    char path[100];

    world_open(&w, &c);
    post(&w, &c, "/v1/jobs?wait=60", "", JOB);
    pump(&w, &c, 20);
    assert_ok(fake_run(w.service, fake_last(w.service), &err), &err);
    assert_ok(fake_print(w.service, fake_last(w.service), "xx", 2, &err), &err);
    (void)snprintf(path, sizeof(path), "%s/%s/stdout", w.dir, fake_last(w.service));
    assert_int_equal(truncate(path, 0), 0);
    assert_ok(fake_end(w.service, fake_last(w.service), AIRLOCK_SUCCESS, &err), &err);
    assert_answer(&w, &c, fake_last(w.service));
    assert_memory_equal(c.text, "HTTP/1.1 202 Accepted\r\n", 23);
    assert_non_null(strstr(c.text, "\"result\":null}"));
    (void)snprintf(path, sizeof(path), "/v1/jobs/%s", fake_last(w.service));
    get(&w, &c, path, "");
    assert_answer(&w, &c, "HTTP/1.1 500");
    world_close(&w, &c);
}

static void a_wait_ends_with_its_time(void **state)
{
    static struct client c;
    struct world w;

    world_open(&w, &c);
    post(&w, &c, "/v1/jobs?wait=1", "", JOB);
    assert_answer(&w, &c, "\"result\":null}");
    assert_memory_equal(c.text, "HTTP/1.1 202 Accepted\r\n", 23);
    get(&w, &c, "/healthz", "");
    assert_answer(&w, &c, "\r\n\r\nok\n");
    world_close(&w, &c);
}

static void events_come_as_they_happen(void **state)
{
    static struct client c;
    struct world w;
    struct err err = ERR_INIT;
    char path[100];
    char id[JOB_ID_SIZE];

    world_init(&w, false);
    w.o.heartbeat_ns = 50 * NS_PER_MS;
    world_start(&w);
    client_open(&w, &c);
    post(&w, &c, "/v1/jobs", "", JOB);
    assert_answer(&w, &c, "\"result\":null}");
    memcpy(id, fake_last(w.service), sizeof(id));
    (void)snprintf(path, sizeof(path), "/v1/jobs/%s/events", id);
    get(&w, &c, path, "");
    assert_answer(&w, &c, "id: 1\nevent: state\ndata: {\"state\":\"queued\"}\n\n");
    assert_answer(&w, &c, "\r\n:\n\n\r\n");
    assert_ok(fake_run(w.service, id, &err), &err);
    assert_answer(&w, &c, "id: 2\nevent: state\ndata: {\"state\":\"running\"}\n\n");
    assert_ok(fake_print(w.service, id, "a\nb", 3, &err), &err);
    assert_answer(&w, &c,
                  "id: 3\nevent: stdout\ndata: {\"encoding\":\"utf8\",\"data\":\"a\\nb\"}\n\n");
    assert_ok(fake_print(w.service, id, "\xc3", 1, &err), &err);
    assert_answer(&w, &c,
                  "id: 4\nevent: stdout\ndata: {\"encoding\":\"base64\",\"data\":\"ww==\"}\n\n");
    assert_ok(fake_end(w.service, id, AIRLOCK_SUCCESS, &err), &err);
    assert_answer(&w, &c, "id: 6\nevent: result\ndata: {\"id\":");
    assert_answer(&w, &c, "\r\n0\r\n\r\n");
    get(&w, &c, path, "Last-Event-ID: 4\r\n");
    assert_answer(&w, &c, "\r\n0\r\n\r\n");
    assert_null(strstr(c.text, "id: 4\n"));
    assert_non_null(strstr(c.text, "id: 5\nevent: state\ndata: {\"state\":\"ended\"}\n\n"));
    get(&w, &c, path, "Last-Event-ID: 4x\r\n");
    assert_answer(&w, &c, "\"field\":\"Last-Event-ID\"");
    world_close(&w, &c);
}

static void a_stream_ends_when_its_token_is_revoked(void **state)
{
    static struct client c;
    struct world w;
    char path[100];

    world_init(&w, false);
    w.o.heartbeat_ns = 50 * NS_PER_MS;
    world_start(&w);
    client_open(&w, &c);
    post(&w, &c, "/v1/jobs", "", JOB);
    assert_answer(&w, &c, "\"result\":null}");
    (void)snprintf(path, sizeof(path), "/v1/jobs/%s/events", fake_last(w.service));
    get(&w, &c, path, "");
    assert_answer(&w, &c, "\r\n:\n\n\r\n");
    fake_use_tokens(w.service, true);
    assert_answer(&w, &c, "\r\n0\r\n\r\n");
    world_close(&w, &c);
}

static void a_long_event_comes_in_pieces_with_one_id(void **state)
{
    static struct client c;
    static char data[150 * 1024];
    struct world w;
    struct err err = ERR_INIT;
    char path[100];
    size_t pieces = 0;

    world_open(&w, &c);
    post(&w, &c, "/v1/jobs", "", JOB);
    assert_answer(&w, &c, "\"result\":null}");
    memset(data, 'x', sizeof(data));
    assert_ok(fake_print(w.service, fake_last(w.service), data, sizeof(data), &err), &err);
    assert_ok(fake_end(w.service, fake_last(w.service), AIRLOCK_SUCCESS, &err), &err);
    (void)snprintf(path, sizeof(path), "/v1/jobs/%s/events", fake_last(w.service));
    get(&w, &c, path, "");
    assert_answer(&w, &c, "event: result");
    for (const char *at = c.text; (at = strstr(at, "event: stdout\n")) != NULL; at++) {
        pieces++;
    }
    assert_int_equal(pieces, 10);
    assert_non_null(strstr(c.text, "id: 2\nevent: stdout\n"));
    world_close(&w, &c);
}

static void who_goes_away_while_waiting_leaves_nothing(void **state)
{
    static const char *const paths[] = {"", "?wait=60", "/events"};
    static struct client c;
    struct world w;

    world_open(&w, &c);
    post(&w, &c, "/v1/jobs", "", JOB);
    assert_answer(&w, &c, "\"result\":null}");
    client_close(&c);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        char path[100];

        (void)snprintf(path, sizeof(path), "/v1/jobs/%s%s", fake_last(w.service), paths[i]);
        client_open(&w, &c);
        get(&w, &c, path, "");
        pump(&w, NULL, 20);
        client_close(&c);
        pump(&w, NULL, 50);
        assert_int_equal(fake_watches(w.service), 0);
        assert_int_equal(server_pending(w.server), 0);
        assert_int_equal(server_connections(w.server), 0);
    }
    client_open(&w, &c);
    post(&w, &c, "/v1/jobs?wait=60", "", JOB);
    pump(&w, NULL, 20);
    client_close(&c);
    pump(&w, NULL, 50);
    assert_int_equal(server_pending(w.server), 0);
    assert_int_equal(fake_accepted(w.service), 2); /* the job goes on */
    world_end(&w);
}

static void the_end_of_the_server_ends_those_who_wait(void **state)
{
    static struct client one, two;
    struct world w;
    char path[100];

    world_init(&w, false);
    world_start(&w);
    client_open(&w, &one);
    client_open(&w, &two);
    post(&w, &one, "/v1/jobs?wait=60", "", JOB);
    pump(&w, &one, 30);
    (void)snprintf(path, sizeof(path), "/v1/jobs/%s/events", fake_last(w.service));
    get(&w, &two, path, "");
    assert_answer(&w, &two, "\"queued\"");
    assert_int_equal(server_pending(w.server), 2);
    world_end(&w);
    client_close(&one);
    client_close(&two);
}

static void a_drain_finishes_what_is_pending(void **state)
{
    static struct client idle, waiting;
    struct world w;
    struct err err = ERR_INIT;

    world_init(&w, false);
    world_start(&w);
    client_open(&w, &idle);
    client_open(&w, &waiting);
    post(&w, &waiting, "/v1/jobs?wait=60", "", JOB);
    pump(&w, &waiting, 30);
    server_close_listeners(w.server);
    wait_over(&w, &idle);
    assert_int_equal(server_pending(w.server), 1);
    assert_ok(fake_end(w.service, fake_last(w.service), AIRLOCK_SUCCESS, &err), &err);
    assert_answer(&w, &waiting, "\"verdict\":\"success\"");
    assert_non_null(strstr(waiting.text, "Connection: close\r\n"));
    wait_over(&w, &waiting);
    assert_int_equal(server_pending(w.server), 0);
    client_close(&idle);
    client_close(&waiting);
    world_end(&w);
}

static void bodies_have_a_bound_together(void **state)
{
    static struct client one, two;
    static char half[3000];
    struct world w;

    world_init(&w, false);
    w.o.bodies_bytes = 4000;
    world_start(&w);
    memset(half, ' ', sizeof(half) - 1);
    client_open(&w, &one);
    client_open(&w, &two);
    client_send(&w, &one,
                "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 5000\r\n"
                "Content-Type: application/json\r\n\r\n");
    client_send(&w, &one, half);
    pump(&w, &one, 30);
    client_send(&w, &two,
                "POST /v1/jobs HTTP/1.1\r\n" HOST "Content-Length: 5000\r\n"
                "Content-Type: application/json\r\n\r\n");
    client_send(&w, &two, half);
    assert_answer(&w, &two, "HTTP/1.1 503");
    assert_answer(&w, &two, "Retry-After: 1\r\n");
    wait_over(&w, &two);
    client_close(&two);
    client_close(&one);
    pump(&w, NULL, 30);
    client_open(&w, &two);
    post(&w, &two, "/v1/jobs", "", JOB); /* the room came back */
    assert_answer(&w, &two, "HTTP/1.1 202");
    client_close(&two);
    world_end(&w);
}

static void readiness_is_told_with_its_reason(void **state)
{
    static struct client c;
    struct world w;

    world_open_unready(&w, &c);
    get(&w, &c, "/readyz", "");
    assert_answer(&w, &c, "\"detail\":\"the service is asked not to be\"");
    assert_memory_equal(c.text, "HTTP/1.1 503", 12);
    assert_non_null(strstr(c.text, "Retry-After: 5\r\n"));
    world_close(&w, &c);
}

static void what_is_not_known_yet_is_no_failure(void **state)
{
    static const char *const paths[] = {"/v1/images", "/v1/capacity"};
    static struct client c;
    struct world w;

    world_open_unready(&w, &c);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        get(&w, &c, paths[i], "");
        assert_answer(&w, &c, "known yet\"");
        assert_memory_equal(c.text, "HTTP/1.1 503", 12);
        assert_non_null(strstr(c.text, "Retry-After: 1\r\n"));
    }
    world_close(&w, &c);
}

static void requests_are_counted(void **state)
{
    static struct client c;
    struct world w;

    world_open(&w, &c);
    get(&w, &c, "/nothing", "");
    assert_answer(&w, &c, "HTTP/1.1 404");
    client_send(&w, &c, "GET / HTTP/1.1\n\n");
    assert_answer(&w, &c, "HTTP/1.1 400");
    assert_int_equal(metrics_get(w.metrics, METRIC_HTTP_REJECTED, 0), 1);
    assert_int_equal(metrics_get(w.metrics, METRIC_HTTP_SECONDS, 0), 1);
    assert_int_equal(metrics_get(w.metrics, METRIC_CONNECTIONS, 0), 1);
    client_close(&c);
    pump(&w, NULL, 30);
    assert_int_equal(metrics_get(w.metrics, METRIC_CONNECTIONS, 0), 0);
    world_end(&w);
}

/* A self-signed certificate and its key, for a day. */
static void make_certificate(const char *cert_path, const char *key_path)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    FILE *f = NULL;

    assert_non_null(key);
    assert_non_null(cert);
    (void)ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    (void)X509_gmtime_adj(X509_getm_notBefore(cert), 0);
    (void)X509_gmtime_adj(X509_getm_notAfter(cert), 86400);
    (void)X509_set_pubkey(cert, key);
    (void)X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
                                     (const unsigned char *)"localhost", -1, -1, 0);
    (void)X509_set_issuer_name(cert, X509_get_subject_name(cert));
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    f = fopen(cert_path, "we");
    assert_non_null(f);
    assert_int_equal(PEM_write_X509(f, cert), 1);
    (void)fclose(f);
    f = fopen(key_path, "we");
    assert_non_null(f);
    assert_int_equal(PEM_write_PrivateKey(f, key, NULL, NULL, 0, NULL, NULL), 1);
    (void)fclose(f);
    X509_free(cert);
    EVP_PKEY_free(key);
}

static void client_handshake(struct world *w, struct client *c, SSL_CTX *ctx)
{
    c->ssl = SSL_new(ctx);
    assert_non_null(c->ssl);
    assert_int_equal(SSL_set_fd(c->ssl, c->fd), 1);
    for (unsigned int i = 0; i < 2000 && SSL_connect(c->ssl) != 1; i++) {
        pump(w, NULL, 1);
    }
    assert_true(SSL_is_init_finished(c->ssl));
}

static void tls_is_framed_as_strictly(void **state)
{
    static struct client c;
    char cert[80];
    char key[80];
    struct world w;
    struct err err = ERR_INIT;
    SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

    world_init(&w, false);
    (void)snprintf(cert, sizeof(cert), "%s/cert.pem", w.dir);
    (void)snprintf(key, sizeof(key), "%s/key.pem", w.dir);
    make_certificate(cert, key);
    w.o.tls_cert = cert;
    w.o.tls_key = key;
    world_start(&w);
    client_open(&w, &c);
    client_handshake(&w, &c, ctx);
    post(&w, &c, "/v1/jobs", "", JOB);
    assert_answer(&w, &c, "HTTP/1.1 202");
    get(&w, &c, "/healthz", "");
    assert_answer(&w, &c, "\r\n\r\nok\n");
    client_send(&w, &c, "GET /healthz HTTP/1.1\nHost: localhost\n\n");
    assert_answer(&w, &c, "HTTP/1.1 400");
    wait_over(&w, &c);
    client_close(&c);
    /* Files that don't belong together: the old ones stay. */
    make_certificate(cert, "/dev/null");
    assert_int_equal(server_reload_tls(w.server, &err), -EINVAL);
    client_open(&w, &c);
    client_handshake(&w, &c, ctx);
    get(&w, &c, "/healthz", "");
    assert_answer(&w, &c, "\r\n\r\nok\n");
    client_close(&c);
    /* Plain text on the port of TLS is no request. */
    client_open(&w, &c);
    get(&w, &c, "/healthz", "");
    wait_over(&w, &c);
    assert_null(strstr(c.text, "HTTP/1.1 200"));
    client_close(&c);
    SSL_CTX_free(ctx);
    world_end(&w);
}

static void half_of_tls_is_refused(void **state)
{
    struct world w;
    struct err one = ERR_INIT;
    struct err two = ERR_INIT;

    world_init(&w, false);
    w.o.tls_cert = "/nowhere";
    assert_int_equal(server_new(&w.o, &w.server, &one), -EINVAL);
    w.o.tls_key = "/nowhere";
    assert_int_equal(server_new(&w.o, &w.server, &two), -EINVAL);
    assert_non_null(strstr(two.msg, "/nowhere"));
    w.server = NULL;
    world_end(&w);
}

TEST_MAIN(T(a_connection_serves_many_requests), T(a_job_goes_in_and_its_members_arrive),
          T(a_body_may_come_in_chunks), T(tenants_do_not_see_each_other),
          T(a_wait_ends_with_the_job), T(who_submits_hears_of_the_job_without_its_result),
          T(a_wait_ends_with_its_time), T(events_come_as_they_happen),
          T(a_stream_ends_when_its_token_is_revoked), T(a_long_event_comes_in_pieces_with_one_id),
          T(who_goes_away_while_waiting_leaves_nothing),
          T(the_end_of_the_server_ends_those_who_wait), T(a_drain_finishes_what_is_pending),
          T(bodies_have_a_bound_together), T(readiness_is_told_with_its_reason),
          T(what_is_not_known_yet_is_no_failure), T(requests_are_counted),
          T(tls_is_framed_as_strictly), T(half_of_tls_is_refused))
