#include "image/rootfs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

#include "sys/fd.h"

#define TREE_DEPTH_MAX 64
#define BUNDLE_MAX     (4 * MIB)

/* Splits "a/b/c" and opens "a/b"; -ENOENT (err untouched) if that is not there. */
static int open_parent(int root_fd, const char *path, int *ret_fd, const char **ret_name,
                       struct err *err)
{
    char parent[256];
    const char *slash = strrchr(path, '/');
    struct err why = ERR_INIT;
    int r = 0;

    (void)snprintf(parent, sizeof(parent), "%.*s", slash != NULL ? (int)(slash - path) : 1,
                   slash != NULL ? path : ".");
    *ret_name = slash != NULL ? slash + 1 : path;
    r = fd_open_nolink(root_fd, parent, O_RDONLY | O_DIRECTORY, 0, ret_fd, &why);
    if (r < 0 && r != -ENOENT && r != -ENOTDIR) {
        *err = why;
        return r;
    }
    return r < 0 ? -ENOENT : 0;
}

static int remove_path(int root_fd, const char *path, struct err *err)
{
    auto_fd int fd = -1;
    const char *name = NULL;
    int r = open_parent(root_fd, path, &fd, &name, err);

    return r == -ENOENT ? 0 : r < 0 ? r : fd_remove_tree(fd, name, err);
}

static int make_dir(int root_fd, const char *path, mode_t mode, struct err *err)
{
    auto_fd int fd = -1;
    const char *name = NULL;
    int r = open_parent(root_fd, path, &fd, &name, err);

    if (r == -ENOENT) {
        return err_set(err, ERR_HOST, ENOENT, "the packages give no place for '/%s'", path);
    }
    if (r < 0) {
        return r;
    }
    if (mkdirat(fd, name, mode) < 0 && errno != EEXIST) {
        return err_sys(err, "create '/%s' of the image", path);
    }
    return fchmodat(fd, name, mode, 0) < 0 ? err_sys(err, "chmod '/%s' of the image", path) : 0;
}

static int write_file(int root_fd, const char *path, const void *data, size_t len, struct err *err)
{
    auto_fd int fd = -1;
    auto_fd int out = -1;
    const char *name = NULL;
    int r = open_parent(root_fd, path, &fd, &name, err);

    if (r == -ENOENT) {
        return err_set(err, ERR_HOST, ENOENT, "the packages give no place for '/%s'", path);
    }
    if (r < 0) {
        return r;
    }
    if (unlinkat(fd, name, 0) < 0 && errno != ENOENT) {
        return err_sys(err, "replace '/%s' of the image", path);
    }
    r = fd_open_nolink(fd, name, O_WRONLY | O_CREAT | O_EXCL, 0644, &out, err);
    if (r == 0) {
        r = fd_write_full(out, data, len, err);
    }
    if (r == 0 && fchmod(out, 0644) < 0) {
        r = err_sys(err, "chmod '/%s' of the image", path);
    }
    return r;
}

/* path -> target, replacing a file or link. */
static int make_link(int root_fd, const char *path, const char *target, struct err *err)
{
    auto_fd int fd = -1;
    const char *name = NULL;
    int r = open_parent(root_fd, path, &fd, &name, err);

    if (r < 0) {
        return r == -ENOENT ? 0 : r;
    }
    if (unlinkat(fd, name, 0) < 0 && errno != ENOENT) {
        return err_sys(err, "replace '/%s' of the image", path);
    }
    return symlinkat(target, fd, name) < 0 ? err_sys(err, "link '/%s' of the image", path) : 0;
}

