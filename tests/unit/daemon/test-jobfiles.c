#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "daemon/jobfiles-internal.h"
#include "jobs-dir.h"

static void events_tell_what_was_written_and_when(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct jobfiles_event ev[10];
    struct err err = ERR_INIT;
    char data[20] = "";
    size_t n = 0;

    (void)state;
    create(&f);
    assert_ok(jobfiles_put_state(&f, JOB_QUEUED, &err), &err);
    put(&f, JOBFILES_STDOUT, "hello");
    put(&f, JOBFILES_STDERR, "oh");
    put(&f, JOBFILES_STDOUT, " world");
    put(&f, JOBFILES_STDOUT, "");
    assert_ok(jobfiles_put_result(&f, "{}", 2, &err), &err);
    assert_ok(jobfiles_events(f.dirfd, 0, ev, 10, &n, &err), &err);
    assert_int_equal(n, 5);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ev[i].seq, i + 1);
        assert_true(ev[i].time_ms > 1600000000000ull);
    }
    assert_int_equal(ev[0].kind, JOBFILES_STATE);
    assert_int_equal(ev[0].aux, JOB_QUEUED);
    assert_int_equal(ev[2].kind, JOBFILES_STDERR);
    assert_int_equal(ev[2].len, 2);
    assert_int_equal(ev[3].kind, JOBFILES_STDOUT);
    assert_int_equal(ev[3].offset, 5);
    assert_int_equal(ev[3].len, 6);
    assert_int_equal(ev[4].kind, JOBFILES_RESULT);
    assert_int_equal(jobfiles_stream(f.dirfd, JOBFILES_STDOUT, ev[3].offset, data, ev[3].len, &err),
                     6);
    assert_string_equal(data, " world");
    assert_int_equal(jobfiles_stream(f.dirfd, JOBFILES_STDOUT, 0, data, 11, &err), 11);
    assert_string_equal(data, "hello world");
}

static void a_state_is_told_once_until_it_changes(void **state)
{
    static const enum job_state states[] = {JOB_QUEUED, JOB_QUEUED, JOB_STARTING, JOB_QUEUED,
                                            JOB_QUEUED};
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    auto_jobfiles struct jobfiles again = JOBFILES_INIT;
    struct err err = ERR_INIT;

    (void)state;
    create(&f);
    for (size_t i = 0; i < ARRAY_LEN(states); i++) {
        assert_ok(jobfiles_put_state(&f, states[i], &err), &err);
    }
    assert_int_equal(f.seq, 3);
    assert_ok(jobfiles_open(jobs_fd, id, &again, &err), &err);
    assert_ok(jobfiles_put_state(&again, JOB_QUEUED, &err), &err);
    assert_int_equal(again.seq, 3);
    assert_ok(jobfiles_put_state(&again, JOB_RUNNING, &err), &err);
    assert_int_equal(again.seq, 4);
}

static void readers_may_ask_for_any_number(void **state)
{
    static const uint64_t odd[] = {3,
                                   4,
                                   1000,
                                   UINT64_MAX,
                                   UINT64_MAX / 48,
                                   UINT64_MAX / 48 + 1,
                                   INT64_MAX,
                                   (uint64_t)INT64_MAX + 1};
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct jobfiles_event ev[10];
    struct err err = ERR_INIT;
    char data[8];
    size_t n = 0;

    (void)state;
    create(&f);
    put(&f, JOBFILES_STDOUT, "a");
    put(&f, JOBFILES_STDOUT, "b");
    put(&f, JOBFILES_STDOUT, "c");
    assert_ok(jobfiles_events(f.dirfd, 1, ev, 1, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_int_equal(ev[0].seq, 2);
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        n = 99;
        assert_ok(jobfiles_events(f.dirfd, odd[i], ev, 10, &n, &err), &err);
        assert_int_equal(n, 0);
        assert_int_equal(jobfiles_stream(f.dirfd, JOBFILES_STDOUT, odd[i], data, 8, &err), 0);
    }
    assert_fails((int)jobfiles_stream(f.dirfd, JOBFILES_STATE, 0, data, 8, &err), ERR_USAGE, EINVAL,
                 &err);
    assert_fails(jobfiles_put_stream(&f, JOBFILES_RESULT, "x", 1, &err), ERR_USAGE, EINVAL, &err);
}

static void many_events_are_read_in_pages(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct jobfiles_event ev[150];
    struct err err = ERR_INIT;
    uint64_t seq = 0;
    size_t n = 1;

    (void)state;
    create(&f);
    for (int i = 0; i < 1000; i++) {
        put(&f, i % 3 == 0 ? JOBFILES_STDERR : JOBFILES_STDOUT, "line\n");
    }
    while (n > 0) {
        assert_ok(jobfiles_events(f.dirfd, seq, ev, ARRAY_LEN(ev), &n, &err), &err);
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(ev[i].seq, ++seq);
        }
    }
    assert_int_equal(seq, 1000);
}

