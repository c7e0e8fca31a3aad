#include "guest/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "sys/fd.h"

#define PIPE_SPARE     (64 * KIB)
#define STDIN_PIPE     (128 * 1024)
#define CREDIT_PORTION (STDIN_CREDIT / 4)

void streams_close_child(struct streams *io)
{
    for (size_t i = 0; i < ARRAY_LEN(io->child); i++) {
        fd_close_p(&io->child[i]);
    }
}

void streams_fini(struct streams *io)
{
    streams_close_child(io);
    fd_close_p(&io->out.fd);
    fd_close_p(&io->err.fd);
    input_close(&io->in);
    buf_fini(&io->in.buf);
}

/*
 * The kernel counts a pipe in pages, and a write that does not fit into the rest of the last page
 * starts a new one: with writes of just over half a page, half of it stays empty. So twice the cap
 * is asked for first, and what must be had is once.
 */
static int size_pipe(int fd, uint64_t cap, struct err *err)
{
    uint64_t need = cap + PIPE_SPARE;

    if (cap < GIB / 2 && fcntl(fd, F_SETPIPE_SZ, (int)(2 * need)) >= 0) {
        return 0;
    }
    if (cap >= 2 * GIB - PIPE_SPARE) {
        return err_sys_num(err, EINVAL, "a pipe for %llu bytes", (unsigned long long)cap);
    }
    if (fcntl(fd, F_SETPIPE_SZ, (int)need) < 0) {
        return err_sys(err, "a pipe for %llu bytes", (unsigned long long)cap);
    }
    return 0;
}

static int open_stream(struct stream *stream, enum frame_type type, int *ret_child, struct err *err)
{
    int fds[2] = {-1, -1};

    if (pipe2(fds, O_CLOEXEC) < 0) {
        return err_sys(err, "pipe");
    }
    *stream = (struct stream){.fd = fds[0], .type = type};
    *ret_child = fds[1];
    if (fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0) {
        return err_sys(err, "make a pipe non-blocking");
    }
    return 0;
}

int streams_open(struct streams *io, struct err *err)
{
    int fds[2] = {-1, -1};
    int r = open_stream(&io->out, FRAME_STDOUT, &io->child[1], err);

    if (r < 0) {
        return err_wrap(err, "stdout");
    }
    r = open_stream(&io->err, FRAME_STDERR, &io->child[2], err);
    if (r < 0) {
        return err_wrap(err, "stderr");
    }
    if (pipe2(fds, O_CLOEXEC) < 0) {
        return err_sys(err, "stdin: pipe");
    }
    io->child[0] = fds[0];
    io->in.fd = fds[1];
    if (fcntl(fds[1], F_SETFL, O_NONBLOCK) < 0 || fcntl(fds[1], F_SETPIPE_SZ, STDIN_PIPE) < 0) {
        return err_sys(err, "stdin: set up the pipe");
    }
    return 0;
}

static int fit_stream(struct stream *stream, uint64_t cap, struct err *err)
{
    stream->cap = cap;
    return size_pipe(stream->fd, cap, err);
}

int streams_fit(struct streams *io, const struct msg_job *job, struct err *err)
{
    int r = fit_stream(&io->out, job->stdout_bytes, err);

    if (r < 0) {
        return err_wrap(err, "stdout");
    }
    r = fit_stream(&io->err, job->stderr_bytes, err);
    if (r < 0) {
        return err_wrap(err, "stderr");
    }
    if (!job->has_stdin) {
        input_close(&io->in);
    }
    return 0;
}

int streams_give(const struct streams *io, uid_t uid, gid_t gid, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(io->child); i++) {
        if (fchown(io->child[i], uid, gid) < 0) {
            return err_sys(err, "give descriptor %zu to the program", i);
        }
    }
    return 0;
}

int stream_forward(struct stream *stream, struct channel *ch, struct err *err)
{
    uint64_t left = stream->cap - stream->forwarded;
    size_t max = left >= FRAME_DATA_MAX ? FRAME_DATA_MAX : (size_t)left + 1;
    size_t len = 0;
    int r = channel_send_from(ch, stream->type, stream->fd, max, &len, err);

    if (r < 0) {
        return r;
    }
    stream->forwarded += len;
    if (len == 0 || stream->forwarded > stream->cap) {
        fd_close_p(&stream->fd);
    }
    return 0;
}

static int grant(struct input *in, struct channel *ch, uint32_t bytes, struct err *err)
{
    uint8_t raw[4];
    struct buf buf = {.max = sizeof(raw)};
    int r = msg_credit_encode(bytes, &buf);

    if (r == 0) {
        r = channel_send(ch, FRAME_CREDIT, buf.data, buf.len, err);
    } else {
        r = err_sys_num(err, -r, "encode a credit");
    }
    buf_fini(&buf);
    if (r == 0) {
        in->credit += bytes;
    }
    return r;
}

int streams_start_input(struct streams *io, struct channel *ch, struct err *err)
{
    return io->in.fd < 0 ? 0 : grant(&io->in, ch, STDIN_CREDIT, err);
}

int input_receive(struct input *in, const uint8_t *data, size_t len, struct err *err)
{
    int r = 0;

    if (in->eof) {
        return err_guest(err, "channel: stdin after its end");
    }
    if (len > in->credit) {
        return err_guest(err, "channel: %zu bytes of stdin, the credit is %u", len, in->credit);
    }
    in->credit -= (uint32_t)len;
    if (in->fd < 0) {
        return 0; /* the program does not want it any more */
    }
    r = buf_put(&in->buf, data, len);
    return r < 0 ? err_sys_num(err, -r, "keep %zu bytes of stdin", len) : 0;
}

void input_receive_eof(struct input *in)
{
    in->eof = true;
}

void input_close(struct input *in)
{
    fd_close_p(&in->fd);
    in->buf.len = 0;
}

int input_write(struct input *in, struct channel *ch, struct err *err)
{
    size_t done = 0;

    while (in->fd >= 0 && done < in->buf.len) {
        ssize_t n = write(in->fd, in->buf.data + done, in->buf.len - done);

        if (n < 0 && errno == EAGAIN) {
            break;
        }
        if (n < 0 && errno != EINTR) {
            input_close(in); /* EPIPE: nobody reads it any more */
            return 0;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    if (done > 0) {
        buf_consume(&in->buf, done);
        in->returned += (uint32_t)done;
    }
    if (in->buf.len == 0 && in->eof) {
        input_close(in);
        return 0;
    }
    if (in->returned >= CREDIT_PORTION && !in->eof) {
        return grant(in, ch, STEAL(&in->returned, 0), err);
    }
    return 0;
}
