#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "driver.h"
#include "proto/wire.h"
#include "sys/clock.h"
#include "test.h"

/* Queue 0 of the driver alone, with no device behind it. */
struct bench {
    struct driver d;
    struct virtq q;
    struct virtq_chain c;
    struct err err;
};

static void bench_fini(struct bench *b)
{
    driver_fini(&b->d);
}

#define auto_bench on_scope_exit(bench_fini)

static struct virtq queue(void)
{
    return (struct virtq){.size = DRIVER_SIZE,
                          .desc = driver_ring(0),
                          .avail = driver_avail(0),
                          .used = driver_used(0)};
}

static void bench_init(struct bench *b)
{
    *b = (struct bench){.q = queue(), .err = ERR_INIT};
    driver_init(&b->d);
    assert_ok(virtq_enable(&b->q, &b->d.mem, &b->err), &b->err);
}

/* The next pop finds a lie, and says so with these words. */
static void assert_lie(struct bench *b, const char *words)
{
    int r = virtq_pop(&b->q, &b->d.mem, &b->c, &b->err);

    assert_int_equal(r, -EPROTO);
    assert_int_equal(b->err.class, ERR_GUEST);
    if (strstr(b->err.msg, words) == NULL) {
        fail_msg("'%s' says nothing of '%s'", b->err.msg, words);
    }
    b->err = (struct err)ERR_INIT;
}

static void assert_chain(struct bench *b)
{
    int r = virtq_pop(&b->q, &b->d.mem, &b->c, &b->err);

    test_ok_at(r < 0 ? r : 0, &b->err, __FILE__, __LINE__);
    assert_int_equal(r, 1);
}

/* One chain of one descriptor. */
static void offer_one(struct bench *b, uint64_t gpa, uint32_t len, uint16_t flags)
{
    driver_desc(&b->d, 0, 0, (struct driver_desc){gpa, len, flags, 0});
    driver_offer(&b->d, 0, 0);
}

static void a_chain_is_given_out_and_comes_back(void **state)
{
    static const struct driver_desc descs[] = {
        {DRIVER_DATA, 16, 0, 0},
        {DRIVER_DATA + 0x1000, 100, 0, 0},
        {DRIVER_DATA + 0x2000, 7, DESC_WRITE, 0},
        {DRIVER_DATA + 0x3000, 1, DESC_WRITE, 0},
    };
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    assert_false(virtq_waiting(&b.q, &b.d.mem));
    assert_int_equal(virtq_pop(&b.q, &b.d.mem, &b.c, &b.err), 0);
    driver_chain(&b.d, 0, 3, descs, ARRAY_LEN(descs));
    assert_true(virtq_waiting(&b.q, &b.d.mem));
    assert_chain(&b);
    assert_false(virtq_waiting(&b.q, &b.d.mem));
    assert_int_equal(b.c.head, 3);
    assert_int_equal(b.c.n_out, 2);
    assert_int_equal(b.c.n_in, 2);
    assert_int_equal(b.c.out_bytes, 116);
    assert_int_equal(b.c.in_bytes, 8);
    for (size_t i = 0; i < ARRAY_LEN(descs); i++) {
        assert_int_equal(b.c.buffers[i].gpa, descs[i].gpa);
        assert_int_equal(b.c.buffers[i].len, descs[i].len);
    }
    assert_int_equal(virtq_pop(&b.q, &b.d.mem, &b.c, &b.err), 0);
    assert_false(driver_collect(&b.d, 0, &head, &written));
    assert_ok(virtq_push(&b.q, &b.d.mem, b.c.head, 8, &b.err), &b.err);
    assert_true(driver_collect(&b.d, 0, &head, &written));
    assert_int_equal(head, 3);
    assert_int_equal(written, 8);
    assert_false(driver_collect(&b.d, 0, &head, &written));
}

