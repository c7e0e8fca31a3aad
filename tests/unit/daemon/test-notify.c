#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/notify.h"
#include "sys/fd.h"
#include "test.h"

static char dir[] = "/tmp/airlock-test-notify.XXXXXX";

static int fake_manager(const char *name)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    size_t len = strlen(name);
    socklen_t n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + (name[0] != '@'));

    memcpy(a.sun_path, name, len);
    a.sun_path[0] = name[0] == '@' ? '\0' : name[0];
    assert_int_equal(bind(fd, (struct sockaddr *)&a, n), 0);
    assert_int_equal(setenv("NOTIFY_SOCKET", name, 1), 0);
    return fd;
}

static void expect(int manager, const char *text)
{
    char got[2048] = "";
    ssize_t n = recv(manager, got, sizeof(got) - 1, 0);

    assert_true(n > 0);
    if (text[strlen(text) - 1] == '=') { /* a number follows */
        assert_memory_equal(got, text, strlen(text));
        assert_true(strspn(got + strlen(text), "0123456789") == strlen(got) - strlen(text));
    } else {
        assert_string_equal(got, text);
    }
}

static void say_all(const char *name)
{
    auto_fd int manager = fake_manager(name);
    auto_notify struct notify n = NOTIFY_INIT;
    struct err err = ERR_INIT;

    assert_ok(notify_open(&n, &err), &err);
    assert_null(getenv("NOTIFY_SOCKET")); /* no child of ours may speak for us */
    assert_ok(notify_ready(&n, &err), &err);
    expect(manager, "READY=1");
    assert_ok(notify_reloading(&n, &err), &err);
    expect(manager, "RELOADING=1\nMONOTONIC_USEC=");
    assert_ok(notify_watchdog(&n, &err), &err);
    expect(manager, "WATCHDOG=1");
    assert_ok(notify_extend(&n, 3 * NS_PER_S, &err), &err);
    expect(manager, "EXTEND_TIMEOUT_USEC=3000000");
    assert_ok(notify_stopping(&n, &err), &err);
    expect(manager, "STOPPING=1");
}

static void the_manager_is_told_on_both_kinds_of_sockets(void **state)
{
    char path[64];
    char abstract[64];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/notify", dir);
    (void)snprintf(abstract, sizeof(abstract), "@airlock-test-%d", (int)getpid());
    say_all(path);
    assert_int_equal(unlink(path), 0);
    say_all(abstract);
}

static void without_a_manager_nothing_happens(void **state)
{
    auto_notify struct notify n = NOTIFY_INIT;
    struct notify_listen got[NOTIFY_LISTEN_MAX];
    size_t n_listen = 9;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(notify_open(&n, &err), &err);
    assert_int_equal(n.fd, -1);
    assert_int_equal(n.watchdog_ns, 0);
    assert_ok(notify_ready(&n, &err), &err);
    assert_ok(notify_listen(got, &n_listen, &err), &err);
    assert_int_equal(n_listen, 0);
}

static void a_manager_that_reads_nothing_holds_nobody_up(void **state)
{
    char path[64];
    auto_fd int manager = -1;
    auto_notify struct notify n = NOTIFY_INIT;
    struct err err = ERR_INIT;
    int r = 0;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/slow", dir);
    manager = fake_manager(path);
    assert_ok(notify_open(&n, &err), &err);
    for (int i = 0; i < 10000 && r == 0; i++) {
        r = notify_watchdog(&n, &err);
    }
    assert_int_equal(r, -EAGAIN);
    assert_int_equal(unlink(path), 0);
    fd_close_p(&manager);
    err = (struct err)ERR_INIT;
    assert_true(notify_watchdog(&n, &err) < 0); /* gone */
    assert_int_equal(err.class, ERR_HOST);
}

static void the_watchdog_is_fed_twice_in_its_time(void **state)
{
    char pid[16];
    auto_notify struct notify n = NOTIFY_INIT;
    struct err err = ERR_INIT;

    (void)state;
    (void)snprintf(pid, sizeof(pid), "%d", (int)getpid());
    assert_int_equal(setenv("WATCHDOG_USEC", "30000000", 1), 0);
    assert_int_equal(setenv("WATCHDOG_PID", pid, 1), 0);
    assert_ok(notify_open(&n, &err), &err);
    assert_int_equal(n.watchdog_ns, 15 * NS_PER_S);
    assert_null(getenv("WATCHDOG_USEC"));
    assert_null(getenv("WATCHDOG_PID"));
    assert_int_equal(setenv("WATCHDOG_USEC", "30000000", 1), 0);
    assert_int_equal(setenv("WATCHDOG_PID", "1", 1), 0); /* another's */
    assert_ok(notify_open(&n, &err), &err);
    assert_int_equal(n.watchdog_ns, 0);
}

