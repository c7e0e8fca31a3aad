#include <string.h>

#include "driver.h"
#include "test.h"
#include "vmm/dev/rng.h"

struct bench {
    struct driver d;
    struct rng rng;
};

static void bench_init(struct bench *b)
{
    *b = (struct bench){0};
    driver_init(&b->d);
    rng_init(&b->rng, &b->d.mem, 4, b->d.irq_fd);
    driver_start(&b->d, &b->rng.dev, UINT64_MAX);
}

static void bench_fini(struct bench *b)
{
    driver_fini(&b->d);
}

#define auto_bench on_scope_exit(bench_fini)

static bool all_zero(struct bench *b, uint64_t gpa, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (b->d.mem.base[gpa + i] != 0) {
            return false;
        }
    }
    return true;
}

static void the_guest_gets_random_bytes(void **state)
{
    static const struct driver_desc descs[] = {{DRIVER_DATA, 32, DESC_WRITE, 0},
                                               {DRIVER_DATA + 0x100, 32, DESC_WRITE, 0}};
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    assert_int_equal(driver_get(&b.d, 0x08), 4);
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_true(driver_collect(&b.d, 0, &head, &written));
    assert_int_equal(written, 64);
    assert_false(all_zero(&b, DRIVER_DATA, 32));
    assert_false(all_zero(&b, DRIVER_DATA + 0x100, 32));
    assert_memory_not_equal(b.d.mem.base + DRIVER_DATA, b.d.mem.base + DRIVER_DATA + 0x100, 32);
    assert_true(all_zero(&b, DRIVER_DATA + 32, 0x100 - 32));
    assert_true(all_zero(&b, DRIVER_DATA + 0x120, 32));
    assert_int_equal(driver_pulses(&b.d), 1);
}

/* V14 */
static void a_huge_request_gets_a_fixed_number_of_bytes(void **state)
{
    static const struct driver_desc desc = {DRIVER_DATA, 16 * MIB, DESC_WRITE, 0};
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b);
    driver_chain(&b.d, 0, 0, &desc, 1);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_true(driver_collect(&b.d, 0, &head, &written));
    assert_int_equal(written, RNG_CHUNK);
    assert_true(all_zero(&b, DRIVER_DATA + RNG_CHUNK, RNG_CHUNK));
}

/* V6 */
static void a_buffer_that_cannot_be_written_breaks_the_device(void **state)
{
    static const struct driver_desc descs[] = {{DRIVER_DATA, 32, 0, 0},
                                               {DRIVER_DATA + 0x100, 32, DESC_WRITE, 0}};

    for (size_t n = 1; n <= ARRAY_LEN(descs); n++) {
        auto_bench struct bench b;

        bench_init(&b);
        driver_chain(&b.d, 0, 0, descs, n);
        assert_int_equal(driver_kick(&b.d, 0), 0);
        assert_true(b.rng.dev.broken);
        assert_non_null(strstr(b.rng.dev.why.msg, "cannot be written"));
        assert_true(all_zero(&b, DRIVER_DATA, 0x200));
    }
}

/* V16: a ring that the guest fills as fast as it is emptied. */
static void one_call_serves_a_bounded_number_of_requests(void **state)
{
    auto_bench struct bench b;

    bench_init(&b);
    /* The driver's queues are smaller than the budget: here is a larger one. */
    driver_features(&b.d, &b.rng.dev, UINT64_MAX);
    driver_rings(&b.d, 0);
    (void)driver_set(&b.d, R_QUEUE_NUM, VIRTQ_SIZE_MAX);
    (void)driver_set(&b.d, R_QUEUE_READY, 1);
    (void)driver_set(&b.d, R_STATUS, DRIVER_RUNS);
    for (uint16_t i = 0; i < VIRTQ_SIZE_MAX; i++) {
        driver_desc(&b.d, 0, i, (struct driver_desc){DRIVER_DATA, 8, DESC_WRITE, 0});
        assert_int_equal(gmem_store16(&b.d.mem, driver_avail(0) + 4 + 2 * (uint64_t)i, i), 0);
    }
    assert_int_equal(gmem_store16(&b.d.mem, driver_avail(0) + 2, VIRTQ_SIZE_MAX), 0);
    for (unsigned int calls = 1; calls <= VIRTQ_SIZE_MAX / VIRTIO_BUDGET; calls++) {
        assert_int_equal(driver_kick(&b.d, 0), 1);
        assert_int_equal(b.rng.dev.queues[0].next_used, calls * VIRTIO_BUDGET);
    }
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(driver_pulses(&b.d), VIRTQ_SIZE_MAX / VIRTIO_BUDGET);
}

TEST_MAIN(T(the_guest_gets_random_bytes), T(a_huge_request_gets_a_fixed_number_of_bytes),
          T(a_buffer_that_cannot_be_written_breaks_the_device),
          T(one_call_serves_a_bounded_number_of_requests))
