#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "driver.h"
#include "proto/wire.h"
#include "test.h"
#include "vmm/dev/console.h"

/* Queues. */
#define RX0  0u
#define TX0  1u
#define C_RX 2u
#define C_TX 3u
#define RX   4u
#define TX   5u

#define DEVICE_READY 0u
#define PORT_ADD     1u
#define PORT_REMOVE  2u
#define PORT_READY   3u
#define PORT_OPEN    6u
#define PORT_NAME    7u

/* Buffers: of control messages, and of the port. */
#define C_RX_DATA DRIVER_DATA
#define C_TX_DATA (DRIVER_DATA + 0x10000)
#define RX_DATA   (DRIVER_DATA + 0x20000)
#define TX_DATA   (DRIVER_DATA + 0x100000)
#define RX_BYTES  4096u

struct bench {
    struct driver d;
    struct console console;
    int fd, peer;
};

static void bench_init(struct bench *b)
{
    int fds[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    *b = (struct bench){.fd = fds[0], .peer = fds[1]};
    driver_init(&b->d);
    console_init(&b->console, &b->d.mem, 3, b->d.irq_fd, b->fd);
    driver_start(&b->d, &b->console.dev, UINT64_MAX);
}

static void bench_fini(struct bench *b)
{
    driver_fini(&b->d);
    (void)close(b->fd);
    (void)close(b->peer);
}

#define auto_bench on_scope_exit(bench_fini)

static void assert_broken(struct bench *b, const char *words)
{
    assert_true(b->console.dev.broken);
    if (strstr(b->console.dev.why.msg, words) == NULL) {
        fail_msg("'%s' says nothing of '%s'", b->console.dev.why.msg, words);
    }
    assert_int_equal(console_events(&b->console), 0);
}

/* Buffer i for a control message, of len bytes. */
static void post_control(struct bench *b, uint16_t i, uint32_t len)
{
    struct driver_desc desc = {C_RX_DATA + 0x1000ull * i, len, DESC_WRITE, 0};

    driver_chain(&b->d, C_RX, i, &desc, 1);
    assert_int_equal(driver_kick(&b->d, C_RX), 0);
}

/* The next message from the device is this, with this text behind it. */
static void assert_message(struct bench *b, uint16_t event, uint16_t value, const char *text)
{
    uint8_t raw[32] = {0};
    uint32_t head = 0;
    uint32_t written = 0;

    assert_true(driver_collect(&b->d, C_RX, &head, &written));
    assert_int_equal(written, 8 + strlen(text));
    driver_look(&b->d, C_RX_DATA + 0x1000ull * head, raw, sizeof(raw));
    assert_int_equal(wire_get_u32(raw), CONSOLE_PORT);
    assert_int_equal(wire_get_u16(raw + 4), event);
    assert_int_equal(wire_get_u16(raw + 6), value);
    assert_string_equal((const char *)raw + 8, text);
}

static void assert_no_message(struct bench *b)
{
    uint32_t head = 0;
    uint32_t written = 0;

    assert_false(driver_collect(&b->d, C_RX, &head, &written));
}

static void say_raw(struct bench *b, const void *data, uint32_t len)
{
    struct driver_desc desc = {C_TX_DATA, len, 0, 0};

    driver_put(&b->d, C_TX_DATA, data, len);
    driver_chain(&b->d, C_TX, 0, &desc, 1);
    assert_int_equal(driver_kick(&b->d, C_TX), 0);
}

static void say(struct bench *b, uint32_t port, uint16_t event, uint16_t value)
{
    uint8_t raw[8];
    uint32_t head = 0;
    uint32_t written = 1;

    wire_put_u32(raw, port);
    wire_put_u16(raw + 4, event);
    wire_put_u16(raw + 6, value);
    say_raw(b, raw, sizeof(raw));
    if (!b->console.dev.broken) {
        assert_true(driver_collect(&b->d, C_TX, &head, &written));
        assert_int_equal(written, 0);
    }
}

/* All that Linux does until a program has opened the port. */
static void open_port(struct bench *b)
{
    for (uint16_t i = 0; i < 4; i++) {
        post_control(b, i, RX_BYTES);
    }
    say(b, UINT32_MAX, DEVICE_READY, 1);
    assert_message(b, PORT_ADD, 1, "");
    say(b, CONSOLE_PORT, PORT_READY, 1);
    assert_message(b, PORT_NAME, 1, "airlock");
    assert_message(b, PORT_OPEN, 1, "");
    say(b, CONSOLE_PORT, PORT_OPEN, 1);
    assert_no_message(b);
    (void)driver_pulses(&b->d);
}

static void post_receive(struct bench *b, uint16_t i, uint32_t len)
{
    struct driver_desc desc = {RX_DATA + (uint64_t)RX_BYTES * i, len, DESC_WRITE, 0};

    driver_chain(&b->d, RX, i, &desc, 1);
}

static void write_port(struct bench *b, uint16_t i, uint64_t gpa, uint32_t len)
{
    struct driver_desc desc = {gpa, len, 0, 0};

    driver_chain(&b->d, TX, i, &desc, 1);
}

static int ready(struct bench *b)
{
    struct err err = ERR_INIT;
    int r = console_ready(&b->console, &err);

    test_ok_at(r < 0 ? r : 0, &err, __FILE__, __LINE__);
    return r;
}

static void the_device_has_one_port_beside_the_first(void **state)
{
    auto_bench struct bench b;
    uint8_t raw[4];

    bench_init(&b);
    assert_int_equal(driver_get(&b.d, 0x08), 3);
    virtio_read(&b.console.dev, R_CONFIG + 4, raw, sizeof(raw));
    assert_int_equal(wire_get_u32(raw), 2);
    (void)driver_set(&b.d, R_DEVICE_FEATURES_SEL, 0);
    assert_int_equal(driver_get(&b.d, R_DEVICE_FEATURES), 2);
    assert_int_equal(b.console.dev.ops->n_queues, 6);
}

static void the_driver_is_told_of_the_port_step_by_step(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    open_port(&b);
    assert_true(console_idle(&b.console));
}

static void messages_wait_for_buffers(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    say(&b, UINT32_MAX, DEVICE_READY, 1);
    say(&b, CONSOLE_PORT, PORT_READY, 1);
    assert_false(console_idle(&b.console));
    post_control(&b, 0, RX_BYTES);
    assert_message(&b, PORT_ADD, 1, "");
    assert_no_message(&b);
    post_control(&b, 1, 15);
    assert_message(&b, PORT_NAME, 1, "airlock");
    post_control(&b, 2, 8);
    assert_message(&b, PORT_OPEN, 1, "");
    assert_true(console_idle(&b.console));
}

static void a_message_said_again_is_not_answered_again(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    open_port(&b);
    post_control(&b, 4, RX_BYTES);
    for (unsigned int i = 0; i < 1000; i++) {
        say(&b, UINT32_MAX, DEVICE_READY, 1);
        say(&b, CONSOLE_PORT, PORT_READY, 1);
        say(&b, CONSOLE_PORT, PORT_OPEN, (uint16_t)(i % 2));
    }
    assert_no_message(&b);
    assert_true(b.console.port_open);
    assert_false(b.console.dev.broken);
}

static void a_driver_that_could_not_add_the_port_is_left_alone(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    for (uint16_t i = 0; i < 4; i++) {
        post_control(&b, i, RX_BYTES);
    }
    say(&b, UINT32_MAX, DEVICE_READY, 0);
    assert_no_message(&b);
    say(&b, UINT32_MAX, DEVICE_READY, 1);
    assert_message(&b, PORT_ADD, 1, "");
    say(&b, CONSOLE_PORT, PORT_READY, 0);
    assert_no_message(&b);
    assert_false(b.console.dev.broken);
}

static void a_message_of_another_port_or_kind_is_a_lie(void **state)
{
    static const struct {
        uint32_t port;
        uint16_t event;
    } cases[] = {{0, PORT_READY},
                 {2, PORT_READY},
                 {UINT32_MAX, PORT_OPEN},
                 {1, PORT_ADD},
                 {1, PORT_NAME},
                 {1, PORT_REMOVE},
                 {1, 4},
                 {1, 5},
                 {1, 8},
                 {1, UINT16_MAX},
                 {0x80000001, PORT_OPEN}};

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        open_port(&b);
        say(&b, cases[i].port, cases[i].event, 1);
        assert_broken(&b, "control message");
    }
}

