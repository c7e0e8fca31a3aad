/*
 * Runs `airlock run` of fake.c (real command line, acted supervisor) as a process of its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"

#include "airlock/verdict.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "sys/proc.h"
#include "test.h"

#define ARGS_MAX  16
#define TIMEOUT_S 20

struct ran {
    struct proc proc;
    int out_fd;
    int err_fd;
    struct buf out;
    struct buf err;
    int code;
};

static void ran_fini(struct ran *ran)
{
    proc_fini(&ran->proc);
    fd_close_p(&ran->out_fd);
    fd_close_p(&ran->err_fd);
    buf_fini(&ran->out);
    buf_fini(&ran->err);
}

#define auto_ran on_scope_exit(ran_fini)

/* Starts "run ARGS..."; out_target -1 = a pipe into ran->out_fd. stdin_fd -1 = /dev/null. */
static void start(struct ran *ran, const char *const *args, int stdin_fd, int out_target)
{
    const char *argv[ARGS_MAX] = {getenv("AIRLOCK_FAKE")}; /* NOLINT(concurrency-mt-unsafe) */
    const char *const envp[] = {"FROM_OUTSIDE=kept", NULL};
    struct proc_fd fds[3] = {{stdin_fd, 0}};
    struct err err = ERR_INIT;
    size_t n = stdin_fd >= 0 ? 1 : 0;
    int out[2] = {-1, -1};
    int errs[2] = {-1, -1};
    int r = 0;

    *ran = (struct ran){.proc = PROC_INIT,
                        .out_fd = -1,
                        .err_fd = -1,
                        .out = BUF_INIT(16 * MIB),
                        .err = BUF_INIT(MIB)};
    assert_non_null(argv[0]);
    for (size_t i = 0; args[i] != NULL; i++) {
        assert_true(i + 2 < ARGS_MAX);
        argv[i + 1] = args[i];
    }
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(pipe2(errs, O_CLOEXEC), 0);
    fds[n++] = (struct proc_fd){out_target >= 0 ? out_target : out[1], 1};
    fds[n++] = (struct proc_fd){errs[1], 2};
    r = proc_spawn(
        &(struct proc_spec){
            .argv = argv, .envp = envp, .fds = fds, .n_fds = n, .die_with_parent = true},
        &ran->proc, &err);
    (void)close(out[1]);
    (void)close(errs[1]);
    ran->out_fd = out[0];
    ran->err_fd = errs[0];
    assert_ok(r, &err);
}

static void collect(struct ran *ran)
{
    struct err err = ERR_INIT;
    struct proc_end end = {0};

    assert_ok(fd_read_all(ran->out_fd, "stdout", &ran->out, &err), &err);
    assert_ok(fd_read_all(ran->err_fd, "stderr", &ran->err, &err), &err);
    assert_ok(proc_wait(&ran->proc, TIMEOUT_S * NS_PER_S, &end, &err), &err);
    assert_false(end.signaled);
    ran->code = end.code;
}

/* Only the end counts: whatever reads its output. */
static void await_end(struct ran *ran)
{
    struct err err = ERR_INIT;
    struct proc_end end = {0};

    assert_ok(proc_wait(&ran->proc, TIMEOUT_S * NS_PER_S, &end, &err), &err);
    assert_false(end.signaled);
    ran->code = end.code;
}

static const char *text(const struct buf *buf)
{
    return buf->len > 0 ? (const char *)buf->data : "";
}

static void assert_has(const struct buf *buf, const char *part)
{
    if (strstr(text(buf), part) == NULL) {
        fail_msg("'%s' is not in: %s", part, text(buf));
    }
}

#define RUN(ran, ...)                                                   \
    do {                                                                \
        start((ran), (const char *const[]){__VA_ARGS__, NULL}, -1, -1); \
        collect(ran);                                                   \
    } while (0)