static void a_record_that_is_not_whole_is_cut_off(void **state)
{
    struct jobfiles_event ev[10];
    struct err err = ERR_INIT;
    size_t n = 0;

    (void)state;
    for (size_t torn = 1; torn < sizeof(struct jobfiles_event_wire); torn += 11) {
        auto_jobfiles struct jobfiles f = JOBFILES_INIT;
        auto_jobfiles struct jobfiles again = JOBFILES_INIT;

        create(&f);
        put(&f, JOBFILES_STDOUT, "first");
        put(&f, JOBFILES_STDOUT, "second");
        assert_int_equal(ftruncate(f.events_fd, (off_t)(48 + torn)), 0);
        jobfiles_fini(&f);
        assert_ok(jobfiles_open(jobs_fd, id, &again, &err), &err);
        assert_int_equal(again.seq, 1);
        assert_int_equal(again.stdout_bytes, 11);
        assert_int_equal(again.stdout_noted, 5);
        /* The bytes were written, so the next record speaks of them too. */
        put(&again, JOBFILES_STDOUT, "third");
        assert_ok(jobfiles_events(again.dirfd, 0, ev, 10, &n, &err), &err);
        assert_int_equal(n, 2);
        assert_int_equal(ev[1].offset, 5);
        assert_int_equal(ev[1].len, 11);
        assert_ok(jobfiles_remove(jobs_fd, id, false, &err), &err);
    }
}

/* Writes a job of five records, lets `with` be in place of the third, and expects two to be left. */
static void expect_cut(const struct jobfiles_event_wire *with)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    auto_jobfiles struct jobfiles again = JOBFILES_INIT;
    struct jobfiles_event ev[10];
    struct err err = ERR_INIT;
    size_t n = 0;

    create(&f);
    for (int i = 0; i < 5; i++) {
        put(&f, JOBFILES_STDOUT, "0123456789");
    }
    assert_int_equal(pwrite(f.events_fd, with, sizeof(*with), 2 * sizeof(*with)), sizeof(*with));
    jobfiles_fini(&f);
    assert_ok(jobfiles_open(jobs_fd, id, &again, &err), &err);
    assert_int_equal(again.seq, 2);
    assert_ok(jobfiles_put_state(&again, JOB_RUNNING, &err), &err);
    assert_ok(jobfiles_events(again.dirfd, 0, ev, 10, &n, &err), &err);
    assert_int_equal(n, 4);
    assert_int_equal(ev[2].offset, 20);
    assert_int_equal(ev[2].len, 30);
    assert_ok(jobfiles_remove(jobs_fd, id, false, &err), &err);
}

static void what_can_be_no_record_ends_the_list_at_the_next_open(void **state)
{
    const struct jobfiles_event_wire good = {
        .seq = 3, .time_ms = 1, .kind = JOBFILES_STDOUT, .offset = 20, .len = 10};
    struct jobfiles_event_wire bad[] = {good, good, good, good, good, good, good, good, good};

    (void)state;
    bad[0].seq = 4;
    bad[1].kind = 0;
    bad[2].kind = 5;
    bad[3].offset = 10; /* told already */
    bad[4].offset = 21; /* leaves a byte out */
    bad[5].len = 31;    /* of more than there is */
    bad[6].len = 0;
    bad[7].len = UINT64_MAX;
    bad[8].aux = 1;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        bad[i].check = jobfiles_check(&bad[i]);
        expect_cut(&bad[i]);
    }
    expect_cut(&(struct jobfiles_event_wire){0});
    expect_cut(&good); /* without its sum */
}

