#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "driver.h"
#include "proto/wire.h"
#include "test.h"
#include "vmm/dev/blk.h"

#define SECTORS 64u
#define SECTOR  512u

#define T_IN      0u
#define T_OUT     1u
#define T_FLUSH   4u
#define T_GET_ID  8u
#define T_DISCARD 11u

#define S_OK     0u
#define S_IOERR  1u
#define S_UNSUPP 2u
#define S_NONE   0xffu /* what the status byte is before */

/* Where a request's parts are. */
#define HEADER (DRIVER_DATA + 0x0)
#define STATUS (DRIVER_DATA + 0x100)
#define DATA   (DRIVER_DATA + 0x1000)

struct bench {
    struct driver d;
    struct blk blk;
    int fd;
};

static uint8_t pattern(uint64_t offset)
{
    return (uint8_t)(offset / SECTOR * 7 + offset % 13 + 1);
}

static void bench_init(struct bench *b, bool read_only, uint64_t bytes)
{
    struct blk_disk disk = {0};
    struct err err = ERR_INIT;

    *b = (struct bench){.fd = memfd_create("disk", MFD_CLOEXEC)};
    assert_true(b->fd >= 0);
    for (uint64_t i = 0; i < bytes; i++) {
        uint8_t byte = pattern(i);

        assert_int_equal(pwrite(b->fd, &byte, 1, (off_t)i), 1);
    }
    driver_init(&b->d);
    disk = (struct blk_disk){b->fd, read_only, "airlock-scratch"};
    assert_ok(blk_init(&b->blk, &b->d.mem, 2, b->d.irq_fd, &disk, &err), &err);
    driver_start(&b->d, &b->blk.dev, UINT64_MAX);
}

static void bench_fini(struct bench *b)
{
    driver_fini(&b->d);
    (void)close(b->fd);
}

#define auto_bench on_scope_exit(bench_fini)

static void put_header(struct bench *b, uint32_t type, uint64_t sector)
{
    uint8_t raw[16] = {0};

    wire_put_u32(raw, type);
    wire_put_u64(raw + 8, sector);
    driver_put(&b->d, HEADER, raw, sizeof(raw));
}

/* A request whose data is one buffer of len bytes at DATA, with none if len is 0. */
static void offer(struct bench *b, uint32_t type, uint64_t sector, uint32_t len)
{
    struct driver_desc descs[3] = {{HEADER, 16, 0, 0}};
    size_t n = 1;
    uint8_t none = S_NONE;

    put_header(b, type, sector);
    driver_put(&b->d, STATUS, &none, 1);
    if (len > 0) {
        descs[n++] = (struct driver_desc){DATA, len, type == T_OUT ? 0 : DESC_WRITE, 0};
    }
    descs[n++] = (struct driver_desc){STATUS, 1, DESC_WRITE, 0};
    driver_chain(&b->d, 0, 0, descs, n);
}

static uint8_t status_of(struct bench *b)
{
    uint8_t status = 0;

    driver_look(&b->d, STATUS, &status, 1);
    return status;
}

/* The status of such a request, and the length that came back. */
static uint8_t ask(struct bench *b, uint32_t type, uint64_t sector, uint32_t len,
                   uint32_t *ret_written)
{
    uint32_t head = 99;

    offer(b, type, sector, len);
    assert_int_equal(driver_kick(&b->d, 0), 0);
    assert_false(b->blk.dev.broken);
    assert_true(driver_collect(&b->d, 0, &head, ret_written));
    assert_int_equal(head, 0);
    return status_of(b);
}

static void assert_data(struct bench *b, uint64_t offset, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        assert_int_equal(b->d.mem.base[DATA + i], pattern(offset + i));
    }
}

