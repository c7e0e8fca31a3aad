#include "sys/fd.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void fd_close_p(int *fd)
{
    if (*fd >= 0) {
        (void)close(*fd);
    }
    *fd = -1;
}

void fd_closedir_p(DIR **dir)
{
    if (*dir != NULL) {
        (void)closedir(*dir);
    }
    *dir = NULL;
}

int fd_open_nolink(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd,
                   struct err *err)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned int)(flags | O_CLOEXEC | O_NOFOLLOW),
        .mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? mode : 0,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
    };
    long fd = syscall(SYS_openat2, dirfd, path, &how, sizeof(how));

    if (fd < 0) {
        if (errno == ELOOP) {
            return err_set(err, ERR_HOST, ELOOP, "open '%s': it is or lies behind a symbolic link",
                           path);
        }
        return err_sys(err, "open '%s'", path);
    }
    *ret_fd = (int)fd;
    return 0;
}

int fd_open(int dirfd, const char *path, int flags, mode_t mode, int *ret_fd, struct err *err)
{
    int fd = openat(dirfd, path, flags | O_CLOEXEC, mode);

    if (fd < 0) {
        return err_sys(err, "open '%s'", path);
    }
    *ret_fd = fd;
    return 0;
}

int fd_open_tmp(int dirfd, int *ret_fd, struct err *err)
{
    int fd = openat(dirfd, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

    if (fd < 0) {
        return err_sys(err, "create an unnamed temporary file in the state directory");
    }
    *ret_fd = fd;
    return 0;
}

int fd_reopen(int fd, int flags, int *ret_fd, struct err *err)
{
    char path[40];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    return fd_open(AT_FDCWD, path, flags, 0, ret_fd, err);
}

int fd_read_full(int fd, void *data, size_t len, size_t *ret_len, struct err *err)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = read(fd, (char *)data + done, len - done);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_sys(err, "read");
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    *ret_len = done;
    return 0;
}

int fd_pread_full(int fd, void *data, size_t len, uint64_t offset, size_t *ret_len, struct err *err)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pread(fd, (char *)data + done, len - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_sys(err, "read");
        }
        if (n == 0) {
            break;
        }
        done += (size_t)n;
    }
    *ret_len = done;
    return 0;
}

int fd_write_full(int fd, const void *data, size_t len, struct err *err)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = write(fd, (const char *)data + done, len - done);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return err_sys(err, "write");
        }
        done += (size_t)n;
    }
    return 0;
}

int fd_read_all(int fd, const char *what, struct buf *buf, struct err *err)
{
    for (;;) {
        size_t want = buf->max - buf->len < 65536 ? buf->max - buf->len : 65536;
        size_t got = 0;
        uint8_t *at = NULL;
        char extra = 0;
        int r = 0;

        if (want == 0) {
            r = fd_read_full(fd, &extra, 1, &got, err);
            if (r < 0) {
                return err_wrap(err, "'%s'", what);
            }
            return got == 0 ? 0
                            : err_set(err, ERR_LIMIT, EFBIG, "'%s' is larger than %zu bytes", what,
                                      buf->max);
        }
        if (buf_reserve(buf, want, &at) < 0) {
            return err_set(err, ERR_HOST, ENOMEM, "out of memory reading '%s'", what);
        }
        r = fd_read_full(fd, at, want, &got, err);
        if (r < 0) {
            return err_wrap(err, "'%s'", what);
        }
        buf->len += got;
        buf->data[buf->len] = '\0';
        if (got < want) {
            return 0;
        }
    }
}

