#include <stdio.h>
#include <string.h>

#include "daemon/metrics.h"
#include "daemon/route.h"
#include "test.h"

struct fixture {
    struct metrics *m;
    struct buf text;
};

static struct fixture begin(void)
{
    struct fixture f = {.text = BUF_INIT(1 * MIB)};
    struct err err = ERR_INIT;

    assert_ok(metrics_new(&f.m, &err), &err);
    return f;
}

static void end(struct fixture *f)
{
    buf_fini(&f->text);
    metrics_free(f->m);
}

static void assert_line(struct fixture *f, const char *line)
{
    char with_end[300];

    buf_fini(&f->text);
    f->text = (struct buf)BUF_INIT(1 * MIB);
    assert_int_equal(metrics_text(f->m, &f->text), 0);
    (void)snprintf(with_end, sizeof(with_end), "\n%s\n", line);
    if (strstr((const char *)f->text.data, with_end) == NULL) {
        print_error("no line '%s'\n", line);
        fail();
    }
}

static void counters_count_by_label(void **state)
{
    struct fixture f = begin();

    metrics_add(f.m, METRIC_JOBS_ENDED, 0, 2);
    metrics_add(f.m, METRIC_JOBS_ENDED, 9, 1);
    metrics_add(f.m, METRIC_JOBS_REFUSED, METRIC_REFUSAL_RATE, 5);
    metrics_add(f.m, METRIC_POOL_HITS, 0, 7);
    assert_line(&f, "airlock_jobs_total{verdict=\"success\"} 2");
    assert_line(&f, "airlock_jobs_total{verdict=\"canceled\"} 1");
    assert_line(&f, "airlock_jobs_total{verdict=\"oom\"} 0");
    assert_line(&f, "airlock_jobs_refused_total{reason=\"rate\"} 5");
    assert_line(&f, "airlock_pool_hits_total 7");
    assert_line(&f, "# TYPE airlock_pool_hits_total counter");
    assert_int_equal(metrics_get(f.m, METRIC_JOBS_ENDED, 0), 2);
    end(&f);
}

static void gauges_are_set(void **state)
{
    struct fixture f = begin();

    metrics_set(f.m, METRIC_QUEUE_LENGTH, 0, 5);
    metrics_set(f.m, METRIC_QUEUE_LENGTH, 0, 3);
    metrics_set(f.m, METRIC_CAPACITY_USED, METRIC_CAPACITY_MEMORY, 1ull << 40);
    assert_line(&f, "airlock_queue_length 3");
    assert_line(&f, "airlock_capacity_used{resource=\"memory_bytes\"} 1099511627776");
    assert_line(&f, "# TYPE airlock_queue_length gauge");
    end(&f);
}

static void histograms_are_cumulative(void **state)
{
    struct fixture f = begin();

    metrics_observe(f.m, METRIC_PHASE_SECONDS, METRIC_PHASE_RUN, 500000);
    metrics_observe(f.m, METRIC_PHASE_SECONDS, METRIC_PHASE_RUN, 3 * NS_PER_MS);
    metrics_observe(f.m, METRIC_PHASE_SECONDS, METRIC_PHASE_RUN, 4000 * NS_PER_S);
    assert_line(&f, "airlock_job_phase_seconds_bucket{phase=\"run\",le=\"0.000500\"} 1");
    assert_line(&f, "airlock_job_phase_seconds_bucket{phase=\"run\",le=\"0.002500\"} 1");
    assert_line(&f, "airlock_job_phase_seconds_bucket{phase=\"run\",le=\"0.005000\"} 2");
    assert_line(&f, "airlock_job_phase_seconds_bucket{phase=\"run\",le=\"300.000000\"} 2");
    assert_line(&f, "airlock_job_phase_seconds_bucket{phase=\"run\",le=\"+Inf\"} 3");
    assert_line(&f, "airlock_job_phase_seconds_sum{phase=\"run\"} 4000.003500");
    assert_line(&f, "airlock_job_phase_seconds_count{phase=\"run\"} 3");
    assert_line(&f, "airlock_http_request_seconds_bucket{le=\"+Inf\"} 0");
    assert_line(&f, "airlock_http_request_seconds_count 0");
    assert_int_equal(metrics_get(f.m, METRIC_PHASE_SECONDS, METRIC_PHASE_RUN), 3);
    end(&f);
}

static void requests_are_counted_by_route_and_class(void **state)
{
    struct fixture f = begin();

    metrics_http(f.m, 0, 202);
    metrics_http(f.m, 0, 200);
    metrics_http(f.m, 0, 503);
    metrics_http(f.m, (unsigned int)routes_len, 404);
    assert_line(&f,
                "airlock_http_requests_total{method=\"POST\",route=\"/v1/jobs\",status=\"2xx\"} 2");
    assert_line(&f,
                "airlock_http_requests_total{method=\"POST\",route=\"/v1/jobs\",status=\"5xx\"} 1");
    assert_line(&f,
                "airlock_http_requests_total{method=\"other\",route=\"other\",status=\"4xx\"} 1");
    end(&f);
}

static void set_running(void *ctx)
{
    metrics_set(ctx, METRIC_RUNNING, 0, 42);
}

static void gauges_may_be_read_when_asked(void **state)
{
    struct fixture f = begin();

    metrics_on_export(f.m, set_running, f.m);
    assert_line(&f, "airlock_jobs_running 42");
    end(&f);
}

static void every_name_is_once_and_has_its_help(void **state)
{
    struct fixture f = begin();
    const char *at = NULL;
    size_t n = 0;

    metrics_add(NULL, METRIC_JOBS_ENDED, 0, 1); /* no registry: nothing happens */
    assert_int_equal(metrics_text(f.m, &f.text), 0);
    for (at = (const char *)f.text.data; (at = strstr(at, "# HELP ")) != NULL; at += 7) {
        char name[100];

        (void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, "\n"), at);
        assert_memory_equal(at + 7, "airlock_", 8);
        assert_null(strstr(at + 7, name));
        n++;
    }
    assert_int_equal(n, METRICS);
    end(&f);
}

TEST_MAIN(T(counters_count_by_label), T(gauges_are_set), T(histograms_are_cumulative),
          T(requests_are_counted_by_route_and_class), T(gauges_may_be_read_when_asked),
          T(every_name_is_once_and_has_its_help))
