#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/jobfiles-internal.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define RESULT_NEW  "result.new"
#define READ_AT_ONE 256u /* records */

/*
 * How it works. Bytes go to the end of their stream, then a record says so; a reader goes by the
 * records, so it never sees half of a write. What was written and has no record, because the daemon
 * was killed in between or records became rare, gets one with the next record of its kind.
 */
int jobfiles_fail(int errnum, const char *what, struct err *err)
{
    if (errnum == ENOSPC || errnum == EDQUOT || errnum == EFBIG) {
        return err_set(err, ERR_LIMIT, errnum,
                       "%s: no room for the files of a job: %s; free some on the file system of "
                       "the state directory",
                       what, strerror(errnum)); /* NOLINT(concurrency-mt-unsafe): of the C locale */
    }
    return err_sys_num(err, errnum, "%s", what);
}

static int pwrite_full(int fd, const void *data, size_t len, uint64_t offset)
{
    size_t done = 0;

    while (done < len) {
        ssize_t n = pwrite(fd, (const char *)data + done, len - done, (off_t)(offset + done));

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -errno;
        }
        done += (size_t)n;
    }
    return 0;
}

uint32_t jobfiles_check(const struct jobfiles_event_wire *wire)
{
    uint8_t bytes[offsetof(struct jobfiles_event_wire, check)];
    uint32_t sum = 2166136261u; /* FNV-1a */

    memcpy(bytes, wire, sizeof(bytes));
    for (size_t i = 0; i < sizeof(bytes); i++) {
        sum = (sum ^ bytes[i]) * 16777619u;
    }
    return sum;
}

int jobfiles_open_jobs(int daemon_fd, int *ret_fd, struct err *err)
{
    auto_fd int fd = -1;
    struct stat st = {0};
    int r = 0;

    if (mkdirat(daemon_fd, "jobs", 0700) < 0 && errno != EEXIST) {
        return jobfiles_fail(errno, "make 'jobs' in the daemon's state directory", err);
    }
    r = fd_open_nolink(daemon_fd, "jobs", O_RDONLY | O_DIRECTORY, 0, &fd, err);
    if (r < 0) {
        return r;
    }
    if (fstat(fd, &st) < 0) {
        return err_sys(err, "stat 'jobs' in the daemon's state directory");
    }
    if (st.st_uid != geteuid() || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return err_set(err, ERR_HOST, EPERM,
                       "'jobs' in the daemon's state directory belongs to uid %u with mode %04o: "
                       "nobody but uid %u may write it",
                       (unsigned int)st.st_uid, (unsigned int)(st.st_mode & 07777),
                       (unsigned int)geteuid());
    }
    *ret_fd = STEAL_FD(&fd);
    return 0;
}

void jobfiles_fini(struct jobfiles *f)
{
    fd_close_p(&f->events_fd);
    fd_close_p(&f->stderr_fd);
    fd_close_p(&f->stdout_fd);
    fd_close_p(&f->dirfd);
    *f = (struct jobfiles)JOBFILES_INIT;
}

static int make_file(int dirfd, const char *name, int *ret_fd, struct err *err)
{
    int fd = openat(dirfd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

    if (fd < 0) {
        return jobfiles_fail(errno, "make the files of a job", err);
    }
    *ret_fd = fd;
    return 0;
}

static int bad_id(struct err *err)
{
    return err_set(err, ERR_USAGE, ENOENT, "this is no id of a job");
}

static int fill_directory(struct jobfiles *f, int jobs_fd, const char *id, struct err *err)
{
    int r = fd_open_nolink(jobs_fd, id, O_RDONLY | O_DIRECTORY, 0, &f->dirfd, err);

    if (r == 0) {
        r = make_file(f->dirfd, "stdout", &f->stdout_fd, err);
    }
    if (r == 0) {
        r = make_file(f->dirfd, "stderr", &f->stderr_fd, err);
    }
    return r < 0 ? r : make_file(f->dirfd, "events", &f->events_fd, err);
}

int jobfiles_create(int jobs_fd, const char *id, struct jobfiles *ret, struct err *err)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    int r = 0;

    if (!job_id_ok(id)) {
        return bad_id(err);
    }
    if (mkdirat(jobs_fd, id, 0700) < 0) {
        return jobfiles_fail(errno, "make the directory of a job", err);
    }
    r = fill_directory(&f, jobs_fd, id, err);
    if (r < 0) {
        struct err unused = ERR_INIT;

        (void)!fd_remove_tree(jobs_fd, id, &unused);
        return r;
    }
    *ret = STEAL(&f, (struct jobfiles)JOBFILES_INIT);
    return 0;
}

/* Of a stream: its descriptor, how much it has, and how much records speak of. */
struct stream {
    int fd;
    uint64_t *bytes, *noted;
};

static struct stream stream_of(struct jobfiles *f, enum jobfiles_event_kind kind)
{
    return kind == JOBFILES_STDOUT
               ? (struct stream){f->stdout_fd, &f->stdout_bytes, &f->stdout_noted}
               : (struct stream){f->stderr_fd, &f->stderr_bytes, &f->stderr_noted};
}

