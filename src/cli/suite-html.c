#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/html.h"
#include "cli/suite-limits.h"
#include "cli/suite-report.h"

/* "memory: enforced, swap: enforced" */
static int put_pairs(struct buf *out, json_t *object)
{
    const char *key = "";
    const char *lead = "";
    json_t *v = NULL;
    int r = 0;

    json_object_foreach(object, key, v)
    {
        r = r < 0 ? r : buf_printf(out, "%s", lead);
        r = r < 0 ? r : html_put_text(out, key, strlen(key));
        r = r < 0 ? r : html_put_key(out, ": ", object, key, "");
        lead = ", ";
    }
    return r;
}

/* A row for each value: normally one. */
static int put_values(struct buf *out, const char *label, const json_t *values)
{
    int r = 0;

    for (size_t i = 0; i < json_array_size(values) && r == 0; i++) {
        json_t *v = json_array_get(values, i);

        r = buf_printf(out, "<dt>%s</dt><dd>", label);
        if (r == 0) {
            r = json_is_string(v) ? html_put_text(out, json_string_value(v), json_string_length(v))
                                  : put_pairs(out, v);
        }
        r = r < 0 ? r : buf_printf(out, "</dd>\n");
    }
    return r;
}

static int put_facts(struct buf *out, const json_t *report)
{
    static const struct {
        const char *label, *key;
    } rows[] = {
        {"engine", "engine"},        {"isolation", "isolation"},
        {"monitor", "monitor"},      {"guest kernel", "kernel_version"},
        {"kernel", "kernel_digest"}, {"initramfs", "initramfs_digest"},
        {"image", "images"},         {"limits of the host's control groups", "host_limits"},
    };

    const json_t *host = json_object_get(report, "host");
    const json_t *machine = json_object_get(report, "machine");
    int r = buf_printf(out, "<h2>Host and machine</h2>\n<div class=\"card\"><dl>\n");

    r = r < 0 ? r : html_put_host(out, host);
    r = r < 0 ? r : html_put_key(out, "<dt>airlock</dt><dd>", report, "airlock", "</dd>\n");
    for (size_t i = 0; i < ARRAY_LEN(rows) && r == 0; i++) {
        r = put_values(out, rows[i].label, json_object_get(machine, rows[i].key));
    }
    return r < 0 ? r : buf_printf(out, "</dl></div>\n");
}

static int64_t count_of(const json_t *report, const char *key)
{
    return (int64_t)json_integer_value(json_object_get(json_object_get(report, "counts"), key));
}

static int put_lead(struct buf *out, const json_t *report)
{
    bool good = json_is_true(json_object_get(report, "all_hold"));
    uint64_t slow = (uint64_t)json_integer_value(json_object_get(report, "slow"));
    int r = buf_printf(
        out, "<h1>airlock suite</h1>\n<p class=\"lead\"><strong class=\"%s\">%s</strong> ",
        good ? "ok" : "FAIL", good ? "Everything holds." : "Not everything holds.");

    r = r < 0 ? r
              : buf_printf(out,
                           "%" PRIi64 " passed, %" PRIi64 " failed, %" PRIi64 " skipped, %" PRIi64
                           " not run; %" PRIi64 " kinds",
                           count_of(report, "passed"), count_of(report, "failed"),
                           count_of(report, "skipped"), count_of(report, "not_run"),
                           count_of(report, "kinds"));
    if (r == 0 && count_of(report, "explained") > 0) {
        r = buf_printf(out, ", %" PRIi64 " of them in one language only, with the reason",
                       count_of(report, "explained"));
    }
    r = r < 0 ? r : buf_printf(out, ".</p>\n");
    r = r < 0 ? r : html_put_key(out, "<p class=\"note\">Started ", report, "started", "");
    r = r < 0 ? r
              : buf_printf(out, ", %.0f s, %" PRIi64 " at once. Cases: ",
                           json_number_value(json_object_get(report, "seconds")),
                           (int64_t)json_integer_value(json_object_get(report, "jobs")));
    r = r < 0 ? r : html_put_key(out, "", report, "cases_from", ".");
    r = r < 0 ? r : html_put_key(out, " Filter: ", report, "filter", ".");
    if (r == 0 && json_is_true(json_object_get(report, "quick"))) {
        r = buf_printf(out, " Only the quick subset.");
    }
    if (r == 0 && json_is_true(json_object_get(report, "interrupted"))) {
        r = buf_printf(out, " Interrupted before its end.");
    }
    if (r == 0 && slow > 1) {
        r = buf_printf(out,
                       " Headers are written for native speed: here wall and CPU limits are "
                       "multiplied by %" PRIu64 "; a clock that a case shall reach gets %llu s "
                       "(Python) or %llu s (JavaScript) more instead.",
                       slow, SUITE_START_PYTHON_NS * slow / SUITE_SLOW_EMULATED / NS_PER_S,
                       SUITE_START_JAVASCRIPT_NS * slow / SUITE_SLOW_EMULATED / NS_PER_S);
    }
    return r < 0 ? r : buf_printf(out, "</p>\n");
}

static int put_stream(struct buf *out, const json_t *c, const char *key)
{
    const json_t *text = json_object_get(c, key);
    int r = 0;

    if (!json_is_string(text) || json_string_length(text) == 0) {
        return 0;
    }
    r = buf_printf(out, "<details><summary>%s</summary><pre>", key);
    r = r < 0 ? r : html_put_text(out, json_string_value(text), json_string_length(text));
    return r < 0 ? r : buf_printf(out, "</pre></details>\n");
}

