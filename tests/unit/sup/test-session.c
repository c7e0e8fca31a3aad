/* The supervisor's side of the channel against agents that lie, stall and break off. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "proto/frame.h"
#include "proto/msg.h"
#include "sup/session.h"
#include "sys/fd.h"
#include "test.h"

struct rig {
    struct spec spec;
    struct events events;
    struct session session;
    struct buf got[2]; /* stdout, stderr as delivered */
    int agent;         /* the agent's end */
    int ours;
    int output;
    uint32_t seq; /* of the agent's frames */
};

static int keep(void *ctx, bool is_stderr, const uint8_t *data, size_t len)
{
    struct rig *rig = ctx;

    return buf_put(&rig->got[is_stderr], data, len);
}

static void rig_init(struct rig *rig)
{
    struct err err = ERR_INIT;
    int pair[2];

    memset(rig, 0, sizeof(*rig));
    spec_init(&rig->spec);
    assert_ok(spec_set_program(&rig->spec, "hello.py", &err), &err);
    rig->spec.limits.stdout_bytes = 10;
    rig->spec.limits.stderr_bytes = 10;
    rig->got[0].max = 1000;
    rig->got[1].max = 1000;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    rig->ours = pair[0];
    rig->agent = pair[1];
    rig->output = memfd_create("out", MFD_CLOEXEC);
    assert_true(rig->output >= 0);
    assert_ok(session_init(&rig->session, rig->ours, &rig->spec, &rig->events, &err), &err);
    rig->session.sink = (struct session_sink){keep, rig};
    rig->session.output_fd = rig->output;
}

static void rig_fini(struct rig *rig)
{
    session_fini(&rig->session);
    spec_fini(&rig->spec);
    buf_fini(&rig->got[0]);
    buf_fini(&rig->got[1]);
    fd_close_p(&rig->agent);
    fd_close_p(&rig->ours);
    fd_close_p(&rig->output);
}

static void say(struct rig *rig, enum frame_type type, const void *data, size_t len)
{
    uint8_t header[FRAME_HEADER_SIZE];
    struct err err = ERR_INIT;

    frame_header_encode(header, type, (uint32_t)len, rig->seq++);
    assert_ok(fd_write_full(rig->agent, header, sizeof(header), &err), &err);
    if (len > 0) {
        assert_ok(fd_write_full(rig->agent, data, len, &err), &err);
    }
    assert_ok(session_read(&rig->session, 100 + rig->seq, &err), &err);
    assert_ok(session_write(&rig->session, &err), &err);
}

static void say_ready(struct rig *rig, uint32_t version)
{
    struct buf b = BUF_INIT(1000);

    assert_int_equal(msg_ready_encode(&(struct msg_ready){.version = version}, &b), 0);
    say(rig, FRAME_READY, b.data, b.len);
    buf_fini(&b);
}

static void say_exit(struct rig *rig, uint32_t code)
{
    struct buf b = BUF_INIT(1000);

    assert_int_equal(msg_exit_encode(&(struct msg_exit){.code = code}, &b), 0);
    say(rig, FRAME_EXIT, b.data, b.len);
    buf_fini(&b);
}

static void say_output_end(struct rig *rig, enum msg_output_status status)
{
    struct buf b = BUF_INIT(1000);

    assert_int_equal(
        msg_output_end_encode(&(struct msg_output_end){.status = status, .name = "big"}, &b), 0);
    say(rig, FRAME_OUTPUT_END, b.data, b.len);
    buf_fini(&b);
}

static void start(struct rig *rig)
{
    say_ready(rig, PROTO_VERSION);
    say(rig, FRAME_STARTED, NULL, 0);
    assert_int_equal(rig->session.state, SESSION_RUN);
}

static void check_last(const struct rig *rig, enum event_kind kind, const char *phase)
{
    assert_true(rig->events.n > 0);
    assert_string_equal(event_name(rig->events.list[rig->events.n - 1].kind), event_name(kind));
    if (phase != NULL) {
        assert_string_equal(rig->events.list[rig->events.n - 1].reason, phase);
    }
}

