#include "guest/channel.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "sys/fd.h"

void channel_init(struct channel *ch, int fd)
{
    *ch = (struct channel){.fd = fd, .out = BUF_INIT(CHANNEL_QUEUE_MAX)};
    frame_decoder_init(&ch->in, FRAME_TO_GUEST);
}

void channel_fini(struct channel *ch)
{
    fd_close_p(&ch->fd);
    buf_fini(&ch->out);
    frame_decoder_fini(&ch->in);
}

size_t channel_queued(const struct channel *ch)
{
    return ch->out.len - ch->out_done;
}

bool channel_has_room(const struct channel *ch)
{
    return channel_queued(ch) < CHANNEL_STREAM_ROOM;
}

/* Where len bytes of payload go, behind room for the header. */
static int reserve(struct channel *ch, enum frame_type type, size_t len, uint8_t **ret,
                   struct err *err)
{
    int r = 0;

    if (ch->out_done > 0) {
        buf_consume(&ch->out, ch->out_done);
        ch->out_done = 0;
    }
    r = buf_reserve(&ch->out, FRAME_HEADER_SIZE + len, ret);
    if (r < 0) {
        return err_sys_num(err, -r, "queue %zu bytes of frame type %d", len, (int)type);
    }
    return 0;
}

static void commit(struct channel *ch, enum frame_type type, uint8_t *at, size_t len)
{
    frame_header_encode(at, type, (uint32_t)len, ch->out_seq++);
    ch->out.len += FRAME_HEADER_SIZE + len;
}

int channel_send(struct channel *ch, enum frame_type type, const void *data, size_t len,
                 struct err *err)
{
    const uint8_t *from = data;
    uint8_t *at = NULL;
    int r = reserve(ch, type, len, &at, err);

    if (r < 0) {
        return r;
    }
    for (size_t i = 0; i < len; i++) {
        at[FRAME_HEADER_SIZE + i] = from[i];
    }
    commit(ch, type, at, len);
    return 0;
}

int channel_send_from(struct channel *ch, enum frame_type type, int fd, size_t max, size_t *ret_len,
                      struct err *err)
{
    uint8_t *at = NULL;
    ssize_t n = 0;
    int r = reserve(ch, type, max, &at, err);

    if (r < 0) {
        return r;
    }
    do {
        n = read(fd, at + FRAME_HEADER_SIZE, max);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return errno == EAGAIN ? -EAGAIN : err_sys(err, "read for frame type %d", (int)type);
    }
    if (n > 0) {
        commit(ch, type, at, (size_t)n);
    }
    *ret_len = (size_t)n;
    return 0;
}

int channel_flush(struct channel *ch, struct err *err)
{
    while (channel_queued(ch) > 0) {
        ssize_t n = write(ch->fd, ch->out.data + ch->out_done, channel_queued(ch));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            return 0;
        }
        if (n <= 0) {
            return err_sys_num(err, EPIPE, "write to the host channel");
        }
        ch->out_done += (size_t)n;
    }
    ch->out.len = 0;
    ch->out_done = 0;
    return 0;
}

int channel_drain_to(struct channel *ch, size_t left, struct err *err)
{
    for (;;) {
        struct pollfd pfd = {.fd = ch->fd, .events = POLLOUT};
        int r = channel_flush(ch, err);

        if (r < 0 || channel_queued(ch) <= left) {
            return r;
        }
        if (poll(&pfd, 1, -1) < 0 && errno != EINTR) {
            return err_sys(err, "wait for the host channel");
        }
        if ((pfd.revents & (POLLHUP | POLLERR)) != 0) {
            return err_sys_num(err, EPIPE, "the host channel");
        }
    }
}

int channel_fill(struct channel *ch, struct err *err)
{
    uint8_t *at = NULL;
    size_t room = 0;
    ssize_t n = 0;
    int r = frame_decoder_space(&ch->in, &at, &room, err);

    if (r < 0) {
        return r;
    }
    do {
        n = read(ch->fd, at, room);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN) {
        return -EAGAIN;
    }
    if (n <= 0) {
        return err_sys_num(err, EPIPE, "read from the host channel");
    }
    frame_decoder_fed(&ch->in, (size_t)n);
    return 0;
}