/* Whether a record is right where it stands: nothing of a stream is left out or told twice. */
static bool record_fits(struct jobfiles *f, const struct jobfiles_event *event)
{
    struct stream s;

    if (f->over) {
        return false;
    }
    if (event->kind != JOBFILES_STDOUT && event->kind != JOBFILES_STDERR) {
        f->over = event->kind == JOBFILES_RESULT;
        f->state = event->kind == JOBFILES_STATE ? (int)event->aux : f->state;
        return true;
    }
    s = stream_of(f, event->kind);
    if (event->offset != *s.noted || event->len > *s.bytes - *s.noted) {
        return false;
    }
    *s.noted += event->len;
    return true;
}

/* Counts the good records from the first on; f then knows what they speak of. */
static int read_records(struct jobfiles *f, struct err *err)
{
    auto_free struct jobfiles_event_wire *wires = calloc(READ_AT_ONE, sizeof(*wires));
    size_t got = READ_AT_ONE * sizeof(*wires);

    if (wires == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    while (got == READ_AT_ONE * sizeof(*wires)) {
        int r = fd_pread_full(f->events_fd, wires, READ_AT_ONE * sizeof(*wires),
                              f->seq * sizeof(*wires), &got, err);

        if (r < 0) {
            return err_wrap(err, "the events of a job");
        }
        for (size_t i = 0; i < got / sizeof(*wires); i++) {
            struct jobfiles_event event;

            if (!jobfiles_event_decode(&wires[i], f->seq + 1, &event) || !record_fits(f, &event)) {
                return 0;
            }
            f->seq++;
        }
    }
    return 0;
}

static int size_of(int fd, uint64_t *ret, struct err *err)
{
    struct stat st = {0};

    if (fstat(fd, &st) < 0) {
        return err_sys(err, "stat a file of a job");
    }
    *ret = (uint64_t)st.st_size;
    return 0;
}

static int open_files(struct jobfiles *f, int jobs_fd, const char *id, struct err *err)
{
    int r = fd_open_nolink(jobs_fd, id, O_RDONLY | O_DIRECTORY, 0, &f->dirfd, err);

    if (r == 0) {
        r = jobfiles_open_file(f->dirfd, "stdout", O_RDWR, &f->stdout_fd, err);
    }
    if (r == 0) {
        r = jobfiles_open_file(f->dirfd, "stderr", O_RDWR, &f->stderr_fd, err);
    }
    if (r == 0) {
        r = jobfiles_open_file(f->dirfd, "events", O_RDWR, &f->events_fd, err);
    }
    if (r == 0) {
        r = size_of(f->stdout_fd, &f->stdout_bytes, err);
    }
    return r < 0 ? r : size_of(f->stderr_fd, &f->stderr_bytes, err);
}

int jobfiles_open(int jobs_fd, const char *id, struct jobfiles *ret, struct err *err)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    int r = 0;

    if (!job_id_ok(id)) {
        return bad_id(err);
    }
    r = open_files(&f, jobs_fd, id, err);
    if (r == 0) {
        r = read_records(&f, err);
    }
    if (r < 0) {
        return r;
    }
    if (ftruncate(f.events_fd, (off_t)(f.seq * sizeof(struct jobfiles_event_wire))) < 0) {
        return err_sys(err, "cut the events of a job to what was written whole");
    }
    *ret = STEAL(&f, (struct jobfiles)JOBFILES_INIT);
    return 0;
}

static int put_record(struct jobfiles *f, struct jobfiles_event_wire *wire, struct err *err)
{
    uint64_t at = f->seq * sizeof(*wire);
    int r = 0;

    wire->seq = f->seq + 1;
    wire->time_ms = clock_ns(CLOCK_REALTIME) / NS_PER_MS;
    wire->check = jobfiles_check(wire);
    r = pwrite_full(f->events_fd, wire, sizeof(*wire), at);
    if (r < 0) {
        (void)!ftruncate(f->events_fd, (off_t)at); /* half a record is cut at the next open, too */
        return jobfiles_fail(-r, "write down an event of a job", err);
    }
    f->seq++;
    return 0;
}

/* Tells of what was not told yet, up to byte number `to`. */
static int note_stream(struct jobfiles *f, enum jobfiles_event_kind kind, uint64_t to,
                       struct err *err)
{
    struct stream s = stream_of(f, kind);
    struct jobfiles_event_wire wire = {
        .kind = (uint32_t)kind, .offset = *s.noted, .len = to - *s.noted};
    int r = wire.len > 0 ? put_record(f, &wire, err) : 0;

    if (r == 0) {
        *s.noted = to;
    }
    return r;
}

static int note_both(struct jobfiles *f, struct err *err)
{
    int r = note_stream(f, JOBFILES_STDOUT, f->stdout_bytes, err);

    return r < 0 ? r : note_stream(f, JOBFILES_STDERR, f->stderr_bytes, err);
}

static int is_over(struct err *err)
{
    return err_set(err, ERR_USAGE, EALREADY, "the job has its result already");
}

