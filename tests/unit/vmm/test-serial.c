#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "test.h"
#include "vmm/dev/serial.h"

struct bench {
    struct serial s;
    int reader, writer, wake;
};

static void bench_init(struct bench *b)
{
    int fds[2];

    (void)signal(SIGPIPE, SIG_IGN);
    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    *b = (struct bench){.reader = fds[0], .writer = fds[1]};
    b->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    assert_true(b->wake >= 0);
    serial_init(&b->s, b->writer, b->wake);
}

static void bench_fini(struct bench *b)
{
    (void)close(b->reader);
    (void)close(b->writer);
    (void)close(b->wake);
}

#define auto_bench on_scope_exit(bench_fini)

static void print(struct bench *b, const char *text)
{
    for (; *text != '\0'; text++) {
        assert_int_equal(serial_read(&b->s, 5) & 0x20, 0x20);
        serial_write(&b->s, 0, (uint8_t)*text);
    }
}

static uint64_t wakes(struct bench *b)
{
    eventfd_t n = 0;

    return eventfd_read(b->wake, &n) < 0 ? 0 : n;
}

static void what_the_guest_prints_comes_out_in_order(void **state)
{
    auto_bench struct bench b;
    char text[16] = "";

    bench_init(&b);
    print(&b, "hello");
    assert_int_equal(wakes(&b), 1);
    assert_false(serial_flush(&b.s));
    print(&b, " you");
    assert_int_equal(wakes(&b), 1);
    assert_false(serial_flush(&b.s));
    assert_int_equal(read(b.reader, text, sizeof(text)), 9);
    assert_string_equal(text, "hello you");
    assert_int_equal(b.s.dropped, 0);
}

static void the_divisor_is_not_printed(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    serial_write(&b.s, 3, 0x83);
    assert_int_equal(serial_read(&b.s, 3), 0x83);
    serial_write(&b.s, 0, 12);
    serial_write(&b.s, 1, 0);
    /* The kernel's boot code divides by it. */
    assert_true(serial_read(&b.s, 0) != 0);
    serial_write(&b.s, 3, 0x03);
    assert_int_equal(serial_read(&b.s, 0), 0);
    assert_int_equal(b.s.len, 0);
    serial_write(&b.s, 0, 'x');
    assert_int_equal(b.s.len, 1);
}

/* No register keeps what is written to it, but one: Linux's 8250 driver finds no device. */
static void other_registers_take_and_tell_nothing(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    for (unsigned int reg = 1; reg < 10; reg++) {
        if (reg != 3) {
            serial_write(&b.s, reg, 0xff);
            assert_int_equal(serial_read(&b.s, reg), reg == 5 ? 0x60 : 0);
        }
    }
    assert_int_equal(b.s.len, 0);
    assert_int_equal(wakes(&b), 0);
}

/* V17 */
static void a_flood_that_nobody_reads_is_dropped_and_counted(void **state)
{
    auto_bench struct bench b;
    uint64_t flood = 1000000;
    uint8_t data[8192];
    bool left = false;

    bench_init(&b);
    assert_int_equal(fcntl(b.writer, F_SETPIPE_SZ, 4096), 4096);
    for (uint64_t i = 0; i < flood; i++) {
        serial_write(&b.s, 0, 'x');
        if (i % 1000 == 0) {
            left = serial_flush(&b.s);
        }
    }
    assert_true(left);
    assert_int_equal(b.s.len, SERIAL_RING);
    assert_int_equal(b.s.dropped + SERIAL_RING + (uint64_t)read(b.reader, data, sizeof(data)),
                     flood);
    assert_true(wakes(&b) > 0);
}

/* V17 */
static void the_end_of_a_stall_loses_nothing_that_was_kept(void **state)
{
    auto_bench struct bench b;
    uint8_t data[8192];
    uint8_t expect = 0;
    size_t total = 0;
    bool left = true;

    bench_init(&b);
    assert_int_equal(fcntl(b.writer, F_SETPIPE_SZ, 4096), 4096);
    for (unsigned int i = 0; i < 4096 + 3000; i++) {
        serial_write(&b.s, 0, (uint8_t)(i % 251));
        if (i == 4095) {
            assert_false(serial_flush(&b.s));
        }
    }
    assert_true(serial_flush(&b.s));
    for (;;) {
        ssize_t n = read(b.reader, data, sizeof(data));

        if (n <= 0) {
            break;
        }
        for (ssize_t i = 0; i < n; i++) {
            assert_int_equal(data[i], expect);
            expect = (uint8_t)((expect + 1) % 251);
        }
        total += (size_t)n;
        left = serial_flush(&b.s);
    }
    assert_false(left);
    assert_int_equal(total, 4096 + 3000);
    assert_int_equal(b.s.dropped, 0);
    assert_int_equal(b.s.len, 0);
}

/* V17 */
static void a_reader_that_left_ends_the_console_and_nothing_else(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    print(&b, "abc");
    (void)close(STEAL(&b.reader, -1));
    assert_false(serial_flush(&b.s));
    assert_int_equal(b.s.dropped, 3);
    (void)wakes(&b);
    print(&b, "def");
    assert_int_equal(b.s.len, 0);
    assert_int_equal(wakes(&b), 0);
    assert_false(serial_flush(&b.s));
}

static void without_a_pipe_there_is_a_transmitter_all_the_same(void **state)
{
    struct serial s;

    serial_init(&s, -1, -1);
    assert_int_equal(serial_read(&s, 5), 0x60);
    serial_write(&s, 0, 'x');
    assert_int_equal(s.len, 0);
    assert_false(serial_flush(&s));
}

TEST_MAIN(T(what_the_guest_prints_comes_out_in_order), T(the_divisor_is_not_printed),
          T(other_registers_take_and_tell_nothing),
          T(a_flood_that_nobody_reads_is_dropped_and_counted),
          T(the_end_of_a_stall_loses_nothing_that_was_kept),
          T(a_reader_that_left_ends_the_console_and_nothing_else),
          T(without_a_pipe_there_is_a_transmitter_all_the_same))
