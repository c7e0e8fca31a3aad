#include <errno.h>
#include <signal.h>
#include <string.h>

#include "host.h"

static void frames_arrive_in_order(void **state)
{
    struct channel ch;
    struct host host;
    struct frame frame = {0};
    struct err err = ERR_INIT;

    (void)state;
    host_init(&host, &ch);
    assert_ok(channel_send(&ch, FRAME_STARTED, NULL, 0, &err), &err);
    assert_ok(channel_send(&ch, FRAME_STDOUT, "abc", 3, &err), &err);
    assert_int_equal(host_next(&host, &ch, &frame), 1);
    assert_int_equal(frame.type, FRAME_STARTED);
    assert_int_equal(host_next(&host, &ch, &frame), 1);
    assert_int_equal(frame.type, FRAME_STDOUT);
    assert_memory_equal(frame.data, "abc", 3);
    assert_int_equal(host_next(&host, &ch, &frame), 0);
    host_fini(&host, &ch);
}

static void a_host_that_does_not_read_leaves_room_for_control(void **state)
{
    static uint8_t data[FRAME_DATA_MAX];
    struct channel ch;
    struct host host;
    struct err err = ERR_INIT;
    int r = 0;

    (void)state;
    host_init(&host, &ch);
    do {
        r = channel_send(&ch, FRAME_STDOUT, data, sizeof(data), &err);
        r = r < 0 ? r : channel_flush(&ch, &err);
    } while (r == 0 && channel_has_room(&ch));
    for (int i = 0; r == 0 && i < 1000; i++) {
        r = channel_send(&ch, FRAME_CREDIT, data, 4, &err);
    }
    assert_ok(r, &err);
    assert_true(channel_queued(&ch) < CHANNEL_QUEUE_MAX);
    host_fini(&host, &ch);
}

static void a_full_queue_refuses_and_keeps_what_it_has(void **state)
{
    static uint8_t data[FRAME_DATA_MAX];
    struct channel ch;
    struct host host;
    struct err err = ERR_INIT;
    size_t queued = 0;
    int r = 0;

    (void)state;
    host_init(&host, &ch);
    for (int i = 0; i < 100 && r == 0; i++) {
        queued = channel_queued(&ch);
        r = channel_send(&ch, FRAME_STDOUT, data, sizeof(data), &err);
    }
    assert_int_equal(r, -ENOBUFS);
    assert_int_equal(channel_queued(&ch), queued);
    host_fini(&host, &ch);
}

static void a_closed_host_is_a_broken_pipe(void **state)
{
    struct channel ch;
    struct host host;
    struct err err = ERR_INIT;
    struct err err2 = ERR_INIT;
    struct err err3 = ERR_INIT;

    (void)state;
    (void)signal(SIGPIPE, SIG_IGN);
    host_init(&host, &ch);
    assert_int_equal(channel_fill(&ch, &err), -EAGAIN);
    assert_int_equal(shutdown(host.fd, SHUT_RDWR), 0);
    assert_int_equal(channel_fill(&ch, &err), -EPIPE);
    assert_ok(channel_send(&ch, FRAME_STARTED, NULL, 0, &err3), &err3);
    assert_int_equal(channel_flush(&ch, &err2), -EPIPE);
    host_fini(&host, &ch);
}

TEST_MAIN(T(frames_arrive_in_order), T(a_host_that_does_not_read_leaves_room_for_control),
          T(a_full_queue_refuses_and_keeps_what_it_has), T(a_closed_host_is_a_broken_pipe))
