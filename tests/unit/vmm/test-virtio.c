#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "driver.h"
#include "proto/wire.h"
#include "test.h"

#define FEATURE   (1ull << 5)
#define QUEUES    2u
#define CONFIG    12u
#define DEVICE_ID 42u
#define VERSION_1 (1ull << 32)

/* A device that returns every chain, and does as told when it is kicked. */
struct toy {
    struct virtio dev; /* first */
    unsigned int kicks, resets;
    int say; /* what kick() returns; < 0 with say_class */
    enum err_class say_class;
    uint32_t saved;
};

static int toy_kick(struct virtio *dev, unsigned int q, struct err *err)
{
    struct toy *toy = (struct toy *)dev;
    struct virtq_chain c;
    int r = 0;

    toy->kicks++;
    if (toy->say < 0) {
        return err_set(err, toy->say_class, -toy->say, "as it was told");
    }
    while ((r = virtq_pop(&dev->queues[q], dev->mem, &c, err)) == 1) {
        r = virtq_push(&dev->queues[q], dev->mem, c.head, 0, err);
        if (r == 0) {
            r = virtio_interrupt(dev, q, err);
        }
        if (r < 0) {
            return r;
        }
    }
    return r < 0 ? r : toy->say;
}

static void toy_reset(struct virtio *dev)
{
    ((struct toy *)dev)->resets++;
}

static void toy_save(const struct virtio *dev, struct wire_out *out)
{
    wire_write_u32(out, ((const struct toy *)dev)->saved);
}

static int toy_load(struct virtio *dev, struct wire_in *in, struct err *err)
{
    const uint8_t *at = wire_take(in, 4);

    if (at == NULL) {
        return err_usage(err, "no toy");
    }
    ((struct toy *)dev)->saved = wire_get_u32(at);
    return 0;
}

static const struct virtio_ops toy_ops = {
    .name = "toy",
    .device_id = DEVICE_ID,
    .features = FEATURE,
    .n_queues = QUEUES,
    .config_size = CONFIG,
    .kick = toy_kick,
    .reset = toy_reset,
    .save = toy_save,
    .load = toy_load,
};

struct bench {
    struct driver d;
    struct toy toy;
};

static void bench_fini(struct bench *b)
{
    driver_fini(&b->d);
}

#define auto_bench on_scope_exit(bench_fini)

static void bench_init(struct bench *b)
{
    *b = (struct bench){0};
    driver_init(&b->d);
    virtio_init(&b->toy.dev, &toy_ops, &b->d.mem, 3, b->d.irq_fd);
    b->d.dev = &b->toy.dev;
    for (uint8_t i = 0; i < CONFIG; i++) {
        b->toy.dev.config[i] = (uint8_t)(0xc0 + i);
    }
}

/* The device is broken, and says so with these words. */
static void assert_broken(struct bench *b, const char *words)
{
    assert_true(b->toy.dev.broken);
    assert_int_equal(b->toy.dev.why.class, ERR_GUEST);
    assert_true((driver_get(&b->d, R_STATUS) & DRIVER_NEEDS_RESET) != 0);
    if (strstr(b->toy.dev.why.msg, words) == NULL) {
        fail_msg("'%s' says nothing of '%s'", b->toy.dev.why.msg, words);
    }
    assert_false(virtio_live(&b->toy.dev, 0));
}

static void the_registers_tell_what_the_device_is(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    assert_int_equal(driver_get(&b.d, 0x00), 0x74726976);
    assert_int_equal(driver_get(&b.d, 0x04), 2);
    assert_int_equal(driver_get(&b.d, 0x08), DEVICE_ID);
    assert_int_equal(driver_get(&b.d, 0x0fc), 0);
    assert_int_equal(driver_get(&b.d, R_DEVICE_FEATURES), FEATURE);
    (void)driver_set(&b.d, R_DEVICE_FEATURES_SEL, 1);
    assert_int_equal(driver_get(&b.d, R_DEVICE_FEATURES), 1);
    (void)driver_set(&b.d, R_DEVICE_FEATURES_SEL, 2);
    assert_int_equal(driver_get(&b.d, R_DEVICE_FEATURES), 0);
    assert_int_equal(driver_get(&b.d, R_QUEUE_NUM_MAX), VIRTQ_SIZE_MAX);
    assert_int_equal(driver_get(&b.d, R_QUEUE_READY), 0);
    for (uint64_t reg = R_SHM_LEN_LOW; reg < R_SHM_LEN_LOW + 16; reg += 4) {
        assert_int_equal(driver_get(&b.d, reg), UINT32_MAX);
    }
}

