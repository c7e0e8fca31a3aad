/* What a process wrote of a private mapping, as a list for the monitor. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "proto/wire.h"
#include "sup/template-writes.h"
#include "sys/fd.h"
#include "test.h"
#include "vmm/start.h"

#define PAGES 20000u /* more than are read at once */
#define BYTES ((uint64_t)PAGES * 4096)

static int file_of_pages(void)
{
    int fd = memfd_create("memory", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, BYTES), 0);
    return fd;
}

static uint8_t *map(int fd, int flags)
{
    uint8_t *at = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, flags, fd, 0);

    assert_true(at != MAP_FAILED);
    return at;
}

static void expect(const struct buf *list, const uint32_t *numbers, size_t n)
{
    assert_int_equal(list->len, n * sizeof(uint32_t));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(wire_get_u32(list->data + i * sizeof(uint32_t)), numbers[i]);
    }
}

static void pages_that_were_written_are_told_and_not_those_that_were_read(void **state)
{
    static const uint32_t want[] = {0, 1, 7, 3, 8191, 2, PAGES - 1, 1, 0, 0};
    static const uint32_t written[] = {0, 7, 8, 9, 8191, 8192, PAGES - 1};
    auto_buf struct buf list = BUF_INIT(START_WRITES_BYTES_MAX);
    auto_fd int fd = file_of_pages();
    uint8_t *at = map(fd, MAP_PRIVATE);
    struct err err = ERR_INIT;
    volatile uint8_t read = 0;

    assert_int_equal(pwrite(fd, "x", 1, 5 * 4096), 1);
    read = at[5 * 4096];
    assert_int_equal(read, 'x');
    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        at[(size_t)written[i] * 4096] = 1;
    }
    assert_ok(template_writes_of(getpid(), fd, BYTES, &list, &err), &err);
    expect(&list, want, ARRAY_LEN(want));
    assert_int_equal(munmap(at, BYTES), 0);
}

static void a_list_ends_where_the_monitor_takes_no_more(void **state)
{
    auto_buf struct buf list = BUF_INIT(START_WRITES_BYTES_MAX);
    auto_fd int fd = file_of_pages();
    uint8_t *at = map(fd, MAP_PRIVATE);
    struct err err = ERR_INIT;

    for (size_t page = 0; page < PAGES; page += 2) {
        at[page * 4096] = 1;
    }
    assert_ok(template_writes_of(getpid(), fd, BYTES, &list, &err), &err);
    assert_int_equal(list.len, START_WRITES_BYTES_MAX);
    assert_int_equal(wire_get_u32(list.data + list.len - 16), START_WRITES_BYTES_MAX / 8 * 2 - 4);
    assert_int_equal(wire_get_u32(list.data + list.len - 4), 0);
    assert_int_equal(munmap(at, BYTES), 0);
}

static void only_a_private_mapping_of_that_file_and_size_counts(void **state)
{
    auto_buf struct buf list = BUF_INIT(START_WRITES_BYTES_MAX);
    auto_fd int fd = file_of_pages();
    auto_fd int other = file_of_pages();
    uint8_t *shared = map(fd, MAP_SHARED);
    uint8_t *others = map(other, MAP_PRIVATE);
    struct err err = ERR_INIT;
    struct err again = ERR_INIT;

    assert_int_equal(template_writes_of(getpid(), fd, BYTES, &list, &err), -ENOENT);
    assert_int_equal(template_writes_of(getpid(), other, BYTES / 2, &list, &again), -ENOENT);
    assert_int_equal(list.len, 0);
    assert_int_equal(munmap(shared, BYTES), 0);
    assert_int_equal(munmap(others, BYTES), 0);
}

TEST_MAIN(T(pages_that_were_written_are_told_and_not_those_that_were_read),
          T(a_list_ends_where_the_monitor_takes_no_more),
          T(only_a_private_mapping_of_that_file_and_size_counts))
