/* host.h - a channel over a socket pair, and the host's end of it. */
#pragma once

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "guest/channel.h"
#include "test.h"

struct host {
    int fd;
    struct frame_decoder in;
};

static inline void host_init(struct host *host, struct channel *ch)
{
    int fds[2] = {-1, -1};

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    channel_init(ch, fds[0]);
    host->fd = fds[1];
    frame_decoder_init(&host->in, FRAME_TO_HOST);
}

static inline void host_fini(struct host *host, struct channel *ch)
{
    channel_fini(ch);
    frame_decoder_fini(&host->in);
    (void)close(host->fd);
}

/* 1 and a frame, or 0. The channel is flushed first. */
static inline int host_next(struct host *host, struct channel *ch, struct frame *ret)
{
    struct err err = ERR_INIT;

    assert_ok(channel_flush(ch, &err), &err);
    for (;;) {
        uint8_t *at = NULL;
        size_t room = 0;
        ssize_t n = 0;
        int r = frame_decoder_next(&host->in, ret, &err);

        if (r != 0) {
            assert_int_equal(r, 1);
            return 1;
        }
        assert_ok(frame_decoder_space(&host->in, &at, &room, &err), &err);
        n = read(host->fd, at, room);
        if (n <= 0) {
            return 0;
        }
        frame_decoder_fed(&host->in, (size_t)n);
        assert_ok(channel_flush(ch, &err), &err);
    }
}