static void the_configuration_is_read_in_every_width_and_never_written(void **state)
{
    auto_bench struct bench b;
    uint8_t data[8] = {0};

    bench_init(&b);
    for (unsigned int size = 1; size <= 8; size *= 2) {
        memset(data, 0xff, sizeof(data));
        virtio_read(&b.toy.dev, R_CONFIG + 3, data, size);
        for (unsigned int i = 0; i < 8; i++) {
            assert_int_equal(data[i], i < size ? 0xc3 + i : 0xff);
        }
        assert_int_equal(virtio_write(&b.toy.dev, R_CONFIG + 3, "\1\2\3\4\5\6\7\10", size), -1);
    }
    virtio_read(&b.toy.dev, R_CONFIG, data, 1);
    assert_int_equal(data[0], 0xc0);
    assert_int_equal(b.toy.dev.config[3], 0xc3);
    assert_false(b.toy.dev.broken);
}

/* V11 */
static void an_access_behind_the_configuration_reads_as_zero(void **state)
{
    static const uint64_t offsets[] = {
        R_CONFIG + CONFIG - 1, R_CONFIG + CONFIG, R_CONFIG + 63, R_CONFIG + 64, 0xffc,
        UINT64_MAX - 3};
    auto_bench struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(offsets); i++) {
        uint8_t data[8] = {1, 1, 1, 1, 1, 1, 1, 1};

        virtio_read(&b.toy.dev, offsets[i], data, 8);
        assert_memory_equal(data, "\0\0\0\0\0\0\0\0", 8);
        assert_int_equal(virtio_write(&b.toy.dev, offsets[i], data, 8), -1);
    }
    assert_false(b.toy.dev.broken);
}

/* V11 */
static void a_register_is_neither_read_nor_written_in_another_width(void **state)
{
    static const unsigned int sizes[] = {1, 2, 8};
    auto_bench struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        uint8_t data[8] = {1, 1, 1, 1, 1, 1, 1, 1};

        assert_int_equal(virtio_write(&b.toy.dev, R_STATUS, data, sizes[i]), -1);
        assert_int_equal(virtio_write(&b.toy.dev, R_QUEUE_NOTIFY, data, sizes[i]), -1);
        virtio_read(&b.toy.dev, 0, data, sizes[i]);
        for (unsigned int j = 0; j < sizes[i]; j++) {
            assert_int_equal(data[j], 0);
        }
    }
    assert_int_equal(driver_get(&b.d, R_STATUS), 0);
}

/* V11 */
static void a_register_is_neither_read_nor_written_at_an_odd_offset(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    for (uint64_t odd = 1; odd < 4; odd++) {
        assert_int_equal(driver_set(&b.d, R_STATUS + odd, 1), -1);
        assert_int_equal(driver_set(&b.d, R_QUEUE_NOTIFY + odd, 0), -1);
        assert_int_equal(driver_get(&b.d, odd), 0);
    }
    assert_int_equal(driver_get(&b.d, R_STATUS), 0);
    assert_false(b.toy.dev.broken);
}

static void a_driver_that_keeps_the_order_gets_its_device(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    assert_true(virtio_live(&b.toy.dev, 0));
    assert_true(virtio_live(&b.toy.dev, 1));
    assert_false(virtio_live(&b.toy.dev, QUEUES));
    assert_int_equal(b.toy.dev.driver_features, FEATURE | VERSION_1);
    assert_int_equal(driver_set(&b.d, R_QUEUE_NOTIFY, 1), 1);
    assert_int_equal(driver_kick(&b.d, 1), 0);
    assert_int_equal(b.toy.kicks, 1);
}

static void an_interrupt_comes_if_the_driver_wants_one(void **state)
{
    static const struct driver_desc desc = {DRIVER_DATA, 1, 0, 0};
    auto_bench struct bench b;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    driver_chain(&b.d, 0, 0, &desc, 1);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(driver_pulses(&b.d), 1);
    assert_int_equal(driver_get(&b.d, R_INTERRUPT_STATUS), 1);
    (void)driver_set(&b.d, R_INTERRUPT_ACK, 1);
    assert_int_equal(driver_get(&b.d, R_INTERRUPT_STATUS), 0);
    driver_put(&b.d, driver_avail(0), "\x01", 2);
    driver_chain(&b.d, 0, 0, &desc, 1);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(driver_pulses(&b.d), 0);
    assert_int_equal(driver_get(&b.d, R_INTERRUPT_STATUS), 0);
}

