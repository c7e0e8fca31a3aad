#include "cli/suite-report.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#include "cli/report.h"
#include "cli/suite-limits.h"

#define EXCERPT_MAX 2048u

const char *suite_state_name(enum suite_state state)
{
    switch (state) {
    case SUITE_PASSED:
        return "ok";
    case SUITE_FAILED:
        return "FAIL";
    case SUITE_SKIPPED:
        return "skip";
    case SUITE_WAITING:
    case SUITE_RUNNING:
        break;
    }
    return "not run";
}

const char *suite_expectation(const struct suite_case *c, char *out, size_t size)
{
    const json_t *expect = json_object_get(c->head, "expect");
    const json_t *why = json_object_get(c->head, "which");
    size_t at = 0;

    why = why != NULL ? why : json_object_get(c->head, "reason");
    out[0] = '\0';
    for (size_t i = 0; i < suite_texts(expect) + suite_texts(why) && at < size; i++) {
        bool verdict = i < suite_texts(expect);
        size_t k = verdict ? i : i - suite_texts(expect);
        bool last = i + 1 == suite_texts(expect) + suite_texts(why);
        int n = snprintf(out + at, size - at, "%s%s%s",
                         k > 0     ? "|"
                         : verdict ? ""
                                   : " (",
                         json_string_value(suite_text_at(verdict ? expect : why, k)),
                         !verdict && last ? ")" : "");

        at += n > 0 ? (size_t)n : 0;
    }
    return out;
}

const char *suite_got(const struct suite_case *c, char *out, size_t size)
{
    const json_t *result = c->outcome.result;
    const char *verdict = json_string_value(json_object_get(result, "verdict"));
    const char *reason = json_string_value(json_object_get(result, "reason"));
    const char *signal = json_string_value(json_object_get(result, "signal"));
    const json_t *code = json_object_get(result, "exit_code");

    if (verdict == NULL) {
        (void)snprintf(out, size, "-");
    } else if (strcmp(verdict, "user_exception") != 0) {
        (void)snprintf(out, size, "%s%s%s%s", verdict, reason != NULL ? " (" : "",
                       reason != NULL ? reason : "", reason != NULL ? ")" : "");
    } else if (signal != NULL) {
        (void)snprintf(out, size, "%s (%s)", verdict, signal);
    } else {
        (void)snprintf(out, size, "%s (exit %" PRIi64 ")", verdict,
                       (int64_t)json_integer_value(code));
    }
    return out;
}

struct suite_count suite_count(const struct suite_cases *cases)
{
    struct suite_count n = {0};

    for (size_t i = 0; i < cases->n; i++) {
        const struct suite_case *c = &cases->list[i];
        const struct suite_case *twin = suite_twin(cases, c);

        if (!c->selected) {
            continue;
        }
        n.selected++;
        n.passed += c->outcome.state == SUITE_PASSED;
        n.failed += c->outcome.state == SUITE_FAILED;
        n.skipped += c->outcome.state == SUITE_SKIPPED;
        n.waiting += c->outcome.state == SUITE_WAITING || c->outcome.state == SUITE_RUNNING;
        n.kinds += twin == NULL || !twin->selected || c->language == SPEC_PYTHON;
        n.explained += json_object_get(c->head, "only") != NULL;
    }
    return n;
}

int suite_line(const struct suite_case *c, size_t done, size_t all, struct buf *out)
{
    char expected[120];
    char got[120];
    const char *why = c->outcome.why;
    auto_buf struct buf line = BUF_INIT(8 * KIB);
    int r =
        buf_printf(&line, "%4zu/%zu %-4s %-40s %-10s %-24s %-28s %6.1f s", done, all,
                   suite_state_name(c->outcome.state), c->name, suite_language_name(c->language),
                   suite_expectation(c, expected, sizeof(expected)), suite_got(c, got, sizeof(got)),
                   (double)c->outcome.ns / 1e9);

    r = r < 0 ? r : str_escape(out, line.data, line.len, false);
    if (r == 0 && why != NULL) {
        r = buf_printf(out, "\n          ");
        r = r < 0 ? r : str_escape(out, why, strlen(why), false);
    }
    return r < 0 ? r : buf_printf(out, "\n");
}

