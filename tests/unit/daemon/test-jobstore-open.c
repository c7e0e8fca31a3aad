#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

#include "daemon/jobstore.h"
#include "daemon/service.h"
#include "store-fixture.h"

/* Does to the database what a stranger, or another version, would. */
static void meddle(const char *sql)
{
    char path[128];
    sqlite3 *db = NULL;
    char *why = NULL;

    (void)snprintf(path, sizeof(path), "%s/jobs.db", state_dir);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) {
        print_error("%s\n", why);
        fail();
    }
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void the_files_are_for_nobody_else(void **state)
{
    static const char *const names[] = {"jobs.db", "jobs.db-wal", "jobs.db-shm", "lock"};
    struct job_info job = job_of(1, "anna");
    struct jobstore *s = open_store();
    struct stat st;

    (void)state;
    insert(s, &job);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(fstatat(state_fd, names[i], &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
    }
    jobstore_free(s);
    assert_int_equal(fstatat(state_fd, "jobs.db-wal", &st, 0), -1);
}

static void the_directory_may_move_while_it_is_open(void **state)
{
    struct job_info job = job_of(1, "anna");
    struct err err = ERR_INIT;
    struct jobstore *s = open_store();
    char moved[80];

    (void)state;
    (void)snprintf(moved, sizeof(moved), "%s.moved", state_dir);
    assert_int_equal(rename(state_dir, moved), 0);
    assert_int_equal(mkdir(state_dir, 0700), 0);
    insert(s, &job);
    jobstore_free(s);
    assert_int_equal(rmdir(state_dir), 0);
    assert_int_equal(rename(moved, state_dir), 0);
    s = open_store();
    assert_ok(jobstore_get(s, NULL, job.id, &job, &err), &err);
    jobstore_free(s);
}

/* 0, or the line's number. What the parents let through is none of its business. */
static int live_behind(int fd)
{
    struct job_info job = job_of(1, "anna");
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;

    if (setresgid(65534, 65534, 65534) < 0 || setresuid(65534, 65534, 65534) < 0 ||
        access(state_dir, X_OK) == 0) {
        return __LINE__;
    }
    for (int i = 0; i < 2; i++) {
        if (jobstore_open(fd, JOBSTORE_SYNC_NORMAL, &s, &err) < 0) {
            (void)dprintf(2, "%s\n", err.msg);
            return __LINE__;
        }
        if ((i == 0 ? jobstore_insert(s, &job, NULL, NULL, &err)
                    : jobstore_get(s, NULL, job.id, &job, &err)) < 0) {
            (void)dprintf(2, "%s\n", err.msg);
            return __LINE__;
        }
        jobstore_free(s);
    }
    return 0;
}

static void a_user_who_can_not_search_the_parents_has_the_store(void **state)
{
    auto_fd int fd = -1;
    int status = 0;
    pid_t child = -1;

    (void)state;
    if (geteuid() != 0) {
        print_message("skip: needs root to become another user\n");
        skip();
    }
    assert_int_equal(mkdirat(state_fd, "daemon", 0700), 0);
    assert_int_equal(fchownat(state_fd, "daemon", 65534, 65534, 0), 0);
    fd = openat(state_fd, "daemon", O_DIRECTORY | O_CLOEXEC);
    child = fork();
    if (child == 0) {
        _exit(live_behind(fd) == 0 ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void a_second_daemon_is_refused(void **state)
{
    struct jobstore *first = open_store();
    struct jobstore *second = NULL;
    struct err err = ERR_INIT;
    char pid[32];

    (void)state;
    (void)snprintf(pid, sizeof(pid), "(pid %d)", (int)getpid());
    assert_int_equal(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &second, &err), -EWOULDBLOCK);
    assert_non_null(strstr(err.msg, "another airlockd"));
    assert_non_null(strstr(err.msg, pid));
    assert_int_equal(err.class, ERR_HOST);
    assert_null(second);
    jobstore_free(first);
    jobstore_free(open_store());
}

static void a_child_that_is_killed_gives_the_lock_back(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    if (child == 0) {
        struct jobstore *s = NULL;
        struct err err = ERR_INIT;
        struct job_info job = job_of(5, "anna");

        if (jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err) < 0 ||
            jobstore_insert(s, &job, NULL, NULL, &err) < 0) {
            _exit(1);
        }
        (void)raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    {
        struct jobstore *s = open_store();
        struct job_info job;
        struct err err = ERR_INIT;

        assert_ok(jobstore_get(s, "anna", "00000000000000000000000000000005", &job, &err), &err);
        jobstore_free(s);
    }
}

static void a_directory_or_file_of_others_is_refused(void **state)
{
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(chmod(state_dir, 0777), 0);
    assert_fails(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), ERR_HOST, EPERM, &err);
    assert_int_equal(chmod(state_dir, 0700), 0);
    jobstore_free(open_store());
    assert_int_equal(fchmodat(state_fd, "jobs.db", 0666, 0), 0);
    assert_fails(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), ERR_HOST, EPERM, &err);
    assert_int_equal(fchmodat(state_fd, "jobs.db", 0600, 0), 0);
    assert_int_equal(linkat(state_fd, "jobs.db", state_fd, "second", 0), 0);
    assert_fails(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), ERR_HOST, EPERM, &err);
    assert_int_equal(unlinkat(state_fd, "jobs.db", 0), 0);
    assert_int_equal(symlinkat("second", state_fd, "jobs.db"), 0);
    assert_fails(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), ERR_HOST, ELOOP, &err);
    assert_int_equal(unlinkat(state_fd, "jobs.db", 0), 0);
    assert_int_equal(mkfifoat(state_fd, "jobs.db", 0600), 0);
    assert_fails(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), ERR_HOST, EPERM, &err);
}