/* V9 */
static void features_that_were_not_offered_are_not_taken(void **state)
{
    static const struct {
        uint32_t low, high;
    } cases[] = {{FEATURE | 1, 1}, {1u << 28, 1}, {1u << 29, 1},
                 {FEATURE, 3},     {FEATURE, 0},  {0, 0}};
    auto_bench struct bench b;

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        (void)driver_set(&b.d, R_STATUS, 0);
        (void)driver_set(&b.d, R_STATUS, DRIVER_KNOWN);
        (void)driver_set(&b.d, R_DRIVER_FEATURES, cases[i].low);
        (void)driver_set(&b.d, R_DRIVER_FEATURES_SEL, 1);
        (void)driver_set(&b.d, R_DRIVER_FEATURES, cases[i].high);
        (void)driver_set(&b.d, R_STATUS, DRIVER_FEATURES);
        assert_int_equal(driver_get(&b.d, R_STATUS), DRIVER_KNOWN);
        assert_false(b.toy.dev.broken);
    }
    /* Going on all the same is a lie. */
    (void)driver_set(&b.d, R_STATUS, DRIVER_RUNS);
    assert_broken(&b, "lacks a step");
}

/* V9 */
static void features_above_the_highest_register_are_a_lie(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    (void)driver_set(&b.d, R_DRIVER_FEATURES_SEL, 2);
    (void)driver_set(&b.d, R_DRIVER_FEATURES, 0);
    assert_false(b.toy.dev.broken);
    (void)driver_set(&b.d, R_DRIVER_FEATURES, 1);
    assert_broken(&b, "not offered");
}

/* V9 */
static void features_after_features_ok_are_a_lie(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    driver_features(&b.d, &b.toy.dev, UINT64_MAX);
    (void)driver_set(&b.d, R_DRIVER_FEATURES_SEL, 0);
    (void)driver_set(&b.d, R_DRIVER_FEATURES, 0);
    assert_broken(&b, "after FEATURES_OK");
}

/* V9 */
static void a_status_without_the_steps_before_it_is_a_lie(void **state)
{
    /* From 0: each lacks a step, or is no status at all. */
    static const uint32_t bad[] = {2,  4,  5,    6,    7,    8,    9,     10,
                                   12, 14, 0x10, 0x23, 0x40, 0x84, 0x101, UINT32_MAX};

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        (void)driver_set(&b.d, R_STATUS, bad[i]);
        assert_broken(&b, "lacks a step");
    }
}

/* V9 */
static void driver_ok_without_features_ok_is_a_lie(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    (void)driver_set(&b.d, R_STATUS, DRIVER_ACKNOWLEDGED);
    (void)driver_set(&b.d, R_STATUS, DRIVER_KNOWN);
    (void)driver_set(&b.d, R_STATUS, DRIVER_KNOWN | 4);
    assert_broken(&b, "lacks a step");
}

/* V9 */
static void a_status_that_takes_back_a_step_is_a_lie(void **state)
{
    static const uint32_t back[] = {1, 3, 7, 0xb, 0xe};

    for (size_t i = 0; i < ARRAY_LEN(back); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        driver_start(&b.d, &b.toy.dev, UINT64_MAX);
        (void)driver_set(&b.d, R_STATUS, back[i]);
        assert_broken(&b, "takes back");
    }
}

static void a_driver_that_gave_up_is_served_no_more(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    (void)driver_set(&b.d, R_STATUS, DRIVER_RUNS | 128);
    assert_int_equal(driver_get(&b.d, R_STATUS), DRIVER_RUNS | 128);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(b.toy.kicks, 0);
    assert_false(b.toy.dev.broken);
}