static void a_damaged_record_is_no_event(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct jobfiles_event ev[10];
    struct err err = ERR_INIT;
    size_t n = 0;

    (void)state;
    create(&f);
    put(&f, JOBFILES_STDOUT, "a");
    put(&f, JOBFILES_STDOUT, "b");
    put_at(f.dirfd, "events", "\xff", 1, 48 + 17);
    assert_fails(jobfiles_events(f.dirfd, 0, ev, 10, &n, &err), ERR_HOST, EUCLEAN, &err);
    assert_ok(jobfiles_events(f.dirfd, 0, ev, 1, &n, &err), &err);
}

static void the_event_file_is_bounded_and_leaves_nothing_out(void **state)
{
    static char block[100000];
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    auto_free struct jobfiles_event *ev = calloc(70000, sizeof(*ev));
    struct err err = ERR_INIT;
    uint64_t told[2] = {0, 0};
    struct stat st;
    size_t n = 0;

    (void)state;
    assert_non_null(ev);
    create(&f);
    for (unsigned int i = 0; i < JOBFILES_EVENTS_MAX + 5000; i++) {
        assert_ok(
            jobfiles_put_stream(&f, i % 2 == 0 ? JOBFILES_STDOUT : JOBFILES_STDERR, "x", 1, &err),
            &err);
    }
    assert_int_equal(f.seq, JOBFILES_EVENTS_MAX);
    for (int i = 0; i < 40; i++) {
        assert_ok(jobfiles_put_stream(&f, JOBFILES_STDOUT, block, sizeof(block), &err), &err);
    }
    assert_true(f.seq > JOBFILES_EVENTS_MAX && f.seq <= JOBFILES_EVENTS_MAX + 40);
    put(&f, JOBFILES_STDOUT, "the end");
    assert_ok(jobfiles_put_result(&f, "{}", 2, &err), &err);
    assert_int_equal(fstat(f.events_fd, &st), 0);
    assert_int_equal(st.st_size, f.seq * 48);
    assert_ok(jobfiles_events(f.dirfd, 0, ev, 70000, &n, &err), &err);
    for (size_t i = 0; i < n; i++) {
        if (ev[i].kind == JOBFILES_STDOUT || ev[i].kind == JOBFILES_STDERR) {
            uint64_t *sum = &told[ev[i].kind == JOBFILES_STDERR];

            assert_int_equal(ev[i].offset, *sum);
            *sum += ev[i].len;
        }
    }
    assert_int_equal(ev[n - 1].kind, JOBFILES_RESULT);
    assert_int_equal(told[0], f.stdout_bytes);
    assert_int_equal(told[1], f.stderr_bytes);
}

static void late_records_are_few_whatever_is_written(void **state)
{
    static char block[64 * KIB];
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;

    (void)state;
    create(&f);
    f.seq = JOBFILES_EVENTS_MAX;    /* sparse: nothing reads them */
    for (int i = 0; i < 512; i++) { /* 32 MiB */
        assert_ok(jobfiles_put_stream(&f, JOBFILES_STDOUT, block, sizeof(block), &err), &err);
    }
    assert_true(f.seq - JOBFILES_EVENTS_MAX < 64 * 6);
}

static void the_result_is_there_whole_or_not_at_all(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    auto_buf struct buf buf = BUF_INIT(1000);
    auto_buf struct buf small = BUF_INIT(3);
    struct err err = ERR_INIT;

    (void)state;
    create(&f);
    assert_fails(jobfiles_result(f.dirfd, &buf, &err), ERR_USAGE, ENOENT, &err);
    put_at(f.dirfd, "result.new", "{half", 5, 0); /* a write that was killed */
    assert_fails(jobfiles_result(f.dirfd, &buf, &err), ERR_USAGE, ENOENT, &err);
    assert_fails(jobfiles_put_result(&f, "", 0, &err), ERR_USAGE, EINVAL, &err);
    assert_ok(jobfiles_put_result(&f, "{\"a\":1}", 7, &err), &err);
    assert_false(there(f.dirfd, "result.new"));
    assert_ok(jobfiles_result(f.dirfd, &buf, &err), &err);
    assert_string_equal((char *)buf.data, "{\"a\":1}");
    assert_fails(jobfiles_result(f.dirfd, &small, &err), ERR_LIMIT, EFBIG, &err);
    put_at(f.dirfd, "x", "", 0, 0);
    assert_int_equal(renameat(f.dirfd, "x", f.dirfd, "result.json"), 0);
    assert_fails(jobfiles_result(f.dirfd, &buf, &err), ERR_HOST, EUCLEAN, &err);
}

