#include <errno.h>

#include "airlock/verdict.h"
#include "daemon/jobstore.h"
#include "daemon/service.h"
#include "store-fixture.h"

static const char digest_a[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

static void end(struct jobstore *s, const struct job_info *job)
{
    struct err err = ERR_INIT;

    assert_ok(jobstore_end(s, job, NULL, &err), &err);
}

static bool same_job(const struct job_info *a, const struct job_info *b)
{
    return strcmp(a->id, b->id) == 0 && strcmp(a->tenant, b->tenant) == 0 && a->state == b->state &&
           a->priority == b->priority && a->created_ms == b->created_ms &&
           a->started_ms == b->started_ms && a->ended_ms == b->ended_ms &&
           a->deadline_ms == b->deadline_ms && a->attempts == b->attempts &&
           a->cancel == b->cancel && a->verdict == b->verdict &&
           strcmp(a->reason, b->reason) == 0 && strcmp(a->machine_id, b->machine_id) == 0 &&
           a->kept_bytes == b->kept_bytes && a->purged == b->purged;
}

static void a_job_comes_back_as_it_was_put(void **state)
{
    struct job_info job = job_of(1, "anna");
    struct job_info got;
    struct err err = ERR_INIT;
    struct jobstore *s = open_store();

    (void)state;
    job.priority = 9;
    job.deadline_ms = INT64_MAX;
    insert(s, &job);
    assert_ok(jobstore_get(s, "anna", job.id, &got, &err), &err);
    assert_true(same_job(&job, &got));

    job.state = JOB_RUNNING;
    job.attempts = 2;
    job.cancel = true;
    job.started_ms = 123456;
    job.kept_bytes = 77;
    memcpy(job.machine_id, job.id, sizeof(job.id));
    assert_ok(jobstore_update(s, &job, &err), &err);
    jobstore_free(s);

    s = open_store();
    assert_ok(jobstore_get(s, NULL, job.id, &got, &err), &err);
    assert_true(same_job(&job, &got));

    job.state = JOB_ENDED;
    job.verdict = AIRLOCK_OOM;
    (void)snprintf(job.reason, sizeof(job.reason), "guest");
    job.ended_ms = 123999;
    end(s, &job);
    assert_ok(jobstore_get(s, NULL, job.id, &got, &err), &err);
    assert_true(same_job(&job, &got));
    jobstore_free(s);
}

static void an_id_is_taken_once(void **state)
{
    struct job_info job = job_of(1, "anna");
    struct jobstore *s = open_store();
    struct jobstore_counts counts;
    struct err err = ERR_INIT;

    (void)state;
    insert(s, &job);
    (void)snprintf(job.tenant, sizeof(job.tenant), "berta");
    assert_fails(jobstore_insert(s, &job, NULL, NULL, &err), ERR_USAGE, EEXIST, &err);
    assert_ok(jobstore_counts(s, &counts, &err), &err);
    assert_int_equal(counts.states[JOB_QUEUED], 1);
    jobstore_free(s);
}

static void what_is_no_new_job_is_refused(void **state)
{
    struct digest body = {.hex = "short"};
    char key[JOB_KEY_SIZE + 1];
    struct job_info good = job_of(1, "anna");
    struct job_info job = good;
    struct jobstore *s = open_store();
    struct err err = ERR_INIT;

    (void)state;
    job.id[0] = 'X';
    assert_fails(jobstore_insert(s, &job, NULL, NULL, &err), ERR_USAGE, EINVAL, &err);
    job = good;
    job.state = JOB_ENDED;
    assert_fails(jobstore_insert(s, &job, NULL, NULL, &err), ERR_USAGE, EINVAL, &err);
    job = good;
    job.verdict = 0;
    assert_fails(jobstore_insert(s, &job, NULL, NULL, &err), ERR_USAGE, EINVAL, &err);
    job = good;
    job.priority = JOB_PRIORITY_MAX + 1;
    assert_fails(jobstore_insert(s, &job, NULL, NULL, &err), ERR_USAGE, EINVAL, &err);
    job = good;
    job.deadline_ms = UINT64_MAX;
    assert_fails(jobstore_insert(s, &job, NULL, NULL, &err), ERR_USAGE, ERANGE, &err);
    memset(key, 'k', sizeof(key) - 1);
    key[sizeof(key) - 1] = '\0';
    assert_fails(jobstore_insert(s, &good, key, &body, &err), ERR_USAGE, EINVAL, &err);
    assert_fails(jobstore_insert(s, &good, "k", &body, &err), ERR_USAGE, EINVAL, &err);
    assert_fails(jobstore_insert(s, &good, "k", NULL, &err), ERR_USAGE, EINVAL, &err);
    assert_fails(jobstore_get(s, NULL, good.id, &job, &err), ERR_USAGE, ENOENT, &err);
    jobstore_free(s);
}

static void a_key_names_its_job_for_a_day(void **state)
{
    struct job_info job = job_of(1, "anna");
    struct job_info later = job_of(2, "anna");
    struct job_info other = job_of(3, "berta");
    struct digest body;
    struct jobstore_key key;
    struct jobstore *s = open_store();
    struct err err = ERR_INIT;
    uint64_t n = 0;

    (void)state;
    memcpy(body.hex, digest_a, sizeof(digest_a));
    job.created_ms = 5 * JOBSTORE_KEY_MS;
    assert_ok(jobstore_insert(s, &job, "k'; DROP TABLE jobs", &body, &err), &err);
    assert_int_equal(jobstore_key(s, "anna", "k'; DROP TABLE jobs", job.created_ms, &key, &err), 1);
    assert_string_equal(key.id, job.id);
    assert_string_equal(key.body.hex, digest_a);
    assert_int_equal(jobstore_key(s, "berta", "k'; DROP TABLE jobs", job.created_ms, &key, &err),
                     0);
    assert_int_equal(jobstore_key(s, "anna", "other", job.created_ms, &key, &err), 0);

    /* Taken: neither key nor job is there afterwards. */
    later.created_ms = job.created_ms + JOBSTORE_KEY_MS;
    assert_fails(jobstore_insert(s, &later, "k'; DROP TABLE jobs", &body, &err), ERR_USAGE, EEXIST,
                 &err);
    assert_fails(jobstore_get(s, NULL, later.id, &later, &err), ERR_USAGE, ENOENT, &err);
    assert_ok(jobstore_insert(s, &other, "k'; DROP TABLE jobs", &body, &err), &err);

    /* Too old: it gives way. */
    later.created_ms++;
    assert_int_equal(jobstore_key(s, "anna", "k'; DROP TABLE jobs", later.created_ms, &key, &err),
                     0);
    assert_ok(jobstore_insert(s, &later, "k'; DROP TABLE jobs", &body, &err), &err);
    assert_int_equal(jobstore_key(s, "anna", "k'; DROP TABLE jobs", later.created_ms, &key, &err),
                     1);
    assert_string_equal(key.id, later.id);

    assert_ok(jobstore_expire_keys(s, later.created_ms, &n, &err), &err);
    assert_int_equal(n, 1); /* berta's */
    assert_ok(jobstore_expire_keys(s, later.created_ms + JOBSTORE_KEY_MS + 1, &n, &err), &err);
    assert_int_equal(n, 1);
    jobstore_free(s);
}

static void a_job_ends_once(void **state)
{
    struct jobstore_charge charge = {.cpu_ns = 5, .wall_ns = 7};
    struct job_info job = job_of(1, "anna");
    struct job_info got;
    struct jobstore_tenant tenant;
    struct jobstore *s = open_store();
    struct err err = ERR_INIT;

    (void)state;
    insert(s, &job);
    assert_fails(jobstore_end(s, &job, &charge, &err), ERR_USAGE, EINVAL, &err);
    job = ended_of(1, "anna", 10);
    assert_fails(jobstore_update(s, &job, &err), ERR_USAGE, EINVAL, &err);
    assert_ok(jobstore_end(s, &job, &charge, &err), &err);

    job.verdict = AIRLOCK_TIMEOUT;
    assert_fails(jobstore_end(s, &job, &charge, &err), ERR_USAGE, EALREADY, &err);
    job.state = JOB_RUNNING;
    assert_fails(jobstore_update(s, &job, &err), ERR_USAGE, EALREADY, &err);
    assert_ok(jobstore_get(s, "anna", job.id, &got, &err), &err);
    assert_int_equal(got.verdict, AIRLOCK_SUCCESS);
    assert_ok(jobstore_tenant(s, "anna", &tenant, &err), &err);
    assert_int_equal(tenant.charged_jobs, 1);
    assert_int_equal(tenant.charged.cpu_ns, 5);
    assert_int_equal(tenant.charged.wall_ns, 7);

    id_of(99, job.id);
    assert_fails(jobstore_update(s, &job, &err), ERR_USAGE, ENOENT, &err);
    assert_fails(jobstore_end(s, &job, NULL, &err), ERR_USAGE, ENOENT, &err);
    jobstore_free(s);
}

static void what_is_not_charged_costs_nothing(void **state)
{
    struct job_info job = job_of(1, "anna");
    struct jobstore_tenant tenant;
    struct jobstore *s = open_store();
    struct err err = ERR_INIT;

    (void)state;
    insert(s, &job);
    job = ended_of(1, "anna", 0);
    job.verdict = AIRLOCK_CAPACITY_REJECTED;
    end(s, &job);
    assert_ok(jobstore_tenant(s, "anna", &tenant, &err), &err);
    assert_int_equal(tenant.charged_jobs, 0);
    assert_int_equal(tenant.charged.cpu_ns, 0);
    assert_int_equal(tenant.states[JOB_ENDED], 1);
    jobstore_free(s);
}

/* Odd numbers have ended, every third of those by its own exception; anna's and berta's by turns. */
static struct jobstore *store_of_forty(void)
{
    struct jobstore *s = open_store();

    for (unsigned int i = 0; i < 40; i++) {
        struct job_info job = job_of(i, i % 4 < 2 ? "anna" : "berta");

        insert(s, &job);
        if (i % 2 == 1) {
            job = ended_of(i, job.tenant, 100 + i);
            job.verdict = i % 3 == 0 ? AIRLOCK_USER_EXCEPTION : AIRLOCK_SUCCESS;
            end(s, &job);
        }
    }
    return s;
}

/* Goes through all pages and returns how many jobs there were; each has to match, newest first. */
static size_t list_all(struct jobstore *s, const char *tenant, struct job_filter filter,
                       size_t at_once)
{
    struct job_info jobs[50];
    char last[JOB_ID_SIZE] = "g";
    struct jobstore_page page = {.jobs = jobs, .max = at_once, .more = true};
    struct err err = ERR_INIT;
    size_t n = 0;

    while (page.more) {
        assert_ok(jobstore_list(s, tenant, &filter, &page, &err), &err);
        assert_true(page.n == at_once || !page.more);
        for (size_t i = 0; i < page.n; i++) {
            assert_string_equal(jobs[i].tenant, tenant);
            assert_true(filter.state < 0 || (int)jobs[i].state == filter.state);
            assert_true(filter.verdict < 0 || jobs[i].verdict == filter.verdict);
            assert_true(strcmp(jobs[i].id, last) < 0);
            memcpy(last, jobs[i].id, sizeof(last));
        }
        n += page.n;
        memcpy(filter.after, last, sizeof(last));
    }
    return n;
}

static void lists_are_paged_newest_first_and_of_one_tenant(void **state)
{
    struct jobstore *s = store_of_forty();

    (void)state;
    for (size_t at_once = 1; at_once < 50; at_once += 6) {
        assert_int_equal(
            list_all(s, "anna", (struct job_filter){.state = -1, .verdict = -1}, at_once), 20);
        assert_int_equal(
            list_all(s, "anna", (struct job_filter){.state = JOB_ENDED, .verdict = -1}, at_once),
            10);
        assert_int_equal(
            list_all(s, "anna", (struct job_filter){.state = JOB_QUEUED, .verdict = -1}, at_once),
            10);
        assert_int_equal(
            list_all(s, "berta", (struct job_filter){.state = -1, .verdict = 1}, at_once), 4);
        assert_int_equal(
            list_all(s, "berta", (struct job_filter){.state = JOB_ENDED, .verdict = 0}, at_once),
            6);
    }
    assert_int_equal(
        list_all(s, "anna", (struct job_filter){.state = JOB_RUNNING, .verdict = 1}, 9), 0);
    assert_int_equal(list_all(s, "none", (struct job_filter){.state = -1, .verdict = -1}, 9), 0);
    jobstore_free(s);
}

static void cursors_and_limits_of_lists_are_checked(void **state)
{
    struct job_info jobs[JOB_PAGE_MAX + 1];
    struct jobstore_page page = {.jobs = jobs, .max = 5};
    struct job_filter filter = {.state = -1, .verdict = -1};
    struct jobstore *s = store_of_forty();
    struct err err = ERR_INIT;

    (void)state;
    id_of(2, filter.after); /* berta's */
    assert_fails(jobstore_list(s, "anna", &filter, &page, &err), ERR_USAGE, ENOENT, &err);
    id_of(77, filter.after);
    assert_fails(jobstore_list(s, "anna", &filter, &page, &err), ERR_USAGE, ENOENT, &err);
    (void)snprintf(filter.after, sizeof(filter.after), "' OR 1 --");
    assert_fails(jobstore_list(s, "anna", &filter, &page, &err), ERR_USAGE, ENOENT, &err);
    filter.after[0] = '\0';
    page.max = 0;
    assert_fails(jobstore_list(s, "anna", &filter, &page, &err), ERR_USAGE, EINVAL, &err);
    page.max = JOB_PAGE_MAX + 1;
    assert_fails(jobstore_list(s, "anna", &filter, &page, &err), ERR_USAGE, EINVAL, &err);
    jobstore_free(s);
}

static void nobody_finds_anothers_job(void **state)
{
    struct job_info job;
    struct jobstore *s = store_of_forty();
    struct err err = ERR_INIT;
    char id[JOB_ID_SIZE];

    (void)state;
    id_of(2, id);
    assert_fails(jobstore_get(s, "anna", id, &job, &err), ERR_USAGE, ENOENT, &err);
    assert_fails(jobstore_get(s, "", id, &job, &err), ERR_USAGE, ENOENT, &err);
    assert_fails(jobstore_get(s, NULL, "x", &job, &err), ERR_USAGE, ENOENT, &err);
    assert_ok(jobstore_get(s, "berta", id, &job, &err), &err);
    jobstore_free(s);
}

static void a_start_sees_what_has_not_ended_in_its_order(void **state)
{
    struct job_info jobs[7];
    struct jobstore_page page = {.jobs = jobs, .max = 7, .more = true};
    struct jobstore *s = store_of_forty();
    struct err err = ERR_INIT;
    char after[JOB_ID_SIZE] = "";
    unsigned int next = 0;

    (void)state;
    jobstore_free(s);
    s = open_store();
    while (page.more) {
        assert_ok(jobstore_unended(s, after, &page, &err), &err);
        for (size_t i = 0; i < page.n; i++) {
            struct job_info job = ended_of(next, jobs[i].tenant, 0);

            assert_string_equal(jobs[i].id, job.id);
            end(s, &job); /* a page may be worked off before the next is asked for */
            next += 2;
        }
        memcpy(after, jobs[page.n - 1].id, sizeof(after));
    }
    assert_int_equal(next, 40);
    assert_ok(jobstore_unended(s, "", &page, &err), &err);
    assert_int_equal(page.n, 0);
    jobstore_free(s);
}

static void what_is_kept_goes_the_first_to_end_first(void **state)
{
    struct job_info jobs[50];
    struct jobstore_page page = {.jobs = jobs, .max = 50};
    struct jobstore *s = store_of_forty();
    struct err err = ERR_INIT;
    char id[JOB_ID_SIZE];

    (void)state;
    assert_ok(jobstore_kept(s, NULL, "", &page, &err), &err);
    assert_int_equal(page.n, 20);
    for (size_t i = 1; i < page.n; i++) {
        assert_true(jobs[i - 1].ended_ms <= jobs[i].ended_ms);
    }
    id_of(1, id);
    assert_ok(jobstore_purged(s, id, &err), &err);
    assert_ok(jobstore_purged(s, id, &err), &err);
    assert_ok(jobstore_kept(s, "anna", "", &page, &err), &err);
    assert_int_equal(page.n, 9);
    id_of(5, id);
    assert_string_equal(jobs[0].id, id);
    assert_ok(jobstore_kept(s, "anna", id, &page, &err), &err);
    assert_int_equal(page.n, 8);
    assert_ok(jobstore_kept(s, NULL, id, &page, &err), &err);
    assert_int_equal(page.n, 17);
    id_of(0, id);
    assert_fails(jobstore_purged(s, id, &err), ERR_USAGE, EBUSY, &err);
    id_of(90, id);
    assert_fails(jobstore_purged(s, id, &err), ERR_USAGE, ENOENT, &err);
    jobstore_free(s);
}

static void jobs_that_ended_together_are_all_paged(void **state)
{
    struct job_info got;
    struct jobstore_page page = {.jobs = &got, .max = 1, .more = true};
    struct jobstore *s = open_store();
    struct err err = ERR_INIT;
    char after[JOB_ID_SIZE] = "";
    unsigned int n = 0;

    (void)state;
    for (unsigned int i = 0; i < 5; i++) {
        struct job_info job = job_of(i, "anna");

        insert(s, &job);
        job = ended_of(i, "anna", 1);
        job.ended_ms = 5000000;
        end(s, &job);
    }
    while (page.more) {
        assert_ok(jobstore_kept(s, "anna", after, &page, &err), &err);
        assert_int_equal(page.n, 1);
        memcpy(after, got.id, sizeof(after));
        n++;
    }
    assert_int_equal(n, 5);
    jobstore_free(s);
}

static void counts_follow_every_change(void **state)
{
    char names[4][JOB_TENANT_SIZE];
    struct jobstore_counts counts;
    struct jobstore_tenant tenant;
    struct jobstore *s = store_of_forty();
    struct err err = ERR_INIT;
    char id[JOB_ID_SIZE];
    uint64_t kept = 0;
    uint64_t n = 0;
    size_t names_n = 0;

    (void)state;
    assert_ok(jobstore_counts(s, &counts, &err), &err);
    assert_int_equal(counts.states[JOB_QUEUED], 20);
    assert_int_equal(counts.states[JOB_ENDED], 20);
    assert_int_equal(counts.verdicts[AIRLOCK_USER_EXCEPTION], 7);
    assert_int_equal(counts.verdicts[AIRLOCK_SUCCESS], 13);
    assert_int_equal(counts.kept_bytes, 20 * 100 + 400);
    assert_ok(jobstore_tenant(s, "anna", &tenant, &err), &err);
    assert_string_equal(tenant.name, "anna");
    assert_int_equal(tenant.states[JOB_QUEUED], 10);
    kept = tenant.kept_bytes;
    id_of(5, id);
    assert_ok(jobstore_purged(s, id, &err), &err);
    assert_ok(jobstore_tenant(s, "anna", &tenant, &err), &err);
    assert_int_equal(tenant.kept_bytes, kept - 105);
    assert_ok(jobstore_forget(s, INT64_MAX, INT64_MAX, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_ok(jobstore_counts(s, &counts, &err), &err);
    assert_int_equal(counts.states[JOB_ENDED], 19);
    assert_ok(jobstore_tenants(s, "", names, 4, &names_n, &err), &err);
    assert_int_equal(names_n, 2);
    assert_string_equal(names[1], "berta");
    assert_ok(jobstore_tenants(s, "anna", names, 4, &names_n, &err), &err);
    assert_int_equal(names_n, 1);
    assert_ok(jobstore_tenant(s, "nobody", &tenant, &err), &err);
    assert_int_equal(tenant.kept_bytes, 0);
    jobstore_free(s);
}

static void rows_are_forgotten_by_age_and_by_number(void **state)
{
    struct digest body;
    struct jobstore_counts counts;
    struct jobstore_key key;
    struct jobstore *s = open_store();
    struct err err = ERR_INIT;
    struct job_info job;
    uint64_t n = 0;

    (void)state;
    memcpy(body.hex, digest_a, sizeof(digest_a));
    for (unsigned int i = 0; i < 1200; i++) {
        job = job_of(i, "anna");
        if (i < 2) {
            assert_ok(jobstore_insert(s, &job, i == 0 ? "zero" : "one", &body, &err), &err);
        } else {
            insert(s, &job);
        }
        job = ended_of(i, "anna", 1);
        end(s, &job);
        if (i != 1) { /* one keeps its bytes, and so its row */
            assert_ok(jobstore_purged(s, job.id, &err), &err);
        }
    }
    assert_ok(jobstore_forget(s, 1000000 + 10 + 2, INT64_MAX, &n, &err), &err);
    assert_int_equal(n, 9);
    assert_int_equal(jobstore_key(s, "anna", "zero", job.created_ms, &key, &err), 0);
    assert_int_equal(jobstore_key(s, "anna", "one", job.created_ms, &key, &err), 1);
    assert_ok(jobstore_forget(s, 0, 100, &n, &err), &err);
    assert_int_equal(n, JOBSTORE_DELETE_MAX);
    assert_ok(jobstore_forget(s, 0, 100, &n, &err), &err);
    assert_int_equal(n, 1191 - 1000 - 100);
    assert_ok(jobstore_forget(s, 0, 100, &n, &err), &err);
    assert_int_equal(n, 0);
    assert_ok(jobstore_counts(s, &counts, &err), &err);
    assert_int_equal(counts.states[JOB_ENDED], 100);
    assert_ok(jobstore_get(s, NULL, "00000000000000000000000000000001", &job, &err), &err);
    assert_ok(jobstore_get(s, NULL, "000000000000000000000000000004af", &job, &err), &err);
    jobstore_free(s);
}

TEST_MAIN(D(a_job_comes_back_as_it_was_put), D(an_id_is_taken_once),
          D(what_is_no_new_job_is_refused), D(a_key_names_its_job_for_a_day), D(a_job_ends_once),
          D(what_is_not_charged_costs_nothing), D(lists_are_paged_newest_first_and_of_one_tenant),
          D(cursors_and_limits_of_lists_are_checked), D(nobody_finds_anothers_job),
          D(a_start_sees_what_has_not_ended_in_its_order),
          D(what_is_kept_goes_the_first_to_end_first), D(jobs_that_ended_together_are_all_paged),
          D(counts_follow_every_change), D(rows_are_forgotten_by_age_and_by_number))
