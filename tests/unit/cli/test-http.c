#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "cli/http.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "test.h"

#define DRIPS 3

/* Answers one request with a body whose few bytes come 1.4 s apart, and then with silence. */
struct server {
    char path[64];
    int listen_fd;
    bool ends; /* closes after the last byte; else it says nothing more until the client is gone */
    pthread_t thread;
};

static void *serve(void *arg)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n";
    const struct server *s = arg;
    auto_fd int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC);
    char request[1024];
    struct err err = ERR_INIT;

    if (read(fd, request, sizeof(request)) <= 0 ||
        fd_write_full(fd, head, sizeof(head) - 1, &err) < 0) {
        return NULL;
    }
    for (int i = 0; i < (s->ends ? DRIPS : DRIPS - 1); i++) {
        const struct timespec pause = {.tv_sec = 1, .tv_nsec = 400 * (long)NS_PER_MS};

        (void)nanosleep(&pause, NULL);
        if (write(fd, ".", 1) < 0) {
            return NULL;
        }
    }
    while (read(fd, request, sizeof(request)) > 0) {
    }
    return NULL;
}

static void start(struct server *s, bool ends)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    s->ends = ends;
    (void)snprintf(s->path, sizeof(s->path), "/tmp/test-http-%d", (int)getpid());
    memcpy(address.sun_path, s->path, sizeof(s->path));
    (void)unlink(s->path);
    s->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->listen_fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(s->listen_fd, 1), 0);
    assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void stop(struct server *s)
{
    assert_int_equal(pthread_join(s->thread, NULL), 0);
    fd_close_p(&s->listen_fd);
    (void)unlink(s->path);
}

static int ask(const struct server *s, struct http_answer *ret, struct err *err)
{
    const struct http_request request = {.method = "GET", .path = "/", .silence_ns = 2 * NS_PER_S};
    char url[80];
    const struct http_config config = {.url = url};
    auto_http struct http *h = NULL;
    int r = 0;

    (void)snprintf(url, sizeof(url), "unix:%s", s->path);
    r = http_new(&config, &h, err);
    return r < 0 ? r : http_do(h, &request, ret, err);
}

/* As an event stream of a job that prints nothing: a heartbeat is a few bytes now and then. */
static void a_byte_now_and_then_is_no_silence(void **state)
{
    auto_http_answer struct http_answer answer = {0};
    struct server s = {.listen_fd = -1};
    struct err err = ERR_INIT;

    (void)state;
    start(&s, true);
    assert_ok(ask(&s, &answer, &err), &err);
    assert_int_equal(answer.status, 200);
    assert_int_equal(answer.body.len, DRIPS);
    stop(&s);
}

static void silence_ends_the_request(void **state)
{
    auto_http_answer struct http_answer answer = {0};
    struct server s = {.listen_fd = -1};
    struct err err = ERR_INIT;
    uint64_t begun = clock_mono_ns();

    (void)state;
    start(&s, false);
    assert_int_equal(ask(&s, &answer, &err), -ETIMEDOUT);
    assert_non_null(strstr(err.msg, "no byte for 2 s"));
    assert_true(clock_mono_ns() - begun >= 4 * NS_PER_S); /* two bytes, and two seconds */
    stop(&s);
}

TEST_MAIN(T(a_byte_now_and_then_is_no_silence), T(silence_ends_the_request))