/* No byte of the file has changed, nor its size. */
static void assert_file_untouched(struct bench *b, uint64_t bytes)
{
    assert_int_equal(lseek(b->fd, 0, SEEK_END), bytes);
    for (uint64_t i = 0; i < bytes; i++) {
        uint8_t byte = 0;

        assert_int_equal(pread(b->fd, &byte, 1, (off_t)i), 1);
        assert_int_equal(byte, pattern(i));
    }
}

static uint64_t config(struct bench *b, unsigned int offset, unsigned int size)
{
    uint8_t raw[8] = {0};

    virtio_read(&b->blk.dev, R_CONFIG + offset, raw, size);
    return wire_get_u64(raw);
}

static void the_driver_sees_its_size_and_its_limits(void **state)
{
    auto_bench struct bench disk;
    auto_bench struct bench image;

    bench_init(&disk, false, SECTORS * SECTOR);
    assert_int_equal(driver_get(&disk.d, 0x08), 2);
    assert_int_equal(config(&disk, 0, 8), SECTORS);
    assert_int_equal(config(&disk, 8, 4), 65536);
    assert_int_equal(config(&disk, 12, 4), VIRTQ_SIZE_MAX - 2);
    (void)driver_set(&disk.d, R_DEVICE_FEATURES_SEL, 0);
    assert_int_equal(driver_get(&disk.d, R_DEVICE_FEATURES), 1u << 1 | 1u << 2);
    bench_init(&image, true, SECTORS * SECTOR);
    (void)driver_set(&image.d, R_DEVICE_FEATURES_SEL, 0);
    assert_int_equal(driver_get(&image.d, R_DEVICE_FEATURES), 1u << 1 | 1u << 2 | 1u << 5);
}

static void what_is_in_the_file_is_read(void **state)
{
    auto_bench struct bench b;
    uint32_t written = 0;

    bench_init(&b, true, SECTORS * SECTOR);
    assert_int_equal(ask(&b, T_IN, 3, 2 * SECTOR, &written), S_OK);
    assert_int_equal(written, 2 * SECTOR + 1);
    assert_data(&b, 3 * SECTOR, 2 * SECTOR);
    assert_int_equal(b.d.mem.base[DATA + 2 * SECTOR], 0);
    assert_int_equal(ask(&b, T_IN, 0, SECTORS * SECTOR, &written), S_OK);
    assert_data(&b, 0, SECTORS * SECTOR);
    assert_int_equal(driver_pulses(&b.d), 2);
}

static void what_is_written_is_in_the_file(void **state)
{
    auto_bench struct bench b;
    uint8_t data[2 * SECTOR];
    uint8_t again[2 * SECTOR] = {0};
    uint32_t written = 0;

    bench_init(&b, false, SECTORS * SECTOR);
    memset(data, 0x5a, sizeof(data));
    driver_put(&b.d, DATA, data, sizeof(data));
    assert_int_equal(ask(&b, T_OUT, SECTORS - 2, sizeof(data), &written), S_OK);
    assert_int_equal(written, 1);
    assert_int_equal(pread(b.fd, again, sizeof(again), (SECTORS - 2) * SECTOR), sizeof(again));
    assert_memory_equal(again, data, sizeof(data));
    assert_int_equal(lseek(b.fd, 0, SEEK_END), SECTORS * SECTOR);
}

/* The specification lets a driver cut a request into buffers as it likes (2.7.4). */
static void a_request_may_lie_in_any_buffers(void **state)
{
    static const struct driver_desc descs[] = {
        {HEADER, 3, 0, 0},
        {HEADER + 3, 12, 0, 0},
        {HEADER + 15, 1, 0, 0},
        {DATA, 1, DESC_WRITE, 0},
        {DATA + 1, 510, DESC_WRITE, 0},
        {DATA + 511, 514, DESC_WRITE, 0}, /* the rest, and the status */
    };
    auto_bench struct bench b;
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b, true, SECTORS * SECTOR);
    put_header(&b, T_IN, 7);
    b.d.mem.base[DATA + 2 * SECTOR] = S_NONE;
    driver_chain(&b.d, 0, 2, descs, ARRAY_LEN(descs));
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_true(driver_collect(&b.d, 0, &head, &written));
    assert_int_equal(written, 2 * SECTOR + 1);
    assert_data(&b, 7 * SECTOR, 2 * SECTOR);
    assert_int_equal(b.d.mem.base[DATA + 2 * SECTOR], S_OK);
}

