#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/jobfiles-internal.h"
#include "sys/fd.h"

#define GONE      ".gone-" /* discarded, to be removed */
#define WIPE      ".wipe-" /* discarded, to be overwritten and removed */
#define SPEC      ".spec-" /* a specification, to be overwritten and removed */
#define REST      ".rm-"   /* what fd_remove_tree() works through */
#define NAME_SIZE (sizeof(WIPE) + JOB_ID_SIZE)
_Static_assert(sizeof(SPEC) == sizeof(WIPE) && sizeof(GONE) == sizeof(WIPE), "NAME_SIZE");
#define WIPE_CHUNK (64 * KIB)

/*
 * How it works. The first step of a removal is a rename: the job has its directory or has none, and
 * a removal that was killed is found by its name and finished by the next sweep, overwriting if that
 * was asked for. What was overwritten is removed at once, so that each attempt gets further.
 */
int jobfiles_find(int jobs_fd, const char *id, int *ret_dirfd, struct err *err)
{
    int r = 0;

    if (!job_id_ok(id)) {
        return 0;
    }
    r = fd_open_nolink(jobs_fd, id, O_RDONLY | O_DIRECTORY, 0, ret_dirfd, err);
    if (r == -ENOENT) {
        *err = (struct err)ERR_INIT;
        return 0;
    }
    return r < 0 ? r : 1;
}

/* Only what is on the disk: a hole of exabytes has nothing to be wiped. */
static int wipe_data(int fd, uint64_t bytes)
{
    static const char zeros[WIPE_CHUNK];
    off_t at = 0;

    while ((uint64_t)at < bytes) {
        off_t end = 0;

        at = lseek(fd, at, SEEK_DATA);
        if (at < 0) {
            return errno == ENXIO ? 0 : -errno;
        }
        end = lseek(fd, at, SEEK_HOLE);
        if (end < 0) {
            return -errno;
        }
        while (at < end) {
            size_t part = end - at < (off_t)sizeof(zeros) ? (size_t)(end - at) : sizeof(zeros);
            ssize_t n = pwrite(fd, zeros, part, at);

            if (n < 0 && errno != EINTR) {
                return -errno;
            }
            at += n > 0 ? n : 0;
        }
    }
    return 0;
}

static int wipe_file(void *ctx, int parent_fd, const char *name, struct err *err)
{
    auto_fd int fd = -1;
    struct stat st = {0};
    int r = 0;

    if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return err_sys(err, "stat a file of a job");
    }
    if (!S_ISREG(st.st_mode)) {
        return 0;
    }
    r = jobfiles_open_file(parent_fd, name, O_WRONLY, &fd, err);
    if (r < 0) {
        return r;
    }
    r = wipe_data(fd, (uint64_t)st.st_size);
    if (r == 0 && fdatasync(fd) < 0) {
        r = -errno;
    }
    if (r == 0 && unlinkat(parent_fd, name, 0) < 0) {
        r = -errno;
    }
    return r < 0 ? jobfiles_fail(-r, "overwrite a file of a job", err) : 0;
}

/* Of a name in jobs_fd that no job has any more. */
static int finish(int jobs_fd, const char *name, bool wipe, struct err *err)
{
    if (wipe) {
        auto_fd int dirfd = -1;
        int r = fd_open_nolink(jobs_fd, name, O_RDONLY | O_DIRECTORY, 0, &dirfd, err);

        if (r == -ENOENT) {
            *err = (struct err)ERR_INIT;
            return 0;
        }
        if (r == 0) {
            r = jobfiles_walk(dirfd, wipe_file, &dirfd, err);
        }
        if (r < 0) {
            return r;
        }
    }
    return fd_remove_tree(jobs_fd, name, err);
}

static void name_of(const char *id, bool wipe, char ret[NAME_SIZE])
{
    (void)snprintf(ret, NAME_SIZE, "%s%.32s", wipe ? WIPE : GONE, id);
}

int jobfiles_discard(int jobs_fd, const char *id, bool wipe, struct err *err)
{
    char name[NAME_SIZE];
    int r = 0;

    if (!job_id_ok(id)) {
        return err_set(err, ERR_USAGE, ENOENT, "this is no id of a job");
    }
    name_of(id, wipe, name);
    if (renameat(jobs_fd, id, jobs_fd, name) < 0 && errno != ENOENT) {
        if (errno != ENOTEMPTY && errno != EEXIST) {
            return err_sys(err, "remove the directory of a job");
        }
        /* A removal of the same id was not finished: that first. */
        r = finish(jobs_fd, name, wipe, err);
        if (r == 0 && renameat(jobs_fd, id, jobs_fd, name) < 0 && errno != ENOENT) {
            r = err_sys(err, "remove the directory of a job");
        }
    }
    return r;
}

