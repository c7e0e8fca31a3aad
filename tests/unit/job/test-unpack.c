#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <string.h>

#include "job/unpack.h"
#include "sys/fd.h"
#include "tarball.h"
#include "test.h"

#define assert_has(err, text) assert_non_null(strstr((err).msg, (text)))

static const struct unpack_budget small = {.bytes = 64 * KIB, .entries = 8, .depth = 4};

static int unpack_bytes(const struct buf *b, const struct unpack_budget *budget, int data_fd,
                        struct unpacked *ret, struct err *err)
{
    auto_fd int fd = archive_fd(b);
    struct unpack_source source = {.fd = fd, .bytes = b->len};
    int r = unpack_prepare(err);

    return r < 0 ? r : unpack(&source, budget, data_fd, ret, err);
}

/* It is refused, and the message has the part. */
static void refused(const struct buf *b, const char *part)
{
    auto_unpacked struct unpacked u = {0};
    struct err err = ERR_INIT;

    assert_true(unpack_bytes(b, &small, -1, &u, &err) < 0);
    assert_int_equal(err.class, ERR_USAGE);
    if (strstr(err.msg, part) == NULL) {
        print_error("'%s' is not in: %s\n", part, err.msg);
        fail();
    }
    assert_null(u.entries);
}

/* What libarchive writes from two files below a directory. */
static void pack(struct buf *b, int format, int filter)
{
    static const struct {
        const char *name, *data;
    } files[] = {{"d/a", "hello"}, {"b", ""}};

    uint8_t out[16384];
    size_t used = 0;
    struct archive *a = archive_write_new();
    struct archive_entry *entry = archive_entry_new();

    assert_int_equal(archive_write_set_format(a, format), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter(a, filter), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, out, sizeof(out), &used), ARCHIVE_OK);
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        archive_entry_clear(entry);
        archive_entry_set_pathname(entry, files[i].name);
        archive_entry_set_filetype(entry, AE_IFREG);
        archive_entry_set_perm(entry, 06755);
        archive_entry_set_size(entry, (la_int64_t)strlen(files[i].data));
        assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
        assert_true(archive_write_data(a, files[i].data, strlen(files[i].data)) >= 0);
    }
    archive_entry_free(entry);
    assert_int_equal(archive_write_close(a), ARCHIVE_OK);
    assert_int_equal(archive_write_free(a), ARCHIVE_OK);
    assert_int_equal(buf_put(b, out, used), 0);
}

static void every_format_comes_out_the_same(void **state)
{
    static const struct {
        int format, filter;
    } kinds[] = {
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_NONE},
        {ARCHIVE_FORMAT_TAR_PAX_INTERCHANGE, ARCHIVE_FILTER_NONE},
        {ARCHIVE_FORMAT_TAR_GNUTAR, ARCHIVE_FILTER_GZIP},
        {ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_ZSTD},
        {ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        auto_buf struct buf b = BUF_INIT(MIB);
        auto_unpacked struct unpacked u = {0};
        auto_fd int data = memfd_create("data", MFD_CLOEXEC);
        struct err err = ERR_INIT;
        char text[6] = "";

        pack(&b, kinds[i].format, kinds[i].filter);
        assert_ok(unpack_bytes(&b, &small, data, &u, &err), &err);
        assert_int_equal(u.n, 3);
        assert_string_equal((char *)u.entries[0].name, "b");
        assert_string_equal((char *)u.entries[1].name, "d"); /* implied */
        assert_true(u.entries[1].is_dir);
        assert_string_equal((char *)u.entries[2].name, "d/a");
        assert_true(u.entries[2].bytes == 5 && u.total_bytes == 5);
        assert_int_equal(pread(data, text, 5, (off_t)u.entries[2].offset), 5);
        assert_string_equal(text, "hello");
    }
}

static void names_are_bytes_and_dot_slash_is_nothing(void **state)
{
    static const char *const names[] = {" lead", "-rf", "...", "a\nb", "bad\xc3", "d", "d/x", "t "};
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_unpacked struct unpacked u = {0};
    struct err err = ERR_INIT;

    (void)state;
    tar_dir(&b, "./");
    tar_dir(&b, "./d/");
    tar_file(&b, "./d/x", "1");
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (names[i][0] != 'd') {
            tar_file(&b, names[i], "x");
        }
    }
    tar_end(&b);
    assert_ok(unpack_bytes(&b, &small, -1, &u, &err), &err);
    assert_int_equal(u.n, ARRAY_LEN(names));
    for (size_t i = 0; i < u.n; i++) {
        assert_string_equal((char *)u.entries[i].name, names[i]);
    }
}