static void the_device_tells_its_name(void **state)
{
    auto_bench struct bench b;
    uint32_t written = 0;

    bench_init(&b, false, SECTORS * SECTOR);
    memset(b.d.mem.base + DATA, 0xee, 21);
    assert_int_equal(ask(&b, T_GET_ID, 0, 20, &written), S_OK);
    assert_int_equal(written, 21);
    assert_memory_equal(b.d.mem.base + DATA, "airlock-scratch\0\0\0\0\0\xee", 21);
    assert_int_equal(ask(&b, T_GET_ID, 0, 19, &written), S_IOERR);
    assert_int_equal(ask(&b, T_GET_ID, 0, 0, &written), S_IOERR);
}

static void the_rest_of_a_last_sector_is_zeroes(void **state)
{
    auto_bench struct bench b;
    uint32_t written = 0;

    bench_init(&b, true, SECTOR + 100);
    assert_int_equal(config(&b, 0, 8), 2);
    memset(b.d.mem.base + DATA, 0xee, 2 * SECTOR + 1);
    assert_int_equal(ask(&b, T_IN, 0, 2 * SECTOR, &written), S_OK);
    assert_data(&b, 0, SECTOR + 100);
    for (unsigned int i = SECTOR + 100; i < 2 * SECTOR; i++) {
        assert_int_equal(b.d.mem.base[DATA + i], 0);
    }
    assert_int_equal(b.d.mem.base[DATA + 2 * SECTOR], 0xee);
    assert_int_equal(ask(&b, T_IN, 2, SECTOR, &written), S_IOERR);
}

/* V13 */
static void a_request_outside_the_device_is_an_error(void **state)
{
    static const struct {
        uint64_t sector;
        uint32_t len;
    } cases[] = {
        {SECTORS, SECTOR},
        {SECTORS - 1, 2 * SECTOR},
        {0, (SECTORS + 1) * SECTOR},
        {UINT64_MAX, SECTOR},
        {UINT64_MAX, 2 * SECTOR},
        {UINT64_MAX / SECTOR, SECTOR},
        {UINT64_MAX / SECTOR + 1, SECTOR}, /* times 512 this is sector 0 */
        {UINT64_MAX / SECTOR + 2, SECTOR},
        {1ull << 63, SECTOR},
    };
    auto_bench struct bench b;

    bench_init(&b, false, SECTORS * SECTOR);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        uint32_t written = 0;

        assert_int_equal(ask(&b, T_IN, cases[i].sector, cases[i].len, &written), S_IOERR);
        assert_int_equal(written, 0);
        assert_int_equal(b.d.mem.base[DATA], 0);
        assert_int_equal(ask(&b, T_OUT, cases[i].sector, cases[i].len, &written), S_IOERR);
        assert_int_equal(written, 1);
    }
    assert_file_untouched(&b, SECTORS * SECTOR);
}

/* V13 */
static void a_length_that_is_no_number_of_sectors_is_an_error(void **state)
{
    static const uint32_t lens[] = {0, 1, SECTOR - 1, SECTOR + 1, 3 * SECTOR + 256};
    auto_bench struct bench b;

    bench_init(&b, false, SECTORS * SECTOR);
    for (size_t i = 0; i < ARRAY_LEN(lens); i++) {
        uint32_t written = 0;

        assert_int_equal(ask(&b, T_IN, 0, lens[i], &written), S_IOERR);
        assert_int_equal(ask(&b, T_OUT, 0, lens[i], &written), S_IOERR);
    }
    assert_file_untouched(&b, SECTORS * SECTOR);
}