static void indices_go_round_at_65536(void **state)
{
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    for (uint32_t i = 0; i < 70000; i++) {
        offer_one(&b, DRIVER_DATA, 8, DESC_WRITE);
        assert_chain(&b);
        assert_ok(virtq_push(&b.q, &b.d.mem, 0, i, &b.err), &b.err);
        assert_true(driver_collect(&b.d, 0, &head, &written));
        assert_int_equal(written, i);
    }
}

static void a_chain_that_was_not_used_is_there_again(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    offer_one(&b, DRIVER_DATA, 8, DESC_WRITE);
    assert_chain(&b);
    virtq_unpop(&b.q, b.c.head);
    assert_true(virtq_waiting(&b.q, &b.d.mem));
    driver_desc(&b.d, 0, 0, (struct driver_desc){DRIVER_DATA, 9, DESC_WRITE, 0});
    assert_chain(&b);
    assert_int_equal(b.c.in_bytes, 9);
}

static void the_driver_says_whether_it_wants_interrupts(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    assert_int_equal(virtq_wants_interrupt(&b.q, &b.d.mem, &b.err), 1);
    driver_put(&b.d, driver_avail(0), "\x01", 2);
    assert_int_equal(virtq_wants_interrupt(&b.q, &b.d.mem, &b.err), 0);
}

/* V1 */
static void a_buffer_outside_ram_is_a_lie(void **state)
{
    static const struct {
        uint64_t gpa;
        uint32_t len;
    } cases[] = {
        {DRIVER_MEMORY, 1},        {DRIVER_MEMORY - 1, 2},
        {UINT64_MAX, 1},           {UINT64_MAX - 0xf, 0x20},
        {0xd0000000, 4},           {0x100000000, 4},
        {DRIVER_DATA, UINT32_MAX}, {0, DRIVER_MEMORY + 1},
        {0x8000000000000000, 16},  {UINT64_MAX - 0xffff, 0x10000},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        offer_one(&b, cases[i].gpa, cases[i].len, i % 2 == 0 ? DESC_WRITE : 0);
        assert_lie(&b, "not in RAM");
    }
}

/* V1 */
static void the_last_byte_of_ram_can_be_a_buffer(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    offer_one(&b, DRIVER_MEMORY - 1, 1, DESC_WRITE);
    assert_chain(&b);
    assert_int_equal(virtq_chain_write(&b.c, &b.d.mem, 0, "xy", 2), 1);
    assert_int_equal(b.d.mem.base[DRIVER_MEMORY - 1], 'x');
}

/* V2 */
static void a_next_outside_the_table_is_a_lie(void **state)
{
    static const uint16_t nexts[] = {DRIVER_SIZE, DRIVER_SIZE + 1, 256, UINT16_MAX};

    for (size_t i = 0; i < ARRAY_LEN(nexts); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        driver_desc(&b.d, 0, 0, (struct driver_desc){DRIVER_DATA, 8, DESC_NEXT, nexts[i]});
        driver_offer(&b.d, 0, 0);
        assert_lie(&b, "goes on with");
    }
}

/* V2 */
static void a_chain_that_goes_round_is_a_lie(void **state)
{
    /* How many descriptors are in the loop: itself, two, all. */
    static const uint16_t lens[] = {1, 2, DRIVER_SIZE};

    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        for (uint16_t j = 0; j < lens[i]; j++) {
            driver_desc(
                &b.d, 0, j,
                (struct driver_desc){DRIVER_DATA, 8, DESC_NEXT, (uint16_t)((j + 1) % lens[i])});
        }
        driver_offer(&b.d, 0, 0);
        assert_lie(&b, "more descriptors than its queue");
    }
}

/* V2 */
static void a_chain_can_be_as_long_as_its_queue(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    for (uint16_t i = 0; i < DRIVER_SIZE; i++) {
        driver_desc(&b.d, 0, i,
                    (struct driver_desc){DRIVER_DATA, 8, i < DRIVER_SIZE - 1 ? DESC_NEXT : 0,
                                         (uint16_t)(i + 1)});
    }
    driver_offer(&b.d, 0, 0);
    assert_chain(&b);
    assert_int_equal(b.c.n_out, DRIVER_SIZE);
}

