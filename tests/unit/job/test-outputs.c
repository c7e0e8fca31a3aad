#include <errno.h>
#include <string.h>

#include "job/outputs.h"
#include "job/spec.h"
#include "stream.h"
#include "sys/fd.h"
#include "test.h"

#define assert_has(err, text) assert_non_null(strstr((err).msg, (text)))

static int inspect(const struct buf *b, const struct spec_limits *limits, struct outputs *ret,
                   struct err *err)
{
    auto_fd int fd = stream_fd(b);
    struct spec spec;

    int r = 0;

    spec_init(&spec);
    r = outputs_inspect(fd, b->len, limits != NULL ? limits : &spec.limits, ret, err);
    return r < 0 ? r : outputs_digest(fd, ret, err);
}

static void files_and_directories_are_listed_with_digests(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;

    (void)state;
    stream_put(&b, OUTAR_FILE, "a", "abc");
    stream_put(&b, OUTAR_DIR, "d", "");
    stream_put(&b, OUTAR_FILE, "d/ -\xff\n", "");
    stream_end(&b);
    assert_ok(inspect(&b, NULL, &o, &err), &err);
    assert_int_equal(o.n_items, 3);
    assert_int_equal(o.n_dropped, 0);
    assert_true(o.total_bytes == 3);
    assert_string_equal(o.items[0].digest.hex,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_true(o.items[0].offset == OUTAR_HEADER_SIZE + 1);
    assert_true(o.items[1].is_dir);
    assert_string_equal(o.items[1].digest.hex, "");
    assert_string_equal((char *)o.items[2].name, "d/ -\xff\n");
    assert_string_equal(o.items[2].digest.hex,
                        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void an_empty_stream_is_no_outputs(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;

    (void)state;
    stream_end(&b);
    assert_ok(inspect(&b, NULL, &o, &err), &err);
    assert_int_equal(o.n_items, 0);
}

static void what_cannot_be_where_it_says_is_dropped_with_a_reason(void **state)
{
    static const struct {
        const char *name, *why;
    } dropped[] = {
        {"link", "not a regular file"},
        {"a", "a second entry of that name"},
        {"a/b", "lies below a file"},
        {"gone/x", "lies below a directory that was not sent"},
        {"link/x", "lies below a directory that was not sent"},
        {"late/x", "lies below a directory that was not sent"},
        {"d", "a second entry of that name"},
        {"d/s/u", "lies below a file"},
    };
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;

    (void)state;
    stream_put(&b, OUTAR_FILE, "a", "first");
    stream_put(&b, OUTAR_OTHER, "link", "");
    stream_put(&b, OUTAR_FILE, "a", "second");
    stream_put(&b, OUTAR_DIR, "a/b", "");
    stream_put(&b, OUTAR_FILE, "gone/x", "");
    stream_put(&b, OUTAR_FILE, "link/x", "");
    stream_put(&b, OUTAR_FILE, "late/x", "");
    stream_put(&b, OUTAR_DIR, "late", "");
    stream_put(&b, OUTAR_DIR, "d", "");
    stream_put(&b, OUTAR_FILE, "d", "x");
    stream_put(&b, OUTAR_FILE, "d/s", "");
    stream_put(&b, OUTAR_FILE, "d/s/u", "");
    stream_end(&b);
    assert_ok(inspect(&b, NULL, &o, &err), &err);
    assert_int_equal(o.n_items, 4);
    assert_string_equal((char *)o.items[0].name, "a");
    assert_true(o.items[0].bytes == 5);
    assert_int_equal(o.n_dropped, ARRAY_LEN(dropped));
    for (size_t i = 0; i < o.n_dropped; i++) {
        assert_string_equal((char *)o.dropped[i].name, dropped[i].name);
        assert_string_equal(o.dropped[i].why, dropped[i].why);
    }
    assert_true(o.total_bytes == 5);
}

static void children_of_a_dropped_directory_are_dropped(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;
    char name[300];

    (void)state;
    memset(name, 'n', sizeof(name));
    name[256] = '\0';
    stream_put(&b, OUTAR_DIR, name, "");
    memcpy(name + 256, "/x", 3);
    stream_put(&b, OUTAR_FILE, name, "");
    stream_put(&b, OUTAR_DIR, "no/d", "");
    stream_put(&b, OUTAR_FILE, "no/d/x", "");
    stream_end(&b);
    assert_ok(inspect(&b, NULL, &o, &err), &err);
    assert_int_equal(o.n_items, 0);
    assert_int_equal(o.n_dropped, 4);
}

static void refuse_name(const char *name, size_t len)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;

    stream_record(&b,
                  &(struct outar_header){.kind = OUTAR_FILE, .name_len = (uint32_t)len, .size = 0},
                  name, "", 0);
    stream_end(&b);
    assert_int_equal(inspect(&b, NULL, &o, &err), -EPROTO);
    assert_int_equal(err.class, ERR_GUEST);
    assert_null(o.items);
}

static void names_that_leave_the_output_directory_end_the_parse(void **state)
{
    (void)state;
    refuse_name("..", 2);
    refuse_name("../x", 4);
    refuse_name("a/../b", 6);
    refuse_name("/etc/passwd", 11);
    refuse_name("a//b", 4);
    refuse_name("a/", 2);
    refuse_name("a/./b", 5);
    refuse_name("a\0b", 3);
    refuse_name("", 0);
}

static void a_stream_cut_anywhere_is_malformed(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    size_t whole = 0;

    (void)state;
    stream_put(&b, OUTAR_DIR, "dir", "");
    stream_put(&b, OUTAR_FILE, "dir/file", "data");
    stream_end(&b);
    whole = b.len;
    for (size_t len = 0; len < whole; len++) {
        auto_outputs struct outputs o = {0};
        struct err err = ERR_INIT;

        b.len = len;
        assert_int_equal(inspect(&b, NULL, &o, &err), -EPROTO);
        assert_int_equal(err.class, ERR_GUEST);
    }
    b.len = whole;
}

static void bytes_behind_the_end_are_malformed(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;

    (void)state;
    stream_end(&b);
    stream_raw(&b, "x", 1);
    assert_int_equal(inspect(&b, NULL, &o, &err), -EPROTO);
    assert_has(err, "follow");
}

static void sizes_that_lie_are_malformed_or_over_the_cap(void **state)
{
    static const struct {
        uint64_t size;
        int errnum;
    } lies[] = {{5, EPROTO}, {16 * MIB, EPROTO}, {16 * MIB + 1, EFBIG}, {UINT64_MAX, EFBIG}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        auto_buf struct buf b = BUF_INIT(MIB);
        auto_outputs struct outputs o = {0};
        struct err err = ERR_INIT;

        stream_record(
            &b, &(struct outar_header){.kind = OUTAR_FILE, .name_len = 4, .size = lies[i].size},
            "file", "abc", 3);
        assert_int_equal(inspect(&b, NULL, &o, &err), -lies[i].errnum);
        assert_has(err, "'file'");
    }
}

static void a_file_shorter_than_the_stream_is_the_hosts_trouble(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    struct spec spec;

    (void)state;
    spec_init(&spec);
    stream_end(&b);
    fd = stream_fd(&b);
    assert_int_equal(ftruncate(fd, 10), 0);
    assert_int_equal(outputs_inspect(fd, b.len, &spec.limits, &o, &err), -EIO);
    assert_int_equal(err.class, ERR_HOST);
}

static void every_cap_holds_at_its_edge(void **state)
{
    struct spec spec;

    (void)state;
    spec_init(&spec);
    spec.limits.output_bytes = 4;
    spec.limits.output_files = 2;
    spec.limits.output_depth = 2;
    for (int over = 0; over <= 4; over++) {
        static const int errnums[] = {0, EFBIG, EMFILE, ENAMETOOLONG, EMFILE};
        auto_buf struct buf b = BUF_INIT(MIB);
        auto_outputs struct outputs o = {0};
        struct err err = ERR_INIT;

        stream_put(&b, OUTAR_DIR, "d", "");
        stream_put(&b, OUTAR_DIR, "d/e", "");
        stream_put(&b, OUTAR_FILE, "d/one", "12");
        stream_put(&b, OUTAR_FILE, "two", over == 1 ? "345" : "34");
        if (over == 2) {
            stream_put(&b, OUTAR_FILE, "three", "");
        }
        if (over == 3) {
            stream_put(&b, OUTAR_FILE, "d/e/f", "");
        }
        if (over == 4) {
            stream_put(&b, OUTAR_DIR, "f", "");
        }
        stream_end(&b);
        assert_int_equal(inspect(&b, &spec.limits, &o, &err), -errnums[over]);
        assert_int_equal(err.class, over == 0 ? ERR_NONE : ERR_LIMIT);
    }
}

static void the_list_of_dropped_outputs_is_bounded_too(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;

    (void)state;
    for (int i = 0; i < 100; i++) {
        stream_put(&b, OUTAR_OTHER, "fifo", "");
    }
    stream_end(&b);
    assert_ok(inspect(&b, NULL, &o, &err), &err);
    assert_int_equal(o.n_dropped, 64);
    assert_true(o.n_dropped_more == 36);
}

static void other_records_are_checked_by_the_decoder(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct err err = ERR_INIT;

    (void)state;
    stream_put(&b, OUTAR_FILE, "a", "");
    b.data[0] ^= 1;
    stream_end(&b);
    assert_int_equal(inspect(&b, NULL, &o, &err), -EPROTO);
    assert_has(err, "magic");
}

/* A stream with two files, a directory and something to drop; what it says as an answer. */
static void encoded(struct buf *stream, struct outputs *o, struct buf *answer)
{
    struct err err = ERR_INIT;

    stream_put(stream, OUTAR_FILE, "a", "abc");
    stream_put(stream, OUTAR_DIR, "d", "");
    stream_put(stream, OUTAR_FILE, "d/b", "xy");
    stream_put(stream, OUTAR_OTHER, "link", "");
    stream_end(stream);
    assert_ok(inspect(stream, NULL, o, &err), &err);
    assert_ok(outputs_encode(o, answer, &err), &err);
}

static void an_answer_is_decoded_to_the_same_outputs(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_buf struct buf answer = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    auto_outputs struct outputs back = {0};
    struct err err = ERR_INIT;
    struct spec spec;

    (void)state;
    spec_init(&spec);
    encoded(&b, &o, &answer);
    assert_true(answer.len <= outputs_encoded_max(&spec.limits));
    assert_ok(outputs_decode(answer.data, answer.len, b.len, &spec.limits, &back, &err), &err);
    assert_int_equal(back.n_items, o.n_items);
    assert_int_equal(back.n_dropped, 1);
    assert_string_equal(back.dropped[0].why, "not a regular file");
    assert_true(back.total_bytes == 5);
    for (size_t i = 0; i < o.n_items; i++) {
        assert_string_equal((char *)back.items[i].name, (char *)o.items[i].name);
        assert_true(back.items[i].offset == o.items[i].offset);
        assert_true(back.items[i].bytes == o.items[i].bytes);
        assert_int_equal(back.items[i].is_dir, o.items[i].is_dir);
    }
}

static void an_answer_that_lies_is_refused(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_buf struct buf answer = BUF_INIT(MIB);
    auto_outputs struct outputs o = {0};
    struct spec spec;

    (void)state;
    spec_init(&spec);
    encoded(&b, &o, &answer);
    for (int lie = 0; lie < 9; lie++) {
        auto_outputs struct outputs back = {0};
        auto_free uint8_t *copy = malloc(answer.len + 1);
        struct spec_limits limits = spec.limits;
        struct err err = ERR_INIT;
        size_t len = answer.len;
        uint64_t stream = b.len;

        memcpy(copy, answer.data, len);
        switch (lie) {
        case 0: /* fewer bytes than it takes, or one more */
            len--;
            break;
        case 1:
            len++;
            break;
        case 2: /* data behind the stream's end */
            stream = o.items[2].offset + 1;
            break;
        case 3: /* more files than may be */
            limits.output_files = 1;
            break;
        case 4:
            limits.output_bytes = 4;
            break;
        case 5:
            limits.output_depth = 1;
            break;
        case 6: /* a name out of the directory: "a" becomes "/" */
            copy[16 + 21] = '/';
            break;
        case 7: /* a kind that is none */
            copy[16] = 2;
            break;
        default: /* a reason that is none */
            copy[len - strlen("link") - 5] = 200;
            break;
        }
        assert_int_equal(outputs_decode(copy, len, stream, &limits, &back, &err), -EPROTO);
        assert_int_equal(err.class, ERR_HOST);
    }
}

static void the_end_record_alone_is_seen_without_a_parser(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    auto_fd int empty = -1;
    auto_fd int full = -1;

    (void)state;
    stream_end(&b);
    empty = stream_fd(&b);
    assert_true(outputs_none(empty, b.len));
    assert_false(outputs_none(empty, b.len - 1));
    stream_end(&b);
    full = stream_fd(&b);
    assert_false(outputs_none(full, b.len));
}

TEST_MAIN(T(an_answer_is_decoded_to_the_same_outputs), T(an_answer_that_lies_is_refused),
          T(the_end_record_alone_is_seen_without_a_parser),
          T(files_and_directories_are_listed_with_digests), T(an_empty_stream_is_no_outputs),
          T(what_cannot_be_where_it_says_is_dropped_with_a_reason),
          T(children_of_a_dropped_directory_are_dropped),
          T(names_that_leave_the_output_directory_end_the_parse),
          T(a_stream_cut_anywhere_is_malformed), T(bytes_behind_the_end_are_malformed),
          T(sizes_that_lie_are_malformed_or_over_the_cap),
          T(a_file_shorter_than_the_stream_is_the_hosts_trouble), T(every_cap_holds_at_its_edge),
          T(the_list_of_dropped_outputs_is_bounded_too),
          T(other_records_are_checked_by_the_decoder))