static void a_port_that_was_not_added_cannot_be_ready(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    say(&b, CONSOLE_PORT, PORT_READY, 1);
    assert_broken(&b, "control message 3 of port 1");
}

/* V14 */
static void a_control_message_has_eight_bytes(void **state)
{
    static const uint8_t data[4096] = {0};
    static const uint32_t lens[] = {1, 7, 9, 4096};

    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        say_raw(&b, data, lens[i]);
        assert_broken(&b, "a control message that is none");
    }
}

/* V6 */
static void buffers_of_the_wrong_kind_are_a_lie(void **state)
{
    static const struct {
        unsigned int queue;
        uint16_t flags;
        const char *words;
    } cases[] = {
        {C_RX, 0, "holds none"},
        {C_TX, DESC_WRITE, "is none"},
        {RX, 0, "one to send"},
        {TX, DESC_WRITE, "one to receive"},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_bench struct bench b;
        struct driver_desc desc = {DRIVER_DATA, 8, cases[i].flags, 0};

        bench_init(&b);
        if (cases[i].queue == C_RX) {
            say(&b, UINT32_MAX, DEVICE_READY, 1);
        } else {
            open_port(&b);
        }
        assert_int_equal(write(b.peer, "x", 1), 1);
        driver_chain(&b.d, cases[i].queue, 9, &desc, 1);
        assert_int_equal(driver_kick(&b.d, cases[i].queue), 0);
        assert_broken(&b, cases[i].words);
    }
}

