#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/request.h"
#include "test.h"

#define FORM "multipart/form-data; boundary=b"
#define PART(name, data) \
    "--b\r\nContent-Disposition: form-data; name=\"" name "\"\r\n\r\n" data "\r\n"
#define FILE_PART(name, data)                                                         \
    "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" name "\"\r\n" \
    "Content-Type: text/plain\r\n\r\n" data "\r\n"
#define JOB "{\"language\":\"python\",\"code\":\"x\"}"

/* 0, or the status; *ret_refusal has the field. */
static unsigned int read_job(const char *type, const char *body, struct service_job *job,
                             struct refusal *ret_refusal)
{
    struct err err = ERR_INIT;
    int r = 0;

    service_job_init(job);
    *ret_refusal = (struct refusal){0};
    r = request_job(type, (const uint8_t *)body, strlen(body), job, ret_refusal, &err);
    if (r < 0) {
        assert_int_not_equal(ret_refusal->status, 0); /* not the host's fault */
        return ret_refusal->status;
    }
    return 0;
}

static unsigned int status_of(const char *type, const char *body)
{
    auto_service_job struct service_job job;
    struct refusal refusal;

    return read_job(type, body, &job, &refusal);
}

static void assert_field(const char *body, const char *field)
{
    auto_service_job struct service_job job;
    struct refusal refusal;

    assert_int_equal(read_job("application/json", body, &job, &refusal), 400);
    assert_string_equal(refusal.type, "bad-job");
    assert_string_equal(refusal.field, field);
}

static void a_job_of_json_has_its_members(void **state)
{
    auto_service_job struct service_job job;
    struct refusal refusal;

    assert_int_equal(
        read_job("application/json",
                 "{\"language\":\"python\",\"code\":\"x\",\"priority\":9,"
                 "\"deadline_ms\":1500,\"files\":[{\"name\":\"a\",\"content\":\"b\"}]}",
                 &job, &refusal),
        0);
    assert_int_equal(job.priority, 9);
    assert_int_equal(job.deadline_ms, 1500);
    assert_int_equal(job.spec.n_inputs, 1);
    assert_true(digest_is_hex(job.body.hex));
    assert_string_equal(job.key, "");
}

static void defaults_stand_where_nothing_is_given(void **state)
{
    auto_service_job struct service_job job;
    struct refusal refusal;

    assert_int_equal(read_job("application/json; charset=UTF-8", JOB, &job, &refusal), 0);
    assert_int_equal(job.priority, JOB_PRIORITY);
    assert_int_equal(job.deadline_ms, 0);
}

static void the_member_that_is_wrong_is_named(void **state)
{
#define WITH(more) "{\"language\":\"python\",\"code\":\"x\"," more "}"
    assert_field("{}", "language");
    assert_field("{\"language\":\"python\"}", "code");
    assert_field("{\"language\":\"ruby\",\"code\":\"x\"}", "language");
    assert_field(WITH("\"rooot\":true"), "rooot");
    assert_field(WITH("\"priority\":10"), "priority");
    assert_field(WITH("\"priority\":-1"), "priority");
    assert_field(WITH("\"priority\":1.0"), "priority");
    assert_field(WITH("\"deadline_ms\":0"), "deadline_ms");
    assert_field(WITH("\"limits\":{\"wall_ms\":0}"), "limits.wall_ms");
    assert_field(WITH("\"limits\":{\"luck\":0}"), "limits.luck");
    assert_field(WITH("\"files\":[{\"name\":\"a\",\"content\":\"\"},{\"name\":1}]"),
                 "files[1].name");
    assert_field(WITH("\"files\":[{\"name\":\"a/b\",\"content\":\"\"}]"), "files[0]");
    assert_field(WITH("\"args\":[\"a\",2]"), "args[1]");
    assert_field(WITH("\"env\":{\"A\":2}"), "env.A");
    assert_field(WITH("\"code_base64\":\"eA==\""), "code_base64");
    assert_field(WITH("\"stdin_base64\":\"*\""), "stdin_base64");
    assert_field("{\"image\":\"python\",\"command\":[]}", "");
}

static void documents_that_are_none_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "x",
        "[]",
        "null",
        "1",
        "{\"language\":\"python\",\"code\":\"x\"",
        JOB "x",
        JOB JOB,
        WITH("\"code\":\"y\""),
        WITH("\"limits\":{\"wall_ms\":NaN}"),
        WITH("\"limits\":{\"wall_ms\":1e999}"),
        WITH("\"limits\":{\"wall_ms\":18446744073709551616}"),
        WITH("\"stdin\":\"\\ud800\""),
        WITH("\"stdin\":\"\\udc00\\ud800\""),
        WITH("\"args\":[\"\\u0000\"]"),
        WITH("\"stdin\":\"\xff\""),
        WITH("\"stdin\":\"\xed\xa0\x80\""),
        "[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(status_of("application/json", bad[i]), 400);
    }
}

static void other_types_are_refused(void **state)
{
    assert_int_equal(status_of(NULL, JOB), 415);
    assert_int_equal(status_of("text/plain", JOB), 415);
    assert_int_equal(status_of("application/jsonx", JOB), 415);
    assert_int_equal(status_of("application/json; charset=latin1", JOB), 415);
}

static void json_may_be_smaller_than_a_form(void **state)
{
    assert_int_equal(request_body_max("application/json", 100 * MIB), REQUEST_JSON_MAX);
    assert_int_equal(request_body_max(NULL, 100 * MIB), REQUEST_JSON_MAX);
    assert_int_equal(request_body_max(FORM, 100 * MIB), 100 * MIB);
    assert_int_equal(request_body_max("application/json", 10), 10);
}

