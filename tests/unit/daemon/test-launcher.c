/*
 * The launcher with real supervisors, in a state directory without images: such a job is rejected
 * before it needs a machine, which is all that the two halves have to do with it.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/launcher-internal.h"
#include "job/spec-wire.h"
#include "sup/engine.h"
#include "sup/run.h"
#include "sys/clock.h"
#include "sys/fd.h"
#include "test.h"

struct house {
    char path[64];
    struct launcher *l;
};

static void set_up(struct house *h, unsigned int pool)
{
    struct launcher_config config = {.state = h->path, .pool = pool, .pool_percent = 100};
    struct err err = ERR_INIT;

    (void)snprintf(h->path, sizeof(h->path), "/tmp/airlock-test-launcher.XXXXXX");
    assert_non_null(mkdtemp(h->path));
    assert_ok(launcher_start(&config, &h->l, &err), &err);
}

static void tear_down(struct house *h)
{
    struct err err = ERR_INIT;

    launcher_free(h->l);
    assert_ok(fd_remove_tree(AT_FDCWD, h->path, &err), &err);
}

static void fill_spec(struct spec *spec)
{
    static const char program[] = "print(1)\n";

    spec_init(spec);
    spec->language = SPEC_PYTHON;
    spec->program_data = (uint8_t *)strdup(program);
    spec->program_len = strlen(program);
    spec->program_name = strdup("main.py");
}

static int encoded(const struct spec *spec)
{
    auto_buf struct buf text = BUF_INIT(SPEC_WIRE_MAX);
    struct err err = ERR_INIT;
    int fd = memfd_create("spec", MFD_CLOEXEC);

    assert_ok(spec_encode(spec, &text, &err), &err);
    assert_ok(fd_write_full(fd, text.data, text.len, &err), &err);
    return fd;
}

static bool can_read(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms) > 0;
}

static int await(struct launcher *l, struct launcher_answer *ret, struct err *err)
{
    int r = 0;

    for (int i = 0; i < 100 && r == 0; i++) {
        (void)can_read(launcher_fd(l), 200);
        r = launcher_answer(l, ret, err);
    }
    return r;
}

static void expect_answer(struct launcher *l, uint64_t number, struct launcher_answer *ret)
{
    struct err err = ERR_INIT;

    assert_ok(await(l, ret, &err) == 1 ? 0 : -1, &err);
    assert_int_equal(ret->number, number);
}

/* The events of a job up to its result: how many machines it told, and the result's text. */
static void hear_all(struct sup *sup, char id[JOB_ID_SIZE], struct buf *result)
{
    struct err err = ERR_INIT;
    int machines = 0;

    while (!sup->finished) {
        struct sup_event ev = {0};
        int r = sup_try_next(sup, &ev, &err);

        assert_ok(r < 0 ? r : 0, &err);
        if (r == 0 && !sup->finished) {
            assert_true(can_read(sup->fd, 20000));
        }
        if (r == 1 && ev.kind == SUP_MACHINE) {
            assert_int_equal(ev.len, JOB_ID_SIZE - 1);
            memcpy(id, ev.data, ev.len);
            id[ev.len] = '\0';
            machines++;
        }
        if (r == 1 && ev.kind == SUP_RESULT) {
            assert_int_equal(buf_put(result, ev.data, ev.len), 0);
        }
    }
    assert_int_equal(machines, 1);
    assert_true(job_id_ok(id));
}

/* A job that may be started, as number 7; the answer is the caller's. */
static void start_seven(const struct house *h, struct launcher_answer *ret)
{
    auto_spec struct spec spec;
    auto_fd int fd = -1;
    struct err err = ERR_INIT;

    fill_spec(&spec);
    fd = encoded(&spec);
    assert_ok(launcher_ask_start(h->l, 7, fd, -1, &err), &err);
    expect_answer(h->l, 7, ret);
    assert_int_equal(ret->failed, 0);
}

