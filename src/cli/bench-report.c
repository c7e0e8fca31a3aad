#include "cli/bench-report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/bench-stats.h"
#include "cli/html.h"
#include "cli/report.h"

const char *bench_mode_name(enum bench_mode mode)
{
    return mode == BENCH_BY_POOL ? "pool" : "clone";
}

const char *bench_language_name(enum spec_language language)
{
    return language == SPEC_JAVASCRIPT ? "javascript" : "python";
}

static double ms(uint64_t ns)
{
    return (double)ns / (double)NS_PER_MS;
}

static json_t *stat_object(struct bench_stat s)
{
    return s.n == 0 ? json_null()
                    : json_pack("{s:f,s:f,s:f}", "median", ms(s.median), "p95", ms(s.p95), "min",
                                ms(s.min));
}

/* A number of each sample; values has room for all of them. */
typedef uint64_t pick_fn(const struct bench_sample *s, enum bench_part part);

static uint64_t pick_wall(const struct bench_sample *s, enum bench_part part)
{
    (void)part;
    return s->wall_ns;
}

static uint64_t pick_cpu(const struct bench_sample *s, enum bench_part part)
{
    (void)part;
    return s->cpu_ns;
}

/* All but the program's own time. */
static uint64_t pick_overhead(const struct bench_sample *s, enum bench_part part)
{
    uint64_t own = s->part_ns[BENCH_RUN];

    (void)part;
    return s->wall_ns > own ? s->wall_ns - own : 0;
}

static uint64_t pick_part(const struct bench_sample *s, enum bench_part part)
{
    return s->part_ns[part];
}

static json_t *stat_of(const struct bench_row *row, pick_fn *pick, enum bench_part part,
                       uint64_t *values)
{
    for (size_t i = 0; i < row->n; i++) {
        values[i] = pick(&row->samples[i], part);
    }
    return stat_object(bench_stat(values, row->n));
}

static json_t *parts_object(const struct bench_row *row, uint64_t *values)
{
    json_t *o = json_object();

    for (enum bench_part part = 0; part < BENCH_PARTS && o != NULL; part++) {
        (void)!json_object_set_new(o, bench_part_name(part), stat_of(row, pick_part, part, values));
    }
    return o;
}

static json_t *row_object(const struct bench_row *row)
{
    auto_free uint64_t *values = calloc(row->n + 1, sizeof(*values));
    json_t *walls = json_array();
    json_int_t warm = 0;

    if (values == NULL || walls == NULL) {
        json_decref(walls);
        return NULL;
    }
    for (size_t i = 0; i < row->n; i++) {
        (void)!json_array_append_new(walls, json_real(ms(row->samples[i].wall_ns)));
        warm += row->samples[i].warm;
    }
    return json_pack(
        "{s:s,s:s,s:s,s:I,s:I,s:I,s:o,s:o,s:o,s:o,s:o,s:o}", "work",
        bench_work_name(row->kind.work), "language", bench_language_name(row->kind.language),
        "mode", bench_mode_name(row->mode), "runs", (json_int_t)row->n, "warm_runs", warm, "failed",
        (json_int_t)row->failed, "why", report_text(row->failed > 0 ? row->why : NULL), "wall_ms",
        stat_of(row, pick_wall, 0, values), "overhead_ms", stat_of(row, pick_overhead, 0, values),
        "cpu_ms", stat_of(row, pick_cpu, 0, values), "parts_ms", parts_object(row, values),
        "samples_ms", walls);
}

static json_t *rate_object(const struct bench_rate *rate)
{
    double seconds = (double)rate->ns / (double)NS_PER_S;

    return json_pack("{s:s,s:i,s:I,s:I,s:f,s:f,s:f}", "mode", bench_mode_name(rate->mode),
                     "at_once", (int)rate->at_once, "jobs", (json_int_t)rate->jobs, "failed",
                     (json_int_t)rate->failed, "seconds", seconds, "per_second",
                     seconds > 0 ? (double)rate->jobs / seconds : 0.0, "cpu_ms_each",
                     rate->jobs > 0 ? ms(rate->cpu_ns / rate->jobs) : 0.0);
}

static json_t *density_object(const struct bench_density *d)
{
    auto_free uint64_t *values = calloc(d->monitors + 1, sizeof(*values));
    json_t *list = json_array();
    struct bench_stat s = {.n = 0};
    uint64_t max = 0;

    if (values == NULL || list == NULL) {
        json_decref(list);
        return NULL;
    }
    for (size_t i = 0; i < d->monitors; i++) {
        values[i] = d->monitor_pss[i];
        max = values[i] > max ? values[i] : max;
        (void)!json_array_append_new(list, json_integer((json_int_t)values[i]));
    }
    s = bench_stat(values, d->monitors);
    return json_pack(
        "{s:I,s:I,s:f,s:{s:I,s:I,s:I,s:I},s:I,s:I,s:o,s:o}", "asked", (json_int_t)d->asked,
        "waiting", (json_int_t)d->waiting, "seconds", (double)d->ns / (double)NS_PER_S, "pss_bytes",
        "median", (json_int_t)s.median, "p95", (json_int_t)s.p95, "min", (json_int_t)s.min, "max",
        (json_int_t)max, "rest_pss_bytes_each",
        (json_int_t)(d->waiting > 0 ? d->rest_pss / d->waiting : 0), "available_bytes_each",
        (json_int_t)(d->waiting > 0 ? d->available_bytes / d->waiting : 0), "why",
        report_text(d->why[0] != '\0' ? d->why : NULL), "pss_bytes_of_each", list);
}

