/* What is remembered about files counts only while they are the same files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "sys/fd.h"
#include "sys/memo.h"
#include "test.h"

#define NAME "answer"

static char root[40];
static int root_fd = -1;
static char path[64]; /* of the file that is asked about */

static void put_file(const char *at, const char *text)
{
    auto_fd int fd = open(at, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static int make_root(void **state)
{
    (void)snprintf(root, sizeof(root), "/tmp/airlock-test-memo-XXXXXX");
    if (test_fds_before(state) != 0 || mkdtemp(root) == NULL) {
        return 1;
    }
    root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    (void)snprintf(path, sizeof(path), "%s/file", root);
    put_file(path, "content");
    return root_fd < 0;
}

static int drop_root(void **state)
{
    struct err err = ERR_INIT;
    auto_fd int tmp = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd_remove_tree(tmp, root + sizeof("/tmp"), &err);

    fd_close_p(&root_fd);
    fd_close_p(&tmp);
    return r < 0 || test_fds_after(state) != 0;
}

#define M(f) cmocka_unit_test_setup_teardown(f, make_root, drop_root)

static void about(struct memo *m, const char *file)
{
    struct err err = ERR_INIT;

    assert_ok(memo_begin(m, &err), &err);
    assert_ok(memo_add_path(m, file, &err), &err);
}

/* As if the file had been as it is for a while: nobody can set its change time. */
static void keep(const char *text)
{
    auto_memo struct memo m = MEMO_INIT;

    about(&m, path);
    m.begun_ns += 2 * MEMO_SETTLED_NS;
    memo_put(root_fd, NAME, &m, text, strlen(text));
}

static bool known(const char *text)
{
    auto_memo struct memo m = MEMO_INIT;
    auto_buf struct buf got = BUF_INIT(1024);
    bool is = false;

    about(&m, path);
    is = memo_get(root_fd, NAME, &m, &got);
    if (is) {
        assert_string_equal((const char *)got.data, text);
    }
    return is;
}

/* Past the tick of the kernel's clock, in which two changes have the same time. */
static void tick(void)
{
    (void)nanosleep(&(struct timespec){.tv_nsec = 50 * (long)NS_PER_MS}, NULL);
}

static void a_text_is_known_while_its_file_stays_the_same(void **state)
{
    (void)state;
    assert_false(known("blue"));
    keep("blue");
    assert_true(known("blue"));
    keep("green");
    assert_true(known("green"));
}

static void a_file_that_just_changed_is_not_remembered(void **state)
{
    auto_memo struct memo m = MEMO_INIT;

    (void)state;
    about(&m, path);
    memo_put(root_fd, NAME, &m, "blue", 4);
    assert_false(known("blue"));
    m.begun_ns = m.changed_ns + MEMO_SETTLED_NS;
    memo_put(root_fd, NAME, &m, "blue", 4);
    assert_false(known("blue"));
    m.begun_ns = m.changed_ns - MEMO_SETTLED_NS; /* a clock that was set back */
    memo_put(root_fd, NAME, &m, "blue", 4);
    assert_false(known("blue"));
}

static void other_bytes_of_the_same_length_and_time_are_another_file(void **state)
{
    struct stat st = {0};

    (void)state;
    assert_int_equal(stat(path, &st), 0);
    keep("blue");
    tick();
    put_file(path, "CONTENT");
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){st.st_atim, st.st_mtim}, 0), 0);
    assert_false(known("blue"));
}

static void a_file_put_in_its_place_is_another_one(void **state)
{
    char other[64];

    (void)state;
    keep("blue");
    (void)snprintf(other, sizeof(other), "%s/other", root);
    put_file(other, "content");
    assert_int_equal(rename(other, path), 0);
    assert_false(known("blue"));
}

static void another_mode_is_another_file(void **state)
{
    (void)state;
    keep("blue");
    assert_int_equal(chmod(path, 0600), 0);
    assert_false(known("blue"));
}

static void that_a_file_is_missing_is_remembered_until_it_is_there(void **state)
{
    (void)state;
    assert_int_equal(unlink(path), 0);
    keep("none");
    assert_true(known("none"));
    put_file(path, "");
    assert_false(known("none"));
}

static void an_open_file_is_the_one_that_counts_not_its_name(void **state)
{
    struct err err = ERR_INIT;
    auto_memo struct memo m = MEMO_INIT;
    auto_buf struct buf got = BUF_INIT(64);
    auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);

    (void)state;
    keep("blue");
    assert_ok(memo_begin(&m, &err), &err);
    assert_ok(memo_add_fd(&m, path, fd, &err), &err);
    assert_true(memo_get(root_fd, NAME, &m, &got));
    assert_int_equal(unlink(path), 0);
    put_file(path, "content");
    assert_ok(memo_begin(&m, &err), &err);
    assert_ok(memo_add_fd(&m, path, fd, &err), &err);
    assert_false(memo_get(root_fd, NAME, &m, &got)); /* one link less: it changed */
}

static void a_second_file_or_none_is_another_question(void **state)
{
    struct err err = ERR_INIT;
    auto_memo struct memo m = MEMO_INIT;
    auto_buf struct buf got = BUF_INIT(64);

    (void)state;
    keep("blue");
    assert_ok(memo_begin(&m, &err), &err);
    assert_false(memo_get(root_fd, NAME, &m, &got));
    about(&m, path);
    assert_ok(memo_add_path(&m, "/etc/passwd", &err), &err);
    assert_false(memo_get(root_fd, NAME, &m, &got));
}

