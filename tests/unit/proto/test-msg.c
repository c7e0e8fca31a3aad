#include <errno.h>
#include <string.h>

#include "proto/frame.h"
#include "proto/msg.h"
#include "test.h"

static char arg0[] = "python3";
static char arg1[] = "main.py";
static char arg2[] = "";
static char env0[] = "LANG=C.UTF-8";
static char env1[] = "EMPTY=";
static char *argv_ok[] = {arg0, arg1, arg2, NULL};
static char *envp_ok[] = {env0, env1, NULL};

static struct msg_job job_ok(void)
{
    struct msg_job m = {
        .realtime_ns = 1234567890123456789ull,
        .memory_bytes = 256 * MIB,
        .pids = 64,
        .stdout_bytes = MIB,
        .stderr_bytes = 2 * MIB,
        .output_bytes = 16 * MIB,
        .output_files = 64,
        .inodes = 77,
        .output_depth = 16,
        .has_stdin = true,
        .root = true,
        .input = true,
        .program = "main.py",
        .argv = argv_ok,
        .envp = envp_ok,
    };

    memset(m.entropy, 0xa5, sizeof(m.entropy));
    memset(m.machine_id, 0x5a, sizeof(m.machine_id));
    return m;
}

static int decode_fails(const struct msg_job *m)
{
    struct buf buf = BUF_INIT(FRAME_JOB_MAX);
    struct msg_job got = {0};
    struct err err = ERR_INIT;
    int r = 0;

    assert_int_equal(msg_job_encode(m, &buf), 0);
    r = msg_job_decode(buf.data, buf.len, &got, &err);
    assert_null(got.argv);
    buf_fini(&buf);
    return r;
}

static void a_job_survives_the_trip(void **state)
{
    struct buf buf = BUF_INIT(FRAME_JOB_MAX);
    struct msg_job m = job_ok();
    struct msg_job got = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(msg_job_encode(&m, &buf), 0);
    assert_ok(msg_job_decode(buf.data, buf.len, &got, &err), &err);
    assert_memory_equal(got.entropy, m.entropy, sizeof(m.entropy));
    assert_memory_equal(got.machine_id, m.machine_id, sizeof(m.machine_id));
    assert_true(got.realtime_ns == m.realtime_ns && got.memory_bytes == m.memory_bytes);
    assert_true(got.pids == m.pids && got.stdout_bytes == m.stdout_bytes);
    assert_true(got.stderr_bytes == m.stderr_bytes && got.output_bytes == m.output_bytes);
    assert_true(got.inodes == m.inodes);
    assert_true(got.output_files == m.output_files && got.output_depth == m.output_depth);
    assert_true(got.has_stdin && got.root);
    assert_string_equal(got.program, "main.py");
    assert_string_equal(got.argv[0], "python3");
    assert_string_equal(got.argv[2], "");
    assert_null(got.argv[3]);
    assert_string_equal(got.envp[1], "EMPTY=");
    assert_null(got.envp[2]);
    msg_job_fini(&got);
    buf_fini(&buf);
}

static void every_shortened_or_lengthened_job_is_refused(void **state)
{
    struct buf buf = BUF_INIT(FRAME_JOB_MAX);
    struct msg_job m = job_ok();
    struct msg_job got = {0};

    (void)state;
    assert_int_equal(msg_job_encode(&m, &buf), 0);
    for (size_t len = 0; len < buf.len; len++) {
        struct err err = ERR_INIT;

        assert_int_equal(msg_job_decode(buf.data, len, &got, &err), -EPROTO);
        assert_int_equal(err.class, ERR_GUEST);
    }
    assert_int_equal(buf_put(&buf, "", 1), 0);
    {
        struct err err = ERR_INIT;

        assert_int_equal(msg_job_decode(buf.data, buf.len, &got, &err), -EPROTO);
    }
    assert_null(got.argv);
    buf_fini(&buf);
}

static void a_job_that_makes_no_sense_is_refused(void **state)
{
    static char slash[] = "a/b";
    static char no_value[] = "NOVALUE";
    static char *no_args[] = {NULL};
    static char *bad_env[] = {no_value, NULL};
    struct msg_job m = job_ok();

    (void)state;
    m.argv = no_args;
    assert_int_equal(decode_fails(&m), -EPROTO);
    m = job_ok();
    m.envp = bad_env;
    assert_int_equal(decode_fails(&m), -EPROTO);
    m = job_ok();
    memcpy(m.program, slash, sizeof(slash));
    assert_int_equal(decode_fails(&m), -EPROTO);
    m = job_ok();
    memcpy(m.program, "..", 3);
    assert_int_equal(decode_fails(&m), -EPROTO);
    m = job_ok();
    m.memory_bytes = 0;
    assert_int_equal(decode_fails(&m), -EPROTO);
}