/* V13 */
static void a_write_to_a_read_only_device_is_an_error(void **state)
{
    auto_bench struct bench b;
    uint32_t written = 0;

    bench_init(&b, true, SECTORS * SECTOR);
    assert_int_equal(ask(&b, T_OUT, 0, SECTOR, &written), S_IOERR);
    assert_file_untouched(&b, SECTORS * SECTOR);
}

/* V13 */
static void a_type_that_does_not_exist_is_unsupported(void **state)
{
    static const uint32_t types[] = {2,         3,  T_FLUSH, 5,          9,         10,
                                     T_DISCARD, 13, 14,      0x80000000, UINT32_MAX};
    auto_bench struct bench b;

    bench_init(&b, false, SECTORS * SECTOR);
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        uint32_t written = 0;

        assert_int_equal(ask(&b, types[i], 0, SECTOR, &written), S_UNSUPP);
        assert_int_equal(b.d.mem.base[DATA], 0);
    }
    assert_file_untouched(&b, SECTORS * SECTOR);
}

/* V13, V6 */
static void a_request_without_a_status_byte_breaks_the_device(void **state)
{
    static const struct driver_desc descs[] = {{HEADER, 16, 0, 0}, {DATA, SECTOR, 0, 0}};

    for (size_t n = 1; n <= ARRAY_LEN(descs); n++) {
        auto_bench struct bench b;

        bench_init(&b, false, SECTORS * SECTOR);
        put_header(&b, T_OUT, 0);
        driver_chain(&b.d, 0, 0, descs, n);
        assert_int_equal(driver_kick(&b.d, 0), 0);
        assert_true(b.blk.dev.broken);
        assert_non_null(strstr(b.blk.dev.why.msg, "status byte"));
        assert_file_untouched(&b, SECTORS * SECTOR);
    }
}

/* V13, V6 */
static void a_request_without_a_whole_header_breaks_the_device(void **state)
{
    static const struct driver_desc descs[] = {{HEADER, 15, 0, 0}, {STATUS, 1, DESC_WRITE, 0}};

    for (size_t first = 0; first < ARRAY_LEN(descs); first++) {
        auto_bench struct bench b;

        bench_init(&b, false, SECTORS * SECTOR);
        put_header(&b, T_IN, 0);
        driver_chain(&b.d, 0, 0, descs + first, ARRAY_LEN(descs) - first);
        assert_int_equal(driver_kick(&b.d, 0), 0);
        assert_true(b.blk.dev.broken);
        assert_non_null(strstr(b.blk.dev.why.msg, "header"));
    }
}

/* V6 */
static void a_read_into_buffers_to_be_read_is_an_error(void **state)
{
    static const struct driver_desc descs[] = {
        {HEADER, 16, 0, 0}, {DATA, SECTOR, 0, 0}, {STATUS, 1, DESC_WRITE, 0}};
    auto_bench struct bench b;

    bench_init(&b, false, SECTORS * SECTOR);
    put_header(&b, T_IN, 0);
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(status_of(&b), S_IOERR);
    assert_int_equal(b.d.mem.base[DATA], 0);
}

/* V6 */
static void a_write_from_buffers_to_be_written_is_an_error(void **state)
{
    static const struct driver_desc descs[] = {
        {HEADER, 16, 0, 0}, {DATA, SECTOR, DESC_WRITE, 0}, {STATUS, 1, DESC_WRITE, 0}};
    auto_bench struct bench b;

    bench_init(&b, false, SECTORS * SECTOR);
    put_header(&b, T_OUT, 0);
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(status_of(&b), S_IOERR);
    assert_file_untouched(&b, SECTORS * SECTOR);
}

/* Sector 5 of the file becomes these bytes. */
static void put_sector(struct bench *b, const void *data, size_t len)
{
    assert_int_equal(pwrite(b->fd, data, len, 5 * SECTOR), len);
}