static void variables_that_make_no_sense_are_refused(void **state)
{
    static const struct {
        const char *name, *value;
    } bad[] = {
        {"NOTIFY_SOCKET", ""},
        {"NOTIFY_SOCKET", "/"},
        {"NOTIFY_SOCKET", "relative"},
        {"NOTIFY_SOCKET", "vsock:2:1234"},
        {"NOTIFY_SOCKET",
         "/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
         "xxxxxxxxxxxxxxxxxxxxxxxx"},
        {"WATCHDOG_USEC", "soon"},
        {"WATCHDOG_USEC", "0"},
        {"WATCHDOG_USEC", "18446744073709551615"},
        {"WATCHDOG_USEC", "-1"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_notify struct notify n = NOTIFY_INIT;
        struct err err = ERR_INIT;

        assert_int_equal(setenv(bad[i].name, bad[i].value, 1), 0);
        assert_int_equal(notify_open(&n, &err), -EINVAL);
        assert_int_equal(err.class, ERR_USAGE);
        assert_non_null(strstr(err.msg, bad[i].name));
        (void)unsetenv(bad[i].name);
    }
}

/* --- sockets that are passed; each in a child, whose descriptors from 3 on are the manager's --- */

struct pass {
    const char *fds, *names;
    int pid; /* 0 = our own */
    int n;   /* how many sockets are really there */
    int kind;
    bool listening;
};

static int given(const struct pass *p, struct notify_listen *ret, size_t *n, struct err *err)
{
    char pid[16];

    (void)close_range(3, ~0u, 0);
    for (int i = 0; i < p->n; i++) {
        const struct sockaddr_un any = {.sun_family = AF_UNIX}; /* the kernel finds a name */
        int fd = socket(AF_UNIX, p->kind, 0);
        bool ok = fd == 3 + i;

        if (ok && p->listening) {
            ok = bind(fd, (const struct sockaddr *)&any, sizeof(any.sun_family)) == 0 &&
                 listen(fd, 1) == 0;
        }
        if (!ok) {
            _exit(90);
        }
    }
    (void)snprintf(pid, sizeof(pid), "%d", p->pid == 0 ? (int)getpid() : p->pid);
    (void)setenv("LISTEN_PID", pid, 1);
    (void)setenv("LISTEN_FDS", p->fds, 1);
    if (p->names != NULL) {
        (void)setenv("LISTEN_FDNAMES", p->names, 1);
    }
    return notify_listen(ret, n, err);
}

/* 100 + how many were taken, or 200 + errno. */
static int taken(const struct pass *p, const char *last_name)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        struct notify_listen got[NOTIFY_LISTEN_MAX];
        size_t n = 0;
        struct err err = ERR_INIT;
        int r = given(p, got, &n, &err);

        for (size_t i = 0; r == 0 && i < n; i++) {
            int flags = fcntl(got[i].fd, F_GETFL);

            if (got[i].fd != 3 + (int)i || fcntl(got[i].fd, F_GETFD) != FD_CLOEXEC ||
                (flags & O_NONBLOCK) == 0) {
                _exit(92);
            }
        }
        if (r < 0 && p->n > 0 && fcntl(3, F_GETFD) >= 0 && err.class != ERR_USAGE) {
            _exit(93);
        }
        if (n > 0 && last_name != NULL && strcmp(got[n - 1].name, last_name) != 0) {
            _exit(94);
        }
        if (getenv("LISTEN_FDS") != NULL || getenv("LISTEN_PID") != NULL) {
            _exit(95);
        }
        _exit(r < 0 ? 200 - r : 100 + (int)n);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void sockets_of_the_manager_are_taken_with_their_names(void **state)
{
    (void)state;
    assert_int_equal(taken(&(struct pass){"2", "http:local", 0, 2, SOCK_STREAM, true}, "local"),
                     102);
    assert_int_equal(taken(&(struct pass){"1", NULL, 0, 1, SOCK_STREAM, true}, ""), 101);
    assert_int_equal(taken(&(struct pass){"0", NULL, 0, 0, SOCK_STREAM, true}, NULL), 100);
    /* Another process's: they were inherited by chance. */
    assert_int_equal(taken(&(struct pass){"1", NULL, 1, 1, SOCK_STREAM, true}, NULL), 100);
}

static void what_is_no_listening_socket_is_refused(void **state)
{
    const int refused = 200 + EINVAL;

    (void)state;
    assert_int_equal(taken(&(struct pass){"1", NULL, 0, 0, SOCK_STREAM, true}, NULL), refused);
    assert_int_equal(taken(&(struct pass){"2", NULL, 0, 1, SOCK_STREAM, true}, NULL), refused);
    assert_int_equal(taken(&(struct pass){"1", NULL, 0, 1, SOCK_STREAM, false}, NULL), refused);
    assert_int_equal(taken(&(struct pass){"1", NULL, 0, 1, SOCK_DGRAM, false}, NULL), refused);
    assert_int_equal(taken(&(struct pass){"17", NULL, 0, 1, SOCK_STREAM, true}, NULL), refused);
    assert_int_equal(taken(&(struct pass){"x", NULL, 0, 1, SOCK_STREAM, true}, NULL), refused);
    assert_int_equal(taken(&(struct pass){"2", "one", 0, 2, SOCK_STREAM, true}, NULL), refused);
    assert_int_equal(taken(&(struct pass){"1", "one:two", 0, 1, SOCK_STREAM, true}, NULL), refused);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_manager_is_told_on_both_kinds_of_sockets),
        T(without_a_manager_nothing_happens),
        T(a_manager_that_reads_nothing_holds_nobody_up),
        T(the_watchdog_is_fed_twice_in_its_time),
        T(variables_that_make_no_sense_are_refused),
        T(sockets_of_the_manager_are_taken_with_their_names),
        T(what_is_no_listening_socket_is_refused),
    };
    int failed = 0;

    if (mkdtemp(dir) == NULL) {
        return 1;
    }
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    return rmdir(dir) == 0 ? failed : 1;
}
