#include "cli/outlet.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/fd.h"

/* poll() promises this much room in a pipe. */
#define CAREFUL_BYTES 4096u

void outlet_init(struct outlet *o, int fd, const char *name, bool escape)
{
    char path[32];
    struct stat st;
    int own = -1;

    *o = (struct outlet){.name = name,
                         .fd = fd,
                         .way = OUTLET_CAREFUL,
                         .term = {.escape = escape && isatty(fd) == 1},
                         .queue = BUF_INIT(OUTLET_QUEUE_MAX)};
    if (fstat(fd, &st) < 0) {
        return; /* the first write will tell */
    }
    if (S_ISREG(st.st_mode)) {
        o->way = OUTLET_PLAIN;
    } else if (S_ISSOCK(st.st_mode)) {
        o->way = OUTLET_SOCKET;
    } else {
        (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (own >= 0) {
            o->fd = own;
            o->way = OUTLET_OWN;
        }
    }
}

void outlet_fini(struct outlet *o)
{
    if (o->way == OUTLET_OWN) {
        fd_close_p(&o->fd);
    }
    o->fd = -1;
    buf_fini(&o->queue);
    o->sent = 0;
}

int outlet_put(struct outlet *o, const void *data, size_t len, struct err *err)
{
    if (o->broken) {
        return 0;
    }
    if (term_put(&o->term, data, len, &o->queue) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for %s", o->name);
    }
    return 0;
}

int outlet_end(struct outlet *o, struct err *err)
{
    if (!o->broken && term_end(&o->term, &o->queue) < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for %s", o->name);
    }
    return 0;
}

size_t outlet_pending(const struct outlet *o)
{
    return o->queue.len - o->sent;
}

static ssize_t write_some(const struct outlet *o, const uint8_t *data, size_t len)
{
    struct pollfd p = {.fd = o->fd, .events = POLLOUT};

    switch (o->way) {
    case OUTLET_SOCKET:
        return send(o->fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    case OUTLET_CAREFUL:
        if (poll(&p, 1, 0) == 0) {
            errno = EAGAIN;
            return -1;
        }
        len = len < CAREFUL_BYTES ? len : CAREFUL_BYTES;
        break;
    case OUTLET_PLAIN:
    case OUTLET_OWN:
        break;
    }
    return write(o->fd, data, len);
}

void outlet_pump(struct outlet *o)
{
    while (!o->broken && outlet_pending(o) > 0) {
        ssize_t n = write_some(o, o->queue.data + o->sent, outlet_pending(o));

        if (n > 0) {
            o->sent += (size_t)n;
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            break;
        }
        if (n < 0 && errno == EINTR) {
            break; /* let the caller see its signal first */
        }
        o->broken = true;
        o->broken_by = n < 0 ? errno : EIO;
        o->sent = o->queue.len;
    }
    /* Moving the rest down for every few bytes written would be quadratic. */
    if (o->sent == o->queue.len || o->sent > o->queue.len / 2) {
        buf_consume(&o->queue, o->sent);
        o->sent = 0;
    }
}