/* V12: the read itself rewrites the header that it came from, into a write of sector 0. */
static void a_header_rewritten_meanwhile_is_used_as_it_was_checked(void **state)
{
    static const struct driver_desc descs[] = {
        {HEADER, 16, 0, 0}, {HEADER, SECTOR, DESC_WRITE, 0}, {STATUS, 1, DESC_WRITE, 0}};
    auto_bench struct bench b;
    uint8_t sector[SECTOR] = {0};
    uint32_t head = 0;
    uint32_t written = 0;

    bench_init(&b, false, SECTORS * SECTOR);
    memset(sector, 0xee, sizeof(sector));
    wire_put_u32(sector, T_OUT);
    wire_put_u64(sector + 8, UINT64_MAX);
    put_sector(&b, sector, sizeof(sector));
    put_header(&b, T_IN, 5);
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_true(driver_collect(&b.d, 0, &head, &written));
    assert_int_equal(written, SECTOR + 1);
    /* The status lies in the sector's bytes; it was written last. */
    assert_int_equal(status_of(&b), S_OK);
    sector[STATUS - HEADER] = S_OK;
    assert_memory_equal(b.d.mem.base + HEADER, sector, SECTOR);
}

/* V12, V19: the read rewrites the descriptors of its own chain, with ones far outside RAM. */
static void descriptors_rewritten_by_the_request_are_used_as_they_were_checked(void **state)
{
    auto_bench struct bench b;
    uint8_t sector[SECTOR] = {0};
    struct driver_desc descs[] = {
        {HEADER, 16, 0, 0}, {driver_ring(0), SECTOR, DESC_WRITE, 0}, {STATUS, 1, DESC_WRITE, 0}};
    uint32_t head = 99;
    uint32_t written = 0;

    bench_init(&b, false, SECTORS * SECTOR);
    memset(sector, 0xee, sizeof(sector));
    put_sector(&b, sector, sizeof(sector));
    put_header(&b, T_IN, 5);
    b.d.mem.base[STATUS] = S_NONE;
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(status_of(&b), S_OK);
    assert_true(driver_collect(&b.d, 0, &head, &written));
    assert_int_equal(head, 0);
    assert_int_equal(written, SECTOR + 1);
    assert_memory_equal(b.d.mem.base + driver_ring(0), sector, 16 * DRIVER_SIZE);
    assert_false(b.blk.dev.broken);
    /* What stands there now is a lie. */
    driver_offer(&b.d, 0, 0);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_true(b.blk.dev.broken);
}

/* V19: the available index is rewritten from the file while the device works on the ring. */
static void a_read_over_the_available_ring_cannot_make_the_device_loop(void **state)
{
    auto_bench struct bench b;
    uint8_t sector[SECTOR] = {0};
    struct driver_desc descs[] = {
        {HEADER, 16, 0, 0}, {driver_avail(0), SECTOR, DESC_WRITE, 0}, {STATUS, 1, DESC_WRITE, 0}};

    bench_init(&b, false, SECTORS * SECTOR);
    /* Sixteen more of the same request: each read makes the ring as full again. */
    wire_put_u16(sector + 2, DRIVER_SIZE + 1);
    put_sector(&b, sector, sizeof(sector));
    put_header(&b, T_IN, 5);
    driver_chain(&b.d, 0, 0, descs, ARRAY_LEN(descs));
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(b.blk.dev.queues[0].next_used, DRIVER_SIZE + 1);
    assert_false(b.blk.dev.broken);
}

/* V16 */
static void one_call_moves_a_bounded_number_of_bytes(void **state)
{
    auto_bench struct bench b;
    uint32_t mib = (uint32_t)MIB;
    struct driver_desc descs[] = {
        {HEADER, 16, 0, 0}, {DATA, 3 * mib, DESC_WRITE, 0}, {STATUS, 1, DESC_WRITE, 0}};

    bench_init(&b, true, SECTOR);
    assert_int_equal(ftruncate(b.fd, 8 * mib), 0);
    b.blk.bytes = 8 * mib;
    put_header(&b, T_IN, 0);
    for (uint16_t head = 0; head < 9; head = (uint16_t)(head + 3)) {
        driver_chain(&b.d, 0, head, descs, ARRAY_LEN(descs));
    }
    assert_int_equal(driver_kick(&b.d, 0), 1);
    assert_int_equal(b.blk.dev.queues[0].next_used, 2);
    assert_int_equal(driver_pulses(&b.d), 1);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(b.blk.dev.queues[0].next_used, 3);
}