/* V2 */
static void flags_that_were_not_offered_are_a_lie(void **state)
{
    static const uint16_t flags[] = {DESC_INDIRECT, DESC_INDIRECT | DESC_NEXT, 8, 0x80, 0x8000};

    for (size_t i = 0; i < ARRAY_LEN(flags); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        offer_one(&b, DRIVER_DATA, 32, flags[i]);
        assert_lie(&b, "not offered");
    }
}

/* V3 */
static void a_descriptor_without_bytes_is_a_lie(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    offer_one(&b, DRIVER_DATA, 0, 0);
    assert_lie(&b, "no bytes");
}

/* V3 */
static void a_descriptor_without_bytes_at_the_end_of_a_chain_is_a_lie(void **state)
{
    static const struct driver_desc descs[] = {{DRIVER_DATA, 8, 0, 0},
                                               {DRIVER_DATA, 0, DESC_WRITE, 0}};
    auto_bench struct bench b;

    bench_init(&b);
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_lie(&b, "no bytes");
}

static void set_avail_index(struct bench *b, uint16_t idx)
{
    assert_int_equal(gmem_store16(&b->d.mem, driver_avail(0) + 2, idx), 0);
}

/* V4 */
static void an_index_that_jumps_over_the_queue_is_a_lie(void **state)
{
    static const uint16_t jumps[] = {DRIVER_SIZE + 1, 256, 0x8000, UINT16_MAX};

    for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        offer_one(&b, DRIVER_DATA, 8, 0);
        set_avail_index(&b, jumps[i]);
        assert_lie(&b, "the available index jumps");
    }
}

/* V4 */
static void an_index_that_goes_back_is_a_lie(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    for (unsigned int i = 0; i < 3; i++) {
        offer_one(&b, DRIVER_DATA, 8, 0);
        assert_chain(&b);
        assert_ok(virtq_push(&b.q, &b.d.mem, 0, 0, &b.err), &b.err);
    }
    set_avail_index(&b, 2);
    assert_lie(&b, "the available index jumps");
}

/* V4 */
static void a_full_ring_is_no_lie(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    for (uint16_t i = 0; i < DRIVER_SIZE; i++) {
        driver_desc(&b.d, 0, i, (struct driver_desc){DRIVER_DATA, 8, 0, 0});
        driver_offer(&b.d, 0, i);
    }
    for (uint16_t i = 0; i < DRIVER_SIZE; i++) {
        assert_chain(&b);
        assert_int_equal(b.c.head, i);
    }
    assert_int_equal(virtq_pop(&b.q, &b.d.mem, &b.c, &b.err), 0);
}

/* V5 */
static void the_same_head_twice_in_flight_is_a_lie(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    offer_one(&b, DRIVER_DATA, 8, 0);
    driver_offer(&b.d, 0, 0);
    assert_chain(&b);
    assert_lie(&b, "available twice");
}

/* V5 */
static void a_head_outside_the_table_is_a_lie(void **state)
{
    static const uint16_t heads[] = {DRIVER_SIZE, 256, UINT16_MAX};

    for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
        auto_bench struct bench b;

        bench_init(&b);
        driver_offer(&b.d, 0, heads[i]);
        assert_lie(&b, "chain head");
    }
}

/* V6 */
static void a_buffer_to_read_behind_one_to_write_is_a_lie(void **state)
{
    static const struct driver_desc descs[] = {{DRIVER_DATA, 8, DESC_WRITE, 0},
                                               {DRIVER_DATA, 8, 0, 0}};
    auto_bench struct bench b;

    bench_init(&b);
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_lie(&b, "to be read after");
}