static void a_form_has_job_files_stdin_and_archive(void **state)
{
    auto_service_job struct service_job job;
    struct refusal refusal;

    assert_int_equal(read_job(FORM,
                              PART("job", JOB) FILE_PART("a b.txt", "one\r\n--x") FILE_PART("c", "")
                                  PART("stdin", "") PART("archive", "tar") "--b--\r\n",
                              &job, &refusal),
                     0);
    assert_int_equal(job.spec.n_inputs, 2);
    assert_string_equal(job.spec.inputs[0].name, "a b.txt");
    assert_int_equal(job.spec.inputs[0].data_len, 8);
    assert_memory_equal(job.spec.inputs[0].data, "one\r\n--x", 8);
    assert_int_equal(job.spec.inputs[1].data_len, 0);
    assert_non_null(job.spec.stdin_data);
    assert_int_equal(job.spec.stdin_len, 0);
    assert_int_equal(job.spec.archive_len, 3);
}

static void the_digest_of_a_form_is_of_its_parts(void **state)
{
    auto_service_job struct service_job one, two, three;
    struct refusal refusal;

    assert_int_equal(read_job(FORM, PART("job", JOB) PART("stdin", "a") "--b--", &one, &refusal),
                     0);
    assert_int_equal(read_job("multipart/form-data; boundary=\"c\"",
                              "--c\r\nContent-Disposition: form-data; name=\"job\"\r\n\r\n" JOB
                              "\r\n--c\r\nContent-Disposition: form-data; name=\"stdin\"\r\n\r\na"
                              "\r\n--c--\r\n",
                              &two, &refusal),
                     0);
    assert_int_equal(read_job(FORM, PART("job", JOB) PART("stdin", "b") "--b--", &three, &refusal),
                     0);
    assert_true(digest_equal(&one.body, &two.body));
    assert_false(digest_equal(&one.body, &three.body));
}

static void forms_that_are_not_exact_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "--b--",
        "--b--\r\n",
        "\r\n" PART("job", JOB) "--b--",
        PART("job", JOB),
        PART("job", JOB) "--b",
        PART("job", JOB) "--b--x",
        PART("job", JOB) "--b x\r\n\r\n\r\n--b--",
        PART("job", JOB) PART("job", JOB) "--b--",
        PART("stdin", "a") "--b--",
        PART("job", JOB) PART("stdin", "a") PART("stdin", "a") "--b--",
        PART("job", JOB) PART("archive", "a") PART("archive", "a") "--b--",
        PART("job", JOB) PART("other", "a") "--b--",
        PART("job", JOB) PART("file", "a") "--b--",
        PART("job", JOB) FILE_PART("../a", "") "--b--",
        PART("job", JOB) FILE_PART("a/b", "") "--b--",
        PART("job", JOB) FILE_PART("", "") "--b--",
        PART("job", JOB) FILE_PART("a", "") FILE_PART("a", "") "--b--",
        PART("job", JOB) "--b\r\n\r\nx\r\n--b--",
        PART(
            "job",
            JOB) "--b\r\nX-More: 1\r\nContent-Disposition: form-data; name=\"stdin\"\r\n\r\n\r\n--b--",
        PART("job", JOB) "--b\r\nContent-Disposition: attachment; name=\"stdin\"\r\n\r\n\r\n--b--",
        PART("job", JOB) "--b\r\nContent-Disposition: form-data; name=stdin\r\n\r\n\r\n--b--",
        PART("job", JOB) "--b\r\nContent-Disposition: form-data; name=\"stdin\r\n\r\n\r\n--b--",
        PART(
            "job",
            JOB) "--b\r\nContent-Disposition: form-data; name=\"stdin\"; name=\"x\"\r\n\r\n\r\n--b--",
        PART("job", JOB) "--b\r\nContent-Disposition: form-data\r\n\r\n\r\n--b--",
        PART("job", JOB) "--b\nContent-Disposition: form-data; name=\"stdin\"\n\nx\r\n--b--",
        PART("job", "{}") "--b--",
        PART("job", WITH("\"stdin\":\"a\"")) PART("stdin", "a") "--b--",
    };

    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(status_of(FORM, bad[i]), 400);
    }
    assert_int_equal(status_of("multipart/form-data", PART("job", JOB) "--b--"), 400);
    assert_int_equal(status_of("multipart/form-data; boundary=", PART("job", JOB) "--b--"), 400);
    assert_int_equal(status_of(FORM "; x=y", PART("job", JOB) "--b--"), 400);
    assert_int_equal(status_of("multipart/mixed; boundary=b", PART("job", JOB) "--b--"), 415);
}

static void a_form_may_not_have_any_number_of_parts(void **state)
{
    auto_buf struct buf body = BUF_INIT(1 * MIB);

    assert_int_equal(buf_printf(&body, PART("job", JOB)), 0);
    for (unsigned int i = 0; i < 1200; i++) {
        assert_int_equal(buf_printf(&body,
                                    "--b\r\nContent-Disposition: form-data; name=\"file\"; "
                                    "filename=\"f%u\"\r\n\r\n\r\n",
                                    i),
                         0);
    }
    assert_int_equal(buf_printf(&body, "--b--"), 0);
    assert_int_equal(status_of(FORM, (const char *)body.data), 400);
}

TEST_MAIN(T(a_job_of_json_has_its_members), T(defaults_stand_where_nothing_is_given),
          T(the_member_that_is_wrong_is_named), T(documents_that_are_none_are_refused),
          T(other_types_are_refused), T(json_may_be_smaller_than_a_form),
          T(a_form_has_job_files_stdin_and_archive), T(the_digest_of_a_form_is_of_its_parts),
          T(forms_that_are_not_exact_are_refused), T(a_form_may_not_have_any_number_of_parts))