/* One line for each reason, with how many: whoever skips much must see it. */
static int skip_lines(const struct suite_cases *cases, struct buf *out)
{
    int r = 0;

    for (size_t i = 0; i < cases->n && r == 0; i++) {
        const struct suite_case *c = &cases->list[i];
        size_t same = 0;
        bool first = c->selected && c->outcome.state == SUITE_SKIPPED;

        for (size_t k = 0; k < cases->n && first; k++) {
            const struct suite_case *d = &cases->list[k];

            if (d->selected && d->outcome.state == SUITE_SKIPPED &&
                strcmp(d->outcome.why, c->outcome.why) == 0) {
                first = k >= i;
                same++;
            }
        }
        if (first) {
            r = buf_printf(out, "skipped %zu: ", same);
            r = r < 0 ? r : str_escape(out, c->outcome.why, strlen(c->outcome.why), false);
            r = r < 0 ? r : buf_printf(out, "\n");
        }
    }
    return r;
}

int suite_summary(const struct suite_cases *cases, const struct suite_facts *facts, struct buf *out)
{
    struct suite_count n = suite_count(cases);
    size_t remarks = 0;
    int r = skip_lines(cases, out);

    for (size_t i = 0; i < cases->n; i++) {
        remarks += cases->list[i].selected && suite_remark(&cases->list[i]) != NULL;
    }
    if (r == 0 && remarks > 0) {
        r = buf_printf(out,
                       "%zu headers say in 'after' what a person should look at; --json and --html "
                       "show it\n",
                       remarks);
    }
    if (r == 0 && n.waiting > 0) {
        r = buf_printf(out, "%zu were not run\n", n.waiting);
    }
    if (r == 0) {
        r = buf_printf(out, "%zu kinds", n.kinds);
    }
    if (r == 0 && n.explained > 0) {
        r = buf_printf(out, ", %zu of them in one language only, with the reason", n.explained);
    }
    return r < 0 ? r
                 : buf_printf(out,
                              "; %.0f s on engine %s with -j %u\n%zu passed, %zu failed, %zu "
                              "skipped\n",
                              (double)facts->ns / 1e9, facts->engine, facts->jobs, n.passed,
                              n.failed, n.skipped);
}

static json_t *copy_of(const json_t *object, const char *key)
{
    json_t *v = json_object_get(object, key);

    return v != NULL ? json_incref(v) : json_null();
}

/* The beginning of a stream, for people. */
static json_t *excerpt(const json_t *result, const char *stream)
{
    const json_t *o = json_object_get(result, stream);
    const json_t *data = json_object_get(o, "data");
    size_t len = json_string_length(data);
    auto_buf struct buf text = BUF_INIT(16 * KIB);

    if (!json_is_string(data)) {
        return json_null();
    }
    len = len > EXCERPT_MAX ? EXCERPT_MAX : len;
    if (len == 0) {
        return json_string("");
    }
    return str_escape(&text, json_string_value(data), len, true) < 0
               ? NULL
               : json_stringn((const char *)text.data, text.len);
}

static json_t *kinds_of_events(const json_t *result)
{
    const json_t *events = json_object_get(result, "events");
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < json_array_size(events); i++) {
        (void)!json_array_append_new(list, copy_of(json_array_get(events, i), "kind"));
    }
    return list;
}

static json_t *got_object(const struct suite_case *c)
{
    const json_t *result = c->outcome.result;
    char got[120];

    if (result == NULL) {
        return json_null();
    }
    return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "shown",
                     report_text(suite_got(c, got, sizeof(got))), "verdict",
                     copy_of(result, "verdict"), "reason", copy_of(result, "reason"), "message",
                     copy_of(result, "message"), "exit_code", copy_of(result, "exit_code"),
                     "signal", copy_of(result, "signal"), "limits", copy_of(result, "limits"),
                     "phases", copy_of(result, "phases"), "peaks", copy_of(result, "peaks"),
                     "events", kinds_of_events(result), "outputs", copy_of(result, "outputs"),
                     "dropped", copy_of(result, "dropped"), "pooled",
                     copy_of(json_object_get(result, "machine"), "pooled"), "interpreter",
                     copy_of(json_object_get(result, "machine"), "interpreter"));
}

static json_t *case_object(const struct suite_case *c)
{
    char expected[240];
    bool failed = c->outcome.state == SUITE_FAILED;
    json_t *o = json_pack(
        "{s:o,s:o,s:s,s:s,s:o,s:O,s:o,s:f,s:i,s:o,s:o?,s:o}", "name", report_text(c->name), "path",
        report_text(c->path), "language", suite_language_name(c->language), "state",
        suite_state_name(c->outcome.state), "why", report_text(c->outcome.why), "header", c->head,
        "expected", report_text(suite_expectation(c, expected, sizeof(expected))), "seconds",
        (double)c->outcome.ns / 1e9, "waits_for_room", (int)c->outcome.capacity_waits, "changes",
        c->outcome.changes != NULL ? json_incref(c->outcome.changes) : json_array(), "remark",
        report_text(suite_remark(c)), "got", got_object(c));

    if (o != NULL && failed) {
        (void)!json_object_set_new(o, "stdout", excerpt(c->outcome.result, "stdout"));
        (void)!json_object_set_new(o, "stderr", excerpt(c->outcome.result, "stderr"));
    }
    return o;
}

