#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "daemon/jobfiles-internal.h"
#include "sys/fd.h"

#define NAME_PART_MAX 255u
#define DEPTH_MAX     80u /* directories: what output_depth can be at most, and ours around it */
#define READ_AT_ONCE  64u /* records */

const char *jobfiles_stream_name(enum jobfiles_event_kind kind)
{
    if (kind == JOBFILES_STDOUT) {
        return "stdout";
    }
    return kind == JOBFILES_STDERR ? "stderr" : NULL;
}

int jobfiles_open_file(int dirfd, const char *name, int flags, int *ret_fd, struct err *err)
{
    auto_fd int fd = -1;
    struct stat st = {0};
    int r = fd_open_nolink(dirfd, name, flags | O_NONBLOCK, 0, &fd, err);

    if (r < 0) {
        return r;
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "stat '%s' of a job", name);
    }
    if (!S_ISREG(st.st_mode)) {
        return err_set(err, ERR_HOST, EUCLEAN, "'%s' of a job is no regular file", name);
    }
    *ret_fd = STEAL_FD(&fd);
    return 0;
}

/* What of a record is right by itself. */
bool jobfiles_event_decode(const struct jobfiles_event_wire *wire, uint64_t seq,
                           struct jobfiles_event *ret)
{
    bool stream = wire->kind == JOBFILES_STDOUT || wire->kind == JOBFILES_STDERR;

    if (wire->seq != seq || wire->check != jobfiles_check(wire) || wire->kind < JOBFILES_STATE ||
        wire->kind > JOBFILES_RESULT) {
        return false;
    }
    if (stream ? wire->aux != 0 || wire->len == 0 || wire->offset > INT64_MAX ||
                     wire->len > (uint64_t)INT64_MAX - wire->offset
               : wire->offset != 0 || wire->len != 0 ||
                     wire->aux > (wire->kind == JOBFILES_STATE ? (uint64_t)JOB_ENDED : 0)) {
        return false;
    }
    *ret = (struct jobfiles_event){
        .seq = wire->seq,
        .time_ms = wire->time_ms,
        .kind = (enum jobfiles_event_kind)wire->kind,
        .offset = wire->offset,
        .len = wire->len,
        .aux = wire->aux,
    };
    return true;
}

/* after < number of records in the file, so that nothing here can overflow. */
static int read_events(int fd, uint64_t after, struct jobfiles_event *ret, size_t n,
                       struct err *err)
{
    struct jobfiles_event_wire wires[READ_AT_ONCE];

    for (size_t done = 0; done < n;) {
        size_t part = n - done < READ_AT_ONCE ? n - done : READ_AT_ONCE;
        size_t got = 0;
        int r = fd_pread_full(fd, wires, part * sizeof(*wires), (after + done) * sizeof(*wires),
                              &got, err);

        if (r < 0) {
            return err_wrap(err, "the events of a job");
        }
        for (size_t i = 0; i < part; i++, done++) {
            if ((i + 1) * sizeof(*wires) > got ||
                !jobfiles_event_decode(&wires[i], after + done + 1, &ret[done])) {
                return err_set(err, ERR_HOST, EUCLEAN, "the events of a job are damaged at %llu",
                               (unsigned long long)(after + done + 1));
            }
        }
    }
    return 0;
}

int jobfiles_events(int dirfd, uint64_t after, struct jobfiles_event *ret, size_t max,
                    size_t *ret_n, struct err *err)
{
    auto_fd int fd = -1;
    struct stat st = {0};
    uint64_t there = 0;
    size_t n = 0;
    int r = jobfiles_open_file(dirfd, "events", O_RDONLY, &fd, err);

    if (r < 0) {
        return r;
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "stat the events of a job");
    }
    there = (uint64_t)st.st_size / sizeof(struct jobfiles_event_wire);
    if (after < there) {
        n = there - after < max ? (size_t)(there - after) : max;
    }
    r = read_events(fd, after, ret, n, err);
    if (r == 0) {
        *ret_n = n;
    }
    return r;
}

ssize_t jobfiles_stream(int dirfd, enum jobfiles_event_kind kind, uint64_t offset, void *data,
                        size_t len, struct err *err)
{
    const char *name = jobfiles_stream_name(kind);
    auto_fd int fd = -1;
    size_t got = 0;
    int r = 0;

    if (name == NULL) {
        return err_usage(err, "read output of a job: it is of no stream");
    }
    r = jobfiles_open_file(dirfd, name, O_RDONLY, &fd, err);
    if (r < 0) {
        return r;
    }
    if (offset > (uint64_t)INT64_MAX - len) { /* no file is that long */
        return 0;
    }
    r = fd_pread_full(fd, data, len, offset, &got, err);
    return r < 0 ? r : (ssize_t)got;
}

int jobfiles_result(int dirfd, struct buf *ret, struct err *err)
{
    auto_fd int fd = -1;
    size_t before = ret->len;
    int r = jobfiles_open_file(dirfd, "result.json", O_RDONLY, &fd, err);

    if (r == -ENOENT) {
        err->class = ERR_USAGE;
        return err_wrap(err, "the job has no result yet");
    }
    if (r == 0) {
        r = fd_read_all(fd, "result.json", ret, err);
    }
    if (r == 0 && ret->len == before) {
        return err_set(err, ERR_HOST, EUCLEAN, "the result of a job is damaged: it is empty");
    }
    return r;
}