static void a_reset_forgets_everything(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    b.toy.dev.interrupt_status = 1;
    b.toy.dev.queues[1].next_avail = 7;
    b.toy.resets = 0;
    (void)driver_set(&b.d, R_QUEUE_SEL, 1);
    (void)driver_set(&b.d, R_STATUS, 0);
    assert_int_equal(b.toy.resets, 1);
    assert_int_equal(driver_get(&b.d, R_STATUS), 0);
    assert_int_equal(driver_get(&b.d, R_INTERRUPT_STATUS), 0);
    assert_int_equal(b.toy.dev.driver_features, 0);
    assert_int_equal(b.toy.dev.queue_sel, 0);
    for (unsigned int q = 0; q < QUEUES; q++) {
        static const struct virtq none;

        assert_memory_equal(&b.toy.dev.queues[q], &none, sizeof(none));
    }
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(b.toy.kicks, 0);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    assert_true(virtio_live(&b.toy.dev, 1));
}

/* As Linux's vm_del_vq() does after its reset. */
static void a_queue_that_is_not_ready_can_be_stopped_at_any_time(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    (void)driver_set(&b.d, R_QUEUE_READY, 0);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    (void)driver_set(&b.d, R_STATUS, 0);
    (void)driver_set(&b.d, R_QUEUE_READY, 0);
    assert_false(b.toy.dev.broken);
}

static void a_queue_can_be_stopped_before_driver_ok(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    driver_features(&b.d, &b.toy.dev, UINT64_MAX);
    driver_rings(&b.d, 1);
    (void)driver_set(&b.d, R_QUEUE_READY, 1);
    assert_int_equal(driver_get(&b.d, R_QUEUE_READY), 1);
    (void)driver_set(&b.d, R_QUEUE_READY, 0);
    assert_int_equal(driver_get(&b.d, R_QUEUE_READY), 0);
    driver_rings(&b.d, 1);
    (void)driver_set(&b.d, R_QUEUE_READY, 1);
    assert_int_equal(driver_get(&b.d, R_QUEUE_READY), 1);
    assert_false(b.toy.dev.broken);
}

/* V8 */
static void a_queue_that_is_ready_is_not_changed(void **state)
{
    static const uint64_t regs[] = {R_QUEUE_NUM,  R_DESC_LOW, R_DESC_HIGH, R_AVAIL_LOW,
                                    R_AVAIL_HIGH, R_USED_LOW, R_USED_HIGH};

    for (size_t i = 0; i < ARRAY_LEN(regs); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        driver_features(&b.d, &b.toy.dev, UINT64_MAX);
        driver_rings(&b.d, 0);
        (void)driver_set(&b.d, R_QUEUE_READY, 1);
        (void)driver_set(&b.d, regs[i], 8);
        assert_broken(&b, "while it is ready");
        assert_int_equal(b.toy.dev.queues[0].size, DRIVER_SIZE);
        assert_int_equal(b.toy.dev.queues[0].desc, driver_ring(0));
    }
}

/* V8 */
static void queues_are_set_up_between_features_ok_and_driver_ok_alone(void **state)
{
    static const uint64_t regs[] = {R_QUEUE_NUM, R_QUEUE_READY, R_DESC_LOW, R_USED_HIGH};

    for (size_t i = 0; i < ARRAY_LEN(regs); i++) {
        auto_bench struct bench early;
        auto_bench struct bench late;

        bench_init(&early);
        (void)driver_set(&early.d, R_STATUS, DRIVER_KNOWN);
        (void)driver_set(&early.d, regs[i], 1);
        assert_broken(&early, "is set up at status 0x3");
        bench_init(&late);
        driver_start(&late.d, &late.toy.dev, UINT64_MAX);
        (void)driver_set(&late.d, regs[i], regs[i] == R_QUEUE_READY ? 0 : 1);
        assert_broken(&late, "is set up at status 0xf");
    }
}

/* V8 */
static void a_size_that_no_queue_has_is_a_lie(void **state)
{
    static const uint32_t sizes[] = {0, 3, VIRTQ_SIZE_MAX + 1, 0x10000, 0x10010, UINT32_MAX};

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        driver_features(&b.d, &b.toy.dev, UINT64_MAX);
        driver_rings(&b.d, 0);
        (void)driver_set(&b.d, R_QUEUE_NUM, sizes[i]);
        (void)driver_set(&b.d, R_QUEUE_READY, 1);
        assert_broken(&b, "descriptors");
    }
}

/* V7 */
static void rings_in_a_device_window_or_beyond_ram_are_a_lie(void **state)
{
    static const uint64_t places[] = {0xd0000000, DRIVER_MEMORY, UINT64_MAX - 0xffff};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        driver_features(&b.d, &b.toy.dev, UINT64_MAX);
        driver_rings(&b.d, 0);
        (void)driver_set(&b.d, R_USED_LOW, (uint32_t)places[i]);
        (void)driver_set(&b.d, R_USED_HIGH, (uint32_t)(places[i] >> 32));
        (void)driver_set(&b.d, R_QUEUE_READY, 1);
        assert_broken(&b, "queue 0: the used ring");
    }
}

