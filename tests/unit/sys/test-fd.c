#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/fd.h"
#include "test.h"

/* Every case works below its own fresh directory, which is removed in teardown. */
static char root[64];
static int root_fd = -1;

static int setup(void **state)
{
    (void)snprintf(root, sizeof(root), "/tmp/airlock-test-fd-XXXXXX");
    if (mkdtemp(root) == NULL) {
        return 1;
    }
    root_fd = open(root, O_DIRECTORY | O_CLOEXEC);
    return root_fd < 0 || test_fds_before(state) != 0;
}

static int teardown(void **state)
{
    struct err err = ERR_INIT;
    int r = test_fds_after(state);

    fd_close_p(&root_fd);
    if (fd_remove_tree(AT_FDCWD, root, &err) < 0) {
        print_error("%s\n", err.msg);
        r = 1;
    }
    return r;
}

#define D(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

static void put(const char *name, const char *text)
{
    auto_fd int fd = openat(root_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static bool is_cloexec(int fd)
{
    return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

static void no_component_may_be_a_link(void **state)
{
    static const char *const bad[] = {"link", "linkdir/file", "abs/file", "dir/../link"};
    struct err err = ERR_INIT;
    auto_fd int good = -1;
    char magic[64];

    (void)state;
    assert_int_equal(mkdirat(root_fd, "dir", 0755), 0);
    put("dir/file", "x");
    assert_int_equal(symlinkat("dir/file", root_fd, "link"), 0);
    assert_int_equal(symlinkat("dir", root_fd, "linkdir"), 0);
    assert_int_equal(symlinkat("/tmp", root_fd, "abs"), 0);
    assert_ok(fd_open_nolink(root_fd, "dir/file", O_RDONLY, 0, &good, &err), &err);
    assert_true(is_cloexec(good));
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int fd = -1;

        err = (struct err)ERR_INIT;
        assert_int_equal(fd_open_nolink(root_fd, bad[i], O_RDONLY, 0, &fd, &err), -ELOOP);
        assert_int_equal(fd, -1);
        assert_non_null(strstr(err.msg, "symbolic link"));
    }
    err = (struct err)ERR_INIT;
    (void)snprintf(magic, sizeof(magic), "/proc/self/fd/%d", good);
    assert_int_equal(fd_open_nolink(AT_FDCWD, magic, O_RDONLY, 0, &good, &err), -ELOOP);
}

static void creating_uses_the_mode_given(void **state)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    struct stat st;

    (void)state;
    assert_ok(fd_open_nolink(root_fd, "new", O_WRONLY | O_CREAT | O_EXCL, 0600, &fd, &err), &err);
    assert_int_equal(fstat(fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
}

static void a_file_is_read_up_to_the_maximum_and_no_further(void **state)
{
    static const struct {
        size_t max;
        int r;
    } cases[] = {{4, -EFBIG}, {5, 0}, {6, 0}};

    (void)state;
    put("five", "12345");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_buf struct buf buf = BUF_INIT(cases[i].max);
        struct err err = ERR_INIT;
        auto_fd int fd = openat(root_fd, "five", O_RDONLY | O_CLOEXEC);

        assert_int_equal(fd_read_all(fd, "five", &buf, &err), cases[i].r);
        if (cases[i].r == 0) {
            assert_string_equal((const char *)buf.data, "12345");
        } else {
            assert_int_equal(err.class, ERR_LIMIT);
            assert_non_null(strstr(err.msg, "'five' is larger than 4 bytes"));
        }
    }
}

static void copying_stops_over_the_maximum(void **state)
{
    struct err err = ERR_INIT;
    auto_fd int in = -1;
    auto_fd int out = -1;
    uint64_t bytes = 0;

    (void)state;
    put("in", "12345");
    in = openat(root_fd, "in", O_RDONLY | O_CLOEXEC);
    assert_ok(fd_open_tmp(root_fd, &out, &err), &err);
    assert_true(is_cloexec(out));
    assert_ok(fd_copy(in, out, 5, &bytes, &err), &err);
    assert_int_equal(bytes, 5);
    assert_int_equal(lseek(in, 0, SEEK_SET), 0);
    assert_int_equal(fd_copy(in, out, 4, &bytes, &err), -EFBIG);
    assert_int_equal(err.class, ERR_LIMIT);
}

static void reads_are_short_only_at_the_end(void **state)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    char text[8] = "";
    size_t got = 0;

    (void)state;
    put("f", "abcdef");
    fd = openat(root_fd, "f", O_RDONLY | O_CLOEXEC);
    assert_ok(fd_pread_full(fd, text, 3, 2, &got, &err), &err);
    assert_int_equal(got, 3);
    assert_memory_equal(text, "cde", 3);
    assert_ok(fd_read_full(fd, text, sizeof(text), &got, &err), &err);
    assert_int_equal(got, 6);
    assert_ok(fd_pread_full(fd, text, 3, 100, &got, &err), &err);
    assert_int_equal(got, 0);
}

static void parents_are_made_and_existing_ones_kept(void **state)
{
    char path[128];
    struct err err = ERR_INIT;

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/a/b//c", root);
    assert_ok(fd_mkdir_parents(path, &err), &err);
    assert_ok(fd_mkdir_parents(path, &err), &err);
    assert_int_equal(faccessat(root_fd, "a/b/c", F_OK, 0), 0);
    put("file", "");
    (void)snprintf(path, sizeof(path), "%s/file/x", root);
    assert_true(fd_mkdir_parents(path, &err) < 0);
    err = (struct err)ERR_INIT;
    (void)snprintf(path, sizeof(path), "%s/file", root);
    assert_int_equal(fd_mkdir_parents(path, &err), -ENOTDIR);
    err = (struct err)ERR_INIT;
    assert_int_equal(fd_mkdir_parents("", &err), -EINVAL);
}

static void writing_replaces_at_once_and_leaves_no_rest(void **state)
{
    struct err err = ERR_INIT;
    auto_buf struct buf buf = BUF_INIT(16);
    auto_fd int fd = -1;

    (void)state;
    put("target", "old");
    assert_int_equal(mkdirat(root_fd, "sub", 0755), 0);
    assert_ok(fd_write_atomic(root_fd, "target", "new", 3, 0644, &err), &err);
    fd = openat(root_fd, "target", O_RDONLY | O_CLOEXEC);
    assert_ok(fd_read_all(fd, "target", &buf, &err), &err);
    assert_string_equal((const char *)buf.data, "new");
    /* Over a directory it fails; then only what was there before is there. */
    assert_true(fd_write_atomic(root_fd, "sub", "x", 1, 0644, &err) < 0);
    assert_int_equal(unlinkat(root_fd, "target", 0), 0);
    assert_int_equal(unlinkat(root_fd, "sub", AT_REMOVEDIR), 0);
    assert_int_equal(rmdir(root), 0);
    assert_int_equal(mkdir(root, 0700), 0);
}

/* Deeper than PATH_MAX and than fds allow: by descending step by step. */
static void make_deep(size_t levels)
{
    int at = fcntl(root_fd, F_DUPFD_CLOEXEC, 3);

    assert_int_equal(mkdirat(at, "tree", 0700), 0);
    for (size_t i = 0; i < levels; i++) {
        const char *name = i == 0 ? "tree" : "level-with-a-longish-name";
        int next = openat(at, name, O_DIRECTORY | O_CLOEXEC);

        assert_true(next >= 0);
        (void)close(at);
        at = next;
        assert_int_equal(mkdirat(at, "level-with-a-longish-name", 0700), 0);
        assert_int_equal(mkdirat(at, "second", 0700), 0);
        assert_int_equal(symlinkat("/etc/passwd", at, "link"), 0);
    }
    (void)close(at);
}

static void a_tree_of_any_depth_is_removed(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    make_deep(3000);
    assert_ok(fd_remove_tree(root_fd, "tree", &err), &err);
    assert_int_equal(faccessat(root_fd, "tree", F_OK, AT_SYMLINK_NOFOLLOW), -1);
    assert_int_equal(rmdir(root), 0); /* nothing that was moved up is left */
    assert_int_equal(mkdir(root, 0700), 0);
}

static void removing_never_follows_a_link(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(mkdirat(root_fd, "kept", 0755), 0);
    put("kept/file", "x");
    assert_int_equal(mkdirat(root_fd, "tree", 0755), 0);
    assert_int_equal(symlinkat("../kept", root_fd, "tree/link"), 0);
    assert_int_equal(symlinkat("kept", root_fd, "top"), 0);
    assert_ok(fd_remove_tree(root_fd, "tree", &err), &err);
    assert_ok(fd_remove_tree(root_fd, "top", &err), &err);
    assert_int_equal(faccessat(root_fd, "kept/file", F_OK, 0), 0);
    assert_int_equal(faccessat(root_fd, "top", F_OK, AT_SYMLINK_NOFOLLOW), -1);
}

static void removing_what_is_missing_is_fine(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(fd_remove_tree(root_fd, "nothing", &err), &err);
    put("file", "x");
    assert_ok(fd_remove_tree(root_fd, "file", &err), &err);
    assert_int_equal(faccessat(root_fd, "file", F_OK, 0), -1);
}

static void a_tree_may_hold_what_removing_uses_as_names(void **state)
{
    char name[64];
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(mkdirat(root_fd, "tree", 0700), 0);
    assert_int_equal(mkdirat(root_fd, "tree/a", 0700), 0);
    put("tree/a/file", "x");
    /* A rest of an earlier, interrupted removal by a process of the same number. */
    (void)snprintf(name, sizeof(name), ".rm-%d-0", (int)getpid());
    assert_int_equal(mkdirat(root_fd, name, 0700), 0);
    (void)snprintf(name, sizeof(name), ".rm-%d-0/inside", (int)getpid());
    put(name, "x");
    assert_ok(fd_remove_tree(root_fd, "tree", &err), &err);
    assert_int_equal(faccessat(root_fd, "tree", F_OK, 0), -1);
}

/* One descriptor a message, whatever the sender does: what came beside it would never be closed. */
static void a_second_descriptor_is_refused_and_not_kept(void **state)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(2 * sizeof(int))];
    } control = {.room = {0}};

    char byte = 'x';
    struct iovec iov = {.iov_base = &byte, .iov_len = 1};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         .msg_controllen = sizeof(control.room)};
    const int two[2] = {0, 1};
    int pair[2] = {-1, -1};
    int got = -1;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(two));
    memcpy(CMSG_DATA(&control.head), two, sizeof(two));
    assert_int_equal(sendmsg(pair[0], &msg, 0), 1);
    assert_int_equal(fd_receive(pair[1], &byte, 1, &got, &err), -EPROTO);
    assert_int_equal(got, -1);
    err = (struct err)ERR_INIT;
    assert_int_equal(fd_send(pair[0], &byte, 1, 0, 0), 1);
    assert_int_equal(fd_receive(pair[1], &byte, 1, &got, &err), 1);
    assert_true(got >= 0);
    (void)close(got);
    (void)close(pair[0]);
    (void)close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        D(no_component_may_be_a_link),
        D(creating_uses_the_mode_given),
        D(a_file_is_read_up_to_the_maximum_and_no_further),
        D(copying_stops_over_the_maximum),
        D(reads_are_short_only_at_the_end),
        D(parents_are_made_and_existing_ones_kept),
        D(writing_replaces_at_once_and_leaves_no_rest),
        D(a_tree_of_any_depth_is_removed),
        D(removing_never_follows_a_link),
        D(removing_what_is_missing_is_fine),
        D(a_tree_may_hold_what_removing_uses_as_names),
        D(a_second_descriptor_is_refused_and_not_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