/* The scripts of the scenes must be there: the command line looks. */
static int make_scripts(void **state)
{
    static const char *const names[] = {"hello.py", "args.py",  "seven.py", "crash.py",
                                        "wait.py",  "flood.py", "dead.py"};
    char dir[] = "/tmp/airlock-test-run-XXXXXX";

    (void)state;
    if (mkdtemp(dir) == NULL || chdir(dir) < 0) {
        return 1;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        int fd = open(names[i], O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

        if (fd < 0) {
            return 1;
        }
        (void)close(fd);
    }
    return 0;
}

static int remove_scripts(void **state)
{
    char dir[256];
    struct err err = ERR_INIT;

    (void)state;
    if (getcwd(dir, sizeof(dir)) == NULL || chdir("/") < 0) {
        return 1;
    }
    return fd_remove_tree(AT_FDCWD, dir, &err);
}

static void output_passes_as_it_is_and_a_summary_ends_it(void **state)
{
    auto_ran struct ran ran;

    (void)state;
    RUN(&ran, "hello.py");
    assert_int_equal(ran.code, AIRLOCK_SUCCESS);
    assert_string_equal(text(&ran.out), "hi \033[31m\xe2\x82\xac\n");
    assert_string_equal(text(&ran.err),
                        "airlock: building image\noops\nairlock: success in 3.9 s (boot 3.1 s, run "
                        "0.3 s), 2 outputs not kept: no --out\n");
}

static void quiet_adds_nothing_to_stderr(void **state)
{
    auto_ran struct ran ran;

    (void)state;
    RUN(&ran, "--quiet", "hello.py");
    assert_string_equal(text(&ran.err), "oops\n");
}

static void json_prints_one_object_and_nothing_else(void **state)
{
    auto_ran struct ran ran;

    (void)state;
    RUN(&ran, "--json", "--quiet", "hello.py");
    assert_int_equal(ran.code, AIRLOCK_SUCCESS);
    assert_int_equal(strncmp(text(&ran.out), "{\"verdict\":\"success\"", 20), 0);
    assert_int_equal(ran.out.data[ran.out.len - 1], '\n');
    assert_ptr_equal(strchr(text(&ran.out), '\n'), ran.out.data + ran.out.len - 1);
    assert_int_equal(ran.err.len, 0);
}

static void exit_code_is_the_verdict_or_the_programs(void **state)
{
    static const struct {
        const char *mode, *script;
        int code;
    } cases[] = {
        {"verdict", "seven.py", AIRLOCK_USER_EXCEPTION},
        {"program", "seven.py", 7},
        {"verdict", "crash.py", AIRLOCK_USER_EXCEPTION},
        {"program", "crash.py", 128 + SIGSEGV},
        {"program", "hello.py", 0},
        {"program", "dead.py", 7},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_ran struct ran ran;

        RUN(&ran, "--exit-code", cases[i].mode, cases[i].script);
        assert_int_equal(ran.code, cases[i].code);
    }
}

static void options_end_at_the_script(void **state)
{
    auto_ran struct ran ran;

    (void)state;
    RUN(&ran, "--quiet", "--env", "FROM_OUTSIDE", "--env=A=b=c", "args.py", "--json", "--", "-x");
    assert_int_equal(ran.code, AIRLOCK_SUCCESS);
    assert_string_equal(text(&ran.out), "--json\n--\n-x\nFROM_OUTSIDE=kept\nA=b=c\n");
}

static void values_of_env_leave_the_process_listing(void **state)
{
    auto_ran struct ran ran;
    auto_buf struct buf listing = BUF_INIT(64 * KIB);
    auto_fd int fd = -1;
    struct err err = ERR_INIT;
    char path[64];
    char line[8];
    size_t got = 0;

    (void)state;
    start(&ran,
          (const char *const[]){"--env", "KEY=hunter2", "--env=OTHER=swordfish", "wait.py", NULL},
          -1, -1);
    assert_ok(fd_read_full(ran.out_fd, line, sizeof(line), &got, &err), &err);
    assert_memory_equal(line, "waiting\n", sizeof(line));
    (void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)ran.proc.pid);
    assert_ok(fd_open(AT_FDCWD, path, O_RDONLY, 0, &fd, &err), &err);
    assert_ok(fd_read_all(fd, path, &listing, &err), &err);
    assert_non_null(memmem(listing.data, listing.len, "KEY=", 4));
    assert_non_null(memmem(listing.data, listing.len, "wait.py", 7));
    assert_null(memmem(listing.data, listing.len, "hunter2", 7));
    assert_null(memmem(listing.data, listing.len, "swordfish", 9));
    assert_int_equal(kill(ran.proc.pid, SIGTERM), 0);
    collect(&ran);
    assert_int_equal(ran.code, AIRLOCK_CANCELED);
}