/* V16 */
static void a_reset_with_requests_in_the_ring_serves_none_of_them(void **state)
{
    auto_bench struct bench b;

    bench_init(&b, false, SECTORS * SECTOR);
    offer(&b, T_OUT, 0, SECTOR);
    (void)driver_set(&b.d, R_STATUS, 0);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(status_of(&b), S_NONE);
    assert_file_untouched(&b, SECTORS * SECTOR);
    driver_start(&b.d, &b.blk.dev, UINT64_MAX);
    assert_int_equal(driver_kick(&b.d, 0), 0);
    assert_int_equal(status_of(&b), S_NONE);
}

/* V18: what stands behind the device's descriptor from now on. */
static void replace_file(struct bench *b, const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(dup3(fd, b->fd, O_CLOEXEC), b->fd);
    (void)close(fd);
}

/* V18 */
static void a_full_disk_is_an_error_for_the_guest(void **state)
{
    auto_bench struct bench b;
    uint32_t written = 0;

    bench_init(&b, false, SECTORS * SECTOR);
    replace_file(&b, "/dev/full", O_RDWR);
    assert_int_equal(ask(&b, T_OUT, 0, SECTOR, &written), S_IOERR);
}

/* V18: the device is larger than what its guest may have of it. */
static void a_write_behind_the_bound_of_files_is_an_error_for_the_guest(void **state)
{
    auto_bench struct bench b;
    struct rlimit old;
    struct rlimit bound;
    uint32_t written = 0;

    bench_init(&b, false, SECTORS * SECTOR);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    bound = (struct rlimit){.rlim_cur = 2 * SECTOR, .rlim_max = old.rlim_max};
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &bound), 0);
    assert_int_equal(ask(&b, T_OUT, 1, SECTOR, &written), S_OK);
    assert_int_equal(ask(&b, T_OUT, 2, SECTOR, &written), S_IOERR);
    assert_int_equal(ask(&b, T_OUT, 1, 2 * SECTOR, &written), S_IOERR);
    assert_int_equal(ask(&b, T_IN, 2, SECTOR, &written), S_OK);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
}

