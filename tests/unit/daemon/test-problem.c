#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "daemon/problem.h"
#include "test.h"

static void every_problem_is_a_document(void **state)
{
    for (unsigned int i = 0; i < PROBLEMS; i++) {
        auto_buf struct buf out = BUF_INIT(4096);
        struct refusal refusal = {0};
        json_auto_t *json = NULL;

        assert_int_equal(problem_set(&refusal, (enum problem)i, "", "because %d", 7), -EINVAL);
        assert_int_equal(problem_json(&refusal, &out), 0);
        json = json_loadb((const char *)out.data, out.len, 0, NULL);
        assert_non_null(json);
        assert_int_equal(json_integer_value(json_object_get(json, "status")),
                         problem_status((enum problem)i));
        assert_memory_equal(json_string_value(json_object_get(json, "type")),
                            "urn:airlock:problem:", 20);
        assert_true(json_string_length(json_object_get(json, "title")) > 0);
        assert_string_equal(json_string_value(json_object_get(json, "detail")), "because 7");
        assert_null(json_object_get(json, "field"));
        assert_null(json_object_get(json, "retry_after_s"));
    }
}

static void field_and_retry_stand_in_it_when_given(void **state)
{
    auto_buf struct buf out = BUF_INIT(4096);
    struct refusal refusal = {0};

    (void)problem_set(&refusal, PROBLEM_QUEUE_FULL, "limits.wall_ms", "full");
    refusal.retry_after_s = 9;
    assert_int_equal(problem_json(&refusal, &out), 0);
    assert_non_null(strstr((const char *)out.data, "\"field\":\"limits.wall_ms\""));
    assert_non_null(strstr((const char *)out.data, "\"retry_after_s\":9"));
}

static void a_type_of_elsewhere_gets_the_reason_of_its_status(void **state)
{
    auto_buf struct buf out = BUF_INIT(4096);
    struct refusal refusal = {.status = 403, .type = "too-much-of-it", .detail = "no"};

    assert_int_equal(problem_json(&refusal, &out), 0);
    assert_non_null(strstr((const char *)out.data, "\"title\":\"Forbidden\""));
}

static void a_fault_of_the_host_is_not_told(void **state)
{
    struct refusal refusal = {0};
    struct err usage = ERR_INIT;
    struct err host = ERR_INIT;

    (void)err_usage(&usage, "the job is wrong");
    (void)err_set(&host, ERR_HOST, EIO, "/var/lib/secret is broken");
    (void)problem_set_err(&refusal, PROBLEM_BAD_JOB, "code", &usage);
    assert_int_equal(refusal.status, 400);
    assert_string_equal(refusal.detail, "the job is wrong");
    (void)problem_set_err(&refusal, PROBLEM_BAD_JOB, "code", &host);
    assert_int_equal(refusal.status, 500);
    assert_null(strstr(refusal.detail, "secret"));
    assert_string_equal(refusal.field, "");
}

static void what_does_not_fit_is_cut(void **state)
{
    auto_buf struct buf out = BUF_INIT(64 * KIB);
    struct refusal refusal = {0};
    char field[1000];
    char detail[5000];

    memset(field, 'f', sizeof(field) - 1);
    field[sizeof(field) - 1] = '\0';
    memset(detail, '\xc3', sizeof(detail) - 1);
    detail[sizeof(detail) - 1] = '\0';
    (void)problem_set(&refusal, PROBLEM_BAD_JOB, field, "%s", detail);
    assert_int_equal(strlen(refusal.field), sizeof(refusal.field) - 1);
    assert_int_equal(problem_json(&refusal, &out), 0);
}

TEST_MAIN(T(every_problem_is_a_document), T(field_and_retry_stand_in_it_when_given),
          T(a_type_of_elsewhere_gets_the_reason_of_its_status), T(a_fault_of_the_host_is_not_told),
          T(what_does_not_fit_is_cut))