int fd_copy(int in, int out, uint64_t max, uint64_t *ret_bytes, struct err *err)
{
    size_t chunk = 256 * KIB;
    auto_free char *data = malloc(chunk);
    uint64_t total = 0;

    if (data == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    for (;;) {
        size_t got = 0;
        int r = fd_read_full(in, data, chunk, &got, err);

        if (r < 0) {
            return r;
        }
        if (got > max - total) {
            return err_set(err, ERR_LIMIT, EFBIG, "more than %llu bytes", (unsigned long long)max);
        }
        r = fd_write_full(out, data, got, err);
        if (r < 0) {
            return r;
        }
        total += got;
        if (got < chunk) {
            *ret_bytes = total;
            return 0;
        }
    }
}

void fd_keep_only(const int *keep, size_t n)
{
    unsigned int from = 3;

    for (;;) {
        unsigned int next = ~0u;

        for (size_t i = 0; i < n; i++) {
            if (keep[i] >= 0 && (unsigned int)keep[i] >= from && (unsigned int)keep[i] < next) {
                next = (unsigned int)keep[i];
            }
        }
        if (next == ~0u) {
            (void)close_range(from, ~0u, 0);
            return;
        }
        if (next > from) {
            (void)close_range(from, next - 1, 0);
        }
        from = next + 1;
    }
}

int fd_set_nonblock(int fd, struct err *err)
{
    int flags = fcntl(fd, F_GETFL);

    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        return err_sys(err, "make a descriptor non-blocking");
    }
    return 0;
}

ssize_t fd_send(int sock, const void *data, size_t len, int fd, int flags)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    ssize_t n = 0;

    if (fd >= 0) {
        msg.msg_control = control.room;
        msg.msg_controllen = sizeof(control.room);
        control.head = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    }
    n = sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
    return n < 0 ? -errno : n;
}

int fd_receive(int sock, void *data, size_t len, int *ret_fd, struct err *err)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {.room = {0}};
    struct iovec iov = {.iov_base = data, .iov_len = len};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control.room,
                         /* Not the room's size: padded, it would hold a second descriptor. */
                         .msg_controllen = CMSG_LEN(sizeof(int))};
    auto_fd int fd = -1;
    ssize_t n = 0;

    *ret_fd = -1;
    do {
        n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return err_sys(err, "recvmsg");
    }
    if (msg.msg_controllen >= CMSG_LEN(sizeof(int)) && control.head.cmsg_type == SCM_RIGHTS) {
        memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
    }
    if (n == 0) {
        return 0;
    }
    if ((size_t)n != len || (msg.msg_flags & MSG_CTRUNC) != 0) {
        return err_set(err, ERR_HOST, EPROTO, "a message of %zd bytes came, not of %zu", n, len);
    }
    *ret_fd = STEAL_FD(&fd);
    return 1;
}

int fd_mkdir_parents(const char *path, struct err *err)
{
    auto_free char *copy = strdup(path);
    struct stat st;

    if (copy == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (*path == '\0') {
        return err_usage(err, "an empty directory name");
    }
    for (char *p = copy + 1;; p++) {
        char saved = *p;

        if (saved != '/' && saved != '\0') {
            continue;
        }
        *p = '\0';
        if (mkdir(copy, 0755) < 0 && errno != EEXIST) {
            return err_sys(err, "create directory '%s'", copy);
        }
        *p = saved;
        if (saved == '\0') {
            break;
        }
    }
    if (stat(path, &st) < 0) {
        return err_sys(err, "directory '%s'", path);
    }
    return S_ISDIR(st.st_mode) ? 0 : err_sys_num(err, ENOTDIR, "create directory '%s'", path);
}

int fd_write_atomic(int dirfd, const char *name, const void *data, size_t len, mode_t mode,
                    struct err *err)
{
    char tmp[300];
    auto_fd int fd = -1;
    int r = 0;

    assert(strchr(name, '/') == NULL);
    (void)snprintf(tmp, sizeof(tmp), ".%s.%d.tmp", name, (int)getpid());
    r = fd_open_nolink(dirfd, tmp, O_WRONLY | O_CREAT | O_TRUNC, mode, &fd, err);
    if (r < 0) {
        return r;
    }
    r = fd_write_full(fd, data, len, err);
    if (r < 0) {
        (void)unlinkat(dirfd, tmp, 0);
        return err_wrap(err, "'%s'", name);
    }
    if (fsync(fd) < 0 || renameat(dirfd, tmp, dirfd, name) < 0) {
        r = err_sys(err, "store '%s'", name);
        (void)unlinkat(dirfd, tmp, 0);
        return r;
    }
    if (fsync(dirfd) < 0) {
        return err_sys(err, "store '%s'", name);
    }
    return 0;
}

/* For removal: the directory itself, not what a link or a mount put in its place. */
static int open_dir_to_remove(int parent, const char *name, int *ret_fd, struct err *err)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    long fd = syscall(SYS_openat2, parent, name, &how, sizeof(how));

    if (fd < 0) {
        return errno == EXDEV
                   ? err_set(err, ERR_HOST, EXDEV, "remove '%s': it is a mount point", name)
                   : err_sys(err, "open '%s'", name);
    }
    *ret_fd = (int)fd;
    return 0;
}