/* The kick ends the monitor, with these words. */
static void assert_host_fails(struct bench *b, const char *words)
{
    struct err err = ERR_INIT;

    assert_true(virtio_kick(&b->blk.dev, 0, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
    assert_false(b->blk.dev.broken);
    assert_int_equal(status_of(b), S_NONE);
    if (strstr(err.msg, words) == NULL) {
        fail_msg("'%s' says nothing of '%s'", err.msg, words);
    }
}

/* V18 */
static void a_file_that_fails_ends_the_monitor(void **state)
{
    auto_bench struct bench reading;
    auto_bench struct bench writing;

    bench_init(&reading, false, SECTORS * SECTOR);
    replace_file(&reading, "/dev/null", O_WRONLY);
    offer(&reading, T_IN, 0, SECTOR);
    assert_host_fails(&reading, "'airlock-scratch': cannot read 512 bytes at 0");
    bench_init(&writing, false, SECTORS * SECTOR);
    replace_file(&writing, "/dev/zero", O_RDONLY);
    offer(&writing, T_OUT, 1, SECTOR);
    assert_host_fails(&writing, "cannot write 512 bytes at 512");
}

/* V18 */
static void a_file_that_became_shorter_ends_the_monitor(void **state)
{
    auto_bench struct bench b;

    bench_init(&b, false, SECTORS * SECTOR);
    assert_int_equal(ftruncate(b.fd, SECTORS * SECTOR - 1), 0);
    offer(&b, T_IN, 0, SECTORS * SECTOR);
    assert_host_fails(&b, "cannot read");
}

static void what_is_no_file_is_no_disk(void **state)
{
    auto_bench struct bench b;
    struct blk_disk disk = {0};
    struct err err = ERR_INIT;
    struct blk blk;

    bench_init(&b, false, SECTOR);
    disk = (struct blk_disk){b.d.irq_fd, true, "x"};
    assert_true(blk_init(&blk, &b.d.mem, 0, b.d.irq_fd, &disk, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
    err = (struct err)ERR_INIT;
    disk.fd = -1;
    assert_true(blk_init(&blk, &b.d.mem, 0, b.d.irq_fd, &disk, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
}

static void a_saved_disk_goes_on_with_one_of_the_same_size_alone(void **state)
{
    auto_bench struct bench b;
    auto_bench struct bench other;
    auto_buf struct buf saved = BUF_INIT(4096);
    struct wire_out out = wire_out_start(&saved);
    struct wire_in in = {0};
    struct blk_disk disk = {0};
    struct err err = ERR_INIT;
    uint32_t written = 0;

    bench_init(&b, false, SECTORS * SECTOR);
    assert_int_equal(ask(&b, T_IN, 0, SECTOR, &written), S_OK);
    virtio_save(&b.blk.dev, &out);
    assert_int_equal(wire_out_end(&out), 0);
    disk = (struct blk_disk){b.fd, false, "airlock-scratch"};
    assert_ok(blk_init(&b.blk, &b.d.mem, 2, b.d.irq_fd, &disk, &err), &err);
    in = (struct wire_in){saved.data, saved.len};
    assert_ok(virtio_load(&b.blk.dev, &in, &err), &err);
    assert_int_equal(in.left, 0);
    assert_int_equal(ask(&b, T_IN, 1, SECTOR, &written), S_OK);
    bench_init(&other, false, SECTORS * SECTOR + SECTOR);
    in = (struct wire_in){saved.data, saved.len};
    assert_true(virtio_load(&other.blk.dev, &in, &err) < 0);
    assert_int_equal(err.class, ERR_USAGE);
    assert_non_null(strstr(err.msg, "another size"));
}

TEST_MAIN(T(the_driver_sees_its_size_and_its_limits), T(what_is_in_the_file_is_read),
          T(what_is_written_is_in_the_file), T(a_request_may_lie_in_any_buffers),
          T(the_device_tells_its_name), T(the_rest_of_a_last_sector_is_zeroes),
          T(a_request_outside_the_device_is_an_error),
          T(a_length_that_is_no_number_of_sectors_is_an_error),
          T(a_write_to_a_read_only_device_is_an_error),
          T(a_type_that_does_not_exist_is_unsupported),
          T(a_request_without_a_status_byte_breaks_the_device),
          T(a_request_without_a_whole_header_breaks_the_device),
          T(a_read_into_buffers_to_be_read_is_an_error),
          T(a_write_from_buffers_to_be_written_is_an_error),
          T(a_header_rewritten_meanwhile_is_used_as_it_was_checked),
          T(descriptors_rewritten_by_the_request_are_used_as_they_were_checked),
          T(a_read_over_the_available_ring_cannot_make_the_device_loop),
          T(one_call_moves_a_bounded_number_of_bytes),
          T(a_reset_with_requests_in_the_ring_serves_none_of_them),
          T(a_full_disk_is_an_error_for_the_guest),
          T(a_write_behind_the_bound_of_files_is_an_error_for_the_guest),
          T(a_file_that_fails_ends_the_monitor), T(a_file_that_became_shorter_ends_the_monitor),
          T(what_is_no_file_is_no_disk), T(a_saved_disk_goes_on_with_one_of_the_same_size_alone))
