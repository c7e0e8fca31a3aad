#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "sys/digest.h"
#include "sys/fd.h"
#include "test.h"

/* FIPS 180-2, appendix B. */
#define ABC   "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
#define EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

static void known_answers_come_out(void **state)
{
    struct digest d;

    (void)state;
    digest_of_data("abc", 3, &d);
    assert_string_equal(d.hex, ABC);
    digest_of_data(NULL, 0, &d);
    assert_string_equal(d.hex, EMPTY);
}

static void a_file_is_read_from_its_start_wherever_it_stands(void **state)
{
    struct digest of_file;
    struct digest of_data;
    struct err err = ERR_INIT;
    auto_fd int dir = -1;
    auto_fd int fd = -1;
    size_t len = 300000;
    auto_free char *data = calloc(1, len);
    uint64_t bytes = 0;

    (void)state;
    assert_non_null(data);
    data[len - 1] = 'x';
    assert_ok(fd_open(AT_FDCWD, "/tmp", O_DIRECTORY, 0, &dir, &err), &err);
    assert_ok(fd_open_tmp(dir, &fd, &err), &err);
    assert_ok(fd_write_full(fd, data, len, &err), &err);
    assert_ok(digest_of_fd(fd, &of_file, &bytes, &err), &err);
    digest_of_data(data, len, &of_data);
    assert_int_equal(bytes, len);
    assert_true(digest_equal(&of_file, &of_data));
    assert_int_equal(lseek(fd, 0, SEEK_CUR), len);
}

static void hex_is_exactly_64_lower_case_digits(void **state)
{
    char upper[] = ABC;

    (void)state;
    upper[0] = 'B';
    assert_true(digest_is_hex(ABC));
    assert_false(digest_is_hex(upper));
    assert_false(digest_is_hex(""));
    assert_false(digest_is_hex(ABC "0"));
    assert_false(digest_is_hex("g" ABC));
}

static void an_empty_digest_equals_nothing(void **state)
{
    struct digest a = {""};
    struct digest b = {ABC};

    (void)state;
    assert_false(digest_equal(&a, &a));
    assert_false(digest_equal(&a, &b));
    assert_true(digest_equal(&b, &b));
}

TEST_MAIN(T(known_answers_come_out), T(a_file_is_read_from_its_start_wherever_it_stands),
          T(hex_is_exactly_64_lower_case_digits), T(an_empty_digest_equals_nothing))