static void each_signal_cancels_the_job(void **state)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        auto_ran struct ran ran;
        struct err err = ERR_INIT;
        char line[8];
        size_t got = 0;

        start(&ran, (const char *const[]){"wait.py", NULL}, -1, -1);
        assert_ok(fd_read_full(ran.out_fd, line, sizeof(line), &got, &err), &err);
        assert_int_equal(kill(ran.proc.pid, numbers[i]), 0);
        collect(&ran);
        assert_int_equal(ran.code, AIRLOCK_CANCELED);
        assert_has(&ran.err, "airlock: canceled: the caller canceled\n");
    }
}

static void sleep_ms(long ms)
{
    struct timespec ts = {.tv_nsec = ms * 1000000};

    (void)nanosleep(&ts, NULL);
}

static void a_reader_that_never_reads_does_not_stop_a_signal(void **state)
{
    auto_ran struct ran ran;

    (void)state;
    start(&ran, (const char *const[]){"flood.py", NULL}, -1, -1);
    sleep_ms(300);
    assert_int_equal(kill(ran.proc.pid, SIGINT), 0);
    await_end(&ran);
    assert_int_equal(ran.code, AIRLOCK_CANCELED);
}

static void a_closed_stdout_cancels_the_job(void **state)
{
    auto_ran struct ran ran;

    (void)state;
    start(&ran, (const char *const[]){"flood.py", NULL}, -1, -1);
    fd_close_p(&ran.out_fd);
    await_end(&ran);
    assert_int_equal(ran.code, AIRLOCK_CANCELED);
}

static void a_full_disk_behind_stdout_is_not_success(void **state)
{
    static const char *const modes[] = {"--json", "--quiet"};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        auto_ran struct ran ran;
        auto_fd int full = open("/dev/full", O_WRONLY | O_CLOEXEC);

        assert_true(full >= 0);
        start(&ran, (const char *const[]){modes[i], "hello.py", NULL}, -1, full);
        collect(&ran);
        assert_int_equal(ran.code, AIRLOCK_CANCELED);
        assert_has(&ran.err, "standard output: No space left on device; output was lost");
    }
}

static void a_signal_during_the_build_answers_canceled(void **state)
{
    auto_ran struct ran ran;
    struct err err = ERR_INIT;
    char line[24];
    size_t got = 0;

    (void)state;
    start(&ran, (const char *const[]){"--json", "--image", "slow", "--", "true", NULL}, -1, -1);
    assert_ok(fd_read_full(ran.err_fd, line, sizeof(line), &got, &err), &err);
    sleep_ms(50);
    assert_int_equal(kill(ran.proc.pid, SIGTERM), 0);
    collect(&ran);
    assert_int_equal(ran.code, AIRLOCK_CANCELED);
    assert_has(&ran.out, "{\"verdict\":\"canceled\"");
}

