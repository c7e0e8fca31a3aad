#include "daemon/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#include "sys/clock.h"
#include "sys/fd.h"

#define LISTEN_FDS_START 3 /* SD_LISTEN_FDS_START */
#define MESSAGE_MAX      1024u

/* What a variable says, in a new string; it is gone from the environment. NULL: it is not there. */
static int take_variable(const char *name, char **ret, struct err *err)
{
    const char *value = getenv(name); /* NOLINT(concurrency-mt-unsafe): one thread */

    *ret = NULL;
    if (value == NULL) {
        return 0;
    }
    *ret = strdup(value);
    if (*ret == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    (void)unsetenv(name); /* NOLINT(concurrency-mt-unsafe): the same */
    return 0;
}

/* Only decimal digits; *ret_there false: the variable is not there. */
static int take_number(const char *name, uint64_t *ret, bool *ret_there, struct err *err)
{
    auto_free char *value = NULL;
    int r = take_variable(name, &value, err);

    *ret = 0;
    *ret_there = value != NULL;
    if (r == 0 && value != NULL && num_parse_u64(value, ret) < 0) {
        return err_usage(err, "%s is no number; it is the service manager's to set", name);
    }
    return r;
}

/* --- what we tell --- */

static int take_address(struct notify *n, const char *text, struct err *err)
{
    size_t len = strlen(text);

    if ((text[0] != '/' && text[0] != '@') || len < 2 || len >= sizeof(n->addr.sun_path)) {
        return err_usage(err,
                         "NOTIFY_SOCKET is neither an absolute path nor an abstract unix socket "
                         "of at most %zu bytes",
                         sizeof(n->addr.sun_path) - 1);
    }
    n->addr.sun_family = AF_UNIX;
    memcpy(n->addr.sun_path, text, len);
    if (text[0] == '@') { /* abstract: without a NUL at its end */
        n->addr.sun_path[0] = '\0';
        n->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    } else {
        n->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len + 1);
    }
    n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return n->fd < 0 ? err_sys(err, "socket") : 0;
}

static int take_watchdog(struct notify *n, struct err *err)
{
    uint64_t us = 0;
    uint64_t pid = 0;
    bool has_us = false;
    bool has_pid = false;
    int r = take_number("WATCHDOG_USEC", &us, &has_us, err);

    if (r == 0) {
        r = take_number("WATCHDOG_PID", &pid, &has_pid, err);
    }
    if (r < 0 || !has_us || (has_pid && pid != (uint64_t)getpid())) {
        return r;
    }
    if (us == 0 || us > UINT64_MAX / 1000) {
        return err_usage(err, "WATCHDOG_USEC is out of range");
    }
    n->watchdog_ns = us * 1000 / 2;
    return 0;
}

int notify_open(struct notify *ret, struct err *err)
{
    auto_notify struct notify n = NOTIFY_INIT;
    auto_free char *where = NULL;
    int r = take_variable("NOTIFY_SOCKET", &where, err);

    if (r == 0 && where != NULL) {
        r = take_address(&n, where, err);
    }
    if (r == 0) {
        r = take_watchdog(&n, err);
    }
    if (r < 0) {
        return r;
    }
    *ret = n;
    n.fd = -1;
    return 0;
}

void notify_close(struct notify *n)
{
    fd_close_p(&n->fd);
}

static int say(const struct notify *n, struct err *err, const char *fmt, ...) printf_like(3, 4);

static int say(const struct notify *n, struct err *err, const char *fmt, ...)
{
    char text[MESSAGE_MAX];
    va_list args;
    int len = 0;
    ssize_t sent = 0;

    if (n->fd < 0) {
        return 0;
    }
    va_start(args, fmt);
    len = vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof(text)) {
        return err_set(err, ERR_HOST, EMSGSIZE, "a message to the service manager is too long");
    }
    do {
        sent = sendto(n->fd, text, (size_t)len, MSG_NOSIGNAL | MSG_DONTWAIT,
                      (const struct sockaddr *)&n->addr, n->len);
    } while (sent < 0 && errno == EINTR);
    return sent < 0 ? err_sys(err, "tell the service manager") : 0;
}

