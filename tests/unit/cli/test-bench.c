/* test-bench.c - what is computed of measurements, the works' inputs, and what the report says of failures. */
#include <jansson.h>
#include <string.h>

#include "cli/bench-report.h"
#include "cli/bench-run.h"
#include "cli/bench-stats.h"
#include "cli/bench-work.h"
#include "test.h"

static void the_median_of_an_odd_number_is_the_middle_one(void **state)
{
    uint64_t v[] = {9, 1, 5};
    const struct bench_stat s = bench_stat(v, 3);

    assert_int_equal(s.median, 5);
    assert_int_equal(s.min, 1);
    assert_int_equal(s.p95, 9);
}

static void the_median_of_an_even_number_lies_between_the_middle_two(void **state)
{
    uint64_t v[] = {UINT64_MAX, 10, 20, 4};

    assert_int_equal(bench_stat(v, 4).median, 15);
}

static void a_median_of_great_numbers_does_not_overflow(void **state)
{
    uint64_t v[] = {UINT64_MAX, UINT64_MAX - 2};

    assert_true(bench_stat(v, 2).median == UINT64_MAX - 1);
}

static void five_of_a_hundred_are_beyond_the_95th_percentile(void **state)
{
    uint64_t v[100];

    for (size_t i = 0; i < 100; i++) {
        v[i] = 100 - i;
    }
    assert_int_equal(bench_stat(v, 100).p95, 95);
    assert_int_equal(bench_stat(v, 20).p95, 19);
    assert_int_equal(bench_stat(v, 1).p95, 1);
}

static void no_measurement_is_told_as_none(void **state)
{
    uint64_t v[1] = {7};
    const struct bench_stat s = bench_stat(v, 0);

    assert_int_equal(s.n, 0);
    assert_int_equal(s.median, 0);
    assert_int_equal(s.p95, 0);
}

static void an_input_is_1_mb_and_the_same_each_time(void **state)
{
    for (enum bench_work work = BENCH_JSON; work <= BENCH_CSV; work++) {
        auto_buf struct buf a = BUF_INIT(2 * MIB);
        auto_buf struct buf b = BUF_INIT(2 * MIB);
        auto_buf struct buf line = BUF_INIT(1024);

        assert_int_equal(bench_input(work, &a, &line), 0);
        assert_int_equal(bench_input(work, &b, &line), 0);
        assert_in_range(a.len, BENCH_INPUT_BYTES, BENCH_INPUT_BYTES + 200);
        assert_int_equal(a.len, b.len);
        assert_memory_equal(a.data, b.data, a.len);
    }
}

static void the_line_of_a_work_counts_what_is_kept(void **state)
{
    auto_buf struct buf input = BUF_INIT(2 * MIB);
    auto_buf struct buf line = BUF_INIT(1024);
    json_int_t total = 0;
    size_t kept = 0;
    char want[80];
    json_t *records = NULL;

    assert_int_equal(bench_input(BENCH_JSON, &input, &line), 0);
    records = json_loadb((const char *)input.data, input.len, JSON_REJECT_DUPLICATES, NULL);
    assert_true(json_array_size(records) > 1000);
    for (size_t i = 0; i < json_array_size(records); i++) {
        json_int_t score = json_integer_value(json_object_get(json_array_get(records, i), "score"));

        kept += score >= 500;
        total += score >= 500 ? score : 0;
    }
    json_decref(records);
    (void)snprintf(want, sizeof(want), "kept %zu total %lld\n", kept, (long long)total);
    assert_string_equal((const char *)line.data, want);
}

