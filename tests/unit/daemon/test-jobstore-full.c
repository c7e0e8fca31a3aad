/*
 * A disk without room, at every write that the store makes: SQLite's calls are replaced below its
 * VFS, so that its own code runs as it is.
 */
#include <errno.h>
#include <limits.h>
#include <sqlite3.h>
#include <sys/types.h>

#include "daemon/jobstore.h"
#include "daemon/service.h"
#include "state-dir.h"

static const char digest_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static unsigned int writes_left = UINT_MAX; /* then they fail */
static int failure = ENOSPC;
static bool half; /* the first that fails writes half of its bytes */

static ssize_t short_pwrite(int fd, const void *data, size_t len, off_t at)
{
    if (writes_left == UINT_MAX) {
        return pwrite(fd, data, len, at);
    }
    if (writes_left > 0) {
        writes_left--;
        return pwrite(fd, data, len, at);
    }
    if (half && len > 1) {
        half = false;
        return pwrite(fd, data, len / 2, at);
    }
    errno = failure;
    return -1;
}

static int short_ftruncate(int fd, off_t size)
{
    if (writes_left == 0) {
        errno = failure;
        return -1;
    }
    return ftruncate(fd, size);
}

static void replace_calls(void)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find("unix");

    assert_non_null(vfs);
    assert_int_equal(vfs->xSetSystemCall(vfs, "pwrite", (sqlite3_syscall_ptr)short_pwrite),
                     SQLITE_OK);
    assert_int_equal(vfs->xSetSystemCall(vfs, "pwrite64", (sqlite3_syscall_ptr)short_pwrite),
                     SQLITE_OK);
    assert_int_equal(vfs->xSetSystemCall(vfs, "ftruncate", (sqlite3_syscall_ptr)short_ftruncate),
                     SQLITE_OK);
}

static void integrity(void)
{
    char path[128];
    sqlite3 *db = NULL;
    sqlite3_stmt *st = NULL;

    (void)snprintf(path, sizeof(path), "%s/jobs.db", state_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(st), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(st, 0), "ok");
    assert_int_equal(sqlite3_finalize(st), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static int op_insert(struct jobstore *s, unsigned int n, struct err *err)
{
    struct job_info job = job_of(n, "anna");
    struct digest body;
    char key[32];

    memcpy(body.hex, digest_a, sizeof(digest_a));
    (void)snprintf(key, sizeof(key), "key %u", n);
    return jobstore_insert(s, &job, key, &body, err);
}

static int op_update(struct jobstore *s, unsigned int n, struct err *err)
{
    struct job_info job = job_of(n, "anna");

    job.state = JOB_RUNNING;
    job.attempts = 1;
    return jobstore_update(s, &job, err);
}

static int op_end(struct jobstore *s, unsigned int n, struct err *err)
{
    struct jobstore_charge charge = {.cpu_ns = 1, .wall_ns = 1};
    struct job_info job = ended_of(n, "anna", 1000);

    return jobstore_end(s, &job, &charge, err);
}

static int op_purged(struct jobstore *s, unsigned int n, struct err *err)
{
    char id[JOB_ID_SIZE];

    id_of(n, id);
    return jobstore_purged(s, id, err);
}

static int op_forget(struct jobstore *s, unsigned int n, struct err *err)
{
    uint64_t forgotten = 0;
    int r = jobstore_forget(s, INT64_MAX, INT64_MAX, &forgotten, err);

    assert_true(r < 0 || forgotten == 1);
    return r;
}

typedef int op(struct jobstore *s, unsigned int n, struct err *err);

static op *const ops[] = {op_insert, op_update, op_end, op_purged, op_forget};

static void counts_of(struct jobstore *s, struct jobstore_counts *ret)
{
    struct err err = ERR_INIT;

    assert_ok(jobstore_counts(s, ret, &err), &err);
}

/* Lets the op fail at its first write, its second, ... and finds nothing changed until it succeeds. */
static unsigned int fail_at_each_write(struct jobstore *s, op *what, unsigned int n)
{
    struct jobstore_counts before;
    struct jobstore_counts after;
    struct err err = ERR_INIT;
    unsigned int failed = 0;
    int r = -1;

    counts_of(s, &before);
    while (r < 0) {
        writes_left = failed;
        half = n % 2 == 0;
        r = what(s, n, &err);
        writes_left = UINT_MAX;
        if (r < 0) {
            assert_fails(r, failure == EIO ? ERR_HOST : ERR_LIMIT, failure, &err);
            counts_of(s, &after);
            assert_memory_equal(&before, &after, sizeof(before));
            failed++;
        }
        assert_true(failed < 1000);
    }
    return failed;
}

static void run_all(int errnum)
{
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;
    unsigned int failed = 0;

    failure = errnum;
    replace_calls();
    assert_ok(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), &err);
    for (unsigned int n = 1; n <= 10; n++) {
        for (size_t i = 0; i < ARRAY_LEN(ops); i++) {
            unsigned int times = fail_at_each_write(s, ops[i], n);

            assert_true(times > 0);
            failed += times;
        }
    }
    assert_true(failed > 100);
    jobstore_free(s);
    integrity();
}

static void a_full_disk_is_a_limit_at_every_step_and_passes(void **state)
{
    (void)state;
    run_all(ENOSPC);
}

static void a_used_up_quota_is_a_limit_too(void **state)
{
    (void)state;
    run_all(EDQUOT);
}

static void a_broken_disk_is_the_hosts_trouble(void **state)
{
    (void)state;
    run_all(EIO);
}

static void a_store_is_made_once_there_is_room(void **state)
{
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;
    unsigned int failed = 0;
    int r = -1;

    (void)state;
    failure = ENOSPC;
    replace_calls();
    while (r < 0) {
        writes_left = failed;
        r = jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err);
        writes_left = UINT_MAX;
        if (r < 0) {
            assert_fails(r, ERR_LIMIT, ENOSPC, &err);
            failed++;
        }
        assert_true(failed < 1000);
    }
    assert_true(failed > 5);
    assert_ok(op_insert(s, 1, &err), &err);
    jobstore_free(s);
    integrity();
}

/* The log can't go to the database for long; it grows instead, and nothing is lost or refused. */
static void a_close_without_room_loses_nothing(void **state)
{
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;
    struct job_info job;

    (void)state;
    failure = ENOSPC;
    replace_calls();
    assert_ok(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), &err);
    for (unsigned int n = 0; n < 100; n++) {
        assert_ok(op_insert(s, n, &err), &err);
    }
    writes_left = 0;
    jobstore_free(s);
    writes_left = UINT_MAX;
    assert_ok(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), &err);
    assert_ok(jobstore_get(s, NULL, "00000000000000000000000000000063", &job, &err), &err);
    jobstore_free(s);
    integrity();
}

TEST_MAIN(D(a_full_disk_is_a_limit_at_every_step_and_passes), D(a_used_up_quota_is_a_limit_too),
          D(a_broken_disk_is_the_hosts_trouble), D(a_store_is_made_once_there_is_room),
          D(a_close_without_room_loses_nothing))