/* V14 */
static void a_buffer_too_small_for_a_message_is_a_lie(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    say(&b, UINT32_MAX, DEVICE_READY, 1);
    post_control(&b, 0, 7);
    assert_broken(&b, "holds none");
}

static void what_the_guest_writes_is_in_the_channel(void **state)
{
    auto_bench struct bench b;
    char text[16] = "";
    uint32_t head = 0;
    uint32_t written = 1;

    bench_init(&b);
    open_port(&b);
    driver_put(&b.d, TX_DATA, "hello you", 9);
    write_port(&b, 0, TX_DATA, 5);
    write_port(&b, 1, TX_DATA + 5, 4);
    assert_false(console_idle(&b.console));
    assert_int_equal(driver_kick(&b.d, TX), 0);
    assert_int_equal(read(b.peer, text, sizeof(text)), 9);
    assert_string_equal(text, "hello you");
    assert_true(driver_collect(&b.d, TX, &head, &written));
    assert_int_equal(written, 0);
    assert_true(driver_collect(&b.d, TX, &head, &written));
    assert_int_equal(driver_pulses(&b.d), 1);
    assert_true(console_idle(&b.console));
}

static void what_comes_from_the_channel_is_in_the_guests_buffers(void **state)
{
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    open_port(&b);
    assert_int_equal(console_events(&b.console), 0);
    post_receive(&b, 0, 4);
    post_receive(&b, 1, 4);
    post_receive(&b, 2, 4);
    assert_int_equal(driver_kick(&b.d, RX), 0);
    assert_int_equal(console_events(&b.console), POLLIN);
    assert_int_equal(ready(&b), 0);
    assert_false(driver_collect(&b.d, RX, &head, &written));
    assert_int_equal(driver_pulses(&b.d), 0);
    assert_int_equal(write(b.peer, "abcdef", 6), 6);
    assert_int_equal(ready(&b), 0);
    assert_true(driver_collect(&b.d, RX, &head, &written));
    assert_int_equal(head, 0);
    assert_int_equal(written, 4);
    assert_true(driver_collect(&b.d, RX, &head, &written));
    assert_int_equal(head, 1);
    assert_int_equal(written, 2);
    assert_memory_equal(b.d.mem.base + RX_DATA, "abcd", 5);
    assert_memory_equal(b.d.mem.base + RX_DATA + RX_BYTES, "ef", 3);
    /* The third buffer is still the driver's: nothing is in flight. */
    assert_false(driver_collect(&b.d, RX, &head, &written));
    assert_int_equal(driver_pulses(&b.d), 1);
    assert_true(console_idle(&b.console));
}

