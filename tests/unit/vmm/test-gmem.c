#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sys/fd.h"
#include "test.h"
#include "vmm/gmem.h"
#include "vmm/layout.h"

#define SIZE (32 * MIB)

/* A machine with RAM on both sides of the hole; its pages cost nothing until they are touched. */
#define BIG_SIZE (LAYOUT_LOW_MAX + 64 * MIB)

static struct gmem map(uint64_t size)
{
    struct gmem mem = GMEM_INIT;
    struct err err = ERR_INIT;

    assert_ok(gmem_map(-1, false, size, &mem, &err), &err);
    return mem;
}

/* V1 */
static void an_access_is_refused_unless_all_of_it_is_ram(void **state)
{
    auto_gmem struct gmem mem = map(SIZE);
    uint8_t data[16] = {0};
    struct iovec iov;

    assert_true(gmem_has(&mem, 0, SIZE));
    assert_false(gmem_has(&mem, 0, SIZE + 1));
    assert_false(gmem_has(&mem, 1, SIZE));
    assert_int_equal(gmem_read(&mem, SIZE - sizeof(data), data, sizeof(data)), 0);
    assert_int_equal(gmem_read(&mem, SIZE - sizeof(data) + 1, data, sizeof(data)), -EFAULT);
    assert_int_equal(gmem_write(&mem, SIZE - sizeof(data) + 1, data, sizeof(data)), -EFAULT);
    assert_int_equal(gmem_iov(&mem, SIZE - 1, 2, &iov), -EFAULT);
    assert_int_equal(gmem_read(&mem, LAYOUT_MMIO_BASE, data, 4), -EFAULT);
    assert_int_equal(gmem_read(&mem, LAYOUT_HIGH_BASE, data, 4), -EFAULT);
}

/* V1 */
static void an_access_that_wraps_is_refused(void **state)
{
    auto_gmem struct gmem mem = map(BIG_SIZE);

    assert_false(gmem_has(&mem, UINT64_MAX, 2));
    assert_false(gmem_has(&mem, UINT64_MAX, 1));
    assert_false(gmem_has(&mem, UINT64_MAX - 0xfff, 0x2000));
    assert_false(gmem_has(&mem, 0x1000, UINT64_MAX));
    assert_false(gmem_has(&mem, LAYOUT_HIGH_BASE, UINT64_MAX - LAYOUT_HIGH_BASE + 1));
    assert_false(gmem_has(&mem, LAYOUT_HIGH_BASE, UINT64_MAX));
}

/* V1 */
static void no_access_crosses_the_hole(void **state)
{
    auto_gmem struct gmem mem = map(BIG_SIZE);
    uint64_t high_end = LAYOUT_HIGH_BASE + 64 * MIB;

    assert_true(gmem_has(&mem, LAYOUT_LOW_MAX - 8, 8));
    assert_false(gmem_has(&mem, LAYOUT_LOW_MAX - 8, 9));
    assert_false(gmem_has(&mem, LAYOUT_LOW_MAX, 1));
    assert_false(gmem_has(&mem, LAYOUT_HIGH_BASE - 1, 1));
    assert_false(gmem_has(&mem, LAYOUT_HIGH_BASE - 1, 2));
    assert_true(gmem_has(&mem, LAYOUT_HIGH_BASE, 64 * MIB));
    assert_false(gmem_has(&mem, LAYOUT_HIGH_BASE, 64 * MIB + 1));
    assert_true(gmem_has(&mem, high_end - 1, 1));
    assert_false(gmem_has(&mem, high_end - 1, 2));
    assert_false(gmem_has(&mem, LAYOUT_LOW_MAX - 1, high_end - LAYOUT_LOW_MAX));
}

/* V3 */
static void no_bytes_are_there_inside_and_at_the_end_alone(void **state)
{
    auto_gmem struct gmem mem = map(BIG_SIZE);

    assert_true(gmem_has(&mem, 0, 0));
    assert_true(gmem_has(&mem, LAYOUT_LOW_MAX, 0));
    assert_false(gmem_has(&mem, LAYOUT_LOW_MAX + 1, 0));
    assert_true(gmem_has(&mem, LAYOUT_HIGH_BASE + 64 * MIB, 0));
    assert_false(gmem_has(&mem, LAYOUT_HIGH_BASE + 64 * MIB + 1, 0));
    assert_false(gmem_has(&mem, UINT64_MAX, 0));
}

static void the_ranges_are_the_file_without_its_hole(void **state)
{
    auto_gmem struct gmem mem = map(BIG_SIZE);
    uint8_t byte = 7;

    assert_int_equal(gmem_write(&mem, LAYOUT_LOW_MAX - 1, &byte, 1), 0);
    byte = 9;
    assert_int_equal(gmem_write(&mem, LAYOUT_HIGH_BASE, &byte, 1), 0);
    assert_int_equal(mem.base[LAYOUT_LOW_MAX - 1], 7);
    assert_int_equal(mem.base[LAYOUT_LOW_MAX], 9);
}

