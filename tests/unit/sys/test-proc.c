#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"

#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/proc.h"
#include "test.h"

static void run(const char *script, struct buf *out, int expected)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    struct err err = ERR_INIT;
    int r = proc_run(argv, NULL, 20 * NS_PER_S, out, &err);

    if (r != expected) {
        fail_msg("%d instead of %d: %s", r, expected, err.msg);
    }
}

static void a_helper_sees_empty_stdin_and_no_environment(void **state)
{
    auto_buf struct buf out = BUF_INIT(4096);
    const char *const argv[] = {"/usr/bin/env", NULL};
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(proc_run(argv, NULL, 20 * NS_PER_S, &out, &err), &err);
    assert_int_equal(out.len, 0);
    run("cat; echo end; echo problem >&2", &out, 0);
    assert_string_equal((const char *)out.data, "end\nproblem\n");
}

static void the_environment_is_what_was_named(void **state)
{
    auto_buf struct buf out = BUF_INIT(4096);
    const char *const argv[] = {"/usr/bin/env", NULL};
    const char *const envp[] = {"A=1", "B=2", NULL};
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(proc_run(argv, envp, 20 * NS_PER_S, &out, &err), &err);
    assert_string_equal((const char *)out.data, "A=1\nB=2\n");
}

static void a_failure_names_command_end_and_last_line(void **state)
{
    const char *const argv[] = {"/bin/sh", "-c", "echo one; echo 'the reason' >&2; exit 7", NULL};
    const char *const shot[] = {"/bin/sh", "-c", "kill -9 $$", NULL};
    auto_buf struct buf out = BUF_INIT(4096);
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(proc_run(argv, NULL, 20 * NS_PER_S, &out, &err), -ECHILD);
    assert_string_equal(err.msg, "/bin/sh failed with exit code 7: the reason");
    err = (struct err)ERR_INIT;
    out.len = 0;
    assert_int_equal(proc_run(shot, NULL, 20 * NS_PER_S, &out, &err), -ECHILD);
    assert_string_equal(err.msg, "/bin/sh was ended by signal 9: it printed nothing");
}

static void output_over_the_maximum_is_dropped_not_fatal(void **state)
{
    auto_buf struct buf out = BUF_INIT(10);

    (void)state;
    run("yes | head -c 1000000", &out, 0);
    assert_int_equal(out.len, 10);
}

static void a_helper_that_hangs_is_killed_in_time(void **state)
{
    const char *const argv[] = {"/bin/sh", "-c", "sleep 60", NULL};
    auto_buf struct buf out = BUF_INIT(10);
    struct err err = ERR_INIT;
    uint64_t before = clock_mono_ns();

    (void)state;
    assert_int_equal(proc_run(argv, NULL, 200 * NS_PER_MS, &out, &err), -ETIMEDOUT);
    assert_true(clock_mono_ns() - before < 10 * NS_PER_S);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* reaped */
    assert_int_equal(errno, ECHILD);
}

static void what_cannot_be_executed_is_an_error_of_its_own(void **state)
{
    static const struct {
        const char *path;
        int r;
    } cases[] = {{"/nonexistent/x", -ENOENT}, {"/etc/passwd", -EACCES}, {"/tmp", -EACCES}};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *const argv[] = {cases[i].path, NULL};
        struct proc proc = PROC_INIT;
        struct err err = ERR_INIT;

        assert_int_equal(proc_spawn(&(struct proc_spec){.argv = argv}, &proc, &err), cases[i].r);
        assert_int_equal(proc.pid, 0);
        assert_non_null(strstr(err.msg, cases[i].path));
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    }
}