static void a_job_goes_to_a_supervisor_whose_words_come_back(void **state)
{
    struct house h = {.l = NULL};
    struct launcher_answer a = {.number = 0};
    auto_buf struct buf result = BUF_INIT(MIB);
    char id[JOB_ID_SIZE] = "";
    struct err err = ERR_INIT;

    (void)state;
    set_up(&h, 0);
    start_seven(&h, &a);
    assert_false(a.pooled);
    hear_all(&a.sup, id, &result);
    assert_non_null(strstr((const char *)result.data, "\"verdict\":\"rejected\""));
    assert_non_null(strstr((const char *)result.data, id));
    sup_fini(&a.sup);
    launcher_answer_fini(&a);

    /* The record has the name that was told. */
    assert_ok(launcher_ask_text(h.l, 8, LAUNCHER_RECORD, id, &err), &err);
    expect_answer(h.l, 8, &a);
    assert_int_equal(a.failed, 0);
    assert_non_null(strstr((const char *)a.text.data, id));
    launcher_answer_fini(&a);
    tear_down(&h);
}

static pid_t launcher_pid(void)
{
    char path[64];
    char text[64] = "";
    auto_fd int fd = -1;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(read(fd, text, sizeof(text) - 1) > 0);
    return (pid_t)strtol(text, NULL, 10);
}

static int ask_record(struct house *h, const char *id)
{
    struct launcher_answer a = {.number = 0};
    struct err err = ERR_INIT;
    int failed = 0;

    assert_ok(launcher_ask_text(h->l, 9, LAUNCHER_RECORD, id, &err), &err);
    expect_answer(h->l, 9, &a);
    failed = a.failed;
    launcher_answer_fini(&a);
    return failed;
}

