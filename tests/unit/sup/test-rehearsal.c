/* A rehearsal with machines that do not do what they should: an end with the reason, and nothing left. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "proto/frame.h"
#include "store-dir.h"
#include "sup/rehearsal.h"
#include "sup/template-writes.h"
#include "sys/clock.h"

enum play {
    PLAY_SILENT,    /* restored, and then nothing */
    PLAY_DIES,      /* restored, takes JOB and ends */
    PLAY_NOT_GOING, /* ends before it is restored */
    PLAY_NONSENSE   /* answers JOB with what is no frame */
};

static enum play play;
static unsigned int started;
static bool canceled;

static void play_monitor(int channel, int control)
{
    char data[8192];

    if (play == PLAY_NOT_GOING) {
        _exit(0);
    }
    if (write(control, "R", 1) != 1 || (play != PLAY_SILENT && read(channel, data, 1) != 1)) {
        _exit(1);
    }
    if (play == PLAY_NONSENSE && write(channel, "nonsense, as long as a header is", 32) != 32) {
        _exit(1);
    }
    while (play != PLAY_DIES && read(channel, data, sizeof(data)) > 0) {
    }
    _exit(0);
}

static int start(const struct machine_config *config, struct machine *ret, struct err *err)
{
    int channel[2];
    int control[2];
    int console[2];

    started++;
    assert_true(config->state_fd >= 0 && config->memory_fd >= 0 && config->scratch_fd >= 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel), 0);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, control), 0);
    assert_int_equal(pipe2(console, O_CLOEXEC), 0);
    int r = proc_fork(&ret->proc, err);
    if (r == 1) {
        (void)close(channel[0]);
        (void)close(control[0]);
        play_monitor(channel[1], control[1]);
    }
    (void)close(channel[1]);
    (void)close(control[1]);
    (void)close(console[1]);
    ret->channel_fd = channel[0];
    ret->control_fd = control[0];
    ret->console_fd = console[0];
    return r;
}

static int control(struct machine *m, struct err *err)
{
    char said = 0;

    if (recv(m->control_fd, &said, 1, MSG_DONTWAIT) != 1) {
        return err_set(err, ERR_HOST, EPIPE, "it does not go on");
    }
    fd_close_p(&m->control_fd);
    return 1;
}

static bool stop(void *ctx)
{
    (void)ctx;
    return canceled;
}

static void console(void *ctx, const char *text, size_t len)
{
    (void)ctx;
    (void)text;
    (void)len;
}

static const struct engine engine = {.name = "played",
                                     .isolation = "hardware",
                                     .takes_writes = true,
                                     .start = start,
                                     .control = control};

struct scene {
    struct spec spec;
    struct store store;
    struct template_request q;
    struct template_footer footer;
    int file;
};

static void set_scene(struct scene *s, enum play what)
{
    struct err err = ERR_INIT;

    *s = (struct scene){.store = {.dirfd = store, .tmpfd = store}, .file = -1};
    spec_init(&s->spec);
    s->spec.language = SPEC_PYTHON;
    s->q = (struct template_request){.store = &s->store,
                                     .engine = &engine,
                                     .model = &s->spec,
                                     .config = MACHINE_CONFIG_INIT,
                                     .boot_ns = 300 * NS_PER_MS,
                                     .stop = stop,
                                     .console = console};
    s->footer = (struct template_footer){.memory_bytes = 4096, .interpreter = {.waits = true}};
    assert_ok(fd_open_tmp(store, &s->file, &err), &err);
    assert_int_equal(ftruncate(s->file, 8192), 0);
    play = what;
    started = 0;
    canceled = false;
}

static void clear_scene(struct scene *s)
{
    spec_fini(&s->spec);
    fd_close_p(&s->file);
}

static void expect(enum play what, int errnum, const char *word)
{
    struct scene s;
    struct rehearsal *r = NULL;
    struct err err = ERR_INIT;
    uint64_t begin = clock_mono_ns();

    set_scene(&s, what);
    canceled = errnum == ECANCELED;
    assert_int_equal(rehearse(&s.q, s.file, &s.footer, &r, &err), -errnum);
    assert_null(r);
    assert_non_null(strstr(err.msg, word));
    assert_int_equal(started, 1);
    assert_true(clock_mono_ns() - begin < 10 * NS_PER_S);
    clear_scene(&s);
}

static void a_machine_that_does_not_go_on_is_told(void **state)
{
    expect(PLAY_NOT_GOING, EPIPE, "does not go on");
}

static void one_that_ends_before_its_report_is_told_at_once(void **state)
{
    expect(PLAY_DIES, EPIPE, "ended before its program's report");
}

static void one_that_says_nothing_has_a_deadline(void **state)
{
    expect(PLAY_SILENT, ETIMEDOUT, "--patience");
}

static void one_that_breaks_the_protocol_is_told(void **state)
{
    expect(PLAY_NONSENSE, EPROTO, "it did not do what it should");
}

static void it_can_be_stopped(void **state)
{
    expect(PLAY_SILENT, ECANCELED, "stopped");
}

static void without_an_interpreter_or_a_mounted_disk_there_is_none(void **state)
{
    struct scene s;
    struct err err = ERR_INIT;

    set_scene(&s, PLAY_DIES);
    s.footer.writes_bytes = 8;
    assert_ok(template_writes_learn(&s.q, s.file, &s.footer, &err), &err);
    assert_int_equal(s.footer.writes_bytes, 0);
    s.footer.scratch_bytes = 16;
    s.footer.interpreter.waits = false;
    assert_ok(template_writes_learn(&s.q, s.file, &s.footer, &err), &err);
    assert_int_equal(started, 0);
    clear_scene(&s);
}

#define R(f) cmocka_unit_test_setup_teardown(f, make_store, drop_store)

TEST_MAIN(R(a_machine_that_does_not_go_on_is_told),
          R(one_that_ends_before_its_report_is_told_at_once),
          R(one_that_says_nothing_has_a_deadline), R(one_that_breaks_the_protocol_is_told),
          R(it_can_be_stopped), R(without_an_interpreter_or_a_mounted_disk_there_is_none))