static void a_queue_is_ready_or_not_and_nothing_else(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    driver_features(&b.d, &b.toy.dev, UINT64_MAX);
    driver_rings(&b.d, 0);
    (void)driver_set(&b.d, R_QUEUE_READY, 2);
    assert_broken(&b, "QueueReady");
}

/* V10 */
static void a_queue_that_does_not_exist_can_be_asked_for_but_not_set_up(void **state)
{
    static const uint32_t queues[] = {QUEUES, VIRTIO_QUEUES_MAX, 0x80000000, UINT32_MAX};

    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        driver_features(&b.d, &b.toy.dev, UINT64_MAX);
        (void)driver_set(&b.d, R_QUEUE_SEL, queues[i]);
        assert_int_equal(driver_get(&b.d, R_QUEUE_NUM_MAX), 0);
        assert_int_equal(driver_get(&b.d, R_QUEUE_READY), 0);
        assert_false(b.toy.dev.broken);
        (void)driver_set(&b.d, R_QUEUE_NUM, 16);
        assert_broken(&b, "is set up, of 2");
    }
}

/* V10 */
static void a_notification_of_a_queue_that_does_not_exist_is_a_lie(void **state)
{
    static const uint32_t queues[] = {QUEUES, VIRTIO_QUEUES_MAX, 0x80000000, UINT32_MAX};

    for (size_t i = 0; i < ARRAY_LEN(queues); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        driver_start(&b.d, &b.toy.dev, UINT64_MAX);
        assert_int_equal(driver_set(&b.d, R_QUEUE_NOTIFY, queues[i]), -1);
        assert_broken(&b, "is notified, of 2");
        assert_int_equal(driver_kick(&b.d, queues[i]), 0);
        assert_int_equal(b.toy.kicks, 0);
    }
}

static void nothing_is_consumed_before_driver_ok(void **state)
{
    static const struct driver_desc desc = {DRIVER_DATA, 1, 0, 0};
    auto_bench struct bench b;

    bench_init(&b);
    driver_features(&b.d, &b.toy.dev, UINT64_MAX);
    driver_rings(&b.d, 0);
    (void)driver_set(&b.d, R_QUEUE_READY, 1);
    driver_chain(&b.d, 0, 0, &desc, 1);
    assert_int_equal(driver_set(&b.d, R_QUEUE_NOTIFY, 0), 0);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(b.toy.kicks, 0);
    (void)driver_set(&b.d, R_STATUS, DRIVER_RUNS);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(b.toy.kicks, 1);
    /* Queue 1 was never made ready. */
    assert_int_equal(driver_kick(&b.d, 1), 0);
    assert_int_equal(b.toy.kicks, 1);
}

/* V16 */
static void a_storm_of_notifications_without_work_does_nothing(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    for (unsigned int i = 0; i < 100000; i++) {
        assert_int_equal(driver_set(&b.d, R_QUEUE_NOTIFY, 0), 0);
        assert_int_equal(driver_kick(&b.d, 0), 0);
    }
    assert_int_equal(driver_pulses(&b.d), 0);
    assert_false(b.toy.dev.broken);
}

/* V16: the counter of the interrupt cannot run over, nor can anybody be made to wait for it. */
static void a_storm_of_interrupts_that_nobody_takes_is_harmless(void **state)
{
    auto_bench struct bench b;
    struct err err = ERR_INIT;
    uint64_t full = UINT64_MAX - 1;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    assert_int_equal(write(b.d.irq_fd, &full, sizeof(full)), sizeof(full));
    for (unsigned int i = 0; i < 1000; i++) {
        assert_ok(virtio_interrupt(&b.toy.dev, 0, &err), &err);
    }
    assert_int_equal(driver_pulses(&b.d), full);
}

static void a_device_that_breaks_says_so_and_is_not_used_again(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    driver_offer(&b.d, 0, DRIVER_SIZE);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_broken(&b, "toy in slot 3: chain head 16");
    assert_int_equal(driver_pulses(&b.d), 1);
    assert_int_equal(driver_get(&b.d, R_INTERRUPT_STATUS), 2);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(b.toy.kicks, 1);
    /* Not even a reset mends it: the monitor shall see it. */
    (void)driver_set(&b.d, R_STATUS, 0);
    assert_broken(&b, "chain head");
}