static void what_is_written_is_read(void **state)
{
    auto_gmem struct gmem mem = map(SIZE);
    char text[6] = "";
    struct iovec iov;
    uint16_t v = 0;

    assert_int_equal(gmem_write(&mem, 0x1ffe, "hello", 6), 0);
    assert_int_equal(gmem_read(&mem, 0x1ffe, text, 6), 0);
    assert_string_equal(text, "hello");
    assert_int_equal(gmem_iov(&mem, 0x1ffe, 6, &iov), 0);
    assert_memory_equal(iov.iov_base, "hello", 6);
    assert_int_equal(gmem_store16(&mem, 0x4000, 0xabcd), 0);
    assert_int_equal(gmem_load16(&mem, 0x4000, &v), 0);
    assert_int_equal(v, 0xabcd);
    assert_int_equal(gmem_read(&mem, 0x4000, text, 2), 0);
    assert_memory_equal(text, "\xcd\xab", 2);
}

/* V7 */
static void an_index_is_at_an_even_address_in_ram(void **state)
{
    auto_gmem struct gmem mem = map(SIZE);
    uint16_t v = 5;

    assert_int_equal(gmem_load16(&mem, 0x4001, &v), -EFAULT);
    assert_int_equal(gmem_store16(&mem, 0x4001, 1), -EFAULT);
    assert_int_equal(gmem_load16(&mem, SIZE, &v), -EFAULT);
    assert_int_equal(gmem_store16(&mem, SIZE, 1), -EFAULT);
    assert_int_equal(gmem_load16(&mem, UINT64_MAX - 1, &v), -EFAULT);
    assert_int_equal(gmem_load16(&mem, SIZE - 2, &v), 0);
    assert_int_equal(v, 0);
}

static void a_private_mapping_leaves_its_file_alone_and_a_shared_one_does_not(void **state)
{
    auto_gmem struct gmem private_mem = GMEM_INIT;
    auto_gmem struct gmem shared_mem = GMEM_INIT;
    struct err err = ERR_INIT;
    int fd = memfd_create("memory", MFD_CLOEXEC);
    uint8_t byte = 0;

    assert_int_equal(ftruncate(fd, (off_t)SIZE), 0);
    assert_ok(gmem_map(fd, false, SIZE, &private_mem, &err), &err);
    assert_ok(gmem_map(fd, true, SIZE, &shared_mem, &err), &err);
    assert_int_equal(gmem_write(&private_mem, 10, "p", 1), 0);
    assert_int_equal(pread(fd, &byte, 1, 10), 1);
    assert_int_equal(byte, 0);
    assert_int_equal(gmem_write(&shared_mem, 10, "s", 1), 0);
    assert_int_equal(pread(fd, &byte, 1, 10), 1);
    assert_int_equal(byte, 's');
    assert_int_equal(gmem_read(&private_mem, 10, &byte, 1), 0);
    assert_int_equal(byte, 'p');
    (void)close(fd);
}

static void a_file_shorter_than_the_machine_is_refused(void **state)
{
    struct gmem mem = GMEM_INIT;
    struct err err = ERR_INIT;
    int fd = memfd_create("memory", MFD_CLOEXEC);

    assert_int_equal(ftruncate(fd, (off_t)SIZE - 4096), 0);
    assert_true(gmem_map(fd, false, SIZE, &mem, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "its file has"));
    assert_null(mem.base);
    (void)close(fd);
    err = (struct err)ERR_INIT;
    assert_true(gmem_map(fd, false, SIZE, &mem, &err) < 0);
    assert_int_equal(err.class, ERR_HOST);
    assert_null(mem.base);
}

static void a_size_that_no_machine_has_is_refused(void **state)
{
    static const uint64_t sizes[] = {
        0, 4096, LAYOUT_RAM_MIN - 4096, SIZE + 1, LAYOUT_RAM_MAX + 4096, UINT64_MAX, 0 - (4 * MIB)};

    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct gmem mem = GMEM_INIT;
        struct err err = ERR_INIT;

        assert_true(gmem_map(-1, false, sizes[i], &mem, &err) < 0);
        assert_int_equal(err.class, ERR_USAGE);
        assert_null(mem.base);
    }
}

