#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "image/apt.h"
#include "image/build-internal.h"
#include "image/cpio.h"
#include "image/initramfs.h"
#include "image/modules.h"
#include "image/tool.h"
#include "sys/fd.h"

#define META_PACKAGE "linux-image-cloud-amd64"
#define PREFIX       "linux-image-"
#define MODULES_MAX  (256 * MIB)

/* The one package among what the metapackage takes that holds the kernel itself. */
static const struct package *find_kernel(const struct package_set *set)
{
    for (size_t i = 0; i < set->n; i++) {
        const char *name = set->v[i].name;
        size_t len = strlen(name);

        if (strncmp(name, PREFIX, strlen(PREFIX)) == 0 && name[strlen(PREFIX)] >= '0' &&
            name[strlen(PREFIX)] <= '9' && len > 12 &&
            strcmp(name + len - 12, "-cloud-amd64") == 0) {
            return &set->v[i];
        }
    }
    return NULL;
}

int kernel_candidate(const struct apt *apt, struct package_set *ret, struct err *err)
{
    static const char *const names[] = {META_PACKAGE, NULL};
    auto_package_set struct package_set all = {0};
    const struct package *kernel = NULL;
    int r = apt_resolve(apt, names, &all, err);

    if (r < 0) {
        return r;
    }
    kernel = find_kernel(&all);
    if (kernel == NULL) {
        return err_set(err, ERR_HOST, ENOENT, "'" META_PACKAGE "' depends on no kernel package");
    }
    package_set_fini(ret);
    return package_set_add(ret, kernel, err);
}

static int unpack(const struct apt *apt, const struct package *package, const char *dir,
                  struct err *err)
{
    auto_buf struct buf out = BUF_INIT(TOOL_OUT_MAX);
    auto_free char *deb = NULL;
    char name[APT_FILE_MAX];

    apt_file_name(package, name);
    if (asprintf(&deb, "%s/archives/%s", apt->dir, name) < 0) {
        deb = NULL;
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    return tool_run(
        &(struct tool){.tmpdir = apt->tmpdir,
                       .argv = (const char *const[]){"dpkg-deb", "--extract", deb, dir, NULL}},
        &out, err);
}

static int store_modules(const struct store *store, int root_fd, const char *release,
                         struct kernel_manifest *m, struct err *err)
{
    auto_cpio struct cpio cpio = CPIO_INIT(MODULES_MAX);
    auto_fd int out = -1;
    int r = modules_pack(root_fd, release, &cpio, err);

    if (r == 0) {
        r = fd_open_nolink(store->tmpfd, "modules", O_WRONLY | O_CREAT | O_TRUNC, 0600, &out, err);
    }
    if (r == 0) {
        r = fd_write_full(out, cpio.out.data, cpio.out.len, err);
    }
    return r < 0 ? r : store_put(store, "modules", &m->modules, err);
}

static int store_vmlinuz(const struct store *store, int root_fd, const char *release,
                         struct kernel_manifest *m, struct err *err)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "boot/vmlinuz-%.200s", release);
    if (renameat(root_fd, path, store->tmpfd, "vmlinuz") < 0) {
        return err_sys(err, "the kernel package has no '%s'", path);
    }
    return store_put(store, "vmlinuz", &m->vmlinuz, err);
}

static int make_objects(const struct store *store, const struct apt *apt, struct package_set *set,
                        struct kernel_manifest *m, struct err *err)
{
    auto_free char *dir = NULL;
    auto_fd int root = -1;
    const char *release = set->v[0].name + strlen(PREFIX);
    int r = store_path(store, "tmp/kernel", &dir, err);

    if (r == 0 && mkdirat(store->tmpfd, "kernel", 0700) < 0) {
        return err_sys(err, "create '%s'", dir);
    }
    if (r == 0) {
        r = unpack(apt, &set->v[0], dir, err);
    }
    if (r == 0) {
        r = fd_open_nolink(store->tmpfd, "kernel", O_RDONLY | O_DIRECTORY, 0, &root, err);
    }
    if (r == 0) {
        r = store_vmlinuz(store, root, release, m, err);
    }
    if (r == 0) {
        r = store_modules(store, root, release, m, err);
    }
    if (r == 0) {
        r = initramfs_make(store, m, err);
    }
    return r < 0 ? r : fd_remove_tree(store->tmpfd, "kernel", err);
}

int kernel_build_locked(const struct store *store, uint64_t max_age_s,
                        const struct build_progress *progress, struct err *err)
{
    auto_apt struct apt apt = APT_INIT;
    auto_package_set struct package_set set = {0};
    auto_kernel_manifest struct kernel_manifest m = {0};
    int r = apt_open(store, &apt, err);

    if (r == 0) {
        r = apt_refresh(&apt, max_age_s, progress, err);
    }
    if (r == 0) {
        r = kernel_candidate(&apt, &set, err);
    }
    if (r != 0 || set.v == NULL) {
        return r;
    }
    build_step(progress, "kernel: downloading Debian's linux-image-cloud-amd64");
    r = apt_fetch(&apt, &set, err);
    if (r < 0) {
        return r;
    }
    build_step(progress, "kernel: unpacking, making the initramfs");
    r = make_objects(store, &apt, &set, &m, err);
    if (r < 0) {
        return r;
    }
    m.created = (uint64_t)time(NULL);
    m.package = set.v[0];
    set.v[0] = (struct package){0};
    r = store_write_kernel(store, &m, err);
    return r < 0 ? r : store_collect(store, err);
}
