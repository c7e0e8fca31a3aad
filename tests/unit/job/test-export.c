#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/outputs.h"
#include "job/spec.h"
#include "stream.h"
#include "sys/fd.h"
#include "test.h"
#include "workdir.h"

#define assert_has(err, text) assert_non_null(strstr((err).msg, (text)))

static void put(const char *path, const char *data)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    assert_ok(fd_open(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, 0600, &fd, &err), &err);
    assert_ok(fd_write_full(fd, data, strlen(data), &err), &err);
}

static void assert_file(const char *path, const char *data)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    char text[64] = {0};

    assert_ok(fd_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW, 0, &fd, &err), &err);
    assert_true(read(fd, text, sizeof(text) - 1) >= 0);
    assert_string_equal(text, data);
}

static int count_entries(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;

    assert_non_null(d);
    while (readdir(d) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        n++;
    }
    (void)closedir(d);
    return n - 2;
}

/* Ends the stream, inspects and exports it. */
static int export(struct buf *b, const char *to, struct err *err)
{
    auto_outputs struct outputs o = {0};
    auto_fd int fd = -1;
    struct spec spec;

    spec_init(&spec);
    stream_end(b);
    fd = stream_fd(b);
    assert_ok(outputs_inspect(fd, b->len, &spec.limits, &o, err), err);
    return outputs_export(fd, &o, to, "0123", err);
}

static void outputs_arrive_under_their_names(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    struct err err = ERR_INIT;
    struct stat st;
    mode_t mask = umask(077);

    (void)state;
    stream_put(&b, OUTAR_FILE, "a.csv", "1,2\n");
    stream_put(&b, OUTAR_FILE, "empty", "");
    stream_put(&b, OUTAR_DIR, "d", "");
    stream_put(&b, OUTAR_DIR, "d/e", "");
    stream_put(&b, OUTAR_FILE, "d/e/-\xff\n ", "odd");
    assert_ok(export(&b, "new/out", &err), &err);
    (void)umask(mask);
    assert_file("new/out/a.csv", "1,2\n");
    assert_file("new/out/d/e/-\xff\n ", "odd");
    assert_int_equal(count_entries("new/out"), 3);
    assert_int_equal(stat("new/out/a.csv", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0644);
    assert_int_equal(st.st_uid, geteuid());
    assert_int_equal(stat("new/out/d", &st), 0);
    assert_int_equal(st.st_mode & 07777, 0755);
}

static void files_replace_files_and_directories_are_merged(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(mkdir("out", 0755), 0);
    assert_int_equal(mkdir("out/d", 0755), 0);
    put("out/a", "old");
    put("out/d/b", "old");
    put("out/d/kept", "kept");
    stream_put(&b, OUTAR_FILE, "a", "new");
    stream_put(&b, OUTAR_DIR, "d", "");
    stream_put(&b, OUTAR_FILE, "d/b", "new");
    stream_put(&b, OUTAR_DIR, "d/n", "");
    stream_put(&b, OUTAR_FILE, "d/n/c", "new");
    assert_ok(export(&b, "out", &err), &err);
    assert_file("out/a", "new");
    assert_file("out/d/b", "new");
    assert_file("out/d/n/c", "new");
    assert_file("out/d/kept", "kept");
    assert_int_equal(count_entries("out"), 2);
}

/* Everything before the last output goes through; the last collides; all is as it was. */
static void assert_undone(const char *name, enum outar_kind kind)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    struct err err = ERR_INIT;
    int before = count_entries("out");

    stream_put(&b, OUTAR_FILE, "a", "new");
    stream_put(&b, OUTAR_FILE, "fresh", "new");
    stream_put(&b, OUTAR_DIR, "d", "");
    stream_put(&b, OUTAR_FILE, "d/b", "new");
    stream_put(&b, OUTAR_DIR, "d/n", "");
    stream_put(&b, OUTAR_FILE, "d/n/c", "new");
    stream_put(&b, kind, name, "");
    assert_int_equal(export(&b, "out", &err), -EEXIST);
    assert_int_equal(err.class, ERR_USAGE);
    assert_has(err, name);
    assert_file("out/a", "old");
    assert_file("out/d/b", "old");
    assert_int_equal(count_entries("out/d"), 1);
    assert_int_equal(count_entries("out"), before);
}

static void a_collision_undoes_everything(void **state)
{
    (void)state;
    assert_int_equal(mkdir("out", 0755), 0);
    assert_int_equal(mkdir("out/d", 0755), 0);
    put("out/a", "old");
    put("out/d/b", "old");
    put("out/z-file", "old");
    assert_int_equal(mkdir("out/z-dir", 0755), 0);
    assert_int_equal(symlink("/etc", "out/z-link"), 0);
    assert_int_equal(symlink("nowhere", "out/z-dangling"), 0);
    assert_int_equal(mkfifo("out/z-fifo", 0644), 0);
    assert_undone("z-dir", OUTAR_FILE);
    assert_undone("z-file", OUTAR_DIR);
    assert_undone("z-link", OUTAR_FILE);
    assert_undone("z-link", OUTAR_DIR);
    assert_undone("z-dangling", OUTAR_FILE);
    assert_undone("z-fifo", OUTAR_FILE);
}

