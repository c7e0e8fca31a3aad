#include "sys/memo.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/boot.h"
#include "sys/clock.h"
#include "sys/digest.h"
#include "sys/fd.h"

#define DIR_NAME "memo"
#define HEAD     "airlock memo 1 "

void memo_fini(struct memo *m)
{
    buf_fini(&m->of);
}

static int add_line(struct memo *m, const char *text, const char *name, struct err *err)
{
    if (strchr(name, '\n') != NULL || buf_printf(&m->of, "%s %s\n", text, name) < 0) {
        return err_set(err, ERR_HOST, EINVAL, "the name of a file is too long or has a line break");
    }
    return 0;
}

int memo_begin(struct memo *m, struct err *err)
{
    char boot_id[BOOT_ID_SIZE];
    int r = boot_id_read(boot_id, err);

    if (r < 0) {
        return r;
    }
    m->of.len = 0;
    m->changed_ns = 0;
    m->begun_ns = clock_ns(CLOCK_REALTIME);
    return add_line(m, "boot", boot_id, err);
}

static uint64_t ns_of(struct timespec ts)
{
    return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

static int add_stat(struct memo *m, const char *name, const struct stat *st, struct err *err)
{
    char text[160];
    bool is_device = S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode);
    uint64_t changed =
        ns_of(st->st_ctim) > ns_of(st->st_mtim) ? ns_of(st->st_ctim) : ns_of(st->st_mtim);

    if (is_device) {
        (void)snprintf(text, sizeof(text), "%llx:%llx %o device %llx",
                       (unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
                       (unsigned int)st->st_mode, (unsigned long long)st->st_rdev);
        return add_line(m, text, name, err);
    }
    m->changed_ns = changed > m->changed_ns ? changed : m->changed_ns;
    (void)snprintf(text, sizeof(text), "%llx:%llx %o %llu %lld.%09ld %lld.%09ld",
                   (unsigned long long)st->st_dev, (unsigned long long)st->st_ino,
                   (unsigned int)st->st_mode, (unsigned long long)st->st_size,
                   (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
                   (long long)st->st_ctim.tv_sec, st->st_ctim.tv_nsec);
    return add_line(m, text, name, err);
}

int memo_add_fd(struct memo *m, const char *name, int fd, struct err *err)
{
    struct stat st = {0};

    return fstat(fd, &st) < 0 ? err_sys(err, "stat '%s'", name) : add_stat(m, name, &st, err);
}

int memo_add_path(struct memo *m, const char *path, struct err *err)
{
    struct stat st = {0};

    if (stat(path, &st) < 0) {
        return errno == ENOENT ? add_line(m, "none", path, err) : err_sys(err, "stat '%s'", path);
    }
    return add_stat(m, path, &st, err);
}

/* The whole file, if it is what we would have written. */
static bool load(int dirfd, const char *name, struct buf *ret)
{
    struct err ignored = ERR_INIT;
    struct digest is = {.hex = ""};
    char path[160];
    struct stat st = {0};
    auto_fd int fd = -1;
    const size_t body = strlen(HEAD) + DIGEST_HEX_SIZE; /* the digest, and a line break */

    (void)snprintf(path, sizeof(path), DIR_NAME "/%s", name);
    if (fd_open_nolink(dirfd, path, O_RDONLY | O_NONBLOCK, 0, &fd, &ignored) < 0 ||
        fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & (S_IWGRP | S_IWOTH)) != 0 || fd_read_all(fd, name, ret, &ignored) < 0 ||
        ret->len <= body) {
        return false;
    }
    digest_of_data(ret->data + body, ret->len - body, &is);
    return memcmp(ret->data, HEAD, strlen(HEAD)) == 0 && ret->data[body - 1] == '\n' &&
           memcmp(ret->data + strlen(HEAD), is.hex, DIGEST_HEX_SIZE - 1) == 0;
}

bool memo_get(int dirfd, const char *name, const struct memo *m, struct buf *ret)
{
    auto_buf struct buf all = BUF_INIT(2 * MEMO_MAX);
    const size_t at = strlen(HEAD) + DIGEST_HEX_SIZE;

    if (dirfd < 0 || !load(dirfd, name, &all) || all.len - at <= m->of.len ||
        memcmp(all.data + at, m->of.data, m->of.len) != 0 || all.data[at + m->of.len] != '\n') {
        return false;
    }
    ret->len = 0;
    return buf_put(ret, all.data + at + m->of.len + 1, all.len - at - m->of.len - 1) == 0;
}

/* Changed long enough before it was looked at, by a clock that did not go back in between. */
static bool is_settled(const struct memo *m)
{
    return m->changed_ns < m->begun_ns && m->begun_ns - m->changed_ns > MEMO_SETTLED_NS;
}

void memo_put(int dirfd, const char *name, const struct memo *m, const void *text, size_t len)
{
    auto_buf struct buf body = BUF_INIT(2 * MEMO_MAX);
    auto_buf struct buf all = BUF_INIT(2 * MEMO_MAX);
    struct err ignored = ERR_INIT;
    struct digest digest = {.hex = ""};
    auto_fd int dir = -1;

    if (dirfd < 0 || !is_settled(m) || buf_put(&body, m->of.data, m->of.len) < 0 ||
        buf_put(&body, "\n", 1) < 0 || buf_put(&body, text, len) < 0) {
        return;
    }
    digest_of_data(body.data, body.len, &digest);
    if (buf_printf(&all, HEAD "%s\n", digest.hex) < 0 || buf_put(&all, body.data, body.len) < 0 ||
        (mkdirat(dirfd, DIR_NAME, 0700) < 0 && errno != EEXIST) ||
        fd_open_nolink(dirfd, DIR_NAME, O_RDONLY | O_DIRECTORY, 0, &dir, &ignored) < 0) {
        return;
    }
    (void)!fd_write_atomic(dir, name, all.data, all.len, 0600, &ignored);
}

void memo_forget(int dirfd, const char *name)
{
    char path[160];

    (void)snprintf(path, sizeof(path), DIR_NAME "/%s", name);
    (void)unlinkat(dirfd, path, 0);
}

void memo_clear(int dirfd)
{
    struct err ignored = ERR_INIT;

    (void)!fd_remove_tree(dirfd, DIR_NAME, &ignored);
}