static void a_chain_of_too_many_bytes_is_a_lie(void **state)
{
    static const struct driver_desc descs[] = {
        {0, 8 * MIB, 0, 0}, {0, 8 * MIB, 0, 0}, {0, 1, DESC_WRITE, 0}};
    auto_bench struct bench b;

    bench_init(&b);
    driver_chain(&b.d, 0, 0, descs, 2);
    assert_chain(&b);
    assert_int_equal(b.c.out_bytes, VIRTQ_CHAIN_BYTES);
    driver_chain(&b.d, 0, 4, descs, 3);
    assert_lie(&b, "a chain of more than");
}

static int enable(struct bench *b, struct virtq q)
{
    b->err = (struct err)ERR_INIT;
    b->q = q;
    return virtq_enable(&b->q, &b->d.mem, &b->err);
}

/* V7 */
static void rings_that_are_not_aligned_are_a_lie(void **state)
{
    auto_bench struct bench b;
    struct virtq q = queue();

    bench_init(&b);
    q.desc += 8;
    assert_int_equal(enable(&b, q), -EPROTO);
    q = queue();
    q.avail += 1;
    assert_int_equal(enable(&b, q), -EPROTO);
    q = queue();
    q.used += 2;
    assert_int_equal(enable(&b, q), -EPROTO);
    assert_non_null(strstr(b.err.msg, "the used ring"));
    assert_non_null(strstr(b.err.msg, "not aligned"));
    assert_false(b.q.ready);
}

/* V7 */
static void rings_outside_ram_are_a_lie(void **state)
{
    /* One byte too far, in the window of a device, in the hole, at the very end. */
    static const uint64_t places[] = {DRIVER_MEMORY - 16, DRIVER_MEMORY, 0xd0000000, 0xc0000000,
                                      UINT64_MAX - 15};

    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        auto_bench struct bench b;
        struct virtq q = queue();

        bench_init(&b);
        q.desc = places[i];
        assert_int_equal(enable(&b, q), -EPROTO);
        q = queue();
        q.avail = places[i];
        assert_int_equal(enable(&b, q), -EPROTO);
        q = queue();
        q.used = places[i];
        assert_int_equal(enable(&b, q), -EPROTO);
        assert_non_null(strstr(b.err.msg, "not in RAM"));
    }
}

/* V7 */
static void rings_can_end_where_ram_ends_and_where_the_next_begins(void **state)
{
    auto_bench struct bench b;
    struct virtq q = queue();

    bench_init(&b);
    q.desc = DRIVER_MEMORY - 16 * DRIVER_SIZE;
    q.used = q.desc - (6 + 8 * DRIVER_SIZE) - 2;
    q.avail = q.used - (6 + 2 * DRIVER_SIZE);
    assert_ok(enable(&b, q), &b.err);
}

/* V7 */
static void rings_that_overlap_are_a_lie(void **state)
{
    auto_bench struct bench b;
    struct virtq q = queue();

    bench_init(&b);
    q.avail = q.desc + 16 * DRIVER_SIZE - 2;
    assert_int_equal(enable(&b, q), -EPROTO);
    q = queue();
    q.used = q.desc;
    assert_int_equal(enable(&b, q), -EPROTO);
    q = queue();
    q.used = q.avail + 4;
    assert_int_equal(enable(&b, q), -EPROTO);
    q = queue();
    q.avail = q.used + 8;
    assert_int_equal(enable(&b, q), -EPROTO);
    assert_non_null(strstr(b.err.msg, "overlap"));
}

/* V8 */
static void a_size_that_is_no_power_of_two_up_to_256_is_a_lie(void **state)
{
    static const uint16_t bad[] = {0, 3, 5, 6, 255, 257, 512, 0x8000, UINT16_MAX};
    auto_bench struct bench b;
    struct virtq q = queue();

    bench_init(&b);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        q.size = bad[i];
        assert_int_equal(enable(&b, q), -EPROTO);
        assert_false(b.q.ready);
    }
    for (uint16_t size = 1; size <= VIRTQ_SIZE_MAX; size = (uint16_t)(size * 2)) {
        q.size = size;
        assert_ok(enable(&b, q), &b.err);
    }
}

