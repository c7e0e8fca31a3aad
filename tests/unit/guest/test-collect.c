#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "guest/collect.h"
#include "host.h"
#include "proto/outar.h"
#include "sys/fd.h"

/* A tree in a temporary directory, and the stream that came of it, as "kind path size\n" lines. */
struct tree {
    char path[32];
    int dir;
    struct msg_output_end end;
    struct buf list;
    struct buf data; /* of all files */
};

static const struct collect_caps roomy = {.bytes = MIB, .files = 1000, .depth = 16};

static void tree_init(struct tree *t)
{
    *t = (struct tree){.path = "/tmp/airlock-XXXXXX", .list = BUF_INIT(MIB), .data = BUF_INIT(MIB)};
    assert_non_null(mkdtemp(t->path));
    t->dir = open(t->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(t->dir >= 0);
}

static void tree_fini(struct tree *t)
{
    struct err err = ERR_INIT;

    (void)close(t->dir);
    assert_ok(fd_remove_tree(AT_FDCWD, t->path, &err), &err);
    buf_fini(&t->list);
    buf_fini(&t->data);
}

static void put_file(const struct tree *t, const char *name, const char *text)
{
    int fd = openat(t->dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    (void)close(fd);
}

static void parse(struct tree *t, const uint8_t *at, size_t len)
{
    while (len > 0) {
        struct outar_header h = {0};
        struct err err = ERR_INIT;
        uint32_t depth = 0;

        assert_true(len >= OUTAR_HEADER_SIZE);
        assert_ok(outar_header_decode(at, &h, &err), &err);
        at += OUTAR_HEADER_SIZE;
        len -= OUTAR_HEADER_SIZE;
        assert_true(len >= h.name_len + h.size);
        assert_true(h.kind == OUTAR_END || outar_name_ok(at, h.name_len, &depth));
        assert_int_equal(buf_printf(&t->list, "%d %.*s %u\n", (int)h.kind, (int)h.name_len,
                                    (const char *)at, (unsigned int)h.size),
                         0);
        assert_int_equal(buf_put(&t->data, at + h.name_len, h.size), 0);
        at += h.name_len + h.size;
        len -= h.name_len + h.size;
    }
}

static void collect(struct tree *t, const struct collect_caps *caps)
{
    struct channel ch;
    struct host host;
    struct frame frame = {0};
    struct err err = ERR_INIT;
    struct buf stream = BUF_INIT(4 * MIB);

    host_init(&host, &ch);
    assert_ok(collect_send(t->dir, caps, &ch, &t->end, &err), &err);
    while (host_next(&host, &ch, &frame) == 1) {
        assert_int_equal(frame.type, FRAME_OUTPUT);
        assert_int_equal(buf_put(&stream, frame.data, frame.len), 0);
    }
    parse(t, stream.data, stream.len);
    buf_fini(&stream);
    host_fini(&host, &ch);
}

#define LIST(t) ((t).list.len > 0 ? (const char *)(t).list.data : "")

static void a_tree_is_sent_in_byte_order_with_parents_first(void **state)
{
    struct tree t;

    (void)state;
    tree_init(&t);
    put_file(&t, "b", "BB");
    put_file(&t, "a.txt", "A");
    assert_int_equal(mkdirat(t.dir, "a", 0755), 0);
    put_file(&t, "a/z", "");
    assert_int_equal(mkdirat(t.dir, "a/y", 0755), 0);
    put_file(&t, "a/y/x", "CCC");
    assert_int_equal(symlinkat("/etc/passwd", t.dir, "link"), 0);
    assert_int_equal(mkfifoat(t.dir, "fifo", 0600), 0);
    collect(&t, &roomy);
    assert_int_equal(t.end.status, MSG_OUTPUT_COMPLETE);
    assert_string_equal(LIST(t), "2 a 0\n2 a/y 0\n1 a/y/x 3\n1 a/z 0\n1 a.txt 1\n1 b 2\n3 fifo 0\n"
                                 "3 link 0\n4  0\n");
    assert_string_equal((const char *)t.data.data, "CCCABB");
    tree_fini(&t);
}

static void nothing_at_all_is_a_complete_stream(void **state)
{
    struct tree t;

    (void)state;
    tree_init(&t);
    collect(&t, &(struct collect_caps){0});
    assert_int_equal(t.end.status, MSG_OUTPUT_COMPLETE);
    assert_string_equal(LIST(t), "4  0\n");
    tree_fini(&t);
}

static void caps_stop_the_stream_at_the_entry_over_them(void **state)
{
    struct tree t;
    struct collect_caps caps = {.bytes = 3, .files = 4, .depth = 2};

    (void)state;
    tree_init(&t);
    put_file(&t, "a", "12");
    put_file(&t, "b", "1");
    collect(&t, &caps);
    assert_int_equal(t.end.status, MSG_OUTPUT_COMPLETE); /* exactly at the cap */
    buf_consume(&t.list, t.list.len);
    put_file(&t, "c", "1");
    collect(&t, &caps);
    assert_int_equal(t.end.status, MSG_OUTPUT_BYTES);
    assert_string_equal(t.end.name, "c");
    assert_string_equal(LIST(t), "1 a 2\n1 b 1\n");
    assert_int_equal(unlinkat(t.dir, "c", 0), 0);
    assert_int_equal(mkdirat(t.dir, "d", 0755), 0);
    assert_int_equal(mkdirat(t.dir, "d/e", 0755), 0);
    collect(&t, &caps);
    assert_int_equal(t.end.status, MSG_OUTPUT_COMPLETE);
    put_file(&t, "d/e/f", "");
    caps.files = 10;
    collect(&t, &caps);
    assert_int_equal(t.end.status, MSG_OUTPUT_DEPTH);
    assert_string_equal(t.end.name, "d/e/f");
    caps.files = 4;
    collect(&t, &caps);
    assert_int_equal(t.end.status, MSG_OUTPUT_FILES);
    assert_string_equal(t.end.name, "d/e");
    tree_fini(&t);
}

static void of_a_sparse_file_over_the_cap_nothing_is_read(void **state)
{
    struct tree t;

    (void)state;
    tree_init(&t);
    put_file(&t, "big", "");
    assert_int_equal(fchmodat(t.dir, "big", 0, 0), 0);
    {
        int fd = openat(t.dir, "big", O_WRONLY | O_CLOEXEC);

        assert_int_equal(ftruncate(fd, (off_t)(1024 * GIB)), 0);
        (void)close(fd);
    }
    collect(&t, &roomy);
    assert_int_equal(t.end.status, MSG_OUTPUT_BYTES);
    assert_string_equal(t.end.name, "big");
    assert_string_equal(LIST(t), "");
    tree_fini(&t);
}

static void depth_costs_no_descriptors(void **state)
{
    struct tree t;
    struct rlimit limit = {0};
    struct rlimit few = {0};
    int fd = -1;

    (void)state;
    tree_init(&t);
    fd = dup(t.dir);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){.rlim_cur = (rlim_t)fd + 8, .rlim_max = limit.rlim_max};
    for (int i = 0; i < 300; i++) {
        int next = -1;

        assert_int_equal(mkdirat(fd, "d", 0755), 0);
        next = openat(fd, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        assert_true(next >= 0);
        (void)close(fd);
        fd = next;
    }
    (void)close(fd);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    collect(&t, &(struct collect_caps){.bytes = 0, .files = 300, .depth = 300});
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    assert_int_equal(t.end.status, MSG_OUTPUT_COMPLETE);
    tree_fini(&t);
}

TEST_MAIN(T(a_tree_is_sent_in_byte_order_with_parents_first),
          T(nothing_at_all_is_a_complete_stream), T(caps_stop_the_stream_at_the_entry_over_them),
          T(of_a_sparse_file_over_the_cap_nothing_is_read), T(depth_costs_no_descriptors))
