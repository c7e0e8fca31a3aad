/*
 * A daemon that is killed at any moment: a child takes jobs through their life as the daemon does and
 * says on a pipe what it was told is done; whatever it said has to be there afterwards.
 */
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <time.h>

#include "daemon/jobfiles.h"
#include "daemon/jobstore.h"
#include "state-dir.h"

static const char digest_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

enum step {
    INSERTED = 1,
    RUNNING,
    ENDED
};

struct said {
    unsigned int n;
    enum step step;
};

static unsigned int writes_left; /* of SQLite, then the process is killed; 0 = never */

static ssize_t deadly_pwrite(int fd, const void *data, size_t len, off_t at)
{
    if (writes_left > 0 && --writes_left == 0) {
        (void)!pwrite(fd, data, len / 2, at);
        (void)raise(SIGKILL);
    }
    return pwrite(fd, data, len, at);
}

static void say(int pipe_fd, unsigned int n, enum step step)
{
    struct said said = {n, step};

    if (write(pipe_fd, &said, sizeof(said)) != (ssize_t)sizeof(said)) {
        _exit(3);
    }
}

static int one_life(struct jobstore *s, int jobs_fd, unsigned int n, int pipe_fd, struct err *err)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct job_info job = job_of(n, "anna");
    struct digest body;
    char key[32];
    uint64_t bytes = 0;
    int r = jobfiles_create(jobs_fd, job.id, &f, err);

    memcpy(body.hex, digest_a, sizeof(digest_a));
    (void)snprintf(key, sizeof(key), "key %u", n);
    if (r < 0 || (r = jobfiles_put_spec(&f, "spec", 4, err)) < 0 ||
        (r = jobfiles_put_state(&f, JOB_QUEUED, err)) < 0 ||
        (r = jobstore_insert(s, &job, key, &body, err)) < 0) {
        return r;
    }
    say(pipe_fd, n, INSERTED);
    job.state = JOB_RUNNING;
    job.attempts = 1;
    job.started_ms = job.created_ms + 1;
    if ((r = jobstore_update(s, &job, err)) < 0) {
        return r;
    }
    say(pipe_fd, n, RUNNING);
    for (int i = 0; i < 3; i++) {
        if ((r = jobfiles_put_stream(&f, JOBFILES_STDOUT, "0123456789", 10, err)) < 0) {
            return r;
        }
    }
    if ((r = jobfiles_put_result(&f, "{}", 2, err)) < 0) {
        return r;
    }
    job = ended_of(n, "anna", 4096);
    if ((r = jobstore_end(s, &job, NULL, err)) < 0 ||
        (r = jobfiles_drop_spec(jobs_fd, job.id, &bytes, err)) < 0) {
        return r;
    }
    say(pipe_fd, n, ENDED);
    return 0;
}

static void live(unsigned int from, int pipe_fd, unsigned int kill_at)
{
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;
    int jobs_fd = -1;
    int r = 0;

    if (kill_at > 0) {
        sqlite3_vfs *vfs = sqlite3_vfs_find("unix");

        (void)vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)deadly_pwrite);
        (void)vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)deadly_pwrite);
        writes_left = kill_at;
    }
    r = jobfiles_open_jobs(state_fd, &jobs_fd, &err);
    if (r == 0) {
        r = jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err);
    }
    for (unsigned int n = from; r == 0; n++) {
        r = one_life(s, jobs_fd, n, pipe_fd, &err);
    }
    (void)!write(2, err.msg, strlen(err.msg));
    _exit(2);
}

enum when {
    FROM_START,      /* so many us after it began */
    FROM_FIRST_WORD, /* ... after it said something: it got so far on the slowest host */
    IN_WRITE,        /* in that write of SQLite */
};