static bool is_in(const json_t *values, const json_t *v)
{
    for (size_t i = 0; i < json_array_size(values); i++) {
        if (json_equal(json_array_get(values, i), v) == 1) {
            return true;
        }
    }
    return false;
}

/* Each image with its digest, once. */
static json_t *images_of(const struct suite_cases *cases)
{
    json_t *images = json_array();

    for (size_t i = 0; images != NULL && i < cases->n; i++) {
        const json_t *machine = json_object_get(cases->list[i].outcome.result, "machine");
        json_t *image = json_pack("{s:o,s:o}", "name", copy_of(machine, "image"), "digest",
                                  copy_of(machine, "image_digest"));

        if (json_is_string(json_object_get(image, "digest")) && !is_in(images, image)) {
            (void)!json_array_append(images, image);
        }
        json_decref(image);
    }
    return images;
}

/* What the machines said they were; each value that occurred, once: more than one is remarkable. */
static json_t *machine_object(const struct suite_cases *cases)
{
    static const char *const keys[] = {"engine",         "isolation",     "monitor",
                                       "kernel_version", "kernel_digest", "initramfs_digest",
                                       "host_limits"};
    json_t *o = json_object();

    for (size_t k = 0; o != NULL && k < ARRAY_LEN(keys); k++) {
        json_t *values = json_array();

        for (size_t i = 0; values != NULL && i < cases->n; i++) {
            json_t *machine = json_object_get(cases->list[i].outcome.result, "machine");
            json_t *v = json_object_get(machine, keys[k]);
            if (v != NULL && !json_is_null(v) && !is_in(values, v)) {
                (void)!json_array_append(values, v);
            }
        }
        (void)!json_object_set_new(o, keys[k], values);
    }
    if (o != NULL) {
        (void)!json_object_set_new(o, "images", images_of(cases));
    }
    return o;
}

static json_t *list_of(const struct suite_cases *cases)
{
    json_t *list = json_array();

    for (size_t i = 0; list != NULL && i < cases->n; i++) {
        if (cases->list[i].selected &&
            json_array_append_new(list, case_object(&cases->list[i])) < 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* null without --pool. */
static json_t *pool_object(const struct suite_facts *facts)
{
    return facts->pool_size == 0
               ? json_null()
               : json_pack("{s:i,s:I,s:I,s:I}", "machines", (int)facts->pool_size, "hits",
                           (json_int_t)facts->pool_hits, "misses", (json_int_t)facts->pool_misses,
                           "restored", (json_int_t)facts->pool_restored);
}

json_t *suite_report(const struct suite_cases *cases, const struct suite_facts *facts)
{
    struct suite_count n = suite_count(cases);
    struct tm tm;
    char when[32] = "";

    if (gmtime_r(&facts->started, &tm) != NULL) {
        (void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
    }
    return json_pack(
        "{s:s,s:s,s:f,s:o,s:s,s:s,s:i,s:o,s:i,s:o,s:o,s:o,s:b,s:b,s:b,s:{s:i,s:i,s:i,s:i,s:i,s:i},s:o}",
        "airlock", AIRLOCK_VERSION, "started", when, "seconds", (double)facts->ns / 1e9, "host",
        report_host(), "engine", facts->engine, "isolation", facts->isolation, "slow",
        (int)facts->slow, "machine", machine_object(cases), "jobs", (int)facts->jobs, "pool",
        pool_object(facts), "cases_from",
        facts->cases != NULL ? report_text(facts->cases) : json_string("built in"), "filter",
        report_text(facts->filter), "quick", facts->quick ? 1 : 0, "interrupted",
        facts->interrupted ? 1 : 0, "all_hold",
        n.failed == 0 && n.waiting == 0 && !facts->interrupted && n.passed > 0 ? 1 : 0, "counts",
        "passed", (int)n.passed, "failed", (int)n.failed, "skipped", (int)n.skipped, "not_run",
        (int)n.waiting, "kinds", (int)n.kinds, "explained", (int)n.explained, "cases",
        list_of(cases));
}