/* Relative, of plain components; everything else is refused before the kernel sees it. */
static bool output_name_ok(const char *name)
{
    const char *at = name;

    if (strlen(name) > JOBFILES_OUTPUT_NAME) {
        return false;
    }
    for (;;) {
        size_t len = strcspn(at, "/");

        if (len == 0 || len > NAME_PART_MAX || (len == 1 && at[0] == '.') ||
            (len == 2 && at[0] == '.' && at[1] == '.')) {
            return false;
        }
        if (at[len] == '\0') {
            return true;
        }
        at += len + 1;
    }
}

/* The name is never repeated: it is whatever a client sent. */
static int no_output(struct err *err)
{
    return err_set(err, ERR_USAGE, ENOENT, "the job has no output file of this name");
}

int jobfiles_output(int dirfd, const char *name, int *ret_fd, uint64_t *ret_bytes, struct err *err)
{
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    auto_fd int out = -1;
    auto_fd int fd = -1;
    struct stat st = {0};

    if (!output_name_ok(name)) {
        return no_output(err);
    }
    out = openat(dirfd, "out", O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (out >= 0) {
        fd = (int)syscall(SYS_openat2, out, name, &how, sizeof(how));
    }
    if (fd < 0) {
        return errno == ENFILE || errno == EMFILE || errno == ENOMEM || errno == EIO
                   ? err_sys(err, "open an output file of a job")
                   : no_output(err);
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "stat an output file of a job");
    }
    if (!S_ISREG(st.st_mode)) {
        return no_output(err);
    }
    *ret_bytes = (uint64_t)st.st_size;
    *ret_fd = STEAL_FD(&fd);
    return 0;
}

struct walk {
    DIR *dirs[DEPTH_MAX];
    char names[DEPTH_MAX][NAME_PART_MAX + 1]; /* in the directory above; the first has none */
    size_t depth;
};

static void walk_fini(struct walk *w)
{
    while (w->depth > 0) {
        (void)closedir(w->dirs[--w->depth]);
    }
}

static int walk_into(struct walk *w, int parent, const char *name, struct err *err)
{
    struct open_how how = {
        .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW,
        .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV,
    };
    auto_fd int fd = -1;

    if (w->depth == DEPTH_MAX || strlen(name) > NAME_PART_MAX) {
        return err_set(err, ERR_HOST, ENAMETOOLONG,
                       "the files of a job lie in more than %u directories in each other",
                       DEPTH_MAX);
    }
    fd = (int)syscall(SYS_openat2, parent, name, &how, sizeof(how));
    if (fd < 0) {
        return err_sys(err, "list a directory of a job");
    }
    w->dirs[w->depth] = fdopendir(fd);
    if (w->dirs[w->depth] == NULL) {
        return err_sys(err, "list a directory of a job");
    }
    (void)STEAL_FD(&fd);
    (void)snprintf(w->names[w->depth], sizeof(w->names[0]), "%s", name);
    w->depth++;
    return 0;
}

/* 1: a name that is no directory, or a directory that was left, in *ret_parent; 0: that was all. */
static int walk_next(struct walk *w, int *ret_parent, char ret_name[NAME_PART_MAX + 1],
                     struct err *err)
{
    for (;;) {
        DIR *dir = w->dirs[w->depth - 1];
        const struct dirent *ent = NULL;
        struct stat st = {0};
        int r = 0;

        errno = 0;
        ent = readdir(dir); /* NOLINT(concurrency-mt-unsafe): own DIR */
        if (ent == NULL && errno != 0) {
            return err_sys(err, "list a directory of a job");
        }
        if (ent == NULL) {
            (void)closedir(dir);
            w->depth--;
            if (w->depth == 0) {
                return 0;
            }
            *ret_parent = dirfd(w->dirs[w->depth - 1]);
            (void)snprintf(ret_name, NAME_PART_MAX + 1, "%s", w->names[w->depth]);
            return 1;
        }
        if (strcmp(ent->d_name, ".") == 0 || strcmp(ent->d_name, "..") == 0) {
            continue;
        }
        if (fstatat(dirfd(dir), ent->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
            return err_sys(err, "stat a file of a job");
        }
        if (!S_ISDIR(st.st_mode)) {
            *ret_parent = dirfd(dir);
            (void)snprintf(ret_name, NAME_PART_MAX + 1, "%s", ent->d_name);
            return 1;
        }
        r = walk_into(w, dirfd(dir), ent->d_name, err);
        if (r < 0) {
            return r;
        }
    }
}

int jobfiles_walk(int dirfd,
                  int (*look)(void *ctx, int parent_fd, const char *name, struct err *err),
                  void *ctx, struct err *err)
{
    auto_free struct walk *w = calloc(1, sizeof(*w));
    char name[NAME_PART_MAX + 1] = "";
    int parent = -1;
    int r = 0;

    if (w == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    r = walk_into(w, dirfd, ".", err);
    if (r < 0) {
        return r;
    }
    while ((r = walk_next(w, &parent, name, err)) > 0) {
        r = look(ctx, parent, name, err);
        if (r < 0) {
            break;
        }
    }
    walk_fini(w);
    return r;
}

static int add_bytes(void *ctx, int parent_fd, const char *name, struct err *err)
{
    uint64_t *sum = ctx;
    struct stat st = {0};

    if (fstatat(parent_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0) {
        return err_sys(err, "stat a file of a job");
    }
    *sum += (uint64_t)st.st_blocks * 512;
    return 0;
}

int jobfiles_bytes(int dirfd, uint64_t *ret, struct err *err)
{
    struct stat st = {0};
    uint64_t sum = 0;
    int r = jobfiles_walk(dirfd, add_bytes, &sum, err);

    if (r < 0) {
        return r;
    }
    if (fstat(dirfd, &st) < 0) {
        return err_sys(err, "stat the directory of a job");
    }
    *ret = sum + (uint64_t)st.st_blocks * 512;
    return 0;
}