static void spec_name_of(const char *id, char ret[NAME_SIZE])
{
    (void)snprintf(ret, NAME_SIZE, SPEC "%.32s", id);
}

static bool is_there(int jobs_fd, const char *name)
{
    struct stat st;

    return fstatat(jobs_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool jobfiles_wiping(int jobs_fd, const char *id)
{
    char dir[NAME_SIZE];
    char spec[NAME_SIZE];

    name_of(id, true, dir);
    spec_name_of(id, spec);
    return job_id_ok(id) && (is_there(jobs_fd, dir) || is_there(jobs_fd, spec));
}

int jobfiles_drop_spec(int jobs_fd, const char *id, uint64_t *ret_bytes, struct err *err)
{
    struct stat st = {0};
    char from[JOB_ID_SIZE + sizeof("/spec")];
    char to[NAME_SIZE];

    if (!job_id_ok(id)) {
        return err_set(err, ERR_USAGE, ENOENT, "this is no id of a job");
    }
    (void)snprintf(from, sizeof(from), "%s/spec", id);
    spec_name_of(id, to);
    *ret_bytes = 0;
    if (renameat(jobs_fd, from, jobs_fd, to) < 0) {
        return errno == ENOENT ? 0 : jobfiles_fail(errno, "remove the specification of a job", err);
    }
    if (fstatat(jobs_fd, to, &st, AT_SYMLINK_NOFOLLOW) == 0) { /* else it was overwritten already */
        *ret_bytes = (uint64_t)st.st_size;
    }
    return 0;
}

int jobfiles_remove(int jobs_fd, const char *id, bool wipe, struct err *err)
{
    char name[NAME_SIZE];
    int r = jobfiles_discard(jobs_fd, id, wipe, err);

    if (r < 0) {
        return r;
    }
    name_of(id, wipe, name);
    return finish(jobs_fd, name, wipe, err);
}

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static int finish_one(int jobs_fd, const char *name, struct err *err)
{
    return begins(name, SPEC) ? wipe_file(NULL, jobs_fd, name, err)
                              : finish(jobs_fd, name, begins(name, WIPE), err);
}

struct sweep {
    int jobs_fd;
    int (*keep)(void *ctx, const char *id, struct err *err);
    void *ctx;
    struct jobfiles_swept swept;
    bool ended; /* by keep() */
};

static int sweep_one(struct sweep *s, const char *name, struct err *err)
{
    if (job_id_ok(name)) {
        int r = s->keep != NULL ? s->keep(s->ctx, name, err) : 1;

        s->ended = r < 0;
        s->swept.orphans += r == 0;
        return r == 0 ? jobfiles_discard(s->jobs_fd, name, false, err) : r < 0 ? r : 0;
    }
    if (begins(name, REST) || ((begins(name, GONE) || begins(name, WIPE) || begins(name, SPEC)) &&
                               job_id_ok(name + strlen(GONE)))) {
        s->swept.leftovers++;
        return s->keep != NULL ? 0 : finish_one(s->jobs_fd, name, err);
    }
    s->swept.foreign++;
    return 0;
}

int jobfiles_sweep(int jobs_fd, int (*keep)(void *ctx, const char *id, struct err *err), void *ctx,
                   struct jobfiles_swept *ret, struct err *err)
{
    auto_dir DIR *dir = NULL;
    auto_fd int again = openat(jobs_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct sweep s = {.jobs_fd = jobs_fd, .keep = keep, .ctx = ctx};
    const struct dirent *ent = NULL;
    int first = 0;

    dir = again >= 0 ? fdopendir(again) : NULL;
    if (dir == NULL) {
        return err_sys(err, "list the directories of the jobs");
    }
    (void)STEAL_FD(&again);
    while (!s.ended && (ent = readdir(dir)) != NULL) { /* NOLINT(concurrency-mt-unsafe): own DIR */
        struct err why = ERR_INIT;
        int r = 0;

        if (strcmp(ent->d_name, ".") != 0 && strcmp(ent->d_name, "..") != 0) {
            r = sweep_one(&s, ent->d_name, &why);
        }
        if (r < 0 && (first == 0 || s.ended)) {
            first = r;
            *err = why;
        }
    }
    *ret = s.swept;
    return first;
}
