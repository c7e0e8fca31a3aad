#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/rootfs.h"
#include "sys/fd.h"
#include "test.h"

static void put(int root, const char *path, mode_t mode)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    assert_ok(fd_open_nolink(root, path, O_WRONLY | O_CREAT, 0644, &fd, &err), &err);
    assert_int_equal(fchmod(fd, mode), 0);
}

static int make_root(char dir[])
{
    static const char *const dirs[] = {"usr",
                                       "usr/bin",
                                       "usr/share",
                                       "usr/share/doc",
                                       "usr/share/zoneinfo",
                                       "usr/share/zoneinfo/Etc",
                                       "etc",
                                       "etc/apt",
                                       "dev",
                                       "var",
                                       "var/lib"};
    int root = -1;

    assert_non_null(mkdtemp(dir));
    root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root >= 0);
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        assert_int_equal(mkdirat(root, dirs[i], 0777), 0);
    }
    put(root, "usr/bin/mawk", 0755);
    put(root, "usr/bin/su", 04755);
    put(root, "usr/share/doc/x", 0644);
    put(root, "usr/share/zoneinfo/Etc/UTC", 0644);
    assert_int_equal(mkfifoat(root, "usr/share/pipe", 0600), 0);
    return root;
}

static mode_t mode_of(int root, const char *path)
{
    struct stat st;

    return fstatat(root, path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? 0 : st.st_mode;
}

static void an_unpacked_tree_becomes_a_guests_root(void **state)
{
    char dir[] = "/tmp/airlock-test-XXXXXX";
    auto_fd int root = make_root(dir);
    struct err err = ERR_INIT;
    char link[64] = "";

    (void)state;
    assert_ok(rootfs_prune(root, &err), &err);
    assert_ok(rootfs_complete(root, &err), &err);
    assert_ok(rootfs_normalize(root, &err), &err);
    assert_int_equal(mode_of(root, "usr/share/doc"), 0);
    assert_int_equal(mode_of(root, "etc/apt"), 0);
    assert_int_equal(mode_of(root, "usr/share/pipe"), 0);
    assert_int_equal(mode_of(root, "usr/bin/su"), S_IFREG | 0755);
    assert_int_equal(mode_of(root, "tmp"), S_IFDIR | 01777);
    assert_int_equal(mode_of(root, "root"), S_IFDIR | 0700);
    assert_int_equal(mode_of(root, "work"), S_IFDIR | 0755);
    assert_int_equal(mode_of(root, "etc/passwd"), S_IFREG | 0644);
    assert_int_equal(readlinkat(root, "usr/bin/awk", link, sizeof(link) - 1), 4);
    assert_string_equal(link, "mawk");
    assert_int_equal(mode_of(root, "usr/bin/js"), 0);
    assert_ok(fd_remove_tree(AT_FDCWD, dir, &err), &err);
}

static void links_in_the_tree_lead_nowhere_outside(void **state)
{
    char dir[] = "/tmp/airlock-test-XXXXXX";
    char outside[] = "/tmp/airlock-test-XXXXXX";
    auto_fd int root = make_root(dir);
    auto_fd int out = -1;
    struct err err = ERR_INIT;

    (void)state;
    assert_non_null(mkdtemp(outside));
    out = open(outside, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    put(out, "apt", 0644);
    put(out, "passwd", 0600);
    assert_ok(fd_remove_tree(root, "etc", &err), &err);
    assert_int_equal(symlinkat(outside, root, "etc"), 0);
    if (rootfs_prune(root, &err) == 0) {
        assert_true(rootfs_complete(root, &err) < 0);
    }
    assert_int_equal(mode_of(out, "apt"), S_IFREG | 0644);
    assert_int_equal(mode_of(out, "passwd"), S_IFREG | 0600);
    err = (struct err)ERR_INIT;
    assert_ok(fd_remove_tree(AT_FDCWD, dir, &err), &err);
    assert_ok(fd_remove_tree(AT_FDCWD, outside, &err), &err);
}

TEST_MAIN(T(an_unpacked_tree_becomes_a_guests_root), T(links_in_the_tree_lead_nowhere_outside))
