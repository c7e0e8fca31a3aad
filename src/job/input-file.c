#include "job/input-file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "job/text.h"
#include "sys/fd.h"

/* True if the errno says something about the caller's path rather than about the host. */
static bool is_callers_fault(int errnum)
{
    static const int theirs[] = {ENOENT, EACCES, EPERM,        ENOTDIR, EISDIR,
                                 ELOOP,  ENXIO,  ENAMETOOLONG, ENODEV,  EOVERFLOW};

    for (size_t i = 0; i < ARRAY_LEN(theirs); i++) {
        if (errnum == theirs[i]) {
            return true;
        }
    }
    return false;
}

static int link_fault(const char *path, struct err *err)
{
    return err_set(err, ERR_USAGE, ELOOP,
                   "'%s' is or lies behind a symbolic link; name the real file (realpath shows it)",
                   text_of_str(path).s);
}

static int open_fault(const char *path, struct err *err)
{
    int errnum = err->errnum;

    if (!is_callers_fault(errnum)) {
        return -errnum;
    }
    *err = (struct err)ERR_INIT;
    if (errnum == ELOOP) {
        return link_fault(path, err);
    }
    return err_set(err, ERR_USAGE, errnum, "cannot open '%s': %s", text_of_str(path).s,
                   strerrordesc_np(errnum));
}

static const char *kind_of(mode_t mode)
{
    switch (mode & S_IFMT) {
    case S_IFDIR:
        return "a directory";
    case S_IFIFO:
        return "a FIFO";
    case S_IFSOCK:
        return "a socket";
    case S_IFCHR:
    case S_IFBLK:
        return "a device";
    default:
        return "something unknown";
    }
}

static int require_regular(int fd, const char *path, struct stat *ret, struct err *err)
{
    if (fstat(fd, ret) < 0) {
        return err_sys(err, "examine '%s'", text_of_str(path).s);
    }
    if (S_ISLNK(ret->st_mode)) {
        return link_fault(path, err); /* O_PATH opens the link itself */
    }
    if (!S_ISREG(ret->st_mode)) {
        return err_usage(err, "'%s' is %s; only regular files can be inputs", text_of_str(path).s,
                         kind_of(ret->st_mode));
    }
    return 0;
}

/*
 * What a caller should not hand in unknowingly (docs/decisions/0021): programs that carry rights, and
 * files that a stranger can swap or that got their name from one.
 */
static int check_policy(const struct stat *st, const char *path, struct err *err)
{
    bool foreign = st->st_uid != geteuid() && st->st_uid != 0;

    if ((st->st_mode & (S_ISUID | S_ISGID)) != 0) {
        return err_usage(err, "'%s' is setuid or setgid; copy it, or chmod ug-s",
                         text_of_str(path).s);
    }
    if (foreign && (st->st_mode & S_IWOTH) != 0) {
        return err_usage(err,
                         "'%s' belongs to user %u and everybody can write it; copy it, or have its "
                         "owner chmod o-w",
                         text_of_str(path).s, st->st_uid);
    }
    if (foreign && st->st_nlink > 1) {
        return err_usage(err, "'%s' belongs to user %u and has other names (hard links); copy it",
                         text_of_str(path).s, st->st_uid);
    }
    return 0;
}

/*
 * First a look without opening (O_PATH), since opening a device or a FIFO already does something;
 * O_NONBLOCK in case it was swapped in between.
 */
int input_open(const char *path, struct stat *ret_stat, int *ret_fd, struct err *err)
{
    auto_fd int look = -1;
    auto_fd int fd = -1;
    int r = fd_open_nolink(AT_FDCWD, path, O_PATH, 0, &look, err);

    if (r < 0) {
        return err_negative(open_fault(path, err));
    }
    r = require_regular(look, path, ret_stat, err);
    if (r < 0) {
        return r;
    }
    r = fd_open_nolink(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0, &fd, err);
    if (r < 0) {
        return open_fault(path, err);
    }
    r = require_regular(fd, path, ret_stat, err);
    if (r == 0) {
        r = check_policy(ret_stat, path, err);
    }
    if (r == 0) {
        *ret_fd = STEAL_FD(&fd);
    }
    return r;
}

static bool same_time(const struct timespec *a, const struct timespec *b)
{
    return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static bool is_unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && same_time(&a->st_mtim, &b->st_mtim) &&
           same_time(&a->st_ctim, &b->st_ctim);
}

int input_unchanged(int fd, const struct stat *before, const char *path, struct err *err)
{
    struct stat after;

    if (fstat(fd, &after) < 0) {
        return err_sys(err, "examine '%s'", text_of_str(path).s);
    }
    if (!is_unchanged(before, &after)) {
        return err_usage(err, "'%s' changed while it was read; wait until it is complete",
                         text_of_str(path).s);
    }
    return 0;
}
