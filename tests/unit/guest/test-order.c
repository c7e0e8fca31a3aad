/*
 * In which order a clone becomes somebody: differing random numbers alone do not prove that they
 * were made before the program could ask for any. System calls and the steps of others are wrapped by
 * the linker (meson.build), noted, and not made.
 */
#include <errno.h>
#include <linux/random.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "guest/agent.h"
#include "guest/job.h"
#include "host.h"

/* What happened, one letter each. */
enum step {
    ADD = 'a',    /* RNDADDENTROPY */
    RESEED = 'r', /* RNDRESEEDCRNG */
    CLOCK = 'c',
    IDENTITY = 'i', /* its first call */
    APPLY = 'A',    /* all of job_apply() */
    FIT = 'f',      /* pipes and watches of the job */
    GO = 'G',       /* the waiting interpreter is let go on */
    START = 'S',    /* a new one is started */
};

static struct {
    char steps[32];
    size_t n;
    bool apply_is_real;
    bool apply_fails;
    uint8_t added[MSG_ENTROPY_BYTES];
    struct timespec clock;
} seen;

static void note(enum step step)
{
    assert_true(seen.n + 1 < sizeof(seen.steps));
    seen.steps[seen.n++] = (char)step;
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_clock_settime(clockid_t id, const struct timespec *now);
ssize_t __wrap_pwrite64(int fd, const void *data, size_t len, off_t at);
int __wrap_warm_go(struct warm *w, const struct msg_job *job, struct err *err);
int __wrap_child_start(const struct child_spec *spec, struct child *ret, struct err *err);
int __wrap_streams_open(struct streams *io, struct err *err);
int __wrap_streams_give(const struct streams *io, uid_t uid, gid_t gid, struct err *err);
int __wrap_streams_fit(struct streams *io, const struct msg_job *job, struct err *err);
int __wrap_oom_log_begin(struct oom_log *log, struct err *err);
void __wrap_boot_complain(const char *text);
int __wrap_job_apply(struct boot *boot, struct msg_job *job, const char **ret_phase,
                     struct err *err);
int __real_job_apply(struct boot *boot, struct msg_job *job, const char **ret_phase,
                     struct err *err);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list args;

    (void)fd;
    if (request == RNDADDENTROPY) {
        const uint32_t *pool = NULL;

        va_start(args, request);
        pool = va_arg(args, const uint32_t *);
        va_end(args);
        assert_int_equal(pool[0], MSG_ENTROPY_BYTES * 8); /* credited in full */
        assert_int_equal(pool[1], MSG_ENTROPY_BYTES);
        memcpy(seen.added, pool + 2, MSG_ENTROPY_BYTES);
        note(ADD);
    } else if (request == RNDRESEEDCRNG) {
        note(RESEED);
    } else {
        fail_msg("an ioctl that nobody expects: %lx", request);
    }
    return 0;
}

int __wrap_clock_settime(clockid_t id, const struct timespec *now)
{
    assert_int_equal(id, CLOCK_REALTIME);
    seen.clock = *now;
    note(CLOCK);
    return 0;
}

/* Far enough: what follows would change this host. */
ssize_t __wrap_pwrite64(int fd, const void *data, size_t len, off_t at)
{
    (void)fd;
    (void)data;
    (void)len;
    (void)at;
    note(IDENTITY);
    errno = EROFS;
    return -1;
}

int __wrap_job_apply(struct boot *boot, struct msg_job *job, const char **ret_phase,
                     struct err *err)
{
    if (seen.apply_is_real) {
        return __real_job_apply(boot, job, ret_phase, err);
    }
    note(APPLY);
    *ret_phase = "clock";
    return seen.apply_fails ? err_set(err, ERR_HOST, EPERM, "no clock") : 0;
}

int __wrap_warm_go(struct warm *w, const struct msg_job *job, struct err *err)
{
    (void)w;
    (void)err;
    assert_true(job->warm);
    note(GO);
    return 0;
}

int __wrap_child_start(const struct child_spec *spec, struct child *ret, struct err *err)
{
    (void)spec;
    (void)ret;
    (void)err;
    note(START);
    return 0;
}

int __wrap_streams_open(struct streams *io, struct err *err)
{
    (void)io;
    (void)err;
    return 0;
}

int __wrap_streams_give(const struct streams *io, uid_t uid, gid_t gid, struct err *err)
{
    (void)io;
    (void)uid;
    (void)gid;
    (void)err;
    return 0;
}