static void a_child_has_exactly_the_descriptors_named(void **state)
{
    static const char script[] = "ls /proc/self/fd; readlink /proc/self/fd/7 /proc/self/fd/9";
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    auto_buf struct buf out = BUF_INIT(4096);
    auto_proc struct proc proc = PROC_INIT;
    struct proc_end end = {0};
    struct err err = ERR_INIT;
    struct proc_fd fds[] = {{7, 9}, {9, 7}, {-1, 1}}; /* 7 and 9 change places */
    int pipe_fds[2];
    int leak = -1;

    (void)state;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    leak = open("/dev/zero", O_RDWR); /* NOLINT(android-cloexec-open): the child must not get it */
    assert_int_equal(dup2(leak, 7), 7);
    assert_int_equal(dup2(pipe_fds[0], 9), 9);
    assert_int_equal(dup2(leak, 8), 8);
    fds[2].fd = pipe_fds[1];
    assert_ok(proc_spawn(&(struct proc_spec){.argv = argv, .fds = fds, .n_fds = 3, .nofile = 16},
                         &proc, &err),
              &err);
    (void)close(7);
    (void)close(8);
    (void)close(9);
    (void)close(leak);
    (void)close(pipe_fds[1]);
    assert_ok(fd_read_all(pipe_fds[0], "pipe", &out, &err), &err);
    (void)close(pipe_fds[0]);
    assert_ok(proc_wait(&proc, 20 * NS_PER_S, &end, &err), &err);
    /* 3 is the directory that ls itself has open. */
    assert_int_equal(strncmp((const char *)out.data, "0\n1\n2\n3\n7\n9\npipe:[", 18), 0);
    assert_non_null(strstr((const char *)out.data, "]\n/dev/zero\n"));
}

