#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "image/modules.h"
#include "sys/fd.h"
#include "test.h"

#define KO(depends) \
    "\x7f"          \
    "ELF\0license=GPL\0depends=" depends "\0name=x"

static void the_dependencies_are_read_from_the_module(void **state)
{
    char list[64];

    (void)state;
    assert_int_equal(modules_depends(KO("a,b-c"), sizeof(KO("a,b-c")), list, sizeof(list)), 0);
    assert_string_equal(list, "a,b-c");
    assert_int_equal(modules_depends(KO(""), sizeof(KO("")), list, sizeof(list)), 0);
    assert_string_equal(list, "");
}

static void damaged_modules_are_refused(void **state)
{
    char list[8];

    (void)state;
    assert_int_equal(modules_depends("x", 1, list, sizeof(list)), -EBADMSG);
    assert_int_equal(modules_depends(KO("a/b"), sizeof(KO("a/b")), list, sizeof(list)), -EBADMSG);
    assert_int_equal(modules_depends("\0depends=ab", 11, list, sizeof(list)), -EBADMSG);
    assert_int_equal(modules_depends(KO("abcdefgh"), sizeof(KO("abcdefgh")), list, sizeof(list)),
                     -EBADMSG);
}

static void write_module(int root, const char *path, const char *data, size_t len)
{
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    assert_ok(fd_open_nolink(root, path, O_WRONLY | O_CREAT, 0644, &fd, &err), &err);
    assert_ok(fd_write_full(fd, data, len, &err), &err);
}

#define WRITE(path, text) write_module(root, "lib/modules/6/" path, text, sizeof(text))

static int make_tree(char dir[])
{
    static const char *const dirs[] = {"lib", "lib/modules", "lib/modules/6",
                                       "lib/modules/6/kernel", "lib/modules/6/kernel/drivers"};
    int root = -1;

    assert_non_null(mkdtemp(dir));
    root = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(root >= 0);
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        assert_int_equal(mkdirat(root, dirs[i], 0700), 0);
    }
    WRITE("kernel/drivers/virtio_mmio.ko", KO("virtio_ring,virtio"));
    WRITE("kernel/drivers/virtio.ko", KO("virtio_ring"));
    WRITE("kernel/drivers/virtio_ring.ko", KO(""));
    WRITE("kernel/drivers/virtio_blk.ko", KO("virtio,virtio_ring"));
    WRITE("kernel/drivers/virtio_console.ko", KO("virtio,virtio_ring"));
    WRITE("kernel/drivers/virtio-rng.ko", KO("virtio"));
    WRITE("kernel/drivers/squashfs.ko", KO(""));
    return root;
}

static void modules_come_after_what_they_depend_on(void **state)
{
    static const char order[] = "virtio_ring.ko\nvirtio.ko\nvirtio_mmio.ko\nvirtio_blk.ko\n"
                                "virtio_console.ko\nvirtio-rng.ko\nsquashfs.ko\n";
    char dir[] = "/tmp/airlock-test-XXXXXX";
    auto_cpio struct cpio cpio = CPIO_INIT(MIB);
    auto_fd int root = make_tree(dir);
    struct err err = ERR_INIT;

    (void)state;
    write_module(root, "lib/modules/6/modules.builtin", "kernel/fs/overlayfs/overlay.ko\n", 31);
    assert_ok(modules_pack(root, "6", &cpio, &err), &err);
    assert_non_null(memmem(cpio.out.data, cpio.out.len, order, sizeof(order) - 1));
    assert_non_null(memmem(cpio.out.data, cpio.out.len, "modules/virtio-rng.ko", 22));
    assert_ok(fd_remove_tree(AT_FDCWD, dir, &err), &err);
}

static void a_kernel_without_a_needed_module_is_refused_by_name(void **state)
{
    char dir[] = "/tmp/airlock-test-XXXXXX";
    auto_cpio struct cpio cpio = CPIO_INIT(MIB);
    auto_fd int root = make_tree(dir);
    struct err err = ERR_INIT;

    (void)state;
    write_module(root, "lib/modules/6/modules.builtin", "kernel/fs/x.ko\n", 15);
    assert_int_equal(modules_pack(root, "6", &cpio, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "'overlay'"));
    err = (struct err)ERR_INIT;
    assert_ok(fd_remove_tree(AT_FDCWD, dir, &err), &err);
}

TEST_MAIN(T(the_dependencies_are_read_from_the_module), T(damaged_modules_are_refused),
          T(modules_come_after_what_they_depend_on),
          T(a_kernel_without_a_needed_module_is_refused_by_name))