static void without_a_buffer_bytes_stay_in_the_channel(void **state)
{
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    open_port(&b);
    assert_int_equal(write(b.peer, "abc", 3), 3);
    assert_int_equal(console_events(&b.console), 0);
    assert_int_equal(ready(&b), 0);
    post_receive(&b, 5, RX_BYTES);
    assert_int_equal(driver_kick(&b.d, RX), 0);
    assert_true(driver_collect(&b.d, RX, &head, &written));
    assert_int_equal(head, 5);
    assert_int_equal(written, 3);
}

/* Linux throws away what comes to a port that no program has open. */
static void before_the_port_is_open_bytes_stay_in_the_channel(void **state)
{
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    open_port(&b);
    say(&b, CONSOLE_PORT, PORT_OPEN, 0);
    post_receive(&b, 0, RX_BYTES);
    assert_int_equal(write(b.peer, "abc", 3), 3);
    assert_int_equal(driver_kick(&b.d, RX), 0);
    assert_int_equal(console_events(&b.console), 0);
    assert_false(driver_collect(&b.d, RX, &head, &written));
    say(&b, CONSOLE_PORT, PORT_OPEN, 1);
    assert_int_equal(console_events(&b.console), POLLIN);
    assert_int_equal(ready(&b), 0);
    assert_true(driver_collect(&b.d, RX, &head, &written));
    assert_int_equal(written, 3);
}

static uint8_t pattern(uint64_t i)
{
    return (uint8_t)(i % 251);
}

/* Reads all that is in the channel, which must go on with the pattern at *at. */
static void drain(struct bench *b, uint64_t *at)
{
    static uint8_t data[1 << 20];

    for (;;) {
        ssize_t n = recv(b->peer, data, sizeof(data), MSG_DONTWAIT);

        if (n <= 0) {
            assert_int_equal(errno, EAGAIN);
            return;
        }
        for (ssize_t i = 0; i < n; i++, (*at)++) {
            if (data[i] != pattern(*at)) {
                fail_msg("byte %ju is another", (uintmax_t)*at);
            }
        }
    }
}

static void a_channel_that_is_full_makes_the_guest_wait(void **state)
{
    auto_bench struct bench b;
    uint64_t len = 4 * MIB;
    uint64_t done = 0;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    open_port(&b);
    for (uint64_t i = 0; i < len; i++) {
        b.d.mem.base[TX_DATA + i] = pattern(i);
    }
    /* In several buffers, so that the rest begins in the middle of one. */
    for (uint16_t i = 0; i < 5; i++) {
        driver_desc(&b.d, TX, i,
                    (struct driver_desc){TX_DATA + i * (len / 5 + 1), (uint32_t)(len / 5 + 1),
                                         i < 4 ? DESC_NEXT : 0, (uint16_t)(i + 1)});
    }
    driver_desc(&b.d, TX, 4,
                (struct driver_desc){TX_DATA + 4 * (len / 5 + 1),
                                     (uint32_t)(len - 4 * (len / 5 + 1)), 0, 0});
    driver_offer(&b.d, TX, 0);
    assert_int_equal(driver_kick(&b.d, TX), 0);
    assert_int_equal(console_events(&b.console), POLLOUT);
    assert_false(console_idle(&b.console));
    assert_false(driver_collect(&b.d, TX, &head, &written));
    for (unsigned int i = 0; i < 100000 && !console_idle(&b.console); i++) {
        drain(&b, &done);
        assert_int_equal(ready(&b), 0);
    }
    drain(&b, &done);
    assert_int_equal(done, len);
    assert_true(driver_collect(&b.d, TX, &head, &written));
    assert_int_equal(console_events(&b.console), 0);
    assert_int_equal(driver_pulses(&b.d), 1);
}