static void the_parts_of_a_job_add_up_to_its_time(void **state)
{
    json_t *result = json_pack(
        "{s:{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:n,s:i},s:{s:b}}", "phases",
        "admitted_ns", 10, "staged_ns", 30, "template_ns", 60, "executed_ns", 100, "spawned_ns",
        130, "ready_ns", 150, "started_ns", 210, "exited_ns", 280, "collected_ns", 360, "killed_ns",
        450, "inspected_ns", 550, "exported_ns", "cleaned_ns", 660, "machine", "template_built", 1);
    static const uint64_t want[BENCH_PARTS] = {10, 20, 30, 40, 50, 60, 70, 80, 100, 200, 340};
    struct bench_sample sample = {.wall_ns = 1000};

    assert_non_null(result);
    bench_parts(result, &sample);
    json_decref(result);
    for (size_t i = 0; i < BENCH_PARTS; i++) {
        assert_int_equal(sample.part_ns[i], want[i]);
    }
    assert_true(sample.template_built);
    assert_int_equal(sample.template_ns, 30);
}

static void a_phase_before_the_last_one_takes_no_time(void **state)
{
    json_t *result = json_pack("{s:{s:i,s:n,s:i,s:i}}", "phases", "admitted_ns", 40, "staged_ns",
                               "template_ns", 30, "cleaned_ns", 50);
    struct bench_sample sample = {.wall_ns = 45};

    assert_non_null(result);
    bench_parts(result, &sample);
    json_decref(result);
    assert_int_equal(sample.part_ns[BENCH_IMAGE], 40);
    assert_int_equal(sample.part_ns[BENCH_TEMPLATE], 0);
    assert_int_equal(sample.part_ns[BENCH_DESTROY], 10);
    assert_int_equal(sample.part_ns[BENCH_AROUND], 0);
}

/* A result as `airlock run --json` gives it, as far as it is looked at. */
static bool is_good(const char *verdict, const char *out, int verified)
{
    auto_buf struct buf line = BUF_INIT(64);
    auto_buf struct buf why = BUF_INIT(300);
    json_t *result = json_pack("{s:s,s:s,s:{s:s},s:{s:b}}", "verdict", verdict, "message",
                               "a message", "stdout", "data", out, "cleanup", "verified", verified);
    bool good = false;

    assert_non_null(result);
    assert_int_equal(buf_printf(&line, "hello\n"), 0);
    good = bench_is_good(result, &line, &why);
    json_decref(result);
    assert_true(good == (why.len == 0));
    return good;
}

static void only_a_clean_success_with_its_line_counts(void **state)
{
    assert_true(is_good("success", "hello\n", 1));
    assert_false(is_good("timeout", "hello\n", 1));
    assert_false(is_good("success", "hullo\n", 1));
    assert_false(is_good("success", "hello", 1));
    assert_false(is_good("success", "hello\nmore", 1));
    assert_false(is_good("success", "hello\n", 0));
}

static void no_result_is_no_success(void **state)
{
    auto_buf struct buf line = BUF_INIT(64);
    auto_buf struct buf why = BUF_INIT(300);

    assert_int_equal(buf_printf(&line, "hello\n"), 0);
    assert_false(bench_is_good(NULL, &line, &why));
    assert_true(why.len > 0);
}

/* A report of one row of these runs, one rate and a density. */
static json_t *report_of(size_t good, size_t failed, size_t waiting, size_t asked)
{
    static struct bench_sample samples[4];
    static struct bench_density density;
    struct bench_row row = {.samples = samples, .n = good, .failed = failed, .why = "<b>&\x1b[2J"};
    struct bench_facts facts = {.engine = "tcg",
                                .isolation = "emulated",
                                .rounds = good + failed,
                                .rows = &row,
                                .n_rows = 1,
                                .density = &density};

    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        samples[i] = (struct bench_sample){.wall_ns = (i + 1) * 10 * NS_PER_MS,
                                           .cpu_ns = NS_PER_MS,
                                           .part_ns = {[BENCH_RUN] = 4 * NS_PER_MS}};
    }
    density = (struct bench_density){.measured = asked > 0,
                                     .asked = asked,
                                     .waiting = waiting,
                                     .monitors = 2,
                                     .monitor_pss = {8 * MIB, 4 * MIB}};
    facts.rates[BENCH_BY_CLONE] = (struct bench_rate){
        .mode = BENCH_BY_CLONE, .measured = true, .at_once = 2, .jobs = 20, .ns = 2 * NS_PER_S};
    return bench_report(&facts);
}

