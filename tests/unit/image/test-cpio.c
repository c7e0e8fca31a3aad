#include <errno.h>
#include <string.h>

#include "image/cpio.h"
#include "test.h"

/* The archive's text at an offset, which must be inside. */
static const char *at(const struct cpio *cpio, size_t offset)
{
    assert_true(offset < cpio->out.len);
    return (const char *)cpio->out.data + offset;
}

static void a_file_is_header_name_and_data_each_padded_to_four(void **state)
{
    auto_cpio struct cpio cpio = CPIO_INIT(MIB);

    (void)state;
    assert_int_equal(cpio_file(&cpio, "init", 0755, "hello", 5), 0);
    assert_memory_equal(at(&cpio, 0), "070701", 6);
    assert_memory_equal(at(&cpio, 6), "00000001", 8);          /* inode */
    assert_memory_equal(at(&cpio, 14), "000081ed", 8);         /* S_IFREG | 0755 */
    assert_memory_equal(at(&cpio, 6 + 8 * 5), "00000000", 8);  /* time */
    assert_memory_equal(at(&cpio, 6 + 8 * 6), "00000005", 8);  /* size */
    assert_memory_equal(at(&cpio, 6 + 8 * 11), "00000005", 8); /* name with its NUL */
    assert_memory_equal(at(&cpio, 110), "init\0\0", 6);
    assert_memory_equal(at(&cpio, 116), "hello\0\0\0", 8);
    assert_int_equal(cpio.out.len, 124);
}

static void directories_and_devices_carry_their_type(void **state)
{
    auto_cpio struct cpio cpio = CPIO_INIT(MIB);

    (void)state;
    assert_int_equal(cpio_dir(&cpio, "dev", 0755), 0);
    assert_memory_equal(at(&cpio, 14), "000041ed", 8);
    assert_int_equal(cpio.out.len, 116);
    assert_int_equal(cpio_char_device(&cpio, "dev/console", 0600, 5, 1), 0);
    assert_memory_equal(at(&cpio, 116 + 14), "00002180", 8);
    assert_memory_equal(at(&cpio, 116 + 6 + 8 * 9), "0000000500000001", 16);
}

static void an_archive_ends_with_its_mark_and_another_may_follow(void **state)
{
    auto_cpio struct cpio cpio = CPIO_INIT(MIB);

    (void)state;
    assert_int_equal(cpio_file(&cpio, "a", 0644, NULL, 0), 0);
    assert_int_equal(cpio_end(&cpio), 0);
    assert_int_equal(cpio.out.len % 512, 0);
    assert_non_null(memmem(cpio.out.data, cpio.out.len, "TRAILER!!!", 11));
}

static void equal_contents_give_equal_bytes(void **state)
{
    auto_cpio struct cpio a = CPIO_INIT(MIB);
    auto_cpio struct cpio b = CPIO_INIT(MIB);

    (void)state;
    assert_int_equal(cpio_file(&a, "x", 0644, "1", 1) + cpio_end(&a), 0);
    assert_int_equal(cpio_file(&b, "x", 0644, "1", 1) + cpio_end(&b), 0);
    assert_int_equal(a.out.len, b.out.len);
    assert_memory_equal(a.out.data, b.out.data, a.out.len);
}

static void too_much_is_refused(void **state)
{
    auto_cpio struct cpio cpio = CPIO_INIT(200);
    char data[200] = {0};

    (void)state;
    assert_int_equal(cpio_file(&cpio, "x", 0644, data, sizeof(data)), -ENOBUFS);
}

TEST_MAIN(T(a_file_is_header_name_and_data_each_padded_to_four),
          T(directories_and_devices_carry_their_type),
          T(an_archive_ends_with_its_mark_and_another_may_follow),
          T(equal_contents_give_equal_bytes), T(too_much_is_refused))