int __wrap_streams_fit(struct streams *io, const struct msg_job *job, struct err *err)
{
    (void)io;
    (void)job;
    (void)err;
    note(FIT);
    return 0;
}

int __wrap_oom_log_begin(struct oom_log *log, struct err *err)
{
    (void)log;
    (void)err;
    return 0;
}

/* What goes wrong here is meant to, and the host's kernel log need not have it. */
void __wrap_boot_complain(const char *text)
{
    (void)text;
}

static void a_clone_gets_entropy_then_a_reseed_then_the_clock_before_anything_else(void **state)
{
    struct boot boot = {0};
    struct msg_job job = {.realtime_ns = 1700000000ULL * NS_PER_S + 7};
    const uint8_t nothing[MSG_ENTROPY_BYTES] = {0};
    uint8_t given[MSG_ENTROPY_BYTES];
    const char *phase = "none";
    struct err err = ERR_INIT;

    (void)state;
    memset(&seen, 0, sizeof(seen));
    seen.apply_is_real = true;
    for (size_t i = 0; i < sizeof(given); i++) {
        job.entropy[i] = given[i] = (uint8_t)(i + 1);
    }
    assert_true(job_apply(&boot, &job, &phase, &err) < 0);
    assert_string_equal(seen.steps, "arci");
    assert_string_equal(phase, "identity");
    assert_memory_equal(seen.added, given, sizeof(given));
    assert_memory_equal(job.entropy, nothing, sizeof(nothing)); /* nobody finds it later */
    assert_int_equal(seen.clock.tv_sec, 1700000000);
    assert_int_equal(seen.clock.tv_nsec, 7);
}

/* An agent of whom the host asked this job, and then left. */
static void run_agent(bool warm, bool interpreter_waits)
{
    static char name[] = "python3";
    static char program[] = "main.py";
    char *argv[] = {name, program, NULL};
    char *envp[] = {NULL};
    const struct msg_job job = {.realtime_ns = 1,
                                .memory_bytes = MIB,
                                .pids = 1,
                                .program = "main.py",
                                .input = true,
                                .warm = warm,
                                .argv = argv,
                                .envp = envp};
    struct agent agent = {.io = STREAMS_INIT,
                          .child = CHILD_INIT,
                          .oom = OOM_LOG_INIT,
                          .pressure = PRESSURE_INIT,
                          .warm = {.go_fd = interpreter_waits ? STDIN_FILENO : -1}};
    struct host host;
    struct buf buf = BUF_INIT(4096);
    uint8_t head[FRAME_HEADER_SIZE];

    host_init(&host, &agent.ch);
    assert_int_equal(msg_job_encode(&job, &buf), 0);
    frame_header_encode(head, FRAME_JOB, (uint32_t)buf.len, 0);
    assert_int_equal(write(host.fd, head, sizeof(head)), sizeof(head));
    assert_int_equal(write(host.fd, buf.data, buf.len), (ssize_t)buf.len);
    assert_int_equal(shutdown(host.fd, SHUT_WR), 0);
    agent_run(&agent);
    buf_fini(&buf);
    msg_job_fini(&agent.job);
    host_fini(&host, &agent.ch);
}

static void an_interpreter_goes_on_only_after_all_of_the_job_is_in_place(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    run_agent(true, true);
    assert_string_equal(seen.steps, "AfG");
}

static void a_new_interpreter_starts_only_after_all_of_the_job_is_in_place(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    run_agent(false, false);
    assert_string_equal(seen.steps, "AfS");
}

static void no_interpreter_goes_on_when_the_machine_could_not_be_made_somebody(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    seen.apply_fails = true;
    run_agent(true, true);
    assert_string_equal(seen.steps, "A");
}

static void a_job_and_what_waits_for_one_belong_together(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof(seen));
    run_agent(true, false);
    run_agent(false, true);
    assert_string_equal(seen.steps, "");
}

TEST_MAIN(T(a_clone_gets_entropy_then_a_reseed_then_the_clock_before_anything_else),
          T(an_interpreter_goes_on_only_after_all_of_the_job_is_in_place),
          T(a_new_interpreter_starts_only_after_all_of_the_job_is_in_place),
          T(no_interpreter_goes_on_when_the_machine_could_not_be_made_somebody),
          T(a_job_and_what_waits_for_one_belong_together))
