#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "image/build-internal.h"
#include "image/build.h"
#include "image/initramfs.h"
#include "image/store.h"
#include "sys/fd.h"
#include "test.h"

static const struct build_progress quiet;

static struct object put(const struct store *store, const char *text)
{
    struct object object = {0};
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    assert_ok(fd_open_nolink(store->tmpfd, "x", O_WRONLY | O_CREAT, 0600, &fd, &err), &err);
    assert_ok(fd_write_full(fd, text, strlen(text), &err), &err);
    assert_ok(store_put(store, "x", &object, &err), &err);
    return object;
}

/* A store in dir with image "python" and a kernel whose initramfs holds another agent. */
static void make_store(char dir[], struct store *store)
{
    struct err err = ERR_INIT;
    struct kernel_manifest kernel = {
        .package = {(char[]){"linux-image-6"},
                    (char[]){"6.1-3"},
                    (char[]){"amd64"},
                    (char[]){"Debian:12"},
                    {""}},
    };
    struct image_manifest image = {.name = (char[]){"python"}, .from = (char[]){"python"}};

    assert_non_null(mkdtemp(dir));
    assert_ok(store_open(dir, store, &err), &err);
    kernel.vmlinuz = put(store, "kernel");
    kernel.modules = put(store, "the modules");
    kernel.initramfs = put(store, "old initramfs");
    kernel.package.sha256 = kernel.vmlinuz.digest;
    kernel.agent = kernel.vmlinuz.digest;
    image.root = put(store, "root");
    assert_ok(store_write_kernel(store, &kernel, &err), &err);
    assert_ok(store_write_image(store, &image, &err), &err);
}

static void another_agent_is_put_into_the_initramfs_without_network(void **state)
{
    char dir[] = "/tmp/airlock-test-XXXXXX";
    auto_store struct store store = STORE_INIT;
    auto_kernel_manifest struct kernel_manifest m = {0};
    auto_buf struct buf text = BUF_INIT(64 * MIB);
    auto_store_boot struct store_boot boot = STORE_BOOT_INIT;
    struct digest agent = {0};
    struct err err = ERR_INIT;

    (void)state;
    make_store(dir, &store);
    assert_ok(build_ensure(&store, "python", &quiet, &err), &err);
    assert_ok(store_read_kernel(&store, &m, &err), &err);
    initramfs_agent_digest(&agent);
    assert_true(digest_equal(&agent, &m.agent));
    assert_ok(store_open_boot(&store, "python", &boot, &err), &err);
    assert_ok(fd_read_all(boot.initramfs_fd, "initramfs", &text, &err), &err);
    assert_memory_equal(text.data, "070701", 6);
    assert_memory_equal(text.data + text.len - 11, "the modules", 11);
    /* All is there now: nothing is done any more. */
    assert_ok(build_ensure(&store, "python", &quiet, &err), &err);
    assert_ok(fd_remove_tree(AT_FDCWD, dir, &err), &err);
}

static void what_is_not_built_in_is_never_built_unasked(void **state)
{
    static const char pinned[] = "javascript@sha256:"
                                 "0000000000000000000000000000000000000000000000000000000000000000";
    char dir[] = "/tmp/airlock-test-XXXXXX";
    auto_store struct store store = STORE_INIT;
    struct err err = ERR_INIT;

    (void)state;
    make_store(dir, &store);
    assert_int_equal(build_ensure(&store, pinned, &quiet, &err), -ENOENT);
    err = (struct err)ERR_INIT;
    assert_int_equal(build_ensure(&store, "mine", &quiet, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "airlock image build mine"));
    err = (struct err)ERR_INIT;
    assert_int_equal(build_ensure(&store, "../x", &quiet, &err), -EINVAL);
    err = (struct err)ERR_INIT;
    assert_ok(fd_remove_tree(AT_FDCWD, dir, &err), &err);
}

static void wrong_requests_are_refused_before_anything_is_done(void **state)
{
    static const char *const numpy[] = {"python3-numpy", NULL};
    const struct build_request wrong[] = {
        {.name = "../x", .from = "python"},
        {.name = "kernel", .from = "python"},
        {.name = "mine"},
        {.name = "mine", .from = "perl"},
        {.name = "python", .packages = numpy},
        {.name = "python", .from = "javascript"},
    };
    char dir[] = "/tmp/airlock-test-XXXXXX";
    auto_store struct store store = STORE_INIT;
    struct err err = ERR_INIT;

    (void)state;
    make_store(dir, &store);
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        err = (struct err)ERR_INIT;
        assert_int_equal(build_image(&store, &wrong[i], &quiet, &err), -EINVAL);
        assert_int_equal(err.class, ERR_USAGE);
    }
    err = (struct err)ERR_INIT;
    assert_ok(fd_remove_tree(AT_FDCWD, dir, &err), &err);
}

static void package_lists_are_checked_and_joined(void **state)
{
    static const char *const good[] = {"python3-numpy", NULL};
    static const char *const bad[] = {"-oDir=/", NULL};
    const struct image_base *base = image_base_get("python");
    auto_free const char **all = NULL;
    struct err err = ERR_INIT;
    size_t n = 0;

    (void)state;
    assert_non_null(base);
    assert_null(image_base_get("ruby"));
    assert_ok(image_base_packages(base, good, &all, &err), &err);
    while (all[n] != NULL) {
        n++;
    }
    assert_string_equal(all[n - 1], "python3-numpy");
    assert_int_equal(image_base_packages(base, bad, &all, &err), -EINVAL);
}

TEST_MAIN(T(another_agent_is_put_into_the_initramfs_without_network),
          T(what_is_not_built_in_is_never_built_unasked),
          T(wrong_requests_are_refused_before_anything_is_done),
          T(package_lists_are_checked_and_joined))