static void a_newer_store_is_refused_and_left_alone(void **state)
{
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;

    (void)state;
    jobstore_free(open_store());
    meddle("PRAGMA user_version = 1000");
    assert_int_equal(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), -EPROTONOSUPPORT);
    assert_non_null(strstr(err.msg, "schema 1000"));
    assert_non_null(strstr(err.msg, "newer airlockd"));
    meddle("PRAGMA user_version = 1");
    jobstore_free(open_store());
}

static void another_programs_database_is_refused(void **state)
{
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;
    auto_fd int fd = -1;

    (void)state;
    fd = openat(state_fd, "jobs.db", O_CREAT | O_RDWR | O_CLOEXEC, 0600);
    meddle("CREATE TABLE jobs (a)");
    assert_fails(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), ERR_HOST, EUCLEAN, &err);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_int_equal(pwrite(fd, "what is this, a text?", 21, 0), 21);
    assert_int_equal(ftruncate(fd, 8192), 0);
    assert_fails(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), ERR_HOST, EUCLEAN, &err);
}

static void a_damaged_store_is_found_after_an_unclean_stop(void **state)
{
    char junk[4096];
    struct jobstore *s = open_store();
    struct err err = ERR_INIT;
    auto_fd int fd = openat(state_fd, "jobs.db", O_RDWR | O_CLOEXEC);
    auto_fd int log = -1;

    (void)state;
    for (unsigned int i = 0; i < 500; i++) {
        struct job_info job = job_of(i, "anna");

        insert(s, &job);
    }
    jobstore_free(s);
    memset(junk, 0xa5, sizeof(junk));
    for (off_t page = 10; page < 20; page++) {
        assert_int_equal(pwrite(fd, junk, sizeof(junk), page * 4096), sizeof(junk));
    }
    log = openat(state_fd, "jobs.db-wal", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(log, junk, 100), 100);
    assert_int_equal(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), -EUCLEAN);
    assert_non_null(strstr(err.msg, "move it away"));
}

static void rows_that_can_not_be_are_refused(void **state)
{
    static const char *const lies[] = {
        "tenant = 'a' || char(0) || 'b'",
        "reason = hex(zeroblob(100))",
        "machine_id = hex(zeroblob(40))",
        "state = 7, verdict = -1",
        "created_ms = -1",
        "id = 'ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ'",
        "attempts = 99999999999",
        "verdict = 77",
    };
    struct job_filter filter = {.state = -1, .verdict = -1};
    struct job_info job = job_of(1, "anna");
    struct jobstore *s = open_store();
    struct err err = ERR_INIT;

    (void)state;
    insert(s, &job);
    jobstore_free(s);
    for (size_t i = 0; i < ARRAY_LEN(lies); i++) {
        char sql[400];
        struct job_info got[2];
        struct jobstore_page page = {.jobs = got, .max = 2};
        int r = 0;

        (void)snprintf(sql, sizeof(sql),
                       "PRAGMA ignore_check_constraints = ON; DROP TRIGGER jobs_move;"
                       "CREATE TEMP TABLE k AS SELECT * FROM jobs; UPDATE jobs SET %s",
                       lies[i]);
        meddle(sql);
        s = open_store();
        r = jobstore_list(s, "anna", &filter, &page, &err);
        if (r == 0) { /* its tenant is another one now */
            assert_int_equal(page.n, 0);
            r = jobstore_get(s, NULL, job.id, &got[0], &err);
        }
        assert_fails(r, ERR_HOST, EUCLEAN, &err);
        jobstore_free(s);
        (void)unlinkat(state_fd, "jobs.db", 0);
        s = open_store();
        insert(s, &job);
        jobstore_free(s);
    }
}

static void a_schema_that_acts_by_itself_gets_nowhere(void **state)
{
    struct jobstore *s = open_store();
    struct err err = ERR_INIT;

    (void)state;
    jobstore_free(s);
    meddle("CREATE TRIGGER evil AFTER INSERT ON jobs BEGIN SELECT load_extension('/x'); END");
    assert_int_equal(jobstore_open(state_fd, JOBSTORE_SYNC_NORMAL, &s, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "unsafe use of load_extension"));
}

static void a_look_from_outside_does_not_hold_the_daemon_up(void **state)
{
    char path[128];
    sqlite3 *db = NULL;
    struct job_info job = job_of(1, "anna");
    struct jobstore *s = open_store();

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/jobs.db", state_dir);
    assert_int_equal(sqlite3_open_v2(path, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "BEGIN; SELECT count(*) FROM jobs", NULL, NULL, NULL),
                     SQLITE_OK);
    insert(s, &job);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    jobstore_free(s);
}

static void flushed_stores_work_the_same(void **state)
{
    struct job_info job = job_of(1, "anna");
    struct jobstore *s = NULL;
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(jobstore_open(state_fd, JOBSTORE_SYNC_FULL, &s, &err), &err);
    insert(s, &job);
    jobstore_free(s);
}

TEST_MAIN(D(the_files_are_for_nobody_else), D(the_directory_may_move_while_it_is_open),
          D(a_user_who_can_not_search_the_parents_has_the_store), D(a_second_daemon_is_refused),
          D(a_child_that_is_killed_gives_the_lock_back),
          D(a_directory_or_file_of_others_is_refused), D(a_newer_store_is_refused_and_left_alone),
          D(another_programs_database_is_refused),
          D(a_damaged_store_is_found_after_an_unclean_stop), D(rows_that_can_not_be_are_refused),
          D(a_schema_that_acts_by_itself_gets_nowhere),
          D(a_look_from_outside_does_not_hold_the_daemon_up), D(flushed_stores_work_the_same))
