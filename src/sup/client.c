#include "sup/client.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "job/result.h"
#include "sys/fd.h"

size_t client_queue_max(const struct spec_limits *limits)
{
    return 2 * (limits->stdout_bytes + limits->stderr_bytes) + RESULT_JSON_MAX;
}

void client_init(struct client *c, int fd, size_t queue_max)
{
    memset(c, 0, sizeof(*c));
    c->fd = fd;
    c->queue.max = queue_max;
}

void client_fini(struct client *c)
{
    fd_close_p(&c->fd);
    buf_fini(&c->queue);
}

/* Drops what was written, once it is worth the move. */
static void compact(struct client *c)
{
    if (c->sent == c->queue.len) {
        c->queue.len = 0;
        c->sent = 0;
        c->last_open = false;
    } else if (c->sent > MIB && c->sent > c->queue.len / 2) {
        buf_consume(&c->queue, c->sent);
        c->last = c->last >= c->sent ? c->last - c->sent : 0;
        c->sent = 0;
    }
}

/* Adds to the waiting frame of the same kind, so that many small writes stay small here, too. */
static bool grow_last(struct client *c, uint32_t kind, const void *data, size_t len)
{
    uint32_t head[2];

    if (!c->last_open || c->sent > c->last) {
        return false;
    }
    memcpy(head, c->queue.data + c->last, sizeof(head));
    if (head[0] != kind || head[1] + len > CLIENT_FRAME_MAX || buf_put(&c->queue, data, len) < 0) {
        return false;
    }
    head[1] += (uint32_t)len;
    memcpy(c->queue.data + c->last, head, sizeof(head));
    return true;
}

int client_put(struct client *c, enum sup_event_kind kind, const void *data, size_t len)
{
    uint32_t head[2] = {(uint32_t)kind, (uint32_t)len};
    bool stream = kind == SUP_STDOUT || kind == SUP_STDERR;
    size_t at = 0;
    int r = 0;

    if (c->gone) {
        return 0;
    }
    compact(c);
    if (stream && grow_last(c, head[0], data, len)) {
        return 0;
    }
    at = c->queue.len;
    r = buf_put(&c->queue, head, sizeof(head));
    if (r == 0 && len > 0) {
        r = buf_put(&c->queue, data, len);
    }
    if (r < 0) {
        c->queue.len = at;
        return r;
    }
    c->last = at;
    c->last_open = stream;
    return 0;
}

void client_flush(struct client *c)
{
    while (!c->gone && c->sent < c->queue.len) {
        ssize_t n = send(c->fd, c->queue.data + c->sent, c->queue.len - c->sent,
                         MSG_DONTWAIT | MSG_NOSIGNAL);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            break;
        }
        if (n < 0) {
            c->gone = true;
            break;
        }
        c->sent += (size_t)n;
    }
    compact(c);
}

void client_listen(struct client *c)
{
    char said[16];

    for (;;) {
        ssize_t n = recv(c->fd, said, sizeof(said), MSG_DONTWAIT);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return;
        }
        if (n <= 0) {
            c->gone = true;
            return;
        }
        c->canceled = true;
    }
}

bool client_wants_write(const struct client *c)
{
    return !c->gone && c->sent < c->queue.len;
}

void client_drain(struct client *c)
{
    while (client_wants_write(c)) {
        struct pollfd p = {.fd = c->fd, .events = POLLOUT};

        if (poll(&p, 1, -1) < 0 && errno != EINTR) {
            return;
        }
        client_flush(c);
    }
}