static void a_good_agent_is_followed_to_the_end(void **state)
{
    struct rig rig;
    char job[FRAME_HEADER_SIZE];

    (void)state;
    rig_init(&rig);
    say_ready(&rig, PROTO_VERSION);
    assert_int_equal(recv(rig.agent, job, sizeof(job), MSG_DONTWAIT), sizeof(job));
    assert_int_equal(job[4], FRAME_JOB);
    say(&rig, FRAME_STARTED, NULL, 0);
    say(&rig, FRAME_STDOUT, "hello", 5);
    say(&rig, FRAME_STDERR, "oops", 4);
    say_exit(&rig, 0);
    say(&rig, FRAME_OUTPUT, "data", 4);
    say_output_end(&rig, MSG_OUTPUT_COMPLETE);
    assert_int_equal(rig.session.state, SESSION_DONE);
    assert_false(rig.session.ended);
    assert_memory_equal(rig.got[0].data, "hello", 5);
    assert_memory_equal(rig.got[1].data, "oops", 4);
    assert_string_equal(rig.session.tail, "oops");
    assert_int_equal(rig.session.output_bytes, 4);
    assert_true(rig.events.has_exit);
    rig_fini(&rig);
}

static void the_cap_is_no_overflow_and_one_byte_more_is(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    start(&rig);
    say(&rig, FRAME_STDOUT, "0123456789", 10);
    assert_false(rig.session.ended);
    say(&rig, FRAME_STDOUT, "X", 1);
    assert_true(rig.session.ended);
    assert_true(rig.session.streams[0].truncated);
    assert_int_equal(rig.got[0].len, 10);
    check_last(&rig, EVENT_STDOUT_CAP, NULL);
    rig_fini(&rig);
}

static void frames_out_of_order_end_the_job(void **state)
{
    static const enum frame_type early[] = {FRAME_STARTED,   FRAME_STDOUT, FRAME_STDERR,
                                            FRAME_CREDIT,    FRAME_EXIT,   FRAME_OUTPUT,
                                            FRAME_OUTPUT_END};

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(early); i++) {
        struct rig rig;

        rig_init(&rig);
        say(&rig, early[i], NULL, 0);
        check_last(&rig, EVENT_PROTOCOL, "boot");
        rig_fini(&rig);
    }
}

static void a_second_exit_report_is_a_protocol_error(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    start(&rig);
    say_exit(&rig, 3);
    say_exit(&rig, 0);
    check_last(&rig, EVENT_PROTOCOL, "collect");
    assert_int_equal(rig.events.exit.code, 3);
    rig_fini(&rig);
}

static void another_protocol_version_is_refused(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    say_ready(&rig, PROTO_VERSION + 1);
    check_last(&rig, EVENT_PROTOCOL, "boot");
    rig_fini(&rig);
}

static void garbage_is_a_protocol_error(void **state)
{
    struct rig rig;
    struct err err = ERR_INIT;

    (void)state;
    rig_init(&rig);
    start(&rig);
    assert_ok(fd_write_full(rig.agent, "this is no frame at all", 23, &err), &err);
    assert_ok(session_read(&rig.session, 200, &err), &err);
    check_last(&rig, EVENT_PROTOCOL, "run");
    assert_true(rig.session.closed);
    rig_fini(&rig);
}

static void half_a_frame_is_waited_for_and_then_forgotten(void **state)
{
    struct rig rig;
    struct err err = ERR_INIT;
    uint8_t header[FRAME_HEADER_SIZE];

    (void)state;
    rig_init(&rig);
    start(&rig);
    frame_header_encode(header, FRAME_STDOUT, 5, rig.seq);
    assert_ok(fd_write_full(rig.agent, header, sizeof(header), &err), &err);
    assert_ok(session_read(&rig.session, 200, &err), &err);
    assert_false(rig.session.ended);
    fd_close_p(&rig.agent);
    assert_ok(session_read(&rig.session, 201, &err), &err);
    assert_true(rig.session.closed);
    assert_false(rig.events.has_exit);
    rig_fini(&rig);
}

static void more_outputs_than_the_caps_allow_are_not_stored(void **state)
{
    struct rig rig;
    static uint8_t data[FRAME_DATA_MAX];

    (void)state;
    rig_init(&rig);
    rig.session.output_max = 100000;
    start(&rig);
    say_exit(&rig, 0);
    say(&rig, FRAME_OUTPUT, data, sizeof(data));
    assert_false(rig.session.ended);
    say(&rig, FRAME_OUTPUT, data, sizeof(data));
    check_last(&rig, EVENT_PROTOCOL, "collect");
    assert_int_equal(lseek(rig.output, 0, SEEK_END), sizeof(data));
    rig_fini(&rig);
}