static void the_first_reason_counts(void **state)
{
    auto_bench struct bench b;
    struct err err = ERR_INIT;

    bench_init(&b);
    (void)err_guest(&err, "first");
    virtio_break(&b.toy.dev, &err);
    assert_int_equal(err.class, ERR_NONE);
    (void)err_guest(&err, "second");
    virtio_break(&b.toy.dev, &err);
    assert_int_equal(err.class, ERR_NONE);
    assert_broken(&b, "toy in slot 3: first");
    /* Before DRIVER_OK nobody is told (2.1.2). */
    assert_int_equal(driver_pulses(&b.d), 0);
}

/* V18 */
static void a_failure_of_the_host_is_not_the_guests(void **state)
{
    auto_bench struct bench b;
    struct err err = ERR_INIT;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    b.toy.say = -EIO;
    b.toy.say_class = ERR_HOST;
    assert_int_equal(virtio_kick(&b.toy.dev, 0, &err), -EIO);
    assert_int_equal(err.class, ERR_HOST);
    assert_false(b.toy.dev.broken);
}

static void a_device_with_more_to_do_says_so(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    b.toy.say = 1;
    assert_int_equal(driver_kick(&b.d, 0), 1);
}

/* Saves b's device into state. */
static int save(const struct bench *b, struct buf *state)
{
    struct wire_out out = wire_out_start(state);

    virtio_save(&b->toy.dev, &out);
    return wire_out_end(&out);
}

static int load(struct bench *b, const uint8_t *data, size_t len, size_t *ret_left, struct err *err)
{
    struct wire_in in = {data, len};
    int r = virtio_load(&b->toy.dev, &in, err);

    *ret_left = in.left;
    return r;
}

static void a_saved_device_goes_on(void **state)
{
    static const struct driver_desc desc = {DRIVER_DATA, 1, 0, 0};
    auto_bench struct bench b;
    auto_buf struct buf saved = BUF_INIT(4096);
    struct err err = ERR_INIT;
    struct toy before;
    size_t left = 1;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    driver_chain(&b.d, 1, 0, &desc, 1);
    assert_int_equal(driver_kick(&b.d, 1), 0);
    b.toy.saved = 77;
    assert_int_equal(save(&b, &saved), 0);
    before = b.toy;
    virtio_init(&b.toy.dev, &toy_ops, &b.d.mem, 3, b.d.irq_fd);
    memcpy(b.toy.dev.config, before.dev.config, sizeof(before.dev.config));
    b.toy.saved = 0;
    assert_ok(load(&b, saved.data, saved.len, &left, &err), &err);
    assert_int_equal(left, 0);
    assert_memory_equal(&b.toy, &before, sizeof(before));
    driver_chain(&b.d, 1, 0, &desc, 1);
    assert_int_equal(driver_kick(&b.d, 1), 0);
    assert_int_equal(b.toy.dev.queues[1].next_used, 2);
}

static void a_device_with_a_request_in_flight_is_not_saved(void **state)
{
    static const struct driver_desc desc = {DRIVER_DATA, 1, 0, 0};
    auto_bench struct bench b;
    auto_buf struct buf saved = BUF_INIT(4096);
    struct err err = ERR_INIT;
    struct virtq_chain c;

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    driver_chain(&b.d, 1, 5, &desc, 1);
    assert_int_equal(virtq_pop(&b.toy.dev.queues[1], &b.d.mem, &c, &err), 1);
    assert_int_equal(save(&b, &saved), -EBUSY);
    assert_int_equal(saved.len, 0);
    (void)err_guest(&err, "lies");
    virtio_break(&b.toy.dev, &err);
    assert_true(save(&b, &saved) < 0);
}

static void a_state_cut_short_is_refused(void **state)
{
    auto_bench struct bench b;
    auto_buf struct buf saved = BUF_INIT(4096);

    bench_init(&b);
    driver_start(&b.d, &b.toy.dev, UINT64_MAX);
    assert_int_equal(save(&b, &saved), 0);
    for (size_t len = 0; len < saved.len; len++) {
        struct err err = ERR_INIT;
        size_t left = 0;

        virtio_init(&b.toy.dev, &toy_ops, &b.d.mem, 3, b.d.irq_fd);
        assert_true(load(&b, saved.data, len, &left, &err) < 0);
        assert_int_equal(err.class, ERR_USAGE);
        assert_non_null(strstr(err.msg, "state of toy in slot 3"));
    }
}