static json_t *empty_object(const struct bench_empty *e)
{
    return json_pack("{s:s,s:b,s:f,s:f,s:f,s:f,s:o}", "language", bench_language_name(e->language),
                     "caches_dropped", e->dropped ? 1 : 0, "image_ms", ms(e->image_ns),
                     "template_ms", ms(e->template_ns), "first_ms", ms(e->first_ns), "again_ms",
                     ms(e->again_ns), "why", report_text(e->why[0] != '\0' ? e->why : NULL));
}

json_t *bench_report(const struct bench_facts *facts)
{
    char when[40] = "";
    struct tm tm;
    json_t *rows = json_array();
    json_t *rates = json_array();
    json_t *empty = json_array();

    if (gmtime_r(&facts->started, &tm) != NULL) {
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    }
    for (size_t i = 0; i < facts->n_rows; i++) {
        (void)!json_array_append_new(rows, row_object(&facts->rows[i]));
    }
    for (size_t i = 0; i < BENCH_MODES; i++) {
        if (facts->rates[i].measured) {
            (void)!json_array_append_new(rates, rate_object(&facts->rates[i]));
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(facts->empty); i++) {
        if (facts->empty[i].measured) {
            (void)!json_array_append_new(empty, empty_object(&facts->empty[i]));
        }
    }
    return json_pack(
        "{s:s,s:s,s:f,s:o,s:s,s:s,s:I,s:f,s:f,s:b,s:o,s:o,s:o,s:o}", "airlock", AIRLOCK_VERSION,
        "started", when, "seconds", (double)facts->ns / (double)NS_PER_S, "host", report_host(),
        "engine", facts->engine, "isolation", facts->isolation, "rounds", (json_int_t)facts->rounds,
        "load_before", facts->load_before, "load_after", facts->load_after, "interrupted",
        facts->interrupted ? 1 : 0, "results", rows, "throughput", rates, "density",
        facts->density->measured ? density_object(facts->density) : json_null(), "from_empty",
        empty);
}

static int64_t integer_of(const json_t *object, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(object, key));
}

static double number_of(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static bool list_holds(const json_t *list, const char *good)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *o = json_array_get(list, i);

        if (integer_of(o, "failed") > 0 || (good != NULL && integer_of(o, good) == 0)) {
            return false;
        }
    }
    return true;
}

bool bench_holds(const json_t *report)
{
    const json_t *density = json_object_get(report, "density");
    const json_t *empty = json_object_get(report, "from_empty");

    for (size_t i = 0; i < json_array_size(empty); i++) {
        if (json_is_string(json_object_get(json_array_get(empty, i), "why"))) {
            return false;
        }
    }
    return list_holds(json_object_get(report, "results"), "runs") &&
           list_holds(json_object_get(report, "throughput"), "jobs") &&
           integer_of(density, "waiting") == integer_of(density, "asked") &&
           !json_is_true(json_object_get(report, "interrupted"));
}

static int put_stat(const json_t *s, struct buf *out)
{
    if (!json_is_object(s)) {
        return buf_printf(out, " %8s %8s %8s", "-", "-", "-");
    }
    return buf_printf(out, " %8.1f %8.1f %8.1f", number_of(s, "median"), number_of(s, "p95"),
                      number_of(s, "min"));
}

static int table_rows(const json_t *results, struct buf *out)
{
    int r = buf_printf(out, "%-6s %-11s %-6s %4s %8s %8s %8s %9s %8s\n", "work", "language", "mode",
                       "runs", "median", "p95", "min", "overhead", "cpu");

    for (size_t i = 0; i < json_array_size(results) && r == 0; i++) {
        const json_t *o = json_array_get(results, i);

        r = buf_printf(out, "%-6s %-11s %-6s %4" PRIi64, html_text_of(o, "work"),
                       html_text_of(o, "language"), html_text_of(o, "mode"), integer_of(o, "runs"));
        r = r < 0 ? r : put_stat(json_object_get(o, "wall_ms"), out);
        r = r < 0 ? r
                  : buf_printf(out, " %9.1f %8.1f\n",
                               number_of(json_object_get(o, "overhead_ms"), "median"),
                               number_of(json_object_get(o, "cpu_ms"), "median"));
        if (r == 0 && integer_of(o, "failed") > 0) {
            r = buf_printf(out, "       %" PRIi64 " failed: %s\n", integer_of(o, "failed"),
                           html_text_of(o, "why"));
        }
    }
    return r;
}