static void a_cap_that_the_agent_found_names_the_entry(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    rig.spec.outputs_given = true;
    start(&rig);
    say_exit(&rig, 0);
    say_output_end(&rig, MSG_OUTPUT_FILES);
    check_last(&rig, EVENT_OUTPUT_FILES_CAP, NULL);
    assert_non_null(strstr(rig.events.list[rig.events.n - 1].detail, "'big'"));
    assert_true(rig.session.ended);
    rig_fini(&rig);
}

static void a_cap_on_outputs_that_nobody_wants_is_told_and_decides_nothing(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    start(&rig);
    say_exit(&rig, 0);
    say_output_end(&rig, MSG_OUTPUT_DEPTH);
    check_last(&rig, EVENT_OUTPUT_DROPPED, NULL);
    assert_string_equal(rig.events.list[rig.events.n - 1].reason, "output_depth_cap");
    assert_true(rig.session.outputs_cut);
    assert_false(rig.session.ended);
    rig_fini(&rig);
}

static void after_a_limit_only_last_words_count(void **state)
{
    struct rig rig;

    (void)state;
    rig_init(&rig);
    start(&rig);
    session_end(&rig.session);
    say(&rig, FRAME_STDOUT, "late", 4);
    say_exit(&rig, 0);
    assert_int_equal(rig.got[0].len, 4);
    assert_false(rig.events.has_exit);
    assert_int_equal(rig.events.n, 0);
    rig_fini(&rig);
}

static void stdin_keeps_to_the_credit_and_ends_once(void **state)
{
    struct rig rig;
    struct err err = ERR_INIT;
    struct frame_decoder dec;
    struct frame f = {0};
    struct buf credit = BUF_INIT(16);
    uint8_t *at = NULL;
    size_t room = 0;

    (void)state;
    rig_init(&rig);
    rig.session.stdin_fd = memfd_create("in", MFD_CLOEXEC);
    assert_int_equal(write(rig.session.stdin_fd, "0123456789", 10), 10);
    rig.session.stdin_size = 10;
    start(&rig);
    assert_int_equal(msg_credit_encode(4, &credit), 0);
    say(&rig, FRAME_CREDIT, credit.data, credit.len);
    say(&rig, FRAME_CREDIT, credit.data, credit.len);
    assert_int_equal(rig.session.stdin_at, 8);
    assert_false(session_wants_write(&rig.session));
    say(&rig, FRAME_CREDIT, credit.data, credit.len);
    assert_true(rig.session.stdin_done);
    assert_false(session_wants_write(&rig.session));

    frame_decoder_init(&dec, FRAME_TO_GUEST);
    assert_ok(frame_decoder_space(&dec, &at, &room, &err), &err);
    frame_decoder_fed(&dec, (size_t)recv(rig.agent, at, room, MSG_DONTWAIT));
    for (int expect = 0; expect < 5; expect++) {
        static const struct {
            enum frame_type type;
            const char *data;
        } want[] = {{FRAME_JOB, NULL},
                    {FRAME_STDIN, "0123"},
                    {FRAME_STDIN, "4567"},
                    {FRAME_STDIN, "89"},
                    {FRAME_STDIN_EOF, ""}};

        assert_int_equal(frame_decoder_next(&dec, &f, &err), 1);
        assert_int_equal(f.type, want[expect].type);
        if (want[expect].data != NULL) {
            assert_int_equal(f.len, strlen(want[expect].data));
            assert_memory_equal(f.data, want[expect].data, f.len);
        }
    }
    frame_decoder_fini(&dec);
    buf_fini(&credit);
    fd_close_p(&rig.session.stdin_fd);
    rig_fini(&rig);
}

/* A running agent whose limit struck, asked; what was sent to it before is read and dropped. */
static void start_and_ask(struct rig *rig)
{
    char sent[4096];
    ssize_t n = 0;

    rig_init(rig);
    start(rig);
    n = recv(rig->agent, sent, sizeof(sent), MSG_DONTWAIT); /* JOB */
    assert_true(n > 0);
    events_add(&rig->events, EVENT_WALL_LIMIT, 50, NULL, NULL);
    assert_false(session_ask(&rig->session)); /* nothing is decided for the session */
    session_end(&rig->session);
    assert_true(session_ask(&rig->session));
    assert_int_equal(recv(rig->agent, sent, sizeof(sent), MSG_DONTWAIT), FRAME_HEADER_SIZE);
    assert_int_equal(sent[4], FRAME_STOP);
    assert_false(session_ask(&rig->session)); /* once */
}