/* Where things are in a state: eight registers, then 36 bytes for each queue. */
#define AT_STATUS    4
#define AT_FEATURES  20
#define AT_INTERRUPT 28
#define AT_N_QUEUES  32
#define AT_QUEUE     36
#define AT_SIZE      (AT_QUEUE + 0)
#define AT_READY     (AT_QUEUE + 4)
#define AT_DESC      (AT_QUEUE + 8)
#define AT_NEXT      (AT_QUEUE + 32)

static void a_state_that_no_device_has_is_refused(void **state)
{
    static const struct {
        size_t at;
        uint32_t value;
    } cases[] = {
        {0, DEVICE_ID + 1},      {AT_STATUS, 4},        {AT_STATUS, 0x4f}, {AT_STATUS, UINT32_MAX},
        {AT_STATUS, 0},          {AT_FEATURES, 1},      {AT_INTERRUPT, 4}, {AT_N_QUEUES, 1},
        {AT_N_QUEUES, 0xffffff}, {AT_SIZE, 0},          {AT_SIZE, 257},    {AT_SIZE, 0x10010},
        {AT_READY, 2},           {AT_DESC, 8},          {AT_DESC + 4, 1},  {AT_DESC, 0xd0000000},
        {AT_NEXT, 0x10000},      {AT_NEXT, UINT32_MAX},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_bench struct bench b;
        auto_buf struct buf saved = BUF_INIT(4096);
        struct err err = ERR_INIT;
        size_t left = 0;

        bench_init(&b);
        driver_start(&b.d, &b.toy.dev, UINT64_MAX);
        assert_int_equal(save(&b, &saved), 0);
        virtio_init(&b.toy.dev, &toy_ops, &b.d.mem, 3, b.d.irq_fd);
        wire_put_u32(saved.data + cases[i].at, cases[i].value);
        if (load(&b, saved.data, saved.len, &left, &err) == 0) {
            fail_msg("case %zu is taken", i);
        }
        assert_int_equal(err.class, ERR_USAGE);
    }
}

TEST_MAIN(T(the_registers_tell_what_the_device_is),
          T(the_configuration_is_read_in_every_width_and_never_written),
          T(an_access_behind_the_configuration_reads_as_zero),
          T(a_register_is_neither_read_nor_written_in_another_width),
          T(a_register_is_neither_read_nor_written_at_an_odd_offset),
          T(a_driver_that_keeps_the_order_gets_its_device),
          T(an_interrupt_comes_if_the_driver_wants_one),
          T(features_that_were_not_offered_are_not_taken),
          T(features_above_the_highest_register_are_a_lie), T(features_after_features_ok_are_a_lie),
          T(a_status_without_the_steps_before_it_is_a_lie),
          T(driver_ok_without_features_ok_is_a_lie), T(a_status_that_takes_back_a_step_is_a_lie),
          T(a_driver_that_gave_up_is_served_no_more), T(a_reset_forgets_everything),
          T(a_queue_that_is_not_ready_can_be_stopped_at_any_time),
          T(a_queue_can_be_stopped_before_driver_ok), T(a_queue_that_is_ready_is_not_changed),
          T(queues_are_set_up_between_features_ok_and_driver_ok_alone),
          T(a_size_that_no_queue_has_is_a_lie), T(rings_in_a_device_window_or_beyond_ram_are_a_lie),
          T(a_queue_is_ready_or_not_and_nothing_else),
          T(a_queue_that_does_not_exist_can_be_asked_for_but_not_set_up),
          T(a_notification_of_a_queue_that_does_not_exist_is_a_lie),
          T(nothing_is_consumed_before_driver_ok),
          T(a_storm_of_notifications_without_work_does_nothing),
          T(a_storm_of_interrupts_that_nobody_takes_is_harmless),
          T(a_device_that_breaks_says_so_and_is_not_used_again), T(the_first_reason_counts),
          T(a_failure_of_the_host_is_not_the_guests), T(a_device_with_more_to_do_says_so),
          T(a_saved_device_goes_on), T(a_device_with_a_request_in_flight_is_not_saved),
          T(a_state_cut_short_is_refused), T(a_state_that_no_device_has_is_refused))
