#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sup/client.h"
#include "sys/fd.h"
#include "test.h"

static void make(struct client *c, int *other, size_t max)
{
    int pair[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    client_init(c, pair[0], max);
    *other = pair[1];
}

static void small_writes_grow_one_waiting_frame(void **state)
{
    struct client c;
    uint32_t head[2];
    int other = -1;

    (void)state;
    make(&c, &other, 1000);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(client_put(&c, SUP_STDOUT, "x", 1), 0);
    }
    assert_int_equal(c.queue.len, 108);
    assert_int_equal(client_put(&c, SUP_STDERR, "y", 1), 0);
    assert_int_equal(client_put(&c, SUP_STDOUT, "x", 1), 0);
    client_flush(&c);
    assert_int_equal(read(other, head, sizeof(head)), sizeof(head));
    assert_int_equal(head[0], SUP_STDOUT);
    assert_int_equal(head[1], 100);
    client_fini(&c);
    fd_close_p(&other);
}

static void a_full_queue_is_an_error_and_keeps_its_frames(void **state)
{
    struct client c;
    int other = -1;

    (void)state;
    make(&c, &other, 20);
    assert_int_equal(client_put(&c, SUP_PHASE, "boot", 4), 0);
    assert_true(client_put(&c, SUP_PHASE, "too long", 8) < 0);
    assert_int_equal(c.queue.len, 12);
    client_fini(&c);
    fd_close_p(&other);
}

static void a_reader_that_never_reads_holds_nothing_up(void **state)
{
    static uint8_t data[65536];
    struct client c;
    int other = -1;

    (void)state;
    make(&c, &other, 64 * MIB);
    for (int i = 0; i < 200; i++) {
        assert_int_equal(client_put(&c, SUP_STDOUT, data, sizeof(data)), 0);
        client_flush(&c);
    }
    assert_true(client_wants_write(&c));
    assert_false(c.gone);
    client_fini(&c);
    fd_close_p(&other);
}

static void a_cancel_and_a_hangup_are_told_apart(void **state)
{
    struct client c;
    int other = -1;

    (void)state;
    make(&c, &other, 100);
    client_listen(&c);
    assert_false(c.canceled || c.gone);
    assert_int_equal(write(other, "c", 1), 1);
    client_listen(&c);
    assert_true(c.canceled);
    assert_false(c.gone);
    fd_close_p(&other);
    client_listen(&c);
    assert_true(c.gone);
    assert_int_equal(client_put(&c, SUP_PHASE, "x", 1), 0);
    assert_false(client_wants_write(&c));
    client_fini(&c);
}

TEST_MAIN(T(small_writes_grow_one_waiting_frame), T(a_full_queue_is_an_error_and_keeps_its_frames),
          T(a_reader_that_never_reads_holds_nothing_up), T(a_cancel_and_a_hangup_are_told_apart))
