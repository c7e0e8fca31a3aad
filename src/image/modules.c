#include "image/modules.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/fd.h"

#define NAME_SIZE   64
#define LIST_MAX    64
#define TREE_DEPTH  12
#define MODULE_MAX  (16 * MIB)
#define DEPENDS_MAX 512

/* What the fixed machine has: virtio devices on MMIO, squashfs roots, an overlay on top. */
static const char *const wanted[] = {"virtio_mmio", "virtio_blk", "virtio_console",
                                     "virtio_rng",  "squashfs",   "overlay"};

struct packer {
    int root_fd;
    int tree_fd;         /* lib/modules/RELEASE/kernel */
    const char *builtin; /* text of modules.builtin */
    struct cpio *cpio;
    struct buf *order;
    char done[LIST_MAX][NAME_SIZE];
    size_t n_done;
};

/* Module names count '-' and '_' as one; files use either. */
static bool same_name(const char *file, const char *module)
{
    size_t len = strlen(module);

    for (size_t i = 0; i < len; i++) {
        if (file[i] != module[i] && !(file[i] == '-' && module[i] == '_')) {
            return false;
        }
    }
    return strcmp(file + len, ".ko") == 0;
}

/* Looks below dir_fd (taken) for the module's file: 0 with *ret_fd, or -ENOENT. */
static int find(int dir_fd_take, const char *module, unsigned depth, /* NOLINT(misc-no-recursion) */
                int *ret_fd, char file[NAME_SIZE])
{
    auto_dir DIR *dir = fdopendir(dir_fd_take);
    struct dirent *e = NULL;

    if (dir == NULL) {
        (void)close(dir_fd_take);
        return -ENOENT;
    }
    while ((e = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        int r = -ENOENT;

        if (e->d_name[0] == '.') {
            continue;
        }
        if (e->d_type == DT_DIR && depth < TREE_DEPTH) {
            int sub =
                openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

            r = sub < 0 ? -ENOENT : find(sub, module, depth + 1, ret_fd, file);
        } else if (e->d_type == DT_REG && strlen(e->d_name) < NAME_SIZE &&
                   same_name(e->d_name, module)) {
            *ret_fd = openat(dirfd(dir), e->d_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
            (void)snprintf(file, NAME_SIZE, "%s", e->d_name);
            r = *ret_fd < 0 ? -ENOENT : 0;
        }
        if (r == 0) {
            return 0;
        }
    }
    return -ENOENT;
}

/* modules.builtin lists paths such as "kernel/fs/ext4/ext4.ko". */
static bool is_builtin(const char *list, const char *module)
{
    for (const char *line = list; *line != '\0';) {
        size_t len = strcspn(line, "\n");
        char path[256];
        const char *base = NULL;

        (void)snprintf(path, sizeof(path), "%.*s", len < sizeof(path) ? (int)len : 0, line);
        base = strrchr(path, '/');
        if (base != NULL && strlen(base + 1) > strlen(module) && same_name(base + 1, module)) {
            return true;
        }
        line += len + (line[len] == '\n');
    }
    return false;
}

int modules_depends(const void *ko, size_t len, char *ret, size_t size)
{
    static const char key[] = "\0depends=";
    const char *end = (const char *)ko + len;
    const char *at = memmem(ko, len, key, sizeof(key) - 1);
    size_t n = 0;

    if (at == NULL) {
        /* It may be the section's first entry. */
        return -EBADMSG;
    }
    at += sizeof(key) - 1;
    while (at + n < end && at[n] != '\0') {
        n++;
    }
    if (at + n == end || n >= size) {
        return -EBADMSG;
    }
    memcpy(ret, at, n);
    ret[n] = '\0';
    return strspn(ret, "abcdefghijklmnopqrstuvwxyz0123456789_-,") == n ? 0 : -EBADMSG;
}

static bool is_done(const struct packer *p, const char *module)
{
    for (size_t i = 0; i < p->n_done; i++) {
        if (strcmp(p->done[i], module) == 0) {
            return true;
        }
    }
    return false;
}

static int put_module(struct packer *p, const char *file, const struct buf *ko, struct err *err)
{
    char path[NAME_SIZE + 16];
    int r = 0;

    (void)snprintf(path, sizeof(path), "modules/%s", file);
    r = cpio_file(p->cpio, path, 0644, ko->data, ko->len);
    if (r == 0) {
        r = buf_printf(p->order, "%s\n", file);
    }
    return r < 0 ? err_set(err, ERR_HOST, -r, "pack module '%s'", file) : 0;
}

/* The module after everything it depends on. */
static int pack(struct packer *p, const char *module,
                unsigned depth, /* NOLINT(misc-no-recursion) */
                struct err *err)
{
    auto_buf struct buf ko = BUF_INIT(MODULE_MAX);
    auto_fd int fd = -1;
    char file[NAME_SIZE];
    char depends[DEPENDS_MAX];
    char *rest = NULL;
    int dir = -1;
    int r = 0;

    if (is_done(p, module) || is_builtin(p->builtin, module)) {
        return 0;
    }
    if (p->n_done >= LIST_MAX || depth > LIST_MAX || strlen(module) >= NAME_SIZE) {
        return err_set(err, ERR_HOST, ELOOP, "the kernel's modules depend on too many others");
    }
    dir = openat(p->tree_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0 || find(dir, module, 0, &fd, file) < 0) {
        return err_set(err, ERR_HOST, ENOENT, "Debian's kernel package has no module '%s'", module);
    }
    (void)snprintf(p->done[p->n_done++], NAME_SIZE, "%s", module);
    r = fd_read_all(fd, file, &ko, err);
    if (r < 0) {
        return r;
    }
    if (ko.data == NULL || modules_depends(ko.data, ko.len, depends, sizeof(depends)) < 0) {
        return err_set(err, ERR_HOST, EBADMSG, "module '%s' does not say what it depends on", file);
    }
    rest = depends;
    while (rest != NULL && *rest != '\0') {
        char *one = strsep(&rest, ",");

        for (char *c = strchr(one, '-'); c != NULL; c = strchr(c, '-')) {
            *c = '_';
        }
        r = pack(p, one, depth + 1, err);
        if (r < 0) {
            return r;
        }
    }
    return put_module(p, file, &ko, err);
}

int modules_pack(int root_fd, const char *kernel_release, struct cpio *cpio, struct err *err)
{
    auto_buf struct buf builtin = BUF_INIT(4 * MIB);
    auto_buf struct buf order = BUF_INIT(64 * KIB);
    auto_fd int tree = -1;
    auto_fd int list = -1;
    auto_free struct packer *p = calloc(1, sizeof(*p));
    char path[256];
    int r = 0;

    if (p == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    (void)snprintf(path, sizeof(path), "lib/modules/%s/kernel", kernel_release);
    r = fd_open_nolink(root_fd, path, O_RDONLY | O_DIRECTORY, 0, &tree, err);
    if (r < 0) {
        return err_wrap(err, "kernel package");
    }
    (void)snprintf(path, sizeof(path), "lib/modules/%s/modules.builtin", kernel_release);
    r = fd_open_nolink(root_fd, path, O_RDONLY, 0, &list, err);
    if (r == 0) {
        r = fd_read_all(list, path, &builtin, err);
    }
    if (r < 0) {
        return err_wrap(err, "kernel package");
    }
    p->root_fd = root_fd;
    p->tree_fd = tree;
    p->builtin = builtin.data != NULL ? (const char *)builtin.data : "";
    p->cpio = cpio;
    p->order = &order;
    r = cpio_dir(cpio, "modules", 0755);
    if (r < 0) {
        return err_set(err, ERR_HOST, -r, "pack modules");
    }
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        r = pack(p, wanted[i], 0, err);
        if (r < 0) {
            return r;
        }
    }
    r = cpio_file(cpio, "modules/order", 0644, order.data, order.len);
    if (r == 0) {
        r = cpio_end(cpio);
    }
    return r < 0 ? err_set(err, ERR_HOST, -r, "pack modules") : 0;
}