/* The chains behind the one that waited were notified long ago. */
static void chains_behind_one_that_waited_follow_it(void **state)
{
    auto_bench struct bench b;
    uint64_t done = 0;
    uint64_t each = 2 * MIB;

    bench_init(&b);
    open_port(&b);
    for (uint64_t i = 0; i < 3 * each; i++) {
        b.d.mem.base[TX_DATA + i] = pattern(i);
    }
    for (uint16_t i = 0; i < 3; i++) {
        write_port(&b, i, TX_DATA + i * each, (uint32_t)each);
    }
    assert_int_equal(driver_kick(&b.d, TX), 0);
    for (unsigned int i = 0; i < 100000 && !console_idle(&b.console); i++) {
        drain(&b, &done);
        assert_int_equal(ready(&b), 0);
    }
    drain(&b, &done);
    assert_int_equal(done, 3 * each);
}

/* V12: the chain that waits is used as it was checked. */
static void a_chain_that_waits_is_used_as_it_was_checked(void **state)
{
    auto_bench struct bench b;
    uint64_t len = 4 * MIB;
    uint64_t done = 0;

    bench_init(&b);
    open_port(&b);
    for (uint64_t i = 0; i < len; i++) {
        b.d.mem.base[TX_DATA + i] = pattern(i);
    }
    write_port(&b, 0, TX_DATA, (uint32_t)len);
    assert_int_equal(driver_kick(&b.d, TX), 0);
    driver_desc(&b.d, TX, 0, (struct driver_desc){UINT64_MAX - 0xfff, UINT32_MAX, DESC_NEXT, 77});
    for (unsigned int i = 0; i < 100000 && !console_idle(&b.console); i++) {
        drain(&b, &done);
        assert_int_equal(ready(&b), 0);
    }
    drain(&b, &done);
    assert_int_equal(done, len);
    assert_false(b.console.dev.broken);
}

/* V16 */
static void a_reset_forgets_a_chain_that_waits(void **state)
{
    auto_bench struct bench b;
    uint64_t done = 0;

    bench_init(&b);
    open_port(&b);
    for (uint64_t i = 0; i < 4 * MIB; i++) {
        b.d.mem.base[TX_DATA + i] = pattern(i);
    }
    write_port(&b, 0, TX_DATA, (uint32_t)(4 * MIB));
    assert_int_equal(driver_kick(&b.d, TX), 0);
    assert_true(b.console.has_partial);
    (void)driver_set(&b.d, R_STATUS, 0);
    assert_int_equal(console_events(&b.console), 0);
    assert_int_equal(ready(&b), 0);
    drain(&b, &done);
    assert_true(done < 4 * MIB);
    driver_start(&b.d, &b.console.dev, UINT64_MAX);
    assert_int_equal(ready(&b), 0);
    open_port(&b);
    driver_put(&b.d, TX_DATA, "new", 3);
    write_port(&b, 0, TX_DATA, 3);
    assert_int_equal(driver_kick(&b.d, TX), 0);
    assert_int_equal(recv(b.peer, b.d.mem.base + DRIVER_DATA, 100, MSG_DONTWAIT), 3);
    assert_memory_equal(b.d.mem.base + DRIVER_DATA, "new", 3);
}

/* V16 */
static void one_call_serves_a_bounded_number_of_chains(void **state)
{
    auto_bench struct bench b;
    uint64_t done = 0;

    bench_init(&b);
    open_port(&b);
    (void)driver_set(&b.d, R_STATUS, 0);
    driver_features(&b.d, &b.console.dev, UINT64_MAX);
    driver_rings(&b.d, TX);
    (void)driver_set(&b.d, R_QUEUE_NUM, VIRTQ_SIZE_MAX);
    (void)driver_set(&b.d, R_QUEUE_READY, 1);
    (void)driver_set(&b.d, R_STATUS, DRIVER_RUNS);
    b.d.mem.base[TX_DATA] = pattern(0);
    for (uint16_t i = 0; i < VIRTQ_SIZE_MAX; i++) {
        driver_desc(&b.d, TX, i, (struct driver_desc){TX_DATA + i, 1, 0, 0});
        b.d.mem.base[TX_DATA + i] = pattern(i);
        assert_int_equal(gmem_store16(&b.d.mem, driver_avail(TX) + 4 + 2 * (uint64_t)i, i), 0);
    }
    assert_int_equal(gmem_store16(&b.d.mem, driver_avail(TX) + 2, VIRTIO_BUDGET + 1), 0);
    assert_int_equal(driver_kick(&b.d, TX), 1);
    drain(&b, &done);
    assert_int_equal(done, VIRTIO_BUDGET);
    assert_int_equal(driver_kick(&b.d, TX), 0);
    drain(&b, &done);
    assert_int_equal(done, VIRTIO_BUDGET + 1);
}