static void few_descriptors_are_enough(void **state)
{
    auto_buf struct buf out = BUF_INIT(4096);
    struct rlimit old;
    struct rlimit few;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
    few = (struct rlimit){32, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    run("echo fine", &out, 0);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
    assert_string_equal((const char *)out.data, "fine\n");
}

static void signals_are_default_and_unblocked(void **state)
{
    auto_buf struct buf out = BUF_INIT(64 * KIB);

    /* As a parent may leave the C library's own signals, which its sigaction() refuses to touch. */
    const struct {
        void (*handler)(int);
        unsigned long flags;
        void *restorer;
        uint64_t mask;
    } ignored = {SIG_IGN, 0, NULL, 0};

    sigset_t all;
    sigset_t old;

    (void)state;
    (void)sigfillset(&all);
    assert_int_equal(sigprocmask(SIG_BLOCK, &all, &old), 0);
    (void)signal(SIGUSR1, SIG_IGN);
    assert_int_equal(syscall(SYS_rt_sigaction, 33, &ignored, NULL, 8), 0);
    run("grep -E '^Sig(Blk|Ign)' /proc/self/status", &out, 0);
    (void)signal(SIGUSR1, SIG_DFL);
    assert_int_equal(sigprocmask(SIG_SETMASK, &old, NULL), 0);
    assert_string_equal((const char *)out.data,
                        "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n");
}

static void waiting_has_an_end_and_fini_kills(void **state)
{
    const char *const argv[] = {"/bin/sleep", "60", NULL};
    struct proc proc = PROC_INIT;
    struct proc_end end = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(proc_spawn(&(struct proc_spec){.argv = argv}, &proc, &err), &err);
    assert_int_equal(proc_wait(&proc, 20 * NS_PER_MS, &end, &err), -ETIMEDOUT);
    proc_kill(&proc);
    err = (struct err)ERR_INIT;
    assert_ok(proc_wait(&proc, 20 * NS_PER_S, &end, &err), &err);
    assert_true(end.signaled);
    assert_int_equal(end.code, SIGKILL);
    proc_kill(&proc); /* empty: nothing */
    assert_ok(proc_spawn(&(struct proc_spec){.argv = argv}, &proc, &err), &err);
    proc_fini(&proc);
    assert_int_equal(proc.pid, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void an_end_is_seen_and_stays_to_be_waited_for(void **state)
{
    const char *const sleeps[] = {"/bin/sleep", "60", NULL};
    const char *const fails[] = {"/bin/sh", "-c", "exit 7", NULL};
    struct proc proc = PROC_INIT;
    struct proc_end seen = {0};
    struct proc_end end = {0};
    struct err err = ERR_INIT;
    struct pollfd p = {.events = POLLIN};

    (void)state;
    assert_false(proc_peek(&proc, &seen));
    assert_ok(proc_spawn(&(struct proc_spec){.argv = sleeps}, &proc, &err), &err);
    assert_false(proc_peek(&proc, &seen));
    proc_kill(&proc);
    p.fd = proc.pidfd;
    assert_int_equal(poll(&p, 1, 20000), 1);
    assert_true(proc_peek(&proc, &seen));
    assert_true(seen.signaled && seen.code == SIGKILL);
    assert_true(proc_peek(&proc, &seen));
    assert_ok(proc_wait(&proc, 20 * NS_PER_S, &end, &err), &err);
    assert_true(end.signaled && end.code == SIGKILL);
    assert_ok(proc_spawn(&(struct proc_spec){.argv = fails}, &proc, &err), &err);
    p.fd = proc.pidfd;
    assert_int_equal(poll(&p, 1, 20000), 1);
    assert_true(proc_peek(&proc, &seen));
    assert_true(!seen.signaled && seen.code == 7);
    proc_fini(&proc);
}

static void a_child_leads_its_own_session(void **state)
{
    auto_buf struct buf out = BUF_INIT(4096);
    char mine[32];

    (void)state;
    run("cut -d' ' -f6 /proc/self/stat", &out, 0);
    (void)snprintf(mine, sizeof(mine), "%d\n", (int)getsid(0));
    assert_string_not_equal((const char *)out.data, mine);
}

static void children_die_with_their_parent(void **state)
{
    int pipe_fds[2];
    pid_t middle = 0;
    pid_t grandchild = 0;
    struct err err = ERR_INIT;
    size_t got = 0;
    int tries = 0;

    (void)state;
    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    middle = fork();
    assert_true(middle >= 0);
    if (middle == 0) {
        const char *const argv[] = {"/bin/sleep", "60", NULL};
        struct proc proc = PROC_INIT;

        if (proc_spawn(&(struct proc_spec){.argv = argv, .die_with_parent = true}, &proc, &err) <
                0 ||
            write(pipe_fds[1], &proc.pid, sizeof(proc.pid)) < 0) {
            _exit(1);
        }
        _exit(0);
    }
    (void)close(pipe_fds[1]);
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    assert_ok(fd_read_full(pipe_fds[0], &grandchild, sizeof(grandchild), &got, &err), &err);
    (void)close(pipe_fds[0]);
    assert_int_equal(got, sizeof(grandchild));
    for (tries = 0; tries < 200; tries++) {
        char path[64];
        auto_buf struct buf stat = BUF_INIT(4096);
        auto_fd int fd = -1;
        struct err gone = ERR_INIT;

        (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)grandchild);
        if (fd_open(AT_FDCWD, path, O_RDONLY, 0, &fd, &gone) < 0 ||
            fd_read_all(fd, path, &stat, &gone) < 0 ||
            strstr((const char *)stat.data, ") Z ") != NULL) {
            return;
        }
        (void)usleep(10000);
    }
    fail_msg("process %d lives on", (int)grandchild);
}

static void a_missing_program_names_its_package(void **state)
{
    char path[PROC_PATH_MAX];
    struct err err = ERR_INIT;

    (void)state;
    assert_ok(proc_find("sh", "dash", path, &err), &err);
    assert_int_equal(path[0], '/');
    assert_int_equal(proc_find("no-such-thing", "some-package", path, &err), -ENOENT);
    assert_int_equal(err.class, ERR_USAGE);
    assert_non_null(strstr(err.msg, "apt-get install some-package"));
}

TEST_MAIN(T(a_helper_sees_empty_stdin_and_no_environment), T(the_environment_is_what_was_named),
          T(a_failure_names_command_end_and_last_line),
          T(output_over_the_maximum_is_dropped_not_fatal), T(a_helper_that_hangs_is_killed_in_time),
          T(what_cannot_be_executed_is_an_error_of_its_own),
          T(a_child_has_exactly_the_descriptors_named), T(few_descriptors_are_enough),
          T(signals_are_default_and_unblocked), T(waiting_has_an_end_and_fini_kills),
          T(an_end_is_seen_and_stays_to_be_waited_for), T(a_child_leads_its_own_session),
          T(children_die_with_their_parent), T(a_missing_program_names_its_package))