static void a_name_with_a_line_break_is_refused(void **state)
{
    struct err err = ERR_INIT;
    auto_memo struct memo m = MEMO_INIT;

    (void)state;
    assert_ok(memo_begin(&m, &err), &err);
    assert_int_equal(memo_add_path(&m, "/no/such\nfile", &err), -EINVAL);
}

static void a_damaged_memo_is_no_answer(void **state)
{
    char memo[80];
    char all[1024];
    ssize_t len = 0;

    (void)state;
    keep("blue");
    (void)snprintf(memo, sizeof(memo), "%s/memo/" NAME, root);
    {
        auto_fd int fd = open(memo, O_RDONLY | O_CLOEXEC);

        len = read(fd, all, sizeof(all));
    }
    assert_in_range(len, 100, sizeof(all) - 1);
    for (ssize_t i = 0; i < len; i++) { /* one byte changed; cut short there */
        auto_fd int fd = open(memo, O_WRONLY | O_CLOEXEC);
        char bad = (char)(all[i] ^ 1);

        assert_int_equal(pwrite(fd, &bad, 1, i), 1);
        assert_false(known("blue"));
        assert_int_equal(pwrite(fd, all, (size_t)len, 0), len);
        assert_true(known("blue"));
        assert_int_equal(ftruncate(fd, i), 0);
        assert_false(known("blue"));
        assert_int_equal(pwrite(fd, all, (size_t)len, 0), len);
    }
}

static void a_memo_that_others_can_write_or_that_is_no_file_is_no_answer(void **state)
{
    char memo[80];
    char aside[80];

    (void)state;
    keep("blue");
    (void)snprintf(memo, sizeof(memo), "%s/memo/" NAME, root);
    (void)snprintf(aside, sizeof(aside), "%s/memo/aside", root);
    assert_int_equal(chmod(memo, 0622), 0);
    assert_false(known("blue"));
    assert_int_equal(chmod(memo, 0600), 0);
    assert_true(known("blue"));
    assert_int_equal(rename(memo, aside), 0);
    assert_int_equal(symlink("aside", memo), 0);
    assert_false(known("blue"));
    assert_int_equal(unlink(memo), 0);
    assert_int_equal(mkfifo(memo, 0600), 0);
    assert_false(known("blue"));
}

static void without_a_place_nothing_is_kept(void **state)
{
    auto_memo struct memo m = MEMO_INIT;
    auto_buf struct buf got = BUF_INIT(64);

    (void)state;
    about(&m, path);
    m.begun_ns += 2 * MEMO_SETTLED_NS;
    memo_put(-1, NAME, &m, "blue", 4);
    assert_false(memo_get(-1, NAME, &m, &got));
}

/* As udev does with /dev/kvm at each machine that begins or ends. */
static void times_of_a_device_do_not_count_but_which_one_it_is(void **state)
{
    auto_memo struct memo before = MEMO_INIT;
    auto_memo struct memo after = MEMO_INIT;
    auto_memo struct memo another = MEMO_INIT;
    auto_buf struct buf got = BUF_INIT(64);
    auto_fd int one = posix_openpt(O_RDWR | O_NOCTTY);
    auto_fd int two = posix_openpt(O_RDWR | O_NOCTTY);
    char names[2][64];

    (void)state;
    assert_true(one >= 0 && two >= 0);
    assert_int_equal(ptsname_r(one, names[0], sizeof(names[0])), 0);
    assert_int_equal(ptsname_r(two, names[1], sizeof(names[1])), 0);
    about(&before, names[0]);
    memo_put(root_fd, NAME, &before, "blue", 4);
    assert_int_equal(utimensat(AT_FDCWD, names[0], (struct timespec[2]){{.tv_sec = 1}, {0}}, 0), 0);
    about(&after, names[0]);
    assert_true(memo_get(root_fd, NAME, &after, &got));
    about(&another, names[1]);
    assert_false(memo_get(root_fd, NAME, &another, &got));
}

static void everything_can_be_forgotten(void **state)
{
    (void)state;
    keep("blue");
    memo_clear(root_fd);
    assert_false(known("blue"));
    keep("blue");
    assert_true(known("blue"));
}

TEST_MAIN(M(a_text_is_known_while_its_file_stays_the_same),
          M(a_file_that_just_changed_is_not_remembered),
          M(other_bytes_of_the_same_length_and_time_are_another_file),
          M(a_file_put_in_its_place_is_another_one), M(another_mode_is_another_file),
          M(that_a_file_is_missing_is_remembered_until_it_is_there),
          M(an_open_file_is_the_one_that_counts_not_its_name),
          M(a_second_file_or_none_is_another_question), M(a_name_with_a_line_break_is_refused),
          M(a_damaged_memo_is_no_answer),
          M(a_memo_that_others_can_write_or_that_is_no_file_is_no_answer),
          M(without_a_place_nothing_is_kept), M(times_of_a_device_do_not_count_but_which_one_it_is),
          M(everything_can_be_forgotten))
