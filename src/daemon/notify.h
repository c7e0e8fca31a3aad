/*
 * notify.h - what the service manager and the daemon tell each other: sd_notify(3) and
 * sd_listen_fds(3), by their documented protocols and without libsystemd.
 *
 * Without a manager (no NOTIFY_SOCKET, no LISTEN_FDS) all of this does nothing. The variables are
 * read and removed at the start, so that no child inherits them.
 */
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include "base/base.h"
#include "base/err.h"

#define NOTIFY_LISTEN_MAX 16u
#define NOTIFY_NAME_SIZE  65

struct notify {
    int fd; /* owned; -1 = nobody listens */
    struct sockaddr_un addr;
    socklen_t len;
    uint64_t watchdog_ns; /* call notify_watchdog() that often: half of what the manager waits */
};

#define NOTIFY_INIT \
    {               \
        .fd = -1    \
    }

/* A listening socket of the manager. */
struct notify_listen {
    int fd; /* owned, O_CLOEXEC; a listening SOCK_STREAM, AF_INET(6) or AF_UNIX */
    char name[NOTIFY_NAME_SIZE]; /* LISTEN_FDNAMES; "" = not told */
};

/*
 * Takes NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID out of the environment. ERR_USAGE if one of
 * them is there and makes no sense.
 */
must_use int notify_open(struct notify *ret, struct err *err) nonnull_all;
void notify_close(struct notify *n) nonnull_all;
#define auto_notify on_scope_exit(notify_close)

/*
 * Each is one message that never blocks. Failure is ERR_HOST: -EAGAIN if the manager has enough to
 * read. The caller logs it and goes on, but at the start: who never said READY=1 is ended.
 */
must_use int notify_ready(const struct notify *n, struct err *err) nonnull_all;
must_use int notify_reloading(const struct notify *n, struct err *err) nonnull_all;
must_use int notify_stopping(const struct notify *n, struct err *err) nonnull_all;
must_use int notify_watchdog(const struct notify *n, struct err *err) nonnull_all;
/* The manager shall wait this much longer for what is going on (EXTEND_TIMEOUT_USEC). */
must_use int notify_extend(const struct notify *n, uint64_t ns, struct err *err) nonnull_all;

/*
 * The sockets that the manager passed (LISTEN_PID, LISTEN_FDS, LISTEN_FDNAMES, taken out of the
 * environment); *ret_n 0 if they are another process's or there are none. Checks that each is what
 * struct notify_listen says: ERR_USAGE and none is left open.
 */
must_use int notify_listen(struct notify_listen ret[NOTIFY_LISTEN_MAX], size_t *ret_n,
                           struct err *err) nonnull_all;