static void a_channel_that_is_closed_is_told_to_the_guest(void **state)
{
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    open_port(&b);
    post_control(&b, 4, RX_BYTES);
    post_receive(&b, 0, RX_BYTES);
    assert_int_equal(write(b.peer, "last", 4), 4);
    (void)close(STEAL(&b.peer, -1));
    assert_int_equal(ready(&b), 0);
    assert_true(driver_collect(&b.d, RX, &head, &written));
    assert_int_equal(written, 4);
    post_receive(&b, 1, RX_BYTES);
    assert_int_equal(ready(&b), 0);
    assert_message(&b, PORT_OPEN, 0, "");
    assert_true(b.console.closed);
    assert_int_equal(console_events(&b.console), 0);
    assert_false(console_idle(&b.console));
    assert_false(driver_collect(&b.d, RX, &head, &written));
    /* What is written from now on goes nowhere, and is taken. */
    write_port(&b, 0, TX_DATA, 100);
    assert_int_equal(driver_kick(&b.d, TX), 0);
    assert_true(driver_collect(&b.d, TX, &head, &written));
    assert_false(b.console.dev.broken);
}

static void a_channel_that_closes_while_a_chain_waits_lets_it_go(void **state)
{
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    open_port(&b);
    write_port(&b, 0, TX_DATA, (uint32_t)(4 * MIB));
    assert_int_equal(driver_kick(&b.d, TX), 0);
    assert_false(driver_collect(&b.d, TX, &head, &written));
    (void)close(STEAL(&b.peer, -1));
    post_control(&b, 4, RX_BYTES);
    assert_int_equal(ready(&b), 0);
    assert_true(driver_collect(&b.d, TX, &head, &written));
    assert_true(b.console.closed);
    assert_message(&b, PORT_OPEN, 0, "");
}

/* V18 */
static void a_channel_that_fails_ends_the_monitor(void **state)
{
    auto_bench struct bench b;
    struct err err = ERR_INIT;

    bench_init(&b);
    open_port(&b);
    b.console.fd = b.d.irq_fd;
    write_port(&b, 0, TX_DATA, 4);
    assert_int_equal(virtio_kick(&b.console.dev, TX, &err), -ENOTSOCK);
    assert_int_equal(err.class, ERR_HOST);
    err = (struct err)ERR_INIT;
    b.console.has_partial = false;
    post_receive(&b, 0, RX_BYTES);
    assert_int_equal(console_ready(&b.console, &err), -ENOTSOCK);
    assert_int_equal(err.class, ERR_HOST);
    assert_false(b.console.dev.broken);
}

static void the_queues_of_the_first_port_are_never_looked_at(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    open_port(&b);
    driver_offer(&b.d, RX0, UINT16_MAX);
    driver_offer(&b.d, TX0, UINT16_MAX);
    assert_int_equal(driver_kick(&b.d, RX0), 0);
    assert_int_equal(driver_kick(&b.d, TX0), 0);
    assert_false(b.console.dev.broken);
    assert_int_equal(b.console.dev.queues[RX0].next_avail, 0);
    assert_int_equal(b.console.dev.queues[TX0].next_avail, 0);
}

static int save(struct bench *b, struct buf *saved)
{
    struct wire_out out = wire_out_start(saved);

    virtio_save(&b->console.dev, &out);
    return wire_out_end(&out);
}

