/* The scratch filesystem: what is written from memory is what mke2fs writes. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job/scratch.h"
#include "sys/digest.h"
#include "sys/fd.h"
#include "test.h"
#include "workdir.h"

static struct spec_limits limits_of(uint64_t bytes, uint64_t inodes)
{
    struct spec spec;
    struct spec_limits limits;

    spec_init(&spec);
    limits = spec.limits;
    spec_fini(&spec);
    limits.disk_bytes = bytes;
    limits.inodes = inodes;
    return limits;
}

/* Makes one; ret is the digest of the disk as far as the filesystem goes. True if mke2fs ran. */
static bool make(const struct spec_limits *limits, int memo_dirfd, struct digest *ret)
{
    auto_scratch struct scratch scratch = SCRATCH_INIT;
    struct err err = ERR_INIT;
    auto_fd int tmp = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    auto_fd int fd = -1;
    uint64_t bytes = 0;
    bool ran = false;

    assert_ok(scratch_open(tmp, &fd, &err), &err);
    assert_ok(scratch_start(limits, fd, memo_dirfd, &scratch, &err), &err);
    ran = scratch.proc.pid != 0;
    assert_ok(scratch_finish(&scratch, &err), &err);
    assert_int_equal(ftruncate(fd, (off_t)limits->disk_bytes), 0);
    assert_ok(digest_of_fd(fd, ret, &bytes, &err), &err);
    return ran;
}

static void one_from_memory_is_byte_for_byte_that_of_mke2fs(void **state)
{
    static const struct {
        uint64_t bytes, inodes;
    } sizes[] = {{64 * MIB, 4096}, {4 * MIB, 16}, {1024 * MIB, 4096}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        const struct spec_limits limits = limits_of(sizes[i].bytes, sizes[i].inodes);
        auto_fd int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        struct digest is[3];

        assert_true(make(&limits, -1, &is[0]));
        assert_true(make(&limits, here, &is[1])); /* other sizes were remembered, or none */
        assert_false(make(&limits, here, &is[2]));
        assert_string_equal(is[0].hex, is[1].hex);
        assert_string_equal(is[0].hex, is[2].hex);
    }
}

static void a_damaged_memory_is_mke2fs_again(void **state)
{
    const struct spec_limits limits = limits_of(64 * MIB, 4096);
    auto_fd int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct digest is[3];

    (void)state;
    assert_true(make(&limits, here, &is[0]));
    {
        auto_fd int memo = open("memo/scratch", O_WRONLY | O_CLOEXEC);

        assert_true(memo >= 0);
        assert_int_equal(pwrite(memo, "X", 1, 20000), 1);
    }
    assert_true(make(&limits, here, &is[1]));
    assert_false(make(&limits, here, &is[2]));
    assert_string_equal(is[0].hex, is[1].hex);
    assert_string_equal(is[0].hex, is[2].hex);
}

TEST_MAIN(D(one_from_memory_is_byte_for_byte_that_of_mke2fs), D(a_damaged_memory_is_mke2fs_again))
