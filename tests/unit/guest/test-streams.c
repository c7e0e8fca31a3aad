#include <errno.h>
#include <signal.h>
#include <string.h>

#include "guest/streams.h"
#include "host.h"

struct fixture {
    struct channel ch;
    struct host host;
    struct streams io;
};

static void open_all(struct fixture *f, uint64_t cap, bool has_stdin)
{
    struct msg_job job = {.stdout_bytes = cap, .stderr_bytes = cap, .has_stdin = has_stdin};
    struct err err = ERR_INIT;

    (void)signal(SIGPIPE, SIG_IGN);
    f->io = (struct streams)STREAMS_INIT;
    host_init(&f->host, &f->ch);
    assert_ok(streams_open(&f->io, &err), &err);
    assert_ok(streams_fit(&f->io, &job, &err), &err);
    assert_ok(streams_start_input(&f->io, &f->ch, &err), &err);
}

static void close_all(struct fixture *f)
{
    streams_fini(&f->io);
    host_fini(&f->host, &f->ch);
}

static void everything_up_to_the_cap_fits_the_pipe_in_odd_pieces(void **state)
{
    static const char piece[2049];
    struct fixture f;
    size_t left = 256 * KIB;

    (void)state;
    open_all(&f, 256 * KIB, false); /* as much as a pipe of the unprivileged can be */
    assert_int_equal(fcntl(f.io.child[1], F_SETFL, O_NONBLOCK), 0);
    while (left > 0) {
        size_t n = left < sizeof(piece) ? left : sizeof(piece);

        assert_int_equal(write(f.io.child[1], piece, n), (ssize_t)n);
        left -= n;
    }
    close_all(&f);
}

static void forwarding_stops_one_byte_over_the_cap(void **state)
{
    struct fixture f;
    struct frame frame = {0};
    struct err err = ERR_INIT;
    char data[200] = {0};

    (void)state;
    open_all(&f, 100, false);
    assert_int_equal(write(f.io.child[1], data, 60), 60);
    assert_ok(stream_forward(&f.io.out, &f.ch, &err), &err);
    assert_int_equal(stream_forward(&f.io.out, &f.ch, &err), -EAGAIN);
    assert_int_equal(write(f.io.child[1], data, 140), 140);
    assert_ok(stream_forward(&f.io.out, &f.ch, &err), &err);
    assert_int_equal(f.io.out.fd, -1);
    assert_int_equal(f.io.out.forwarded, 101);
    assert_int_equal(host_next(&f.host, &f.ch, &frame), 1);
    assert_int_equal(frame.len, 60);
    assert_int_equal(host_next(&f.host, &f.ch, &frame), 1);
    assert_int_equal(frame.len, 41);
    close_all(&f);
}

static void a_closed_stream_ends_without_a_frame(void **state)
{
    struct fixture f;
    struct frame frame = {0};
    struct err err = ERR_INIT;

    (void)state;
    open_all(&f, 0, false);
    streams_close_child(&f.io);
    assert_ok(stream_forward(&f.io.err, &f.ch, &err), &err);
    assert_int_equal(f.io.err.fd, -1);
    assert_int_equal(host_next(&f.host, &f.ch, &frame), 0);
    close_all(&f);
}

static void no_stdin_is_end_of_file_at_once(void **state)
{
    struct fixture f;
    char c = 0;

    (void)state;
    open_all(&f, 0, false);
    assert_int_equal(read(f.io.child[0], &c, 1), 0);
    close_all(&f);
}

/* Takes one CREDIT frame; 0 if there is none. */
static uint32_t take_credit(struct fixture *f)
{
    struct frame frame = {0};
    struct err err = ERR_INIT;
    uint32_t credit = 0;

    if (host_next(&f->host, &f->ch, &frame) == 0) {
        return 0;
    }
    assert_int_equal(frame.type, FRAME_CREDIT);
    assert_ok(msg_credit_decode(frame.data, frame.len, &credit, &err), &err);
    return credit;
}

/* Reads all of a full credit at the program's end, with the agent refilling the pipe. */
static void read_all(struct fixture *f)
{
    static uint8_t data[FRAME_DATA_MAX];
    struct err err = ERR_INIT;
    size_t got = 0;

    while (got < STDIN_CREDIT) {
        ssize_t n = read(f->io.child[0], data, sizeof(data));

        assert_true(n > 0);
        got += (size_t)n;
        assert_ok(input_write(&f->io.in, &f->ch, &err), &err);
    }
}

static void credit_comes_back_as_the_program_reads(void **state)
{
    static uint8_t data[FRAME_DATA_MAX];
    struct fixture f;
    struct err err = ERR_INIT;

    (void)state;
    open_all(&f, 0, true);
    assert_int_equal(take_credit(&f), STDIN_CREDIT);
    for (int i = 0; i < 4; i++) {
        assert_ok(input_receive(&f.io.in, data, sizeof(data), &err), &err);
    }
    assert_ok(input_write(&f.io.in, &f.ch, &err), &err);
    assert_int_equal(take_credit(&f), 128 * KIB); /* what the pipe took */
    assert_int_equal(f.io.in.credit, 128 * KIB);
    read_all(&f);
    assert_int_equal(f.io.in.credit + f.io.in.returned, STDIN_CREDIT);
    input_receive_eof(&f.io.in);
    assert_ok(input_write(&f.io.in, &f.ch, &err), &err);
    assert_int_equal(read(f.io.child[0], data, 1), 0);
    close_all(&f);
}

static void stdin_over_the_credit_or_after_its_end_is_refused(void **state)
{
    static uint8_t data[FRAME_DATA_MAX];
    struct fixture f;
    struct err err = ERR_INIT;
    struct err err2 = ERR_INIT;

    (void)state;
    open_all(&f, 0, true);
    for (int i = 0; i < 4; i++) {
        assert_ok(input_receive(&f.io.in, data, sizeof(data), &err), &err);
    }
    assert_int_equal(input_receive(&f.io.in, data, 1, &err), -EPROTO);
    input_receive_eof(&f.io.in);
    assert_int_equal(input_receive(&f.io.in, data, 0, &err2), -EPROTO);
    close_all(&f);
}

static void a_program_that_closes_its_stdin_ends_it(void **state)
{
    struct fixture f;
    struct err err = ERR_INIT;

    (void)state;
    open_all(&f, 0, true);
    assert_int_equal(take_credit(&f), STDIN_CREDIT);
    streams_close_child(&f.io);
    assert_ok(input_receive(&f.io.in, (const uint8_t *)"x", 1, &err), &err);
    assert_ok(input_write(&f.io.in, &f.ch, &err), &err);
    assert_int_equal(f.io.in.fd, -1);
    assert_ok(input_receive(&f.io.in, (const uint8_t *)"x", 1, &err), &err);
    assert_int_equal(f.io.in.buf.len, 0);
    assert_int_equal(take_credit(&f), 0);
    close_all(&f);
}

TEST_MAIN(T(everything_up_to_the_cap_fits_the_pipe_in_odd_pieces),
          T(forwarding_stops_one_byte_over_the_cap), T(a_closed_stream_ends_without_a_frame),
          T(no_stdin_is_end_of_file_at_once), T(credit_comes_back_as_the_program_reads),
          T(stdin_over_the_credit_or_after_its_end_is_refused),
          T(a_program_that_closes_its_stdin_ends_it))