static void a_saved_console_goes_on_with_another_channel(void **state)
{
    auto_bench struct bench b;
    auto_buf struct buf saved = BUF_INIT(4096);
    struct wire_in in = {0};
    struct err err = ERR_INIT;
    uint32_t head = 0;
    uint32_t written = 0;
    int fds[2];

    bench_init(&b);
    open_port(&b);
    post_receive(&b, 7, RX_BYTES);
    assert_int_equal(driver_kick(&b.d, RX), 0);
    assert_int_equal(save(&b, &saved), 0);
    (void)close(b.fd);
    (void)close(b.peer);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    b.fd = fds[0];
    b.peer = fds[1];
    console_init(&b.console, &b.d.mem, 3, b.d.irq_fd, b.fd);
    in = (struct wire_in){saved.data, saved.len};
    assert_ok(virtio_load(&b.console.dev, &in, &err), &err);
    assert_int_equal(in.left, 0);
    assert_int_equal(console_events(&b.console), POLLIN);
    assert_int_equal(write(b.peer, "job", 3), 3);
    assert_int_equal(ready(&b), 0);
    assert_true(driver_collect(&b.d, RX, &head, &written));
    assert_int_equal(head, 7);
    assert_int_equal(written, 3);
    write_port(&b, 0, RX_DATA + 7 * RX_BYTES, 3);
    assert_int_equal(driver_kick(&b.d, TX), 0);
    assert_int_equal(read(b.peer, b.d.mem.base, 16), 3);
}

static void a_console_that_is_not_idle_is_not_saved(void **state)
{
    auto_bench struct bench b;
    auto_buf struct buf saved = BUF_INIT(4096);

    bench_init(&b);
    open_port(&b);
    /* Made available, not yet notified. */
    write_port(&b, 0, TX_DATA, (uint32_t)(4 * MIB));
    assert_int_equal(save(&b, &saved), -EBUSY);
    assert_int_equal(driver_kick(&b.d, TX), 0);
    assert_int_equal(save(&b, &saved), -EBUSY);
    assert_int_equal(saved.len, 0);
}

static void a_state_that_no_port_has_is_refused(void **state)
{
    static const uint32_t bits[] = {2, 4, 6, 8, 9, UINT32_MAX};
    auto_bench struct bench b;
    auto_buf struct buf saved = BUF_INIT(4096);

    bench_init(&b);
    open_port(&b);
    assert_int_equal(save(&b, &saved), 0);
    for (size_t i = 0; i < ARRAY_LEN(bits); i++) {
        struct wire_in in = {saved.data, saved.len};
        struct err err = ERR_INIT;

        wire_put_u32(saved.data + saved.len - 4, bits[i]);
        console_init(&b.console, &b.d.mem, 3, b.d.irq_fd, b.fd);
        assert_true(virtio_load(&b.console.dev, &in, &err) < 0);
        assert_int_equal(err.class, ERR_USAGE);
        assert_non_null(strstr(err.msg, "no such state"));
    }
}

TEST_MAIN(
    T(the_device_has_one_port_beside_the_first), T(the_driver_is_told_of_the_port_step_by_step),
    T(messages_wait_for_buffers), T(a_message_said_again_is_not_answered_again),
    T(a_driver_that_could_not_add_the_port_is_left_alone),
    T(a_message_of_another_port_or_kind_is_a_lie), T(a_port_that_was_not_added_cannot_be_ready),
    T(a_control_message_has_eight_bytes), T(buffers_of_the_wrong_kind_are_a_lie),
    T(a_buffer_too_small_for_a_message_is_a_lie), T(what_the_guest_writes_is_in_the_channel),
    T(what_comes_from_the_channel_is_in_the_guests_buffers),
    T(without_a_buffer_bytes_stay_in_the_channel),
    T(before_the_port_is_open_bytes_stay_in_the_channel),
    T(a_channel_that_is_full_makes_the_guest_wait), T(chains_behind_one_that_waited_follow_it),
    T(a_chain_that_waits_is_used_as_it_was_checked), T(a_reset_forgets_a_chain_that_waits),
    T(one_call_serves_a_bounded_number_of_chains), T(a_channel_that_is_closed_is_told_to_the_guest),
    T(a_channel_that_closes_while_a_chain_waits_lets_it_go),
    T(a_channel_that_fails_ends_the_monitor), T(the_queues_of_the_first_port_are_never_looked_at),
    T(a_saved_console_goes_on_with_another_channel), T(a_console_that_is_not_idle_is_not_saved),
    T(a_state_that_no_port_has_is_refused))
