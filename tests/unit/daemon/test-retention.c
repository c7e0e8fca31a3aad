#include <stdio.h>
#include <string.h>

#include "daemon/retention.h"
#include "test.h"

/* n jobs of 100 bytes that ended at 1000, 2000, ...; anna's and berta's by turns. */
static void jobs_of(struct job_info *jobs, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        jobs[i] = (struct job_info){
            .state = JOB_ENDED, .ended_ms = 1000 * (i + 1), .kept_bytes = 100, .verdict = 0};
        (void)snprintf(jobs[i].tenant, sizeof(jobs[i].tenant), "%s", i % 2 == 0 ? "anna" : "berta");
    }
}

static void without_limits_everything_stays(void **state)
{
    struct retention r = {.now_ms = UINT64_MAX, .kept_bytes = UINT64_MAX};
    struct job_info jobs[10];
    size_t go[10];

    (void)state;
    jobs_of(jobs, 10);
    assert_int_equal(retention_choose(&r, jobs, 10, go, 10), 0);
}

static void what_is_older_than_the_age_goes(void **state)
{
    struct retention r = {.limits = {.age_ms = 5000}, .now_ms = 8001, .kept_bytes = 1000};
    struct job_info jobs[10];
    size_t go[10];

    (void)state;
    jobs_of(jobs, 10);
    assert_int_equal(retention_choose(&r, jobs, 10, go, 10), 3); /* 3000 is a ms too old */
    assert_int_equal(go[2], 2);
    assert_int_equal(r.kept_bytes, 700);
    r.now_ms = 8000;
    assert_int_equal(retention_choose(&r, jobs, 10, go, 10), 2);
}

static void a_clock_that_went_back_makes_nothing_old(void **state)
{
    struct retention r = {.limits = {.age_ms = 1}, .now_ms = 0};
    struct job_info jobs[10];
    size_t go[10];

    (void)state;
    jobs_of(jobs, 10);
    assert_int_equal(retention_choose(&r, jobs, 10, go, 10), 0);
}

static void just_as_many_go_as_are_too_many(void **state)
{
    struct retention r = {.limits = {.bytes = 750}, .kept_bytes = 1000};
    struct job_info jobs[10];
    size_t go[10];

    (void)state;
    jobs_of(jobs, 10);
    jobs[1].kept_bytes = 0; /* wins no space */
    assert_int_equal(retention_choose(&r, jobs, 10, go, 10), 3);
    assert_int_equal(go[0], 0);
    assert_int_equal(go[1], 2);
    assert_int_equal(go[2], 3);
    assert_int_equal(r.kept_bytes, 700);
}

static void a_tenant_pays_for_its_own_excess(void **state)
{
    struct retention_tenant tenants[] = {{.name = "berta", .kept_bytes = 500, .limit_bytes = 250},
                                         {.name = "anna", .kept_bytes = 500, .limit_bytes = 500},
                                         {.name = "carla", .kept_bytes = 5000}};
    struct retention r = {
        .limits = {.bytes = 1000}, .kept_bytes = 1000, .tenants = tenants, .n_tenants = 3};
    struct job_info jobs[10];
    size_t go[10];

    (void)state;
    jobs_of(jobs, 10);
    assert_int_equal(retention_choose(&r, jobs, 10, go, 10), 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(jobs[go[i]].tenant, "berta");
    }
    assert_int_equal(tenants[0].kept_bytes, 200);
    assert_int_equal(tenants[1].kept_bytes, 500);
}

static void a_look_chooses_a_bounded_number(void **state)
{
    struct retention r = {.limits = {.age_ms = 1}, .now_ms = 1000000, .kept_bytes = 1000};
    struct job_info jobs[10];
    size_t go[10] = {0, 0, 0, 0, 99};

    (void)state;
    jobs_of(jobs, 10);
    assert_int_equal(retention_choose(&r, jobs, 10, go, 4), 4);
    assert_int_equal(go[4], 99);
    assert_int_equal(retention_choose(&r, jobs, 10, go, 0), 0);
}

static void what_runs_or_is_gone_is_passed_over(void **state)
{
    struct retention r = {
        .limits = {.age_ms = 1, .bytes = 1}, .now_ms = 1000000, .kept_bytes = 1000};
    struct job_info jobs[3];
    size_t go[3];

    (void)state;
    jobs_of(jobs, 3);
    jobs[0].state = JOB_RUNNING;
    jobs[1].purged = true;
    assert_int_equal(retention_choose(&r, jobs, 3, go, 3), 1);
    assert_int_equal(go[0], 2);
}

static void accounts_never_fall_below_nothing(void **state)
{
    struct retention_tenant tenants[] = {{.name = "anna", .kept_bytes = 10, .limit_bytes = 5}};
    struct retention r = {
        .limits = {.bytes = 5}, .kept_bytes = 10, .tenants = tenants, .n_tenants = 1};
    struct job_info jobs[3];
    size_t go[3];

    (void)state;
    jobs_of(jobs, 3);
    assert_int_equal(retention_choose(&r, jobs, 3, go, 3), 1);
    assert_int_equal(r.kept_bytes, 0);
    assert_int_equal(tenants[0].kept_bytes, 0);
}

TEST_MAIN(T(without_limits_everything_stays), T(what_is_older_than_the_age_goes),
          T(a_clock_that_went_back_makes_nothing_old), T(just_as_many_go_as_are_too_many),
          T(a_tenant_pays_for_its_own_excess), T(a_look_chooses_a_bounded_number),
          T(what_runs_or_is_gone_is_passed_over), T(accounts_never_fall_below_nothing))