static void a_program_comes_whole_or_from_the_input_device(void **state)
{
    struct buf buf = BUF_INIT(FRAME_JOB_MAX);
    struct msg_job m = job_ok();
    struct msg_job got = {0};
    struct err err = ERR_INIT;
    uint8_t *data = calloc(1, MSG_PROGRAM_MAX + 1);

    (void)state;
    m.input = false;
    assert_int_equal(decode_fails(&m), -EPROTO); /* it is nowhere */
    data[7] = 7;
    m.program_data = data;
    m.program_len = MSG_PROGRAM_MAX;
    assert_int_equal(msg_job_encode(&m, &buf), 0);
    assert_ok(msg_job_decode(buf.data, buf.len, &got, &err), &err);
    assert_int_equal(got.program_len, MSG_PROGRAM_MAX);
    assert_memory_equal(got.program_data, data, MSG_PROGRAM_MAX);
    assert_string_equal(got.argv[0], "python3");
    msg_job_fini(&got);
    m.program_len++;
    assert_int_equal(decode_fails(&m), -EPROTO);
    m = job_ok();
    m.program_data = data;
    m.program_len = 0; /* an empty one is one */
    buf_consume(&buf, buf.len);
    assert_int_equal(msg_job_encode(&m, &buf), 0);
    assert_ok(msg_job_decode(buf.data, buf.len, &got, &err), &err);
    assert_non_null(got.program_data);
    assert_int_equal(got.program_len, 0);
    msg_job_fini(&got);
    m.program[0] = '\0'; /* but it has a name */
    assert_int_equal(decode_fails(&m), -EPROTO);
    free(data);
    buf_fini(&buf);
}

static void a_waiting_interpreter_is_for_a_program_file_and_not_for_root(void **state)
{
    struct buf buf = BUF_INIT(FRAME_JOB_MAX);
    struct msg_job m = job_ok();
    struct msg_job got = {0};
    struct err err = ERR_INIT;

    (void)state;
    m.warm = true;
    assert_int_equal(decode_fails(&m), -EPROTO);
    m.root = false;
    assert_int_equal(msg_job_encode(&m, &buf), 0);
    assert_ok(msg_job_decode(buf.data, buf.len, &got, &err), &err);
    assert_true(got.warm && !got.root);
    msg_job_fini(&got);
    m.program[0] = '\0';
    assert_int_equal(decode_fails(&m), -EPROTO);
    buf_fini(&buf);
}

static void lists_and_strings_over_their_maximum_do_not_encode(void **state)
{
    struct buf buf = BUF_INIT(FRAME_JOB_MAX);
    struct msg_job m = job_ok();
    char **many = calloc(MSG_ARGS_MAX + 2, sizeof(*many));
    char *large = calloc(1, MSG_STRINGS_BYTES + 1);
    char *one[] = {NULL, NULL};

    (void)state;
    assert_non_null(many);
    assert_non_null(large);
    for (size_t i = 0; i <= MSG_ARGS_MAX; i++) {
        many[i] = arg0;
    }
    m.argv = many;
    assert_int_equal(msg_job_encode(&m, &buf), -ENOBUFS);
    assert_int_equal(buf.len, 0);
    memset(large, 'x', MSG_STRINGS_BYTES);
    one[0] = large;
    m.argv = one;
    assert_int_equal(msg_job_encode(&m, &buf), -ENOBUFS);
    assert_int_equal(buf.len, 0);
    many[MSG_ARGS_MAX] = NULL;
    m.argv = many;
    assert_int_equal(msg_job_encode(&m, &buf), 0);
    free(many);
    free(large);
    buf_fini(&buf);
}

static void a_count_alone_allocates_nothing(void **state)
{
    struct buf buf = BUF_INIT(FRAME_JOB_MAX);
    struct msg_job m = job_ok();
    struct msg_job got = {0};
    struct err err = ERR_INIT;
    size_t at = 4 + 64 + 8 + 16 + 7 * 8 + 4 + 5 + 4 + strlen(m.program) + 1 + 4;

    (void)state;
    assert_int_equal(msg_job_encode(&m, &buf), 0);
    assert_int_equal(buf.data[at], 3); /* argc */
    buf.data[at + 3] = 0xff;
    assert_int_equal(msg_job_decode(buf.data, buf.len, &got, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "too long"));
    buf_fini(&buf);
}

static void another_protocol_version_is_named(void **state)
{
    struct buf buf = BUF_INIT(64);
    struct msg_ready m = {.version = PROTO_VERSION + 1, .memory_total_bytes = 1, .boot_ns = 2};
    struct msg_ready got = {0};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(msg_ready_encode(&m, &buf), 0);
    assert_int_equal(msg_ready_decode(buf.data, buf.len, &got, &err), -EPROTO);
    assert_non_null(strstr(err.msg, "version 4"));
    buf_fini(&buf);
}