static void an_answer_to_stop_is_evidence_and_no_verdict(void **state)
{
    struct rig rig;
    struct buf b = BUF_INIT(1000);
    const struct msg_exit report = {
        .code = 0, .memory_peak_bytes = 77, .oom_kills = 1, .pids_refused = 2};

    (void)state;
    start_and_ask(&rig);
    say(&rig, FRAME_STDOUT, "last", 4);
    assert_int_equal(msg_exit_encode(&report, &b), 0);
    say(&rig, FRAME_EXIT, b.data, b.len);
    assert_true(rig.session.answered);
    assert_int_equal(rig.session.last_report.memory_peak_bytes, 77);
    assert_false(rig.events.has_exit);
    assert_int_equal(rig.session.exited_ns, 0);
    assert_int_equal(verdict_decide(&rig.events).verdict, AIRLOCK_TIMEOUT);
    assert_int_equal(rig.events.n, 3); /* the limit, and what the guest counted */
    check_last(&rig, EVENT_PIDS_REFUSED, NULL);
    say(&rig, FRAME_STDOUT, "more", 4); /* nothing lived when it reported: not the program's */
    say_exit(&rig, 0);
    say_output_end(&rig, MSG_OUTPUT_COMPLETE);
    assert_int_equal(rig.got[0].len, 4);
    assert_int_equal(rig.events.n, 3);
    assert_int_equal(rig.session.state, SESSION_RUN);
    buf_fini(&b);
    rig_fini(&rig);
}

static void a_lie_in_answer_to_stop_is_not_believed_and_decides_nothing(void **state)
{
    struct rig rig;

    (void)state;
    start_and_ask(&rig);
    say(&rig, FRAME_EXIT, "garbage", 7);
    assert_false(rig.session.answered);
    assert_true(rig.session.closed); /* ends the waiting */
    assert_int_equal(rig.events.n, 1);
    rig_fini(&rig);
    start_and_ask(&rig);
    say(&rig, FRAME_READY, NULL, 0);
    say(&rig, FRAME_OUTPUT, "x", 1);
    assert_false(rig.session.answered);
    assert_int_equal(rig.events.n, 1);
    assert_int_equal(rig.session.output_bytes, 0);
    rig_fini(&rig);
}

static void nobody_is_asked_who_does_not_run_or_does_not_read(void **state)
{
    struct rig rig;
    struct err err = ERR_INIT;

    (void)state;
    rig_init(&rig); /* boot */
    session_end(&rig.session);
    assert_false(session_ask(&rig.session));
    rig_fini(&rig);
    rig_init(&rig); /* the report is there already */
    start(&rig);
    say_exit(&rig, 0);
    session_end(&rig.session);
    assert_false(session_ask(&rig.session));
    rig_fini(&rig);
    rig_init(&rig); /* closed */
    start(&rig);
    fd_close_p(&rig.agent);
    assert_ok(session_read(&rig.session, 9, &err), &err);
    session_end(&rig.session);
    assert_false(session_ask(&rig.session));
    rig_fini(&rig);
    rig_init(&rig); /* something still waits to be taken */
    start(&rig);
    assert_int_equal(buf_put(&rig.session.out, "x", 1), 0);
    session_end(&rig.session);
    assert_false(session_ask(&rig.session));
    rig_fini(&rig);
}

TEST_MAIN(T(a_good_agent_is_followed_to_the_end), T(the_cap_is_no_overflow_and_one_byte_more_is),
          T(frames_out_of_order_end_the_job), T(a_second_exit_report_is_a_protocol_error),
          T(another_protocol_version_is_refused), T(garbage_is_a_protocol_error),
          T(half_a_frame_is_waited_for_and_then_forgotten),
          T(more_outputs_than_the_caps_allow_are_not_stored),
          T(a_cap_that_the_agent_found_names_the_entry),
          T(a_cap_on_outputs_that_nobody_wants_is_told_and_decides_nothing),
          T(after_a_limit_only_last_words_count), T(stdin_keeps_to_the_credit_and_ends_once),
          T(an_answer_to_stop_is_evidence_and_no_verdict),
          T(a_lie_in_answer_to_stop_is_not_believed_and_decides_nothing),
          T(nobody_is_asked_who_does_not_run_or_does_not_read))