/* What a launcher before this one left behind: a supervisor without a slot, then one with. */
static void a_record_can_come_while_somebody_lives_who_could_write_it(void **state)
{
    static const char id[] = "00000000000000000000000000000007";
    const struct ledger_need need = {.machine_id = id, .memory_bytes = MIB, .vcpus = 1};
    const struct ledger_capacity capacity = {.machines = 0};
    struct ledger_slot slot = LEDGER_SLOT_INIT;
    struct house h = {.l = NULL};
    auto_fd int dir = -1;
    struct err err = ERR_INIT;

    (void)state;
    set_up(&h, 0);
    assert_int_equal(ask_record(&h, id), ESRCH);
    dir = open(h.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(flock(dir, LOCK_SH | LOCK_NB), 0);
    assert_int_equal(ask_record(&h, id), ENOENT);
    assert_int_equal(ask_record(&h, id), ENOENT); /* the question took no lock away */
    assert_int_equal(flock(dir, LOCK_UN), 0);
    assert_int_equal(ask_record(&h, id), ESRCH);

    assert_ok(ledger_admit(dir, &need, &capacity, &slot, &err), &err);
    assert_int_equal(ask_record(&h, id), ENOENT);
    assert_int_equal(ask_record(&h, "00000000000000000000000000000008"), ESRCH);
    ledger_release(&slot);
    assert_int_equal(ask_record(&h, id), ESRCH);
    tear_down(&h);
}

static bool supervisor_stays; /* until its caller lets it go, whatever its job is */

int __real_run_job(const struct spec *spec, const struct store *store, struct hold *hold,
                   struct client *client, uint64_t submitted_ns, bool streaming);
int __wrap_run_job(const struct spec *spec, const struct store *store, struct hold *hold,
                   struct client *client, uint64_t submitted_ns, bool streaming);

int __wrap_run_job(const struct spec *spec, const struct store *store, struct hold *hold,
                   struct client *client, uint64_t submitted_ns, bool streaming)
{
    struct pollfd p = {.fd = client->fd, .events = POLLIN};

    if (!supervisor_stays) {
        return __real_run_job(spec, store, hold, client, submitted_ns, streaming);
    }
    (void)poll(&p, 1, 30000);
    return 0;
}

/* A supervisor that its launcher left behind is one that the next launcher waits for. */
static void the_next_launcher_knows_of_the_supervisors_of_the_last(void **state)
{
    static const char id[] = "00000000000000000000000000000007";
    struct house h = {.l = NULL};
    struct launcher_answer a = {.number = 0};
    struct launcher *next = NULL;
    struct err err = ERR_INIT;

    (void)state;
    supervisor_stays = true;
    set_up(&h, 0);
    start_seven(&h, &a);
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(kill(launcher_pid(), SIGKILL), 0);
    assert_true(can_read(launcher_fd(h.l), 5000));
    launcher_free(h.l);
    assert_ok(launcher_start(&(struct launcher_config){.state = h.path}, &next, &err), &err);
    h.l = next;
    assert_int_equal(ask_record(&h, id), ENOENT);
    launcher_answer_fini(&a);
    for (int i = 0; i < 100 && ask_record(&h, id) == ENOENT; i++) {
        (void)usleep(50000);
    }
    assert_int_equal(ask_record(&h, id), ESRCH);
    assert_true(waitpid(-1, NULL, 0) > 0); /* it came to us */
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    supervisor_stays = false;
    tear_down(&h);
}

static void answers_come_in_the_order_of_the_questions(void **state)
{
    struct house h = {.l = NULL};
    auto_spec struct spec spec;
    auto_fd int fd = -1;
    struct err err = ERR_INIT;

    (void)state;
    set_up(&h, 0);
    fill_spec(&spec);
    fd = encoded(&spec);
    for (uint64_t i = 1; i <= LAUNCHER_ASKED_MAX; i++) {
        int r = i % 2 == 0 ? launcher_ask_start(h.l, i, fd, -1, &err)
                           : launcher_ask_text(h.l, i, LAUNCHER_IMAGES, NULL, &err);

        assert_ok(r, &err);
    }
    assert_int_equal(launcher_ask_text(h.l, 99, LAUNCHER_IMAGES, NULL, &err), -EAGAIN);
    assert_int_equal(err.class, ERR_LIMIT);
    for (uint64_t i = 1; i <= LAUNCHER_ASKED_MAX; i++) {
        struct launcher_answer a = {.number = 0};

        expect_answer(h.l, i, &a);
        assert_int_equal(a.failed, 0);
        assert_int_equal(a.sup.fd >= 0, i % 2 == 0);
        assert_int_equal(a.text.len, i % 2 == 0 ? 0 : 2); /* [] */
        launcher_answer_fini(&a);
    }
    tear_down(&h);
}

/* What is no question of ours, and a specification that can't be one. */
static void refuse(struct house *h, int fd, int out, int errnum, const char *words)
{
    struct launcher_answer a = {.number = 0};
    struct err err = ERR_INIT;

    assert_ok(launcher_ask_start(h->l, 3, fd, out, &err), &err);
    expect_answer(h->l, 3, &a);
    if (a.failed != errnum || strstr(a.why, words) == NULL) {
        print_error("failed %d: %s\n", a.failed, a.why);
    }
    assert_int_equal(a.failed, errnum);
    assert_non_null(strstr(a.why, words));
    assert_int_equal(a.sup.fd, -1);
    launcher_answer_fini(&a);
}

static void nothing_of_the_host_can_be_named(void **state)
{
    static const struct {
        size_t offset;
        const char *what;
    } paths[] = {
        {offsetof(struct spec, archive_path), "the archive"},
        {offsetof(struct spec, stdin_path), "stdin"},
        {offsetof(struct spec, out_dir), "the directory of outputs"},
        {offsetof(struct spec, program_path), "the program"},
    };
    struct house h = {.l = NULL};
    auto_spec struct spec spec;
    struct err err = ERR_INIT;

    (void)state;
    set_up(&h, 0);
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        auto_spec struct spec one;
        auto_fd int fd = -1;

        fill_spec(&one);
        *(char **)(void *)((char *)&one + paths[i].offset) = strdup("/etc/shadow");
        fd = encoded(&one);
        refuse(&h, fd, -1, EPERM, paths[i].what);
    }
    fill_spec(&spec);
    assert_ok(spec_add_input(&spec, "/etc/shadow:x", &err), &err);
    {
        auto_fd int fd = encoded(&spec);

        refuse(&h, fd, -1, EPERM, "an input");
    }
    free(STEAL_PTR(&spec.inputs[0].path));
    spec.inputs[0].data = (uint8_t *)strdup("x");
    spec.inputs[0].data_len = 1;
    spec.out_as_owner = true;
    {
        auto_fd int fd = encoded(&spec);

        refuse(&h, fd, -1, EPERM, "the owner of outputs");
    }
    tear_down(&h);
}