/* Runs it until it is killed; how far it said it came. */
static struct said kill_after(unsigned int from, enum when when, unsigned int number)
{
    struct said said = {0, 0};
    struct said next;
    int pipe_fds[2];
    int status = 0;
    pid_t child = -1;

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(pipe_fds[0]);
        live(from, pipe_fds[1], when == IN_WRITE ? number : 0);
    }
    (void)close(pipe_fds[1]);
    if (when == FROM_FIRST_WORD) {
        assert_int_equal(read(pipe_fds[0], &said, sizeof(said)), sizeof(said));
    }
    if (when != IN_WRITE) {
        struct timespec wait = {.tv_nsec = (long)number * 1000};

        (void)nanosleep(&wait, NULL);
        assert_int_equal(kill(child, SIGKILL), 0);
    }
    while (read(pipe_fds[0], &next, sizeof(next)) == (ssize_t)sizeof(next)) {
        said = next;
    }
    (void)close(pipe_fds[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return said;
}

static int known(void *ctx, const char *id, struct err *err)
{
    struct job_info job;
    int r = jobstore_get(ctx, NULL, id, &job, err);

    if (r == -ENOENT) {
        *err = (struct err)ERR_INIT;
        return 0;
    }
    return r < 0 ? r : 1;
}

/* What was said of job n is so, and all of it or nothing. */
static void check_job(struct jobstore *s, int jobs_fd, unsigned int n, enum step step)
{
    auto_buf struct buf result = BUF_INIT(100);
    auto_fd int dirfd = -1;
    struct job_info job;
    struct jobstore_key key;
    struct err err = ERR_INIT;
    char text[64];

    id_of(n, text);
    assert_ok(jobstore_get(s, "anna", text, &job, &err), &err);
    assert_int_equal(jobfiles_find(jobs_fd, job.id, &dirfd, &err), 1);
    (void)snprintf(text, sizeof(text), "key %u", n);
    assert_int_equal(jobstore_key(s, "anna", text, job.created_ms, &key, &err), 1);
    assert_string_equal(key.id, job.id);
    assert_int_equal(job.created_ms, 1000000 + n);
    if (step >= RUNNING) {
        assert_true(job.state == JOB_RUNNING || job.state == JOB_ENDED);
    }
    if (step == ENDED) {
        assert_int_equal(job.state, JOB_ENDED);
        assert_int_equal(job.verdict, 0);
    }
    if (job.state == JOB_ENDED) {
        assert_ok(jobfiles_result(dirfd, &result, &err), &err);
    } else {
        auto_jobfiles struct jobfiles f = JOBFILES_INIT;

        assert_ok(jobfiles_open(jobs_fd, job.id, &f, &err), &err);
        assert_true(f.stdout_bytes % 10 == 0 && f.stdout_bytes <= 30);
        assert_true(f.seq >= 1);
    }
}

/* As a start of the daemon does it. Returns the number of the next job that there is no row of. */
static unsigned int restart(unsigned int first, struct said said)
{
    auto_fd int jobs_fd = -1;
    struct job_info jobs[4];
    struct jobstore_page page = {.jobs = jobs, .max = 4};
    struct jobfiles_swept swept;
    struct jobstore_counts counts;
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;
    unsigned int rows = 0;

    assert_ok(jobfiles_open_jobs(state_fd, &jobs_fd, &err), &err);
    assert_ok(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), &err);
    assert_ok(jobfiles_sweep(jobs_fd, known, s, &swept, &err), &err);
    assert_true(swept.orphans <= 1);
    assert_int_equal(swept.foreign, 0);
    assert_ok(jobstore_counts(s, &counts, &err), &err);
    rows = (unsigned int)(counts.states[JOB_QUEUED] + counts.states[JOB_RUNNING] +
                          counts.states[JOB_ENDED]);
    assert_true(said.step == 0 || rows > said.n);
    for (unsigned int n = first; n < rows; n++) {
        check_job(s, jobs_fd, n,
                  said.step != 0 && n == said.n  ? said.step
                  : said.step != 0 && n < said.n ? ENDED
                                                 : INSERTED);
    }
    /* Whatever had not ended does now, exactly once. */
    assert_ok(jobstore_unended(s, "", &page, &err), &err);
    assert_true(page.n <= 1);
    for (size_t i = 0; i < page.n; i++) {
        auto_jobfiles struct jobfiles f = JOBFILES_INIT;

        jobs[i].verdict = 7;
        jobs[i].ended_ms = 1;
        assert_ok(jobfiles_open(jobs_fd, jobs[i].id, &f, &err), &err);
        if (!f.over) { /* else it was killed between its result and its end */
            assert_ok(jobfiles_put_result(&f, "{}", 2, &err), &err);
        }
        assert_ok(jobstore_end(s, &jobs[i], NULL, &err), &err);
    }
    jobstore_free(s);
    return rows;
}

static void what_was_said_is_there_after_a_kill_at_any_moment(void **state)
{
    unsigned int seed = (unsigned int)getpid();
    unsigned int next = 0;

    (void)state;
    print_message("# seed %u\n", seed);
    for (int round = 0; round < 50; round++) {
        unsigned int us = (unsigned int)rand_r(&seed) % 20000;

        next = restart(next, kill_after(next, round % 2 == 0 ? FROM_START : FROM_FIRST_WORD, us));
    }
    assert_true(next >= 25);
}

static void what_was_said_is_there_after_a_kill_in_any_write(void **state)
{
    unsigned int next = 0;

    (void)state;
    for (unsigned int at = 1; at <= 120; at++) {
        next = restart(next, kill_after(next, IN_WRITE, at));
    }
    assert_true(next > 20);
}

TEST_MAIN(D(what_was_said_is_there_after_a_kill_at_any_moment),
          D(what_was_said_is_there_after_a_kill_in_any_write))