static int put_failure(struct buf *out, const json_t *c)
{
    const json_t *got = json_object_get(c, "got");
    int r =
        html_put_key(out, "<div class=\"card\"><strong class=\"FAIL\">", c, "path", "</strong>\n");

    r = r < 0 ? r : html_put_key(out, "<p>", c, "why", "</p>\n");
    r = r < 0
            ? r
            : html_put_key(out, "<p class=\"note\">Why it is there: ", json_object_get(c, "header"),
                           "note", "</p>\n");
    r = r < 0 ? r : html_put_key(out, "<dl><dt>expected</dt><dd>", c, "expected", "</dd>\n");
    r = r < 0 ? r : html_put_key(out, "<dt>got</dt><dd>", got, "shown", "</dd>");
    r = r < 0 ? r : html_put_key(out, "<dt>message</dt><dd>", got, "message", "</dd>");
    r = r < 0 ? r : buf_printf(out, "</dl>\n");
    r = r < 0 ? r : put_stream(out, c, "stdout");
    r = r < 0 ? r : put_stream(out, c, "stderr");
    return r < 0 ? r : buf_printf(out, "</div>\n");
}

static int put_link(struct buf *out, const json_t *header)
{
    const json_t *source = json_object_get(header, "source");
    int r = 0;

    for (size_t i = 0; i < suite_texts(source) && r == 0; i++) {
        const char *url = json_string_value(suite_text_at(source, i));
        bool web = strncmp(url, "https://", 8) == 0;

        r = buf_printf(out, " %s", web ? "<a rel=\"noreferrer\" href=\"" : "");
        if (r == 0 && web) {
            r = html_put_text(out, url, strlen(url));
            r = r < 0 ? r : buf_printf(out, "\">source</a>");
        } else if (r == 0) {
            r = html_put_text(out, url, strlen(url));
        }
    }
    return r;
}

static int put_row(struct buf *out, const json_t *c)
{
    const json_t *header = json_object_get(c, "header");
    const json_t *changes = json_object_get(c, "changes");
    const char *state = html_text_of(c, "state");
    int r = buf_printf(out, "<tr><td class=\"%s\">%s</td><td>",
                       strcmp(state, "not run") == 0 ? "notrun" : state, state);

    r = r < 0 ? r : html_put_key(out, "<code>", c, "name", "</code>");
    r = r < 0 ? r : html_put_key(out, "<div class=\"note\">", header, "note", "");
    r = r < 0 ? r : put_link(out, header);
    r = r < 0 ? r : buf_printf(out, "%s", json_object_get(header, "note") != NULL ? "</div>" : "");
    r = r < 0 ? r : html_put_key(out, "<div class=\"note\">To look at: ", c, "remark", "</div>");
    r = r < 0 ? r
              : html_put_key(out, "<div class=\"note\">In one language only: ", header, "only",
                             "</div>");
    for (size_t i = 0; i < json_array_size(changes) && r == 0; i++) {
        const char *text = json_string_value(json_array_get(changes, i));

        r = buf_printf(out, "<div class=\"note\">");
        r = r < 0 ? r : html_put_text(out, text, strlen(text));
        r = r < 0 ? r : buf_printf(out, "</div>");
    }
    r = r < 0 ? r : html_put_key(out, "</td><td>", c, "language", "</td><td>");
    r = r < 0 ? r : html_put_key(out, "", c, "expected", "");
    r = r < 0 ? r : buf_printf(out, "</td><td>");
    r = r < 0 ? r : html_put_key(out, "", json_object_get(c, "got"), "shown", "");
    r = r < 0 ? r : html_put_key(out, "<div class=\"note\">", c, "why", "</div>");
    return r < 0 ? r
                 : buf_printf(out, "</td><td class=\"n\">%.1f s</td></tr>\n",
                              json_number_value(json_object_get(c, "seconds")));
}

static int put_failures(struct buf *out, const json_t *cases)
{
    bool any = false;
    int r = 0;

    for (size_t i = 0; i < json_array_size(cases) && r == 0; i++) {
        const json_t *c = json_array_get(cases, i);

        if (strcmp(html_text_of(c, "state"), "FAIL") != 0) {
            continue;
        }
        r = any ? 0 : buf_printf(out, "<h2>What failed</h2>\n");
        any = true;
        r = r < 0 ? r : put_failure(out, c);
    }
    return r;
}

int suite_html(const json_t *report, struct buf *out)
{
    const json_t *cases = json_object_get(report, "cases");
    int r = html_head(out, "airlock suite", "");

    r = r < 0 ? r : put_lead(out, report);
    r = r < 0 ? r : put_failures(out, cases);
    r = r < 0 ? r : put_facts(out, report);
    r = r < 0 ? r
              : buf_printf(out, "<h2>Cases</h2>\n<table>\n<thead><tr><th></th><th>kind</th>"
                                "<th>language</th><th>expected</th><th>got</th>"
                                "<th class=\"n\">time</th></tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(cases) && r == 0; i++) {
        r = put_row(out, json_array_get(cases, i));
    }
    return r < 0 ? r : buf_printf(out, "</tbody>\n</table>\n</body>\n</html>\n");
}
