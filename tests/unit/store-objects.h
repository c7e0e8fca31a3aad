/* store-objects.h - images and a kernel in a store, of objects that hold a few words. */
#pragma once

#include <fcntl.h>
#include <string.h>

#include "image/store.h"
#include "sys/fd.h"
#include "test.h"

static inline struct object put_object(const struct store *store, const char *text)
{
    struct object object = {0};
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    assert_ok(fd_open_nolink(store->tmpfd, "x", O_WRONLY | O_CREAT, 0600, &fd, &err), &err);
    assert_ok(fd_write_full(fd, text, strlen(text), &err), &err);
    assert_ok(store_put(store, "x", &object, &err), &err);
    return object;
}

static inline void add_image(const struct store *store, const char *name, const char *text)
{
    struct err err = ERR_INIT;
    struct image_manifest m = {.name = (char *)(uintptr_t)name,
                               .from = (char[]){"python"},
                               .created = 1,
                               .root = put_object(store, text)};

    assert_ok(store_write_image(store, &m, &err), &err);
}

/* Its kernel is of these words. */
static inline void add_kernel(const struct store *store, const char *text)
{
    struct err err = ERR_INIT;
    struct kernel_manifest m = {
        .package = {(char[]){"linux-image-6"},
                    (char[]){"6.1-3"},
                    (char[]){"amd64"},
                    (char[]){"Debian:12"},
                    {""}},
        .created = 1,
        .vmlinuz = put_object(store, text),
        .modules = put_object(store, "modules"),
        .initramfs = put_object(store, "initramfs"),
    };

    m.package.sha256 = m.vmlinuz.digest;
    m.agent = m.vmlinuz.digest;
    assert_ok(store_write_kernel(store, &m, &err), &err);
}