int notify_ready(const struct notify *n, struct err *err)
{
    return say(n, err, "READY=1");
}

int notify_reloading(const struct notify *n, struct err *err)
{
    /* With the time, as Type=notify-reload wants it. */
    return say(n, err, "RELOADING=1\nMONOTONIC_USEC=%" PRIu64, clock_mono_ns() / 1000);
}

int notify_stopping(const struct notify *n, struct err *err)
{
    return say(n, err, "STOPPING=1");
}

int notify_watchdog(const struct notify *n, struct err *err)
{
    return say(n, err, "WATCHDOG=1");
}

int notify_extend(const struct notify *n, uint64_t ns, struct err *err)
{
    return say(n, err, "EXTEND_TIMEOUT_USEC=%" PRIu64, ns / 1000);
}

/* --- what we get --- */

static int socket_option(int fd, int option)
{
    int value = -1;
    socklen_t len = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

static int check_listener(int fd, struct err *err)
{
    int domain = socket_option(fd, SO_DOMAIN);

    if (socket_option(fd, SO_TYPE) != SOCK_STREAM || socket_option(fd, SO_ACCEPTCONN) != 1 ||
        (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX)) {
        return err_usage(err,
                         "descriptor %d of the service manager is no listening stream socket; "
                         "see to ListenStream= and Accept=no of its unit",
                         fd);
    }
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0) {
        return err_sys(err, "descriptor %d of the service manager", fd);
    }
    return fd_set_nonblock(fd, err);
}

/* Names between colons, one for each; what systemd gives sockets without a name is "unknown". */
static int take_names(const char *names, struct notify_listen *listen, size_t n, struct err *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t len = strcspn(names, ":");

        if (len >= NOTIFY_NAME_SIZE || (names[len] == '\0') != (i + 1 == n)) {
            return err_usage(err, "LISTEN_FDNAMES does not have one name for each of %zu sockets",
                             n);
        }
        memcpy(listen[i].name, names, len);
        listen[i].name[len] = '\0';
        names += len + 1;
    }
    return 0;
}

static int take_listeners(uint64_t n, const char *names, struct notify_listen *ret, struct err *err)
{
    int r = 0;

    for (size_t i = 0; i < n; i++) {
        ret[i] = (struct notify_listen){.fd = LISTEN_FDS_START + (int)i};
    }
    for (size_t i = 0; i < n && r == 0; i++) {
        r = check_listener(ret[i].fd, err);
    }
    if (r == 0 && names != NULL && n > 0) {
        r = take_names(names, ret, n, err);
    }
    for (size_t i = 0; i < n && r < 0; i++) {
        fd_close_p(&ret[i].fd);
    }
    return r;
}

int notify_listen(struct notify_listen ret[NOTIFY_LISTEN_MAX], size_t *ret_n, struct err *err)
{
    auto_free char *names = NULL;
    uint64_t pid = 0;
    uint64_t n = 0;
    bool has_pid = false;
    bool has_n = false;
    int r = take_number("LISTEN_PID", &pid, &has_pid, err);

    *ret_n = 0;
    if (r == 0) {
        r = take_number("LISTEN_FDS", &n, &has_n, err);
    }
    if (r == 0) {
        r = take_variable("LISTEN_FDNAMES", &names, err);
    }
    if (r < 0 || !has_pid || !has_n || pid != (uint64_t)getpid()) {
        return r;
    }
    if (n > NOTIFY_LISTEN_MAX) {
        return err_usage(err, "the service manager passed %llu sockets; at most %u are taken",
                         (unsigned long long)n, NOTIFY_LISTEN_MAX);
    }
    r = take_listeners(n, names, ret, err);
    if (r == 0) {
        *ret_n = (size_t)n;
    }
    return r;
}