static bool exists(int root_fd, const char *path)
{
    struct stat st;

    return fstatat(root_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int rootfs_prune(int root_fd, struct err *err)
{
    static const char *const unwanted[] = {
        "boot",
        "dev",
        "media",
        "mnt",
        "opt",
        "proc",
        "run",
        "srv",
        "sys",
        "tmp",
        "home",
        "var",
        "root",
        "etc/apt",
        "etc/cron.daily",
        "etc/dpkg",
        "etc/logrotate.d",
        "etc/systemd",
        "etc/init.d",
        "etc/default",
        "etc/kernel",
        "etc/update-motd.d",
        "etc/motd",
        "etc/issue",
        "etc/issue.net",
        "etc/machine-id",
        "etc/skel",
        "etc/pam.d",
        "usr/games",
        "usr/include",
        "usr/local",
        "usr/src",
        "usr/lib/apt",
        "usr/lib/dpkg",
        "usr/lib/systemd",
        "usr/lib/tmpfiles.d",
        "usr/lib/x86_64-linux-gnu/gconv",
        "usr/lib/x86_64-linux-gnu/audit",
        "usr/share/applications",
        "usr/share/bash-completion",
        "usr/share/bug",
        "usr/share/common-licenses",
        "usr/share/debconf",
        "usr/share/debhelper",
        "usr/share/dict",
        "usr/share/doc",
        "usr/share/doc-base",
        "usr/share/gdb",
        "usr/share/i18n",
        "usr/share/icons",
        "usr/share/info",
        "usr/share/initramfs-tools",
        "usr/share/lintian",
        "usr/share/locale",
        "usr/share/man",
        "usr/share/menu",
        "usr/share/pixmaps",
        "usr/share/zsh",
        "usr/share/zoneinfo/right",
        "usr/share/zoneinfo/posix",
    };

    for (size_t i = 0; i < ARRAY_LEN(unwanted); i++) {
        int r = remove_path(root_fd, unwanted[i], err);

        if (r < 0) {
            return err_wrap(err, "prune '/%s' of the image", unwanted[i]);
        }
    }
    return 0;
}

static const struct {
    const char *path, *text;
} files[] = {
    {"etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"
                   "user:x:1000:1000:user:/work:/bin/sh\n"
                   "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"etc/group", "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n"},
    {"etc/nsswitch.conf", "passwd: files\ngroup: files\nshadow: files\nhosts: files\n"
                          "networks: files\nprotocols: files\nservices: files\n"},
    {"etc/hosts", "127.0.0.1 localhost airlock\n::1 localhost\n"},
    {"etc/hostname", "airlock\n"},
    {"etc/resolv.conf", ""},
    {"etc/timezone", "Etc/UTC\n"},
    {"etc/machine-id", ""},
};

/* What update-alternatives would have linked; the first target that is there is taken. */
static const struct {
    const char *link, *needs, *target;
} alternatives[] = {
    {"usr/bin/awk", "usr/bin/mawk", "mawk"},
    {"usr/bin/awk", "usr/bin/gawk", "gawk"},
    {"usr/bin/js", "usr/bin/node", "node"},
    {"usr/bin/nodejs", "usr/bin/node", "node"},
    {"usr/bin/python", "usr/bin/python3", "python3"},
    {"usr/lib/x86_64-linux-gnu/libblas.so.3",
     "usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3", "openblas-pthread/libblas.so.3"},
    {"usr/lib/x86_64-linux-gnu/liblapack.so.3",
     "usr/lib/x86_64-linux-gnu/openblas-pthread/liblapack.so.3", "openblas-pthread/liblapack.so.3"},
    {"usr/lib/x86_64-linux-gnu/libblas.so.3", "usr/lib/x86_64-linux-gnu/blas/libblas.so.3",
     "blas/libblas.so.3"},
    {"usr/lib/x86_64-linux-gnu/liblapack.so.3", "usr/lib/x86_64-linux-gnu/lapack/liblapack.so.3",
     "lapack/liblapack.so.3"},
    {"etc/localtime", "usr/share/zoneinfo/Etc/UTC", "/usr/share/zoneinfo/Etc/UTC"},
};

static int is_certificate(const struct dirent *e)
{
    size_t len = strlen(e->d_name);

    return len > 4 && strcmp(e->d_name + len - 4, ".crt") == 0;
}

/* What update-ca-certificates would have made: one file of all of Mozilla's. */
static int write_bundle(int root_fd, struct err *err)
{
    static const char dir[] = "usr/share/ca-certificates/mozilla";
    auto_buf struct buf bundle = BUF_INIT(BUNDLE_MAX);
    struct dirent **names = NULL;
    int n = 0;
    int r = 0;

    if (!exists(root_fd, dir)) {
        return 0;
    }
    n = scandirat(root_fd, dir, &names, is_certificate, alphasort);
    for (int i = 0; i < n; i++) {
        auto_fd int fd = -1;
        char path[512];

        (void)snprintf(path, sizeof(path), "%s/%s", dir, names[i]->d_name);
        free(names[i]);
        if (r == 0) {
            r = fd_open_nolink(root_fd, path, O_RDONLY, 0, &fd, err);
        }
        if (r == 0) {
            r = fd_read_all(fd, path, &bundle, err);
        }
    }
    free(names);
    if (r == 0) {
        r = make_dir(root_fd, "etc/ssl", 0755, err);
    }
    if (r == 0) {
        r = make_dir(root_fd, "etc/ssl/certs", 0755, err);
    }
    return r < 0 ? r
                 : write_file(root_fd, "etc/ssl/certs/ca-certificates.crt", bundle.data, bundle.len,
                              err);
}

int rootfs_complete(int root_fd, struct err *err)
{
    static const struct {
        const char *path;
        mode_t mode;
    } dirs[] = {
        {"etc", 0755},       {"dev", 0755},  {"proc", 0755},      {"sys", 0755},
        {"run", 0755},       {"in", 0755},   {"work", 0755},      {"out", 0755},
        {"tmp", 01777},      {"root", 0700}, {"var", 0755},       {"var/tmp", 01777},
        {"var/lib", 0755},   {"home", 0755}, {"usr/local", 0755}, {"usr/local/bin", 0755},
        {"var/cache", 0755}, {"mnt", 0755},
    };

    int r = 0;

    for (size_t i = 0; r == 0 && i < ARRAY_LEN(dirs); i++) {
        r = make_dir(root_fd, dirs[i].path, dirs[i].mode, err);
    }
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(files); i++) {
        r = write_file(root_fd, files[i].path, files[i].text, strlen(files[i].text), err);
    }
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(alternatives); i++) {
        if (exists(root_fd, alternatives[i].needs) && !exists(root_fd, alternatives[i].link)) {
            r = make_link(root_fd, alternatives[i].link, alternatives[i].target, err);
        }
    }
    return r < 0 ? r : write_bundle(root_fd, err);
}

static int normalize_dir(int fd_take, unsigned depth, struct err *err);

static int normalize_entry(int fd, const char *name, unsigned depth, /* NOLINT(misc-no-recursion) */
                           struct err *err)
{
    struct stat st;
    mode_t mode = 0;

    if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return err_sys(err, "stat '%s' in the image", name);
    }
    if (S_ISLNK(st.st_mode)) {
        return 0;
    }
    if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)) {
        return unlinkat(fd, name, 0) < 0 ? err_sys(err, "remove '%s' from the image", name) : 0;
    }
    mode = st.st_mode & 07777 & ~(mode_t)(S_ISUID | S_ISGID);
    if ((mode & S_ISVTX) == 0) {
        mode &= ~(mode_t)(S_IWGRP | S_IWOTH);
    }
    if (mode != (st.st_mode & 07777) && fchmodat(fd, name, mode, 0) < 0) {
        return err_sys(err, "chmod '%s' in the image", name);
    }
    if (S_ISDIR(st.st_mode)) {
        int sub = openat(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        return sub < 0 ? err_sys(err, "open '%s' in the image", name)
                       : normalize_dir(sub, depth + 1, err);
    }
    return 0;
}

static int normalize_dir(int fd_take, unsigned depth, /* NOLINT(misc-no-recursion): bounded */
                         struct err *err)
{
    auto_dir DIR *dir = fdopendir(fd_take);
    struct dirent *e = NULL;

    if (dir == NULL) {
        (void)close(fd_take);
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (depth > TREE_DEPTH_MAX) {
        return err_set(err, ERR_LIMIT, ELOOP, "the packages' directories are nested too deeply");
    }
    while ((e = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            int r = normalize_entry(dirfd(dir), e->d_name, depth, err);

            if (r < 0) {
                return r;
            }
        }
    }
    return 0;
}

int rootfs_normalize(int root_fd, struct err *err)
{
    int fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0) {
        return err_sys(err, "open the image's root");
    }
    if (fchmod(root_fd, 0755) < 0) {
        (void)close(fd);
        return err_sys(err, "chmod the image's root");
    }
    return normalize_dir(fd, 0, err);
}