/* The signal that a write of one byte ends with, in a process of its own; 0: none. */
static int signal_of_write(volatile uint8_t *at)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        (void)signal(SIGSEGV, SIG_DFL);
        (void)signal(SIGBUS, SIG_DFL);
        *at = 1;
        _exit(0);
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void beside_the_memory_nothing_can_be_touched(void **state)
{
    auto_gmem struct gmem mem = map(SIZE + 4096);

    assert_int_equal((uintptr_t)mem.base % (2 * MIB), 0);
    assert_int_equal(signal_of_write(mem.base), 0);
    assert_int_equal(signal_of_write(mem.base + SIZE + 4095), 0);
    assert_int_equal(signal_of_write(mem.base - 1), SIGSEGV);
    assert_int_equal(signal_of_write(mem.base - 2 * MIB), SIGSEGV);
    assert_int_equal(signal_of_write(mem.base + SIZE + 4096), SIGSEGV);
    assert_int_equal(signal_of_write(mem.base + SIZE + 4095 + 2 * MIB), SIGSEGV);
}

static void nothing_is_left_of_a_mapping_that_was_given_up(void **state)
{
    struct gmem mem = map(SIZE);
    uint8_t *base = mem.base;
    unsigned char resident = 0;

    gmem_fini(&mem);
    assert_null(mem.base);
    assert_false(gmem_has(&mem, 0, 1));
    assert_int_equal(mincore(base, 4096, &resident), -1);
    assert_int_equal(errno, ENOMEM);
    assert_int_equal(mincore(base - 2 * MIB, 4096, &resident), -1);
    assert_int_equal(mincore(base + SIZE + 2 * MIB - 4096, 4096, &resident), -1);
    gmem_fini(&mem);
}

/* A list of ranges as the supervisor hands it over, with something else behind it. */
static int list_of(const uint32_t *numbers, size_t n)
{
    int fd = memfd_create("list", MFD_CLOEXEC);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, numbers, n * sizeof(*numbers)), n * sizeof(*numbers));
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static bool is_own_page(const uint8_t *at)
{
    auto_fd int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    uint64_t entry = 0;

    assert_int_equal(pread(fd, &entry, sizeof(entry), (off_t)((uintptr_t)at / 4096 * 8)), 8);
    return (entry >> 63) == 1 && (entry >> 61 & 1) == 0;
}

static void pages_of_a_list_are_copied_before_they_are_written(void **state)
{
    static const uint32_t ranges[] = {3, 2, 8191, 1, 0, 0, 7, 1};
    auto_fd int file = memfd_create("memory", MFD_CLOEXEC);
    auto_fd int list = list_of(ranges, ARRAY_LEN(ranges));
    struct gmem mem = GMEM_INIT;
    struct err err = ERR_INIT;

    assert_int_equal(ftruncate(file, SIZE), 0);
    assert_int_equal(pwrite(file, "saved", 5, 3 * 4096), 5);
    assert_ok(gmem_map(file, false, SIZE, &mem, &err), &err);
    assert_ok(gmem_copy_ahead(&mem, list, &err), &err);
    for (uint32_t page = 2; page < 8; page++) {
        assert_int_equal(is_own_page(mem.base + (size_t)page * 4096), page == 3 || page == 4);
    }
    assert_true(is_own_page(mem.base + SIZE - 4096));
    assert_memory_equal(mem.base + 3 * 4096, "saved", 5);
    gmem_fini(&mem);
}

static void a_list_of_other_pages_or_without_an_end_is_refused(void **state)
{
    static const uint32_t lists[][4] = {{8192, 1, 0, 0},
                                        {8191, 2, 0, 0},
                                        {UINT32_MAX, 2, 0, 0},
                                        {0, UINT32_MAX, 0, 0},
                                        {0, 1, 1, 1}};
    auto_fd int file = memfd_create("memory", MFD_CLOEXEC);
    struct gmem mem = GMEM_INIT;

    assert_int_equal(ftruncate(file, SIZE), 0);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        struct err err = ERR_INIT;
        auto_fd int list = list_of(lists[i], ARRAY_LEN(lists[i]));

        assert_ok(gmem_map(file, false, SIZE, &mem, &err), &err);
        assert_int_equal(gmem_copy_ahead(&mem, list, &err), -EPROTO);
        assert_int_equal(err.class, ERR_HOST);
        assert_non_null(strstr(err.msg, "it has no page"));
        gmem_fini(&mem);
    }
}

TEST_MAIN(T(an_access_is_refused_unless_all_of_it_is_ram), T(an_access_that_wraps_is_refused),
          T(no_access_crosses_the_hole), T(no_bytes_are_there_inside_and_at_the_end_alone),
          T(the_ranges_are_the_file_without_its_hole), T(what_is_written_is_read),
          T(an_index_is_at_an_even_address_in_ram),
          T(a_private_mapping_leaves_its_file_alone_and_a_shared_one_does_not),
          T(a_file_shorter_than_the_machine_is_refused), T(a_size_that_no_machine_has_is_refused),
          T(beside_the_memory_nothing_can_be_touched),
          T(nothing_is_left_of_a_mapping_that_was_given_up),
          T(pages_of_a_list_are_copied_before_they_are_written),
          T(a_list_of_other_pages_or_without_an_end_is_refused))