static void bytes_are_found_across_buffers(void **state)
{
    static const struct driver_desc descs[] = {
        {DRIVER_DATA, 3, 0, 0},
        {DRIVER_DATA + 0x100, 1, 0, 0},
        {DRIVER_DATA + 0x200, 4, 0, 0},
        {DRIVER_DATA + 0x300, 2, DESC_WRITE, 0},
        {DRIVER_DATA + 0x400, 3, DESC_WRITE, 0},
    };
    auto_bench struct bench b;
    char text[16] = "";

    bench_init(&b);
    driver_put(&b.d, DRIVER_DATA, "abc", 3);
    driver_put(&b.d, DRIVER_DATA + 0x100, "d", 1);
    driver_put(&b.d, DRIVER_DATA + 0x200, "efgh", 4);
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_chain(&b);
    assert_int_equal(virtq_chain_read(&b.c, &b.d.mem, 0, text, sizeof(text)), 8);
    assert_memory_equal(text, "abcdefgh", 8);
    assert_int_equal(virtq_chain_read(&b.c, &b.d.mem, 2, text, 3), 3);
    assert_memory_equal(text, "cde", 3);
    assert_int_equal(virtq_chain_read(&b.c, &b.d.mem, 3, text, 1), 1);
    assert_int_equal(text[0], 'd');
    assert_int_equal(virtq_chain_read(&b.c, &b.d.mem, 8, text, 1), 0);
    assert_int_equal(virtq_chain_read(&b.c, &b.d.mem, UINT64_MAX, text, 1), 0);
    assert_int_equal(virtq_chain_write(&b.c, &b.d.mem, 1, "XYZ-", 4), 4);
    driver_look(&b.d, DRIVER_DATA + 0x300, text, 2);
    assert_memory_equal(text, "\0X", 2);
    driver_look(&b.d, DRIVER_DATA + 0x400, text, 4);
    assert_memory_equal(text, "YZ-\0", 4);
    assert_int_equal(virtq_chain_write(&b.c, &b.d.mem, 3, "123", 3), 2);
    driver_look(&b.d, DRIVER_DATA + 0x400, text, 4);
    assert_memory_equal(text, "Y12\0", 4);
}

static void buffers_become_an_array_for_the_kernel(void **state)
{
    static const struct driver_desc descs[] = {
        {DRIVER_DATA, 16, 0, 0},
        {DRIVER_DATA + 0x200, 4, DESC_WRITE, 0},
        {DRIVER_DATA + 0x300, 5, DESC_WRITE, 0},
        {DRIVER_DATA + 0x400, 6, DESC_WRITE, 0},
    };
    auto_bench struct bench b;
    struct iovec iov[VIRTQ_SIZE_MAX];

    bench_init(&b);
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_chain(&b);
    assert_int_equal(virtq_chain_iov(&b.c, &b.d.mem, true, 0, 15, iov), 3);
    assert_ptr_equal(iov[2].iov_base, b.d.mem.base + DRIVER_DATA + 0x400);
    assert_int_equal(iov[2].iov_len, 6);
    assert_int_equal(virtq_chain_iov(&b.c, &b.d.mem, true, 4, 7, iov), 2);
    assert_ptr_equal(iov[0].iov_base, b.d.mem.base + DRIVER_DATA + 0x300);
    assert_int_equal(iov[0].iov_len, 5);
    assert_int_equal(iov[1].iov_len, 2);
    assert_int_equal(virtq_chain_iov(&b.c, &b.d.mem, true, 14, 1, iov), 1);
    assert_ptr_equal(iov[0].iov_base, b.d.mem.base + DRIVER_DATA + 0x405);
    assert_int_equal(virtq_chain_iov(&b.c, &b.d.mem, true, 15, 0, iov), 0);
    assert_int_equal(virtq_chain_iov(&b.c, &b.d.mem, true, 0, 16, iov), -EFAULT);
    assert_int_equal(virtq_chain_iov(&b.c, &b.d.mem, true, UINT64_MAX, 1, iov), -EFAULT);
    assert_int_equal(virtq_chain_iov(&b.c, &b.d.mem, false, 0, 17, iov), -EFAULT);
    assert_int_equal(virtq_chain_iov(&b.c, &b.d.mem, false, 6, 10, iov), 1);
    assert_ptr_equal(iov[0].iov_base, b.d.mem.base + DRIVER_DATA + 6);
}