static void a_specification_is_a_file_of_sensible_size(void **state)
{
    struct house h = {.l = NULL};
    auto_fd int file = memfd_create("x", MFD_CLOEXEC);
    auto_fd int null = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    auto_fd int dir = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void)state;
    set_up(&h, 0);
    refuse(&h, file, -1, EFBIG, "a file of 1 to");
    refuse(&h, null, -1, EFBIG, "a file of 1 to");
    refuse(&h, dir, -1, EFBIG, "a file of 1 to");
    assert_int_equal(ftruncate(file, (off_t)SPEC_WIRE_MAX + 1), 0);
    refuse(&h, file, -1, EFBIG, "a file of 1 to");
    assert_int_equal(ftruncate(file, 4096), 0);
    refuse(&h, file, -1, EPROTO, "bad 'start'");
    tear_down(&h);
}

static void outputs_go_only_where_the_front_half_owns(void **state)
{
    struct house h = {.l = NULL};
    auto_spec struct spec spec;
    auto_fd int fd = -1;
    auto_fd int mine = -1;
    auto_fd int others = -1;
    struct launcher_answer a = {.number = 0};
    struct err err = ERR_INIT;

    (void)state;
    if (geteuid() != 0) {
        skip();
    }
    set_up(&h, 0);
    fill_spec(&spec);
    fd = encoded(&spec);
    mine = open(h.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(mkdirat(mine, "others", 0700), 0);
    others = openat(mine, "others", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(fchown(others, 65534, 65534), 0);
    refuse(&h, fd, others, EPERM, "only into directories of user");
    refuse(&h, fd, fd, EPERM, "only into directories of user");
    assert_ok(launcher_ask_start(h.l, 4, fd, mine, &err), &err);
    expect_answer(h.l, 4, &a);
    assert_int_equal(a.failed, 0);
    launcher_answer_fini(&a);
    tear_down(&h);
}

static void capacity_and_images_are_told(void **state)
{
    struct house h = {.l = NULL};
    struct launcher_answer a = {.number = 0};
    struct err err = ERR_INIT;

    (void)state;
    set_up(&h, 2);
    assert_ok(launcher_ask_text(h.l, 1, LAUNCHER_CAPACITY, NULL, &err), &err);
    expect_answer(h.l, 1, &a);
    assert_int_equal(a.failed, 0);
    assert_non_null(strstr((const char *)a.text.data, "\"machines\":64"));
    assert_non_null(strstr((const char *)a.text.data, "\"machines_used\":0"));
    assert_non_null(strstr((const char *)a.text.data, "\"pool\":{\"planned\":0"));
    launcher_answer_fini(&a);
    assert_int_equal(launcher_ask_text(h.l, 1, LAUNCHER_RECORD, "../../etc/shadow", &err), -EINVAL);
    tear_down(&h);
}

static bool kvm_is_due;

/* In the launcher, and in what it forks. */
int __wrap_engine_probe_kvm(const struct engine_wish *wish, bool anew, struct engine_probe *ret,
                            struct err *err);

int __wrap_engine_probe_kvm(const struct engine_wish *wish, bool anew, struct engine_probe *ret,
                            struct err *err)
{
    auto_fd int made = -1;

    (void)anew;
    (void)err;
    *ret = (struct engine_probe){.late = true, .remembered = true, .due = kvm_is_due};
    if (wish->again) {
        made =
            openat(wish->store->dirfd, "probes", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        (void)!write(made, "x", 1);
        while (!wish->stop(wish->ctx)) {
            (void)usleep(10000);
        }
        (void)!write(made, "y", 1);
    }
    return 0;
}

/* By a process of its own, once; it does not hold up the launcher's end either. */
static void a_probe_of_kvm_that_was_late_is_made_again(void **state)
{
    struct house h = {.l = NULL};
    struct err err = ERR_INIT;
    char text[8] = "";
    uint64_t begun = 0;

    (void)state;
    for (int due = 0; due < 2; due++) {
        auto_fd int dir = -1;
        auto_fd int made = -1;

        kvm_is_due = due == 1;
        set_up(&h, 0);
        dir = open(h.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        for (uint64_t i = 1; i <= 3; i++) {
            struct launcher_answer a = {.number = 0};

            assert_ok(launcher_ask_text(h.l, i, LAUNCHER_CAPACITY, NULL, &err), &err);
            expect_answer(h.l, i, &a);
            assert_int_equal(a.failed, 0);
            launcher_answer_fini(&a);
        }
        for (int i = 0; i < 500 && made < 0; i++) {
            made = openat(dir, "probes", O_RDONLY | O_CLOEXEC);
            (void)usleep(due == 1 ? 10000 : 100);
        }
        assert_int_equal(made >= 0, due);
        begun = clock_mono_ns();
        launcher_free(STEAL_PTR(&h.l));
        assert_true(clock_mono_ns() - begun < 5 * NS_PER_S);
        assert_int_equal(due == 1 ? pread(made, text, sizeof(text), 0) : 0, 2 * due);
        tear_down(&h);
    }
    assert_string_equal(text, "xy");
}

static void a_plan_has_no_answer_and_does_not_disturb_those_of_others(void **state)
{
    struct house h = {.l = NULL};
    auto_spec struct spec spec;
    const struct spec *specs[3] = {&spec, &spec, &spec};
    struct launcher_answer a = {.number = 0};
    struct err err = ERR_INIT;

    (void)state;
    set_up(&h, 2);
    fill_spec(&spec);
    assert_ok(launcher_plan(h.l, specs, 3, &err), &err);
    assert_ok(launcher_ask_text(h.l, 5, LAUNCHER_CAPACITY, NULL, &err), &err);
    expect_answer(h.l, 5, &a);
    /* There is no such image, so no such machine. */
    assert_non_null(strstr((const char *)a.text.data, "\"planned\":0"));
    launcher_answer_fini(&a);
    assert_ok(launcher_plan(h.l, NULL, 0, &err), &err);
    tear_down(&h);
}

/* A front half that somebody took over: the launcher ends in good order, and does none of it. */
static void what_is_no_question_ends_the_launcher(void **state)
{
    static const struct ask_wire strange[] = {
        {.kind = 0},
        {.kind = ASK_TEXT + 1},
        {.kind = ASK_TEXT, .aux = LAUNCHER_RECORD, .id = {[0 ... JOB_ID_SIZE - 1] = 'a'}},
    };

    (void)state;
    for (size_t i = 0; i <= ARRAY_LEN(strange); i++) {
        struct house h = {.l = NULL};
        struct launcher_answer a = {.number = 0};
        struct err err = ERR_INIT;

        set_up(&h, 0);
        if (i < ARRAY_LEN(strange)) {
            assert_true(fd_send(launcher_fd(h.l), &strange[i], sizeof(strange[i]), -1, 0) > 0);
        } else {
            assert_true(fd_send(launcher_fd(h.l), "x", 1, 2, 0) == 1);
        }
        assert_true(can_read(launcher_fd(h.l), 5000));
        assert_int_equal(launcher_answer(h.l, &a, &err), -EPIPE);
        assert_non_null(strstr(err.msg, "exit code 0"));
        tear_down(&h);
    }
}

static size_t drain(int sock, size_t from)
{
    size_t n = 0;

    while (can_read(sock, 1000)) {
        struct tell_wire tell = {0};
        struct err err = ERR_INIT;
        auto_fd int fd = -1;

        if (fd_receive(sock, &tell, sizeof(tell), &fd, &err) != 1) {
            break;
        }
        assert_int_equal(tell.number, from + n); /* in order, none lost */
        assert_true(fd >= 0);
        n++;
    }
    return n;
}

/* Answers that nobody takes stop the questions from being read; nothing is lost, nothing piles up. */
static void a_front_half_that_only_asks_is_not_read_from(void **state)
{
    struct house h = {.l = NULL};
    size_t asked = 0;
    ssize_t n = 0;

    (void)state;
    set_up(&h, 0);
    for (int quiet = 0; quiet < 20; quiet++) {
        while (n >= 0) {
            const struct ask_wire ask = {.kind = ASK_TEXT, .aux = LAUNCHER_IMAGES, .number = asked};

            n = fd_send(launcher_fd(h.l), &ask, sizeof(ask), -1, MSG_DONTWAIT);
            asked += n > 0;
        }
        assert_int_equal(n, -EAGAIN);
        assert_true(asked < 2000);
        (void)usleep(20000);
        n = 0;
    }
    assert_true(asked > LAUNCHER_ASKED_MAX);
    assert_int_equal(drain(launcher_fd(h.l), 0), asked);
    tear_down(&h);
}

static void the_front_half_sees_the_launchers_death(void **state)
{
    struct house h = {.l = NULL};
    struct launcher_answer a = {.number = 0};
    struct err err = ERR_INIT;

    (void)state;
    set_up(&h, 0);
    assert_int_equal(kill(launcher_pid(), SIGTERM), 0); /* that is not for it */
    assert_ok(launcher_ask_text(h.l, 1, LAUNCHER_IMAGES, NULL, &err), &err);
    expect_answer(h.l, 1, &a);
    launcher_answer_fini(&a);
    assert_int_equal(kill(launcher_pid(), SIGKILL), 0);
    assert_true(can_read(launcher_fd(h.l), 5000));
    assert_int_equal(launcher_answer(h.l, &a, &err), -EPIPE);
    assert_int_equal(err.class, ERR_HOST);
    assert_non_null(strstr(err.msg, "signal 9"));
    tear_down(&h);
}

/* The launcher ends with a front half that is killed, although that could not say anything. */
static void the_launcher_sees_the_front_halfs_death(void **state)
{
    int pipes[2] = {-1, -1};
    struct pollfd p = {.events = POLLIN};
    char path[] = "/tmp/airlock-test-launcher.XXXXXX";
    struct err err = ERR_INIT;
    char byte = 0;
    pid_t front = 0;

    (void)state;
    assert_non_null(mkdtemp(path));
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
    front = fork();
    if (front == 0) {
        const struct launcher_config config = {.state = path, .pool = 1};
        struct launcher *l = NULL;
        int ok = launcher_start(&config, &l, &err) == 0;

        (void)!write(pipes[1], &ok, 1);
        (void)pause();
        _exit(0);
    }
    assert_int_equal(read(pipes[0], &byte, 1), 1);
    assert_int_equal(byte, 1);
    assert_int_equal(kill(front, SIGKILL), 0);
    assert_int_equal(waitpid(front, NULL, 0), front);
    p.fd = pipes[0];
    assert_int_equal(poll(&p, 1, 0), 0);
    /* The launcher is ours now, and ends. */
    {
        int status = 0;
        pid_t pid = 0;

        for (int i = 0; i < 100 && pid == 0; i++) {
            pid = waitpid(-1, &status, WNOHANG);
            (void)usleep(pid == 0 ? 100000 : 0);
        }
        assert_true(pid > 0);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
    (void)close(pipes[0]);
    (void)close(pipes[1]);
    assert_ok(fd_remove_tree(AT_FDCWD, path, &err), &err);
}

TEST_MAIN(T(a_job_goes_to_a_supervisor_whose_words_come_back),
          T(a_record_can_come_while_somebody_lives_who_could_write_it),
          T(the_next_launcher_knows_of_the_supervisors_of_the_last),
          T(answers_come_in_the_order_of_the_questions), T(nothing_of_the_host_can_be_named),
          T(a_specification_is_a_file_of_sensible_size),
          T(outputs_go_only_where_the_front_half_owns), T(capacity_and_images_are_told),
          T(a_probe_of_kvm_that_was_late_is_made_again),
          T(a_plan_has_no_answer_and_does_not_disturb_those_of_others),
          T(what_is_no_question_ends_the_launcher), T(a_front_half_that_only_asks_is_not_read_from),
          T(the_front_half_sees_the_launchers_death), T(the_launcher_sees_the_front_halfs_death))