static void an_exit_survives_and_impossible_codes_do_not(void **state)
{
    struct buf buf = BUF_INIT(128);
    struct msg_exit m = {
        .code = 137,
        .memory_peak_bytes = 5,
        .cpu_usec = 6,
        .pids_peak = 7,
        .pids_refused = 8,
        .oom_kills = 9,
        .oom_killed_main = true,
        .stdout_bytes = 10,
        .stderr_bytes = 11,
        .scratch_bytes = UINT64_MAX,
    };
    struct msg_exit got = {0};
    struct err err = ERR_INIT;
    struct err err2 = ERR_INIT;

    (void)state;
    assert_int_equal(msg_exit_encode(&m, &buf), 0);
    assert_ok(msg_exit_decode(buf.data, buf.len, &got, &err), &err);
    assert_false(got.signaled);
    assert_int_equal(got.code, 137);
    assert_true(got.oom_killed_main && got.scratch_bytes == UINT64_MAX && got.pids_refused == 8);
    buf.data[0] = 1; /* signal 137 */
    assert_int_equal(msg_exit_decode(buf.data, buf.len, &got, &err), -EPROTO);
    buf.data[0] = 2; /* no such flag */
    assert_int_equal(msg_exit_decode(buf.data, buf.len, &got, &err2), -EPROTO);
    buf_fini(&buf);
}

static void the_small_messages_survive(void **state)
{
    struct buf buf = BUF_INIT(1024);
    struct msg_output_end end = {.status = MSG_OUTPUT_DEPTH, .name = "a/b"};
    struct msg_output_end end2 = {0};
    struct msg_failed failed = {.phase = "mount", .errnum = ENOENT, .text = "mount '/in'"};
    struct msg_failed failed2 = {0};
    struct msg_ready ready = {.version = PROTO_VERSION,
                              .interpreter = {.waits = true, .bytes = 77, .why_not = "why not"}};
    struct msg_ready ready2 = {0};
    struct err err = ERR_INIT;
    struct err err2 = ERR_INIT;
    uint32_t credit = 0;

    (void)state;
    assert_int_equal(msg_output_end_encode(&end, &buf), 0);
    assert_ok(msg_output_end_decode(buf.data, buf.len, &end2, &err), &err);
    assert_int_equal(end2.status, MSG_OUTPUT_DEPTH);
    assert_string_equal(end2.name, "a/b");
    buf.data[0] = MSG_OUTPUT_ERROR + 1;
    assert_int_equal(msg_output_end_decode(buf.data, buf.len, &end2, &err), -EPROTO);
    buf_consume(&buf, buf.len);
    assert_int_equal(msg_failed_encode(&failed, &buf), 0);
    assert_int_equal(msg_failed_decode(buf.data, buf.len, &failed2, &err2), 0);
    assert_string_equal(failed2.phase, "mount");
    assert_string_equal(failed2.text, "mount '/in'");
    assert_int_equal(failed2.errnum, ENOENT);
    buf.data[4] = '\0';
    assert_int_equal(msg_failed_decode(buf.data, buf.len, &failed2, &err2), -EPROTO);
    buf_consume(&buf, buf.len);
    assert_int_equal(msg_credit_encode(0x01020304, &buf), 0);
    assert_memory_equal(buf.data, "\x04\x03\x02\x01", 4);
    err = (struct err)ERR_INIT;
    assert_ok(msg_credit_decode(buf.data, buf.len, &credit, &err), &err);
    assert_int_equal(credit, 0x01020304);
    buf_consume(&buf, buf.len);
    assert_int_equal(msg_ready_encode(&ready, &buf), 0);
    err = (struct err)ERR_INIT;
    assert_ok(msg_ready_decode(buf.data, buf.len, &ready2, &err), &err);
    assert_true(ready2.interpreter.waits && ready2.interpreter.bytes == 77);
    assert_string_equal(ready2.interpreter.why_not, "why not");
    buf_fini(&buf);
}

TEST_MAIN(T(a_job_survives_the_trip), T(every_shortened_or_lengthened_job_is_refused),
          T(a_job_that_makes_no_sense_is_refused),
          T(a_program_comes_whole_or_from_the_input_device),
          T(a_waiting_interpreter_is_for_a_program_file_and_not_for_root),
          T(lists_and_strings_over_their_maximum_do_not_encode), T(a_count_alone_allocates_nothing),
          T(another_protocol_version_is_named), T(an_exit_survives_and_impossible_codes_do_not),
          T(the_small_messages_survive))