/*
 * How fd_remove_tree() works: descends with one directory fd at a time. Whenever a directory turns
 * out not to be empty, its subdirectory is moved up beside the root of the removal under a fresh
 * name and queued by that name alone, so neither depth nor path length is bounded by fds, PATH_MAX
 * or the stack (uutils#7375, moby#13451).
 */
static int move_up(int dir, const char *name, int parent, const char *top, uint64_t *counter,
                   struct err *err)
{
    char moved[64];
    int r = 0;

    do {
        (void)snprintf(moved, sizeof(moved), ".rm-%s-%llu", top, (unsigned long long)*counter);
        r = renameat(dir, name, parent, moved);
        (*counter)++;
        /* Taken by what an interrupted removal left: that goes too, as its number is queued now. */
    } while (r < 0 && (errno == ENOTEMPTY || errno == EEXIST));
    return r < 0 ? err_sys(err, "remove '%s'", name) : 0;
}

static int remove_one_level(int parent, const char *name, const char *top, uint64_t *counter,
                            struct err *err)
{
    auto_fd int fd = -1;
    DIR *dir = NULL;
    struct dirent *ent = NULL;
    int r = open_dir_to_remove(parent, name, &fd, err);

    if (r < 0) {
        return r;
    }
    (void)fchmod(fd, 0700);
    dir = fdopendir(fd);
    if (dir == NULL) {
        return err_sys(err, "list '%s'", name);
    }
    fd = -1;                                         /* owned by dir from here on */
    while (r == 0 && (ent = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0) {
            continue;
        }
        if (unlinkat(dirfd(dir), ent->d_name, 0) == 0) {
            continue;
        }
        if (errno != EISDIR && errno != EPERM) {
            r = err_sys(err, "remove '%s'", ent->d_name);
            break;
        }
        if (unlinkat(dirfd(dir), ent->d_name, AT_REMOVEDIR) == 0) {
            continue;
        }
        r = move_up(dirfd(dir), ent->d_name, parent, top, counter, err);
    }
    (void)closedir(dir);
    if (r == 0 && unlinkat(parent, name, AT_REMOVEDIR) < 0) {
        r = err_sys(err, "remove directory '%s'", name);
    }
    return r;
}

int fd_remove_tree(int dirfd, const char *name, struct err *err)
{
    char top[24];
    uint64_t done = 0;
    uint64_t queued = 0;
    int r = 0;

    if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT) {
        return 0;
    }
    (void)snprintf(top, sizeof(top), "%d", (int)getpid());
    r = remove_one_level(dirfd, name, top, &queued, err);
    while (r == 0 && done < queued) {
        char moved[64];

        (void)snprintf(moved, sizeof(moved), ".rm-%s-%llu", top, (unsigned long long)done);
        r = remove_one_level(dirfd, moved, top, &queued, err);
        done++;
    }
    return r;
}