int jobfiles_put_state(struct jobfiles *f, enum job_state state, struct err *err)
{
    struct jobfiles_event_wire wire = {.kind = JOBFILES_STATE, .aux = (uint64_t)state};
    int r = f->over ? is_over(err) : note_both(f, err);

    if (r == 0 && f->state != (int)state) {
        r = put_record(f, &wire, err);
    }
    if (r == 0) {
        f->state = (int)state;
    }
    return r;
}

/* Bytes that wait for their record until it is worth one. */
static bool worth_a_record(const struct jobfiles *f, uint64_t noted, uint64_t pending)
{
    return f->seq < JOBFILES_EVENTS_MAX ||
           (pending >= JOBFILES_LATE_BYTES && pending >= noted / 64);
}

int jobfiles_put_stream(struct jobfiles *f, enum jobfiles_event_kind kind, const void *data,
                        size_t len, struct err *err)
{
    struct stream s = {-1, NULL, NULL};
    int r = 0;

    if (jobfiles_stream_name(kind) == NULL) {
        return err_usage(err, "write down output of a job: it is of no stream");
    }
    if (f->over) {
        return is_over(err);
    }
    s = stream_of(f, kind);
    if (len > (uint64_t)INT64_MAX - *s.bytes) {
        return jobfiles_fail(EFBIG, "write down output of a job", err);
    }
    r = pwrite_full(s.fd, data, len, *s.bytes);
    if (r < 0) {
        r = jobfiles_fail(-r, "write down output of a job", err);
    } else if (worth_a_record(f, *s.noted, *s.bytes + len - *s.noted)) {
        r = note_stream(f, kind, *s.bytes + len, err);
    }
    if (r < 0) {
        (void)!ftruncate(s.fd, (off_t)*s.bytes); /* or it would be told of after a crash */
        return r;
    }
    *s.bytes += len;
    return 0;
}

/* Also that the names are there, of the file and of the directory itself. */
static int flush(const struct jobfiles *f, int fd, struct err *err)
{
    auto_fd int jobs = openat(f->dirfd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (jobs < 0 || fdatasync(fd) < 0 || fsync(f->dirfd) < 0 || fsync(jobs) < 0) {
        return jobfiles_fail(errno, "flush the files of a job", err);
    }
    return 0;
}

/* The file is there whole or not at all. */
static int put_whole_result(const struct jobfiles *f, const void *data, size_t len, struct err *err)
{
    auto_fd int fd = -1;
    int r = 0;

    (void)unlinkat(f->dirfd, RESULT_NEW, 0); /* of an attempt that was killed */
    r = make_file(f->dirfd, RESULT_NEW, &fd, err);
    if (r < 0) {
        return r;
    }
    r = pwrite_full(fd, data, len, 0);
    if (r == 0 && renameat(f->dirfd, RESULT_NEW, f->dirfd, "result.json") < 0) {
        r = -errno;
    }
    if (r < 0) {
        (void)unlinkat(f->dirfd, RESULT_NEW, 0);
        return jobfiles_fail(-r, "store the result of a job", err);
    }
    return f->sync ? flush(f, fd, err) : 0;
}

/* Not by way of another name: nobody looks for it before the job is in the store. */
int jobfiles_put_spec(struct jobfiles *f, const void *data, size_t len, struct err *err)
{
    auto_fd int fd = -1;
    int r = make_file(f->dirfd, "spec", &fd, err);

    if (r < 0) {
        return r;
    }
    r = pwrite_full(fd, data, len, 0);
    if (r < 0) {
        (void)unlinkat(f->dirfd, "spec", 0);
        return jobfiles_fail(-r, "store the specification of a job", err);
    }
    return f->sync ? flush(f, fd, err) : 0;
}

int jobfiles_spec(int dirfd, int *ret_fd, struct err *err)
{
    return jobfiles_open_file(dirfd, "spec", O_RDONLY, ret_fd, err);
}

/* Whoever finds the record finds what it speaks of. */
static int put_last_record(struct jobfiles *f, struct err *err)
{
    struct jobfiles_event_wire wire = {.kind = JOBFILES_RESULT};
    int r = 0;

    if (f->sync && (fdatasync(f->stdout_fd) < 0 || fdatasync(f->stderr_fd) < 0)) {
        return jobfiles_fail(errno, "flush the files of a job", err);
    }
    r = put_record(f, &wire, err);
    if (r == 0 && f->sync && fdatasync(f->events_fd) < 0) {
        r = jobfiles_fail(errno, "flush the files of a job", err);
        f->seq--;
        (void)!ftruncate(f->events_fd, (off_t)(f->seq * sizeof(wire)));
    }
    return r;
}

int jobfiles_put_result(struct jobfiles *f, const void *json, size_t len, struct err *err)
{
    int r = 0;

    if (f->over) {
        return is_over(err);
    }
    if (len == 0) {
        return err_usage(err, "store the result of a job: it is empty");
    }
    r = note_both(f, err);
    if (r == 0) {
        r = put_whole_result(f, json, len, err);
    }
    if (r == 0) {
        r = put_last_record(f, err);
    }
    f->over = r == 0;
    return r;
}
