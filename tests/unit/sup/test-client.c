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

static void an_event_that_comes_in_pieces_is_given_once_it_is_whole(void **state)
{
    const uint32_t phase[2] = {SUP_PHASE, 4};
    const uint32_t result[2] = {SUP_RESULT, 2};
    char bytes[22];
    struct sup_event ev = {0};
    struct sup sup;
    struct err err = ERR_INIT;
    int pair[2];
    size_t given = 0;

    (void)state;
    memcpy(bytes, phase, 8);
    memcpy(bytes + 8, "boot", 4);
    memcpy(bytes + 12, result, 8);
    memcpy(bytes + 20, "{}", 2);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    sup_adopt(pair[0], &sup);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        int r = sup_try_next(&sup, &ev, &err);

        assert_int_equal(r, i == 12);
        given += r == 1;
        assert_int_equal(sup_try_next(&sup, &ev, &err), 0);
        assert_int_equal(write(pair[1], bytes + i, 1), 1);
    }
    assert_int_equal(given, 1);
    assert_int_equal(sup_try_next(&sup, &ev, &err), 1);
    assert_int_equal(ev.kind, SUP_RESULT);
    assert_memory_equal(ev.data, "{}", 2);
    assert_true(sup.finished);
    assert_int_equal(sup_try_next(&sup, &ev, &err), 0);
    sup_fini(&sup);
    (void)close(pair[1]);
}

static void an_adopted_supervisor_that_dies_or_lies_is_noticed_without_waiting(void **state)
{
    static const uint32_t bad[][2] = {{SUP_UNFIT + 1, 0}, {SUP_WAITS, 0}, {SUP_STDOUT, UINT32_MAX}};

    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(bad); i++) {
        struct sup_event ev = {0};
        struct sup sup;
        struct err err = ERR_INIT;
        int pair[2];

        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        sup_adopt(pair[0], &sup);
        if (i < ARRAY_LEN(bad)) {
            assert_int_equal(write(pair[1], bad[i], 8), 8);
        }
        (void)close(pair[1]);
        assert_true(sup_try_next(&sup, &ev, &err) < 0);
        assert_int_equal(err.class, ERR_HOST);
        sup_fini(&sup);
    }
}

TEST_MAIN(T(small_writes_grow_one_waiting_frame), T(a_full_queue_is_an_error_and_keeps_its_frames),
          T(a_reader_that_never_reads_holds_nothing_up), T(a_cancel_and_a_hangup_are_told_apart),
          T(an_event_that_comes_in_pieces_is_given_once_it_is_whole),
          T(an_adopted_supervisor_that_dies_or_lies_is_noticed_without_waiting))