static void a_result_is_the_last_word(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    auto_jobfiles struct jobfiles again = JOBFILES_INIT;
    struct jobfiles_event_wire more = {.seq = 3, .kind = JOBFILES_STATE};
    auto_buf struct buf buf = BUF_INIT(1000);
    struct err err = ERR_INIT;

    (void)state;
    create(&f);
    f.sync = true;
    put(&f, JOBFILES_STDOUT, "x");
    assert_ok(jobfiles_put_result(&f, "{}", 2, &err), &err);
    more.check = jobfiles_check(&more);
    put_at(f.dirfd, "events", &more, sizeof(more), 2 * sizeof(more));
    assert_ok(jobfiles_open(jobs_fd, id, &again, &err), &err);
    for (int i = 0; i < 2; i++) {
        struct jobfiles *which = i == 0 ? &f : &again;

        assert_true(which->over);
        assert_int_equal(which->seq, 2);
        assert_fails(jobfiles_put_result(which, "[]", 2, &err), ERR_USAGE, EALREADY, &err);
        assert_fails(jobfiles_put_state(which, JOB_RUNNING, &err), ERR_USAGE, EALREADY, &err);
        assert_fails(jobfiles_put_stream(which, JOBFILES_STDERR, "y", 1, &err), ERR_USAGE, EALREADY,
                     &err);
    }
    assert_ok(jobfiles_result(f.dirfd, &buf, &err), &err);
    assert_string_equal((char *)buf.data, "{}");
}

static void the_specification_is_kept_until_it_is_dropped(void **state)
{
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    uint64_t bytes = 1;
    auto_fd int fd = -1;
    char data[10] = "";

    (void)state;
    create(&f);
    assert_fails(jobfiles_spec(f.dirfd, &fd, &err), ERR_HOST, ENOENT, &err);
    f.sync = true;
    assert_ok(jobfiles_put_spec(&f, "a\0b", 3, &err), &err);
    assert_ok(jobfiles_spec(f.dirfd, &fd, &err), &err);
    assert_int_equal(read(fd, data, sizeof(data)), 3);
    assert_memory_equal(data, "a\0b", 3);
    assert_ok(jobfiles_drop_spec(jobs_fd, id, &bytes, &err), &err);
    assert_int_equal(bytes, 3);
    assert_ok(jobfiles_drop_spec(jobs_fd, id, &bytes, &err), &err);
    assert_int_equal(bytes, 0);
    assert_false(there(f.dirfd, "spec"));
}