static int table_parts(const json_t *results, struct buf *out)
{
    int r = buf_printf(out, "\nmedians of the parts, ms\n%-25s", "");

    for (enum bench_part part = 0; part < BENCH_PARTS && r == 0; part++) {
        r = buf_printf(out, " %8s", bench_part_name(part));
    }
    r = r < 0 ? r : buf_printf(out, "\n");
    for (size_t i = 0; i < json_array_size(results) && r == 0; i++) {
        const json_t *o = json_array_get(results, i);
        const json_t *parts = json_object_get(o, "parts_ms");

        r = buf_printf(out, "%-6s %-11s %-6s", html_text_of(o, "work"), html_text_of(o, "language"),
                       html_text_of(o, "mode"));
        for (enum bench_part part = 0; part < BENCH_PARTS && r == 0; part++) {
            r = buf_printf(out, " %8.1f",
                           number_of(json_object_get(parts, bench_part_name(part)), "median"));
        }
        r = r < 0 ? r : buf_printf(out, "\n");
    }
    return r;
}

static int table_rates(const json_t *rates, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < json_array_size(rates) && r == 0; i++) {
        const json_t *o = json_array_get(rates, i);

        r = buf_printf(
            out,
            "throughput, Python hello by %s, %" PRIi64 " at once: %.1f a second, %.0f ms "
            "of CPU each (%" PRIi64 " jobs, %" PRIi64 " failed)\n",
            html_text_of(o, "mode"), integer_of(o, "at_once"), number_of(o, "per_second"),
            number_of(o, "cpu_ms_each"), integer_of(o, "jobs"), integer_of(o, "failed"));
    }
    return r;
}

static double mib(const json_t *object, const char *key)
{
    return (double)integer_of(object, key) / (double)MIB;
}

static int table_density(const json_t *d, struct buf *out)
{
    const json_t *pss = json_object_get(d, "pss_bytes");
    int r = 0;

    if (!json_is_object(d)) {
        return 0;
    }
    r = buf_printf(
        out,
        "density: %" PRIi64 " of %" PRIi64 " clones waiting at once; each %.1f MiB (PSS "
        "median; p95 %.1f, max %.1f), supervisor and reaper %.1f MiB; MemAvailable fell by "
        "%.1f MiB each\n",
        integer_of(d, "waiting"), integer_of(d, "asked"), mib(pss, "median"), mib(pss, "p95"),
        mib(pss, "max"), mib(d, "rest_pss_bytes_each"), mib(d, "available_bytes_each"));
    if (r == 0 && json_is_string(json_object_get(d, "why"))) {
        r = buf_printf(out, "  %s\n", html_text_of(d, "why"));
    }
    return r;
}

static int table_empty(const json_t *empty, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < json_array_size(empty) && r == 0; i++) {
        const json_t *o = json_array_get(empty, i);

        r = buf_printf(out,
                       "from an empty state, %s: image %.1f s, first hello %.1f s (of it the "
                       "template %.1f s), another %.0f ms; page cache %s\n",
                       html_text_of(o, "language"), number_of(o, "image_ms") / 1000,
                       number_of(o, "first_ms") / 1000, number_of(o, "template_ms") / 1000,
                       number_of(o, "again_ms"),
                       json_is_true(json_object_get(o, "caches_dropped")) ? "dropped before each"
                                                                          : "as it was");
        if (r == 0 && json_is_string(json_object_get(o, "why"))) {
            r = buf_printf(out, "  %s\n", html_text_of(o, "why"));
        }
    }
    return r;
}

int bench_table_rest(const json_t *report, struct buf *out)
{
    int r = table_rates(json_object_get(report, "throughput"), out);

    r = r < 0 ? r : table_density(json_object_get(report, "density"), out);
    return r < 0 ? r : table_empty(json_object_get(report, "from_empty"), out);
}

int bench_table(const json_t *report, struct buf *out)
{
    const json_t *results = json_object_get(report, "results");
    const json_t *host = json_object_get(report, "host");
    int r = buf_printf(
        out,
        "airlock %s, engine %s (%s), %" PRIi64 " x %s, Linux %s, load %.1f before and "
        "%.1f after\n%" PRIi64 " rounds, in turn; times in ms\n\n",
        html_text_of(report, "airlock"), html_text_of(report, "engine"),
        html_text_of(report, "isolation"), integer_of(host, "cpus"), html_text_of(host, "cpu"),
        html_text_of(host, "kernel"), number_of(report, "load_before"),
        number_of(report, "load_after"), integer_of(report, "rounds"));

    r = r < 0 ? r : table_rows(results, out);
    r = r < 0 ? r : table_parts(results, out);
    r = r < 0 ? r : buf_printf(out, "\n");
    return r < 0 ? r : bench_table_rest(report, out);
}