/* A thread of the guest that makes descriptor 0 sound and unsound in turns. */
struct liar {
    uint64_t *gpa; /* in guest memory */
    atomic_bool stop;
};

#define LIE_GPA (UINT64_MAX - 0xfff)

static void *lie(void *arg)
{
    struct liar *liar = arg;

    while (!atomic_load(&liar->stop)) {
        __atomic_store_n(liar->gpa, LIE_GPA, __ATOMIC_RELAXED);
        __atomic_store_n(liar->gpa, DRIVER_DATA, __ATOMIC_RELAXED);
    }
    return NULL;
}

/* V12: whatever the other processor does, what was given out is what was checked. */
static void a_descriptor_rewritten_meanwhile_is_used_as_it_was_checked(void **state)
{
    auto_bench struct bench b;
    struct liar liar = {0};
    pthread_t thread;
    unsigned int sound = 0;
    unsigned int lies = 0;
    uint64_t end;

    bench_init(&b);
    offer_one(&b, DRIVER_DATA, 8, DESC_WRITE);
    liar.gpa = (uint64_t *)(void *)(b.d.mem.base + driver_ring(0));
    assert_int_equal(pthread_create(&thread, NULL, lie, &liar), 0);
    /* On a busy machine the other thread may be kept from running for long. */
    end = clock_mono_ns() + 20 * NS_PER_S;
    while ((sound < 1000 || lies < 1000) && clock_mono_ns() < end) {
        int r = virtq_pop(&b.q, &b.d.mem, &b.c, &b.err);

        if (r == 1) {
            assert_int_equal(b.c.buffers[0].gpa, DRIVER_DATA);
            assert_int_equal(virtq_chain_write(&b.c, &b.d.mem, 0, "12345678", 8), 8);
            virtq_unpop(&b.q, b.c.head);
            sound++;
        } else {
            assert_int_equal(r, -EPROTO);
            b.err = (struct err)ERR_INIT;
            lies++;
        }
    }
    atomic_store(&liar.stop, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(sound > 0);
    assert_true(lies > 0);
}

/* V12 */
static void a_chain_stays_as_it_was_when_its_descriptors_change(void **state)
{
    auto_bench struct bench b;
    struct iovec iov[VIRTQ_SIZE_MAX];

    bench_init(&b);
    offer_one(&b, DRIVER_DATA, 8, DESC_WRITE);
    assert_chain(&b);
    driver_desc(&b.d, 0, 0, (struct driver_desc){LIE_GPA, UINT32_MAX, DESC_NEXT, 99});
    assert_int_equal(virtq_chain_write(&b.c, &b.d.mem, 0, "12345678abc", 11), 8);
    assert_int_equal(virtq_chain_iov(&b.c, &b.d.mem, true, 0, 8, iov), 1);
    assert_ptr_equal(iov[0].iov_base, b.d.mem.base + DRIVER_DATA);
    assert_ok(virtq_push(&b.q, &b.d.mem, b.c.head, 8, &b.err), &b.err);
}

/* V19: what is written lands in the ring, and is only another lie of the guest's. */
static void a_buffer_in_the_rings_themselves_harms_the_guest_alone(void **state)
{
    static const uint8_t junk[4096] = {[0 ... 4095] = 0xee};
    static const struct driver_desc descs[] = {
        {0, 16 * DRIVER_SIZE, DESC_WRITE, 0},
        {0, 36, DESC_WRITE, 0},
        {0, 134, DESC_WRITE, 0},
    };
    auto_bench struct bench b;
    uint64_t places[3];
    uint16_t idx = 0;

    bench_init(&b);
    places[0] = driver_ring(0);
    places[1] = driver_avail(0);
    places[2] = driver_used(0);
    for (size_t i = 0; i < ARRAY_LEN(descs); i++) {
        struct driver_desc desc = descs[i];

        desc.gpa = places[i];
        driver_chain(&b.d, 0, (uint16_t)i, &desc, 1);
    }
    for (size_t i = 0; i < ARRAY_LEN(descs); i++) {
        assert_chain(&b);
        if (i == 2) {
            assert_int_equal(virtq_chain_write(&b.c, &b.d.mem, 0, junk, sizeof(junk)), 134);
        }
        assert_ok(virtq_push(&b.q, &b.d.mem, b.c.head, 1, &b.err), &b.err);
    }
    /* The used index is ours: what the guest had us write over it does not count. */
    assert_int_equal(gmem_load16(&b.d.mem, driver_used(0) + 2, &idx), 0);
    assert_int_equal(idx, 3);
    driver_put(&b.d, driver_avail(0), junk, 36);
    assert_lie(&b, "the available index jumps");
}

/* V19: the device writes into the table and the available ring while it holds the chain. */
static void a_chain_that_writes_over_its_own_descriptors_comes_to_its_end(void **state)
{
    static const uint8_t junk[16 * DRIVER_SIZE] = {[0 ... 16 * DRIVER_SIZE - 1] = 0xee};
    auto_bench struct bench b;

    bench_init(&b);
    offer_one(&b, driver_ring(0), sizeof(junk), DESC_WRITE);
    assert_chain(&b);
    assert_int_equal(virtq_chain_write(&b.c, &b.d.mem, 0, junk, sizeof(junk)), sizeof(junk));
    assert_ok(virtq_push(&b.q, &b.d.mem, b.c.head, sizeof(junk), &b.err), &b.err);
    driver_offer(&b.d, 0, 1);
    assert_lie(&b, "not offered");
}

TEST_MAIN(T(a_chain_is_given_out_and_comes_back), T(indices_go_round_at_65536),
          T(a_chain_that_was_not_used_is_there_again),
          T(the_driver_says_whether_it_wants_interrupts), T(a_buffer_outside_ram_is_a_lie),
          T(the_last_byte_of_ram_can_be_a_buffer), T(a_next_outside_the_table_is_a_lie),
          T(a_chain_that_goes_round_is_a_lie), T(a_chain_can_be_as_long_as_its_queue),
          T(flags_that_were_not_offered_are_a_lie), T(a_descriptor_without_bytes_is_a_lie),
          T(a_descriptor_without_bytes_at_the_end_of_a_chain_is_a_lie),
          T(an_index_that_jumps_over_the_queue_is_a_lie), T(an_index_that_goes_back_is_a_lie),
          T(a_full_ring_is_no_lie), T(the_same_head_twice_in_flight_is_a_lie),
          T(a_head_outside_the_table_is_a_lie), T(a_buffer_to_read_behind_one_to_write_is_a_lie),
          T(a_chain_of_too_many_bytes_is_a_lie), T(rings_that_are_not_aligned_are_a_lie),
          T(rings_outside_ram_are_a_lie), T(rings_can_end_where_ram_ends_and_where_the_next_begins),
          T(rings_that_overlap_are_a_lie), T(a_size_that_is_no_power_of_two_up_to_256_is_a_lie),
          T(bytes_are_found_across_buffers), T(buffers_become_an_array_for_the_kernel),
          T(a_descriptor_rewritten_meanwhile_is_used_as_it_was_checked),
          T(a_chain_stays_as_it_was_when_its_descriptors_change),
          T(a_buffer_in_the_rings_themselves_harms_the_guest_alone),
          T(a_chain_that_writes_over_its_own_descriptors_comes_to_its_end))