static void everything_is_for_nobody_else(void **state)
{
    static const char *const names[] = {"spec", "stdout", "stderr", "events", "result.json"};
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    mode_t before = umask(0);
    struct stat st;

    (void)state;
    create(&f);
    assert_ok(jobfiles_put_spec(&f, "x", 1, &err), &err);
    assert_ok(jobfiles_put_result(&f, "{}", 2, &err), &err);
    (void)umask(before);
    assert_int_equal(fstat(f.dirfd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(fstat(jobs_fd, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(fstatat(f.dirfd, names[i], &st, AT_SYMLINK_NOFOLLOW), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
    }
}

static void a_directory_of_others_is_refused(void **state)
{
    struct err err = ERR_INIT;
    int fd = -1;

    (void)state;
    assert_int_equal(fchmod(jobs_fd, 0777), 0);
    assert_fails(jobfiles_open_jobs(state_fd, &fd, &err), ERR_HOST, EPERM, &err);
    assert_int_equal(unlinkat(state_fd, "jobs", AT_REMOVEDIR), 0);
    assert_int_equal(symlinkat("/tmp", state_fd, "jobs"), 0);
    assert_fails(jobfiles_open_jobs(state_fd, &fd, &err), ERR_HOST, ENOTDIR, &err);
    assert_int_equal(unlinkat(state_fd, "jobs", 0), 0);
}

static void only_ids_name_jobs(void **state)
{
    static const char *const bad[] = {"",
                                      ".",
                                      "..",
                                      "../x",
                                      "0123456789ABCDEF0123456789abcdef",
                                      "0123456789abcdef0123456789abcde/",
                                      "0123456789abcdef0123456789abcdef0"};
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct err err = ERR_INIT;
    int fd = -1;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_fails(jobfiles_create(jobs_fd, bad[i], &f, &err), ERR_USAGE, ENOENT, &err);
        assert_fails(jobfiles_open(jobs_fd, bad[i], &f, &err), ERR_USAGE, ENOENT, &err);
        assert_fails(jobfiles_remove(jobs_fd, bad[i], true, &err), ERR_USAGE, ENOENT, &err);
        assert_int_equal(jobfiles_find(jobs_fd, bad[i], &fd, &err), 0);
    }
    create(&f);
    {
        auto_jobfiles struct jobfiles second = JOBFILES_INIT;

        assert_fails(jobfiles_create(jobs_fd, id, &second, &err), ERR_HOST, EEXIST, &err);
    }
    assert_true(there(f.dirfd, "events")); /* what the second one met is untouched */
}

static void links_in_a_jobs_directory_lead_nowhere(void **state)
{
    static const char *const names[] = {"stdout", "stderr", "events"};
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    auto_jobfiles struct jobfiles again = JOBFILES_INIT;
    auto_buf struct buf buf = BUF_INIT(100);
    struct err err = ERR_INIT;
    struct jobfiles_event ev;
    char data[4];
    size_t n = 0;

    (void)state;
    create(&f);
    assert_int_equal(symlinkat("/etc/passwd", f.dirfd, "result.json"), 0);
    assert_fails(jobfiles_result(f.dirfd, &buf, &err), ERR_HOST, ELOOP, &err);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        assert_int_equal(unlinkat(f.dirfd, names[i], 0), 0);
        assert_int_equal(symlinkat("/etc/passwd", f.dirfd, names[i]), 0);
    }
    assert_fails(jobfiles_open(jobs_fd, id, &again, &err), ERR_HOST, ELOOP, &err);
    assert_fails((int)jobfiles_stream(f.dirfd, JOBFILES_STDOUT, 0, data, 4, &err), ERR_HOST, ELOOP,
                 &err);
    assert_fails(jobfiles_events(f.dirfd, 0, &ev, 1, &n, &err), ERR_HOST, ELOOP, &err);
    assert_int_equal(unlinkat(f.dirfd, "events", 0), 0);
    assert_int_equal(mkfifoat(f.dirfd, "events", 0600), 0);
    assert_fails(jobfiles_events(f.dirfd, 0, &ev, 1, &n, &err), ERR_HOST, EUCLEAN, &err);
}

/* No file may be longer than that from here on; 0 = as long as before. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes == 0 ? limit.rlim_max : bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void a_write_that_fails_tells_nobody_anything(void **state)
{
    static char block[8192];
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    struct jobfiles_event ev[200];
    struct err err = ERR_INIT;
    struct stat st;
    size_t n = 0;

    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    create(&f);
    put(&f, JOBFILES_STDOUT, "x");
    limit_files(4096);
    assert_fails(jobfiles_put_stream(&f, JOBFILES_STDOUT, block, sizeof(block), &err), ERR_LIMIT,
                 EFBIG, &err);
    assert_int_equal(fstat(f.stdout_fd, &st), 0);
    assert_int_equal(st.st_size, 1);
    while (f.seq < 4096 / 48) {
        put(&f, JOBFILES_STDERR, "y");
    }
    /* The stream has room, the events have not. */
    assert_fails(jobfiles_put_stream(&f, JOBFILES_STDERR, "z", 1, &err), ERR_LIMIT, EFBIG, &err);
    assert_fails(jobfiles_put_state(&f, JOB_RUNNING, &err), ERR_LIMIT, EFBIG, &err);
    assert_fails(jobfiles_put_result(&f, block, sizeof(block), &err), ERR_LIMIT, EFBIG, &err);
    assert_false(there(f.dirfd, "result.json"));
    assert_false(there(f.dirfd, "result.new"));
    assert_int_equal(fstat(f.events_fd, &st), 0);
    assert_int_equal(st.st_size, f.seq * 48);
    limit_files(0);
    put(&f, JOBFILES_STDERR, "z");
    assert_ok(jobfiles_put_result(&f, block, sizeof(block), &err), &err);
    assert_ok(jobfiles_events(f.dirfd, 0, ev, 200, &n, &err), &err);
    assert_int_equal(n, 4096 / 48 + 2);
    assert_int_equal(ev[n - 2].offset, 4096 / 48 - 1);
    assert_int_equal(ev[n - 2].len, 1);
    (void)signal(SIGXFSZ, SIG_DFL);
}

/* A job from its directory to its result, with so many bytes of room beside a file that has them. */
static int life_with(int ballast, off_t keep, struct err *err)
{
    static char block[16384];
    auto_jobfiles struct jobfiles f = JOBFILES_INIT;
    int r = 0;

    (void)!posix_fallocate(ballast, 0, (off_t)(4 * MIB)); /* all there is */
    if (ftruncate(ballast, 0) < 0) {
        return err_sys(err, "make room");
    }
    for (off_t at = 0; fallocate(ballast, 0, at, 4096) == 0; at += 4096) {
    }
    {
        struct stat st;

        if (fstat(ballast, &st) < 0 || ftruncate(ballast, st.st_size - keep) < 0) {
            return err_sys(err, "make room");
        }
    }
    r = jobfiles_create(jobs_fd, id, &f, err);
    if (r == 0) {
        r = jobfiles_put_spec(&f, block, sizeof(block), err);
    }
    if (r == 0) {
        r = jobfiles_put_stream(&f, JOBFILES_STDOUT, block, sizeof(block), err);
    }
    if (r == 0) {
        r = jobfiles_put_state(&f, JOB_RUNNING, err);
    }
    return r < 0 ? r : jobfiles_put_result(&f, block, sizeof(block), err);
}

/* In a mount namespace of its own. 0, or the line that failed; 255: this host has no such thing. */
static int full_child(void)
{
    struct err err = ERR_INIT;
    int ballast = -1;
    int fd = -1;
    int failed = 0;
    int r = -1;

    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
        mount("none", state_dir, "tmpfs", 0, "size=256k,mode=0700") < 0) {
        return 255;
    }
    fd = open(state_dir, O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || jobfiles_open_jobs(fd, &jobs_fd, &err) < 0) {
        return 2;
    }
    ballast = openat(fd, "ballast", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    for (off_t keep = 0; r < 0; keep += 4096) {
        r = life_with(ballast, keep, &err);
        if (r < 0) {
            if (r != -ENOSPC || err.class != ERR_LIMIT) {
                (void)dprintf(2, "with %lld bytes: %s\n", (long long)keep, err.msg);
                return 3;
            }
            failed++;
            err = (struct err)ERR_INIT;
            if (jobfiles_remove(jobs_fd, id, true, &err) < 0) {
                (void)dprintf(2, "with %lld bytes: %s\n", (long long)keep, err.msg);
                return 4;
            }
        }
    }
    return failed > 8 ? 0 : 5;
}

static void a_full_disk_is_a_limit_at_every_step(void **state)
{
    int status = 0;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        _exit(full_child());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) == 255) {
        print_message("skip: needs to mount a tmpfs for itself\n");
        skip();
    }
    assert_int_equal(WEXITSTATUS(status), 0);
}

TEST_MAIN(J(events_tell_what_was_written_and_when), J(a_state_is_told_once_until_it_changes),
          J(readers_may_ask_for_any_number), J(many_events_are_read_in_pages),
          J(a_record_that_is_not_whole_is_cut_off),
          J(what_can_be_no_record_ends_the_list_at_the_next_open), J(a_damaged_record_is_no_event),
          J(the_event_file_is_bounded_and_leaves_nothing_out),
          J(late_records_are_few_whatever_is_written), J(the_result_is_there_whole_or_not_at_all),
          J(a_result_is_the_last_word), J(the_specification_is_kept_until_it_is_dropped),
          J(everything_is_for_nobody_else), J(a_directory_of_others_is_refused),
          J(only_ids_name_jobs), J(links_in_a_jobs_directory_lead_nowhere),
          J(a_write_that_fails_tells_nobody_anything), J(a_full_disk_is_a_limit_at_every_step))