static void what_is_no_plain_file_or_has_no_plain_name_is_refused(void **state)
{
    static const struct {
        char kind;
        const char *name, *part;
    } cases[] = {
        {'0', "/abs", "absolute"},        {'0', "../up", "'..'"},
        {'0', "a/../b", "'..'"},          {'0', "a//b", "empty part"},
        {'0', "a/./b", "empty part"},     {'0', ".", "empty part"},
        {'0', "a/b/c/d/e", "too deep"},   {'0', "", "has no name"},
        {'1', "h", "'h' is a hard link"}, {'2', "s", "'s' is a symbolic link"},
        {'3', "c", "'c' is a device"},    {'4', "k", "'k' is a device"},
        {'6', "p", "'p' is a FIFO"},      {'S', "h", "sparse"},
        {'K', "l", "symbolic link"},      {'Z', "z", "unknown kind"},
        {'7', "c", "unknown kind"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf struct buf b = BUF_INIT(MIB);

        tar_file(&b, "good", "x");
        tar_header(&b, cases[i].kind, cases[i].name, 0);
        tar_end(&b);
        refused(&b, cases[i].part);
    }
}

static void what_stands_twice_or_below_a_file_is_refused(void **state)
{
    static const struct {
        const char *first, *second, *part;
    } cases[] = {
        {"a", "a", "'a' is there twice"},  {"a", "a/b", "'a' is a file, and others lie below it"},
        {"a/b", "a", "'a' is a file"},     {"d/", "d/", "'d' is there twice"},
        {"d/", "d", "'d' is there twice"}, {"./a", "a", "'a' is there twice"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf struct buf b = BUF_INIT(MIB);
        const char *names[] = {cases[i].first, cases[i].second};

        for (size_t k = 0; k < 2; k++) {
            if (names[k][strlen(names[k]) - 1] == '/') {
                tar_dir(&b, names[k]);
            } else {
                tar_file(&b, names[k], "x");
            }
        }
        tar_end(&b);
        refused(&b, cases[i].part);
    }
}

static void budgets_hold_at_their_edge(void **state)
{
    static const char *const names[] = {"a/1", "b/2", "c/3", "d/4"};

    (void)state;
    for (int over = 0; over < 5; over++) {
        auto_buf struct buf b = BUF_INIT(MIB);
        auto_unpacked struct unpacked u = {0};
        struct unpack_budget budget = {.bytes = 8, .entries = 4, .depth = 2};
        struct err err = ERR_INIT;

        for (size_t i = 0; i < ARRAY_LEN(names); i++) {
            tar_file(&b, names[i], "xy");
        }
        budget.bytes -= over == 1;
        budget.entries -= over == 2;
        budget.depth -= over == 3;
        if (over == 4) {
            tar_dir(&b, "e"); /* the fifth directory, with the implied ones */
        }
        tar_end(&b);
        if (over == 0) {
            assert_ok(unpack_bytes(&b, &budget, -1, &u, &err), &err);
            assert_int_equal(u.n, 8);
            continue;
        }
        assert_true(unpack_bytes(&b, &budget, -1, &u, &err) < 0);
        assert_int_equal(err.class, ERR_USAGE);
        assert_has(err, over == 1   ? "'d/4' goes over the 7"
                        : over == 2 ? "'d/4' is one too many"
                        : over == 3 ? "lies too deep"
                                    : "more than 4 directories");
    }
}

/* The sizes of the archive decide: what a few bytes turn into is a bomb before the budget ends. */
static void a_bomb_is_stopped_by_its_ratio(void **state)
{
    auto_buf struct buf tar = BUF_INIT(32 * MIB);
    auto_buf struct buf b = BUF_INIT(32 * MIB);
    auto_unpacked struct unpacked u = {0};
    const struct unpack_budget budget = {.bytes = 64 * MIB, .entries = 8, .depth = 4};
    size_t len = (size_t)(16 * MIB);
    auto_free char *zeros = calloc(1, len);
    struct err err = ERR_INIT;
    size_t used = 0;
    uint8_t *at = NULL;
    struct archive *a = archive_write_new();
    struct archive_entry *entry = archive_entry_new();

    (void)state;
    tar_header(&tar, '0', "zeros", len);
    tar_body(&tar, zeros, len);
    tar_end(&tar);
    assert_int_equal(buf_reserve(&b, (size_t)MIB, &at), 0);
    assert_int_equal(archive_write_set_format_raw(a), ARCHIVE_OK);
    assert_int_equal(archive_write_add_filter_gzip(a), ARCHIVE_OK);
    assert_int_equal(archive_write_open_memory(a, at, (size_t)MIB, &used), ARCHIVE_OK);
    archive_entry_set_filetype(entry, AE_IFREG);
    assert_int_equal(archive_write_header(a, entry), ARCHIVE_OK);
    assert_int_equal(archive_write_data(a, tar.data, tar.len), (la_ssize_t)tar.len);
    archive_entry_free(entry);
    assert_int_equal(archive_write_free(a), ARCHIVE_OK);
    b.len = used;
    assert_true(used * UNPACK_RATIO < len);
    assert_true(unpack_bytes(&b, &budget, -1, &u, &err) < 0);
    assert_int_equal(err.class, ERR_USAGE);
    assert_has(err, "200 times its size");
}

static void headers_that_lie_are_refused(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);

    (void)state;
    for (int lie = 0; lie < 6; lie++) {
        b.len = 0;
        tar_header(&b, lie == 5 ? '5' : '0', "f", lie == 0 ? 1000 : lie == 5 ? 3 : 0);
        switch (lie) {
        case 0: /* more than there is */
            tar_body(&b, "abc", 3);
            refused(&b, "runcated");
            continue;
        case 1:
            b.data[0] ^= 1;
            refused(&b, "checksum");
            continue;
        case 2: /* base-256, negative */
            memset(b.data + 124, 0xff, 12);
            break;
        case 3: /* base-256, 2^63 */
            memset(b.data + 124, 0, 12);
            b.data[124] = 0x80;
            b.data[128] = 0x80;
            break;
        case 4:
            memcpy(b.data + 124, "99zz", 4);
            break;
        default:
            tar_body(&b, "abc", 3);
            refused(&b, "a directory with data");
            continue;
        }
        tar_sum(b.data);
        tar_end(&b);
        refused(&b, "its size is not a number");
    }
}

static void pax_records_that_lie_are_refused(void **state)
{
    static const struct {
        const char *text;
        size_t len;
        const char *part;
    } cases[] = {
        {"16 path=good\0/b\n", 16, "a NUL in it"},
        {"0 path=x\n", 9, "the length of a pax record"},
        {"99 path=x\n", 10, "the length of a pax record"},
        {"010 path=x\n", 11, "the length of a pax record"},
        {"10 path=x\nrest", 14, "the length of a pax record"},
        {"-9 path=x\n", 10, "the length of a pax record"},
        {"9 =value\n", 9, "without a key"},
        {"11 size=99\n", 11, "'size'"},
        {"22 GNU.sparse.major=1\n", 22, "'GNU.sparse.major'"},
        {"14 path=../up\n", 14, "'..'"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf struct buf b = BUF_INIT(MIB);

        tar_pax(&b, cases[i].text, cases[i].len);
        tar_file(&b, "safe", "x");
        tar_end(&b);
        refused(&b, cases[i].part);
    }
}

static void nothing_hides_behind_the_end_or_in_front(void **state)
{
    auto_buf struct buf tar = BUF_INIT(MIB);
    auto_buf struct buf zip = BUF_INIT(MIB);
    auto_buf struct buf gz = BUF_INIT(MIB);
    auto_buf struct buf zst = BUF_INIT(MIB);
    size_t n = 0;

    (void)state;
    tar_file(&tar, "a", "x");
    tar_end(&tar);
    tar_file(&tar, "b", "hidden");
    refused(&tar, "something follows its end");

    pack(&gz, ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP);
    n = gz.len;
    assert_int_equal(buf_put(&gz, "junk", 4), 0);
    refused(&gz, "gzip");
    gz.len = n;
    gz.data[n - 8] ^= 1; /* its checksum */
    refused(&gz, "gzip: checksum");
    gz.data[n - 8] ^= 1;
    gz.len = n - 9;
    refused(&gz, "gzip");
    gz.len = n;
    assert_int_equal(buf_put(&gz, "", 0), 0);
    pack(&gz, ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_GZIP); /* a second member */
    refused(&gz, "something follows its end");

    pack(&zst, ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_ZSTD);
    assert_int_equal(buf_put(&zst, "junk", 4), 0);
    refused(&zst, "Zstd");

    pack(&zip, ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE);
    assert_int_equal(buf_put(&zip, "junk", 4), 0);
    refused(&zip, "zip: its directory does not end it");
    zip.len -= 6;
    refused(&zip, "zip: its directory does not end it");
}

static void other_formats_are_refused_and_a_zip_where_a_tar_is_wanted(void **state)
{
    static const struct unpack_budget tar_only = {
        .bytes = 64 * KIB, .entries = 8, .depth = 4, .tar_only = true};
    auto_buf struct buf cpio = BUF_INIT(MIB);
    auto_buf struct buf xz = BUF_INIT(MIB);
    auto_buf struct buf zip = BUF_INIT(MIB);
    auto_unpacked struct unpacked u = {0};
    struct err err = ERR_INIT;

    (void)state;
    pack(&cpio, ARCHIVE_FORMAT_CPIO_SVR4_NOCRC, ARCHIVE_FILTER_NONE);
    refused(&cpio, "");
    pack(&xz, ARCHIVE_FORMAT_TAR_USTAR, ARCHIVE_FILTER_XZ);
    refused(&xz, "");
    pack(&zip, ARCHIVE_FORMAT_ZIP, ARCHIVE_FILTER_NONE);
    assert_true(unpack_bytes(&zip, &tar_only, -1, &u, &err) < 0);
    assert_has(err, "it is a zip, not a tar");
}

static void an_empty_file_and_a_tar_without_end_are_taken(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_unpacked struct unpacked none = {0};
    auto_unpacked struct unpacked one = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(buf_put(&b, "", 0), 0);
    assert_ok(unpack_bytes(&b, &small, -1, &none, &err), &err);
    assert_int_equal(none.n, 0);
    tar_file(&b, "a", "x");
    assert_ok(unpack_bytes(&b, &small, -1, &one, &err), &err);
    assert_int_equal(one.n, 1);
}

static void an_answer_is_decoded_and_one_that_lies_is_refused(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_buf struct buf answer = BUF_INIT(MIB);
    auto_unpacked struct unpacked u = {0};
    auto_unpacked struct unpacked back = {0};
    struct err err = ERR_INIT;

    (void)state;
    tar_file(&b, "d/a", "12345");
    tar_file(&b, "d/b", "6");
    assert_ok(unpack_bytes(&b, &small, -1, &u, &err), &err);
    assert_ok(unpacked_encode(&u, &answer, &err), &err);
    assert_true(answer.len <= unpacked_encoded_max(&small));
    assert_ok(unpacked_decode(answer.data, answer.len, 6, &small, &back, &err), &err);
    assert_int_equal(back.n, 3);
    assert_true(back.total_bytes == 6);
    for (int lie = 0; lie < 7; lie++) {
        auto_unpacked struct unpacked bad = {0};
        auto_free uint8_t *copy = malloc(answer.len + 1);
        struct unpack_budget budget = small;
        size_t len = answer.len;
        uint64_t data = 6;

        err = (struct err)ERR_INIT;
        memcpy(copy, answer.data, len);
        budget.depth = lie == 0 ? 1 : budget.depth;
        budget.bytes = lie == 1 ? 5 : budget.bytes;
        budget.entries = lie == 2 ? 1 : budget.entries;
        data -= lie == 3;
        len -= lie == 4;
        if (lie == 5) {
            copy[4 + 21] = 'e'; /* the directory is another one */
        }
        if (lie == 6) {
            copy[len - 1] = 'a'; /* the name of the one before */
        }
        assert_int_equal(unpacked_decode(copy, len, data, &budget, &bad, &err), -EPROTO);
        assert_int_equal(err.class, ERR_HOST);
    }
}

TEST_MAIN(T(every_format_comes_out_the_same), T(names_are_bytes_and_dot_slash_is_nothing),
          T(what_is_no_plain_file_or_has_no_plain_name_is_refused),
          T(what_stands_twice_or_below_a_file_is_refused), T(budgets_hold_at_their_edge),
          T(a_bomb_is_stopped_by_its_ratio), T(headers_that_lie_are_refused),
          T(pax_records_that_lie_are_refused), T(nothing_hides_behind_the_end_or_in_front),
          T(other_formats_are_refused_and_a_zip_where_a_tar_is_wanted),
          T(an_empty_file_and_a_tar_without_end_are_taken),
          T(an_answer_is_decoded_and_one_that_lies_is_refused))