static void a_report_holds_only_if_nothing_failed(void **state)
{
    static const struct {
        size_t good, failed, waiting, asked;
        bool holds;
    } cases[] = {
        {4, 0, 0, 0, true},  {4, 0, 2, 2, true},  {3, 1, 2, 2, false},
        {0, 0, 2, 2, false}, {4, 0, 1, 2, false},
    };

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        json_t *report =
            report_of(cases[i].good, cases[i].failed, cases[i].waiting, cases[i].asked);

        assert_non_null(report);
        assert_true(bench_holds(report) == cases[i].holds);
        json_decref(report);
    }
}

static void a_report_has_medians_overhead_and_rates(void **state)
{
    json_t *report = report_of(4, 0, 2, 2);
    const json_t *row = json_array_get(json_object_get(report, "results"), 0);
    const json_t *rate = json_array_get(json_object_get(report, "throughput"), 0);
    const json_t *pss = json_object_get(json_object_get(report, "density"), "pss_bytes");

    assert_float_equal(
        json_number_value(json_object_get(json_object_get(row, "wall_ms"), "median")), 25.0, 1e-9);
    assert_float_equal(
        json_number_value(json_object_get(json_object_get(row, "overhead_ms"), "median")), 21.0,
        1e-9);
    assert_int_equal(json_array_size(json_object_get(row, "samples_ms")), 4);
    assert_float_equal(json_number_value(json_object_get(rate, "per_second")), 10.0, 1e-9);
    assert_int_equal(json_integer_value(json_object_get(pss, "median")), 6 * MIB);
    assert_int_equal(json_integer_value(json_object_get(pss, "max")), 8 * MIB);
    json_decref(report);
}

static void table_and_page_show_a_failure_harmlessly(void **state)
{
    json_t *report = report_of(3, 1, 2, 2);
    auto_buf struct buf table = BUF_INIT(MIB);
    auto_buf struct buf page = BUF_INIT(MIB);

    assert_int_equal(bench_table(report, &table), 0);
    assert_int_equal(bench_html(report, &page), 0);
    json_decref(report);
    assert_null(memchr(table.data, '\x1b', table.len));
    assert_null(memchr(page.data, '\x1b', page.len));
    assert_non_null(strstr((const char *)table.data, "1 failed"));
    assert_null(strstr((const char *)page.data, "<b>"));
    assert_non_null(strstr((const char *)page.data, "&lt;b&gt;&amp;"));
    assert_non_null(strstr((const char *)page.data, "Not every run succeeded"));
}

static void a_page_of_nothing_measured_is_a_page_still(void **state)
{
    json_t *report = report_of(0, 4, 0, 0);
    auto_buf struct buf page = BUF_INIT(MIB);

    assert_int_equal(bench_html(report, &page), 0);
    json_decref(report);
    assert_non_null(strstr((const char *)page.data, "</html>"));
    assert_null(strstr((const char *)page.data, "nan"));
    assert_null(strstr((const char *)page.data, "inf"));
}

TEST_MAIN(T(the_median_of_an_odd_number_is_the_middle_one),
          T(the_median_of_an_even_number_lies_between_the_middle_two),
          T(a_median_of_great_numbers_does_not_overflow),
          T(five_of_a_hundred_are_beyond_the_95th_percentile), T(no_measurement_is_told_as_none),
          T(an_input_is_1_mb_and_the_same_each_time), T(the_line_of_a_work_counts_what_is_kept),
          T(the_parts_of_a_job_add_up_to_its_time), T(a_phase_before_the_last_one_takes_no_time),
          T(only_a_clean_success_with_its_line_counts), T(no_result_is_no_success),
          T(a_report_holds_only_if_nothing_failed), T(a_report_has_medians_overhead_and_rates),
          T(table_and_page_show_a_failure_harmlessly),
          T(a_page_of_nothing_measured_is_a_page_still))