static void links_in_the_directory_are_never_walked(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(mkdir("out", 0755), 0);
    assert_int_equal(mkdir("elsewhere", 0755), 0);
    assert_int_equal(symlink("../elsewhere", "out/d"), 0);
    stream_put(&b, OUTAR_DIR, "d", "");
    stream_put(&b, OUTAR_FILE, "d/x", "new");
    assert_int_equal(export(&b, "out", &err), -EEXIST);
    assert_int_equal(count_entries("elsewhere"), 0);
    assert_int_equal(count_entries("out"), 1);
}

static void a_link_to_the_directory_itself_is_the_operators_choice(void **state)
{
    auto_buf struct buf b = BUF_INIT(MIB);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(mkdir("real", 0755), 0);
    assert_int_equal(symlink("real", "out"), 0);
    stream_put(&b, OUTAR_FILE, "x", "new");
    assert_ok(outputs_check_dir("out", &err), &err);
    assert_ok(export(&b, "out", &err), &err);
    assert_file("real/x", "new");
}

static void directories_that_cannot_take_outputs_are_named_early(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    put("file", "");
    assert_int_equal(symlink("nowhere", "dangling"), 0);
    assert_int_equal(outputs_check_dir("file", &err), -ENOTDIR);
    assert_int_equal(err.class, ERR_USAGE);
    assert_has(err, "'file' is a file");
    err = (struct err)ERR_INIT;
    assert_int_equal(outputs_check_dir("file/below", &err), -ENOTDIR);
    err = (struct err)ERR_INIT;
    assert_int_equal(outputs_check_dir("", &err), -EINVAL);
    err = (struct err)ERR_INIT;
    assert_int_equal(outputs_check_dir("dangling", &err), -ENOENT);
    err = (struct err)ERR_INIT;
    assert_int_equal(outputs_check_dir("dangling/x", &err), -ENOENT);
    err = (struct err)ERR_INIT;
    assert_int_equal(outputs_check_dir("/proc/x", &err), geteuid() == 0 ? 0 : -EACCES);
    err = (struct err)ERR_INIT;
    assert_ok(outputs_check_dir("not/yet/there/", &err), &err);
    assert_ok(outputs_check_dir("x", &err), &err);
    assert_ok(outputs_check_dir("/tmp", &err), &err);
    assert_int_equal(access("not", F_OK), -1);
}

static void a_full_disk_leaves_the_directory_as_it_was(void **state)
{
    auto_buf struct buf b = BUF_INIT(4 * MIB);
    auto_free char *data = calloc(1, 2 * MIB + 1);
    struct err err = ERR_INIT;
    int entries = 0;
    int r = 0;

    (void)state;
    assert_int_equal(mkdir("out", 0755), 0);
    if (mount("airlock-test", "out", "tmpfs", 0, "size=1m") < 0) {
        print_message("# cannot mount a tmpfs: %s\n", strerrordesc_np(errno));
        skip();
    }
    memset(data, 'x', 2 * MIB);
    stream_put(&b, OUTAR_FILE, "small", "x");
    stream_put(&b, OUTAR_FILE, "large", data);
    r = export(&b, "out", &err);
    entries = count_entries("out");
    assert_int_equal(umount("out"), 0);
    assert_int_equal(r, -ENOSPC);
    assert_int_equal(err.class, ERR_LIMIT);
    assert_has(err, "'large'");
    assert_int_equal(entries, 0);
}

static void a_directory_made_for_nothing_goes_away(void **state)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;
    uint8_t name[] = "x";
    struct output_item item = {.name = name, .name_len = 1, .bytes = 10};
    struct outputs o = {.items = &item, .n_items = 1};

    (void)state;
    assert_ok(fd_open(AT_FDCWD, "/dev/null", O_RDONLY, 0, &fd, &err), &err);
    assert_int_equal(outputs_export(fd, &o, "new", "0123", &err), -EIO);
    assert_int_equal(access("new", F_OK), -1);
}

TEST_MAIN(D(outputs_arrive_under_their_names), D(files_replace_files_and_directories_are_merged),
          D(a_collision_undoes_everything), D(links_in_the_directory_are_never_walked),
          D(a_link_to_the_directory_itself_is_the_operators_choice),
          D(directories_that_cannot_take_outputs_are_named_early),
          D(a_full_disk_leaves_the_directory_as_it_was), D(a_directory_made_for_nothing_goes_away))