static void what_fails_before_the_machine_is_a_verdict_too(void **state)
{
    static const struct {
        const char *args[6];
        int code;
        const char *part;
    } cases[] = {
        {{"--wall", "0", "hello.py"}, 2, "\"reason\":\"specification\""},
        {{"--memory", "-1", "hello.py"}, 2, "is negative"},
        {{"--in", "nope", "hello.py"}, 2, "--in 'nope': No such file"},
        {{"nope.py"}, 2, "script 'nope.py': No such file"},
        {{"hello.rb"}, 2, "what language is this?"},
        {{"--out", "/dev/null", "hello.py"}, 2, "\"reason\":\"outputs\""},
        {{"--image", "missing", "hello.py"}, 2, "\"reason\":\"image\""},
        {{"--env", "NOT_SET_ANYWHERE", "hello.py"}, 2, "number 1 is not the name"},
        {{"--state", "/full", "hello.py"}, 8, "\"verdict\":\"capacity_rejected\""},
        {{"dead.py"}, 7, "\"verdict\":\"sandbox_failure\""},
        {{"--spec", "/nope.json"}, 2, "'/nope.json': No such file"},
        {{"--spec", "/dev/null"}, 2, "is empty"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_ran struct ran ran;
        const char *args[8] = {"--json"};

        memcpy(args + 1, cases[i].args, sizeof(cases[i].args));
        start(&ran, args, -1, -1);
        collect(&ran);
        assert_int_equal(ran.code, cases[i].code);
        assert_has(&ran.out, cases[i].part);
    }
}

static void a_wrong_command_line_says_what_and_exits_2(void **state)
{
    static const struct {
        const char *args[6];
        const char *part;
    } cases[] = {
        {{NULL}, "what shall run?"},
        {{"--memroy", "64M", "hello.py"}, "did you mean '--memory'?"},
        {{"--quiet", "--quiet", "hello.py"}, "'--quiet' was given twice"},
        {{"--json=yes", "hello.py"}, "takes no value"},
        {{"--engine", "qemu", "hello.py"}, "is not one of: auto, kvm, tcg"},
        {{"--spec", "x.json", "--root"}, "--root can't be given beside --spec"},
        {{"--spec", "job.json", "--cold-interpreter"}, "can't be given beside --spec"},
        {{"--spec", "job.json", "--pids", "4"}, "--pids can't be given beside --spec"},
        {{"--spec", "job.json", "hello.py"}, "a script can't be given beside --spec"},
        {{"--out", "", "hello.py"}, "needs the name of a directory"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_ran struct ran ran;

        start(&ran, cases[i].args, -1, -1);
        collect(&ran);
        assert_int_equal(ran.code, 2);
        assert_int_equal(ran.out.len, 0);
        assert_has(&ran.err, cases[i].part);
    }
}

static void a_job_comes_as_json_from_stdin(void **state)
{
    static const char job[] = "{\"language\":\"python\",\"code\":\"args.py\",\"args\":[\"one\"]}";
    auto_ran struct ran ran;
    struct err err = ERR_INIT;
    int in[2];

    (void)state;
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_ok(fd_write_full(in[1], job, strlen(job), &err), &err);
    (void)close(in[1]);
    start(&ran, (const char *const[]){"--spec", "-", NULL}, in[0], -1);
    (void)close(in[0]);
    collect(&ran);
    assert_int_equal(ran.code, AIRLOCK_SUCCESS);
    assert_string_equal(text(&ran.out), "one\n");
}

static void a_terminal_gets_harmless_text(void **state)
{
    auto_ran struct ran ran;
    auto_fd int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    auto_fd int slave = -1;
    struct termios tio;
    char name[64];
    char shown[256] = "";
    ssize_t n = 0;

    (void)state;
    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    assert_int_equal(ptsname_r(master, name, sizeof(name)), 0);
    slave = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(slave >= 0);
    assert_int_equal(tcgetattr(slave, &tio), 0);
    tio.c_oflag &= ~(tcflag_t)OPOST;
    assert_int_equal(tcsetattr(slave, TCSANOW, &tio), 0);
    start(&ran, (const char *const[]){"hello.py", NULL}, -1, slave);
    collect(&ran);
    assert_int_equal(ran.code, AIRLOCK_SUCCESS);
    n = read(master, shown, sizeof(shown) - 1);
    assert_true(n > 0);
    assert_string_equal(shown, "hi \\x1b[31m\xe2\x82\xac\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(output_passes_as_it_is_and_a_summary_ends_it),
        T(quiet_adds_nothing_to_stderr),
        T(json_prints_one_object_and_nothing_else),
        T(exit_code_is_the_verdict_or_the_programs),
        T(options_end_at_the_script),
        T(values_of_env_leave_the_process_listing),
        T(each_signal_cancels_the_job),
        T(a_reader_that_never_reads_does_not_stop_a_signal),
        T(a_closed_stdout_cancels_the_job),
        T(a_full_disk_behind_stdout_is_not_success),
        T(a_signal_during_the_build_answers_canceled),
        T(what_fails_before_the_machine_is_a_verdict_too),
        T(a_wrong_command_line_says_what_and_exits_2),
        T(a_job_comes_as_json_from_stdin),
        T(a_terminal_gets_harmless_text),
    };

    return cmocka_run_group_tests(tests, make_scripts, remove_scripts);
}
