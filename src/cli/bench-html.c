#include <inttypes.h>
#include <string.h>

#include "cli/bench-report.h"
#include "cli/html.h"

/* One colour a part: before the machine, in the monitor, in the guest, after it. */
static const char style_more[] =
    ":root{--c0:#a6611a;--c1:#c98d4b;--c2:#dfc27d;--c3:#7b5aa6;--c4:#a98fd0;--c5:#5aa6c9;"
    "--c6:#1f6fa8;--c7:#7cc4b8;--c8:#35978f;--c9:#01665e;--c10:#9aa4af}\n"
    "@media(prefers-color-scheme:dark){:root{--c0:#d08a3f;--c1:#dba766;--c2:#ecd9a0;--c3:#9d7fd0;"
    "--c4:#c2ade6;--c5:#7cc4e6;--c6:#4f9fd8;--c7:#98dccf;--c8:#57b8ae;--c9:#2f9c8f;--c10:#6b7580}}\n"
    "svg{width:100%;height:auto;display:block}svg text{font:12px system-ui,sans-serif;fill:"
    "var(--fg)}svg .soft{fill:var(--soft)}\n"
    "svg line{stroke:var(--line)}.dot{fill:var(--c6);fill-opacity:.45}.mid{fill:var(--bad)}\n"
    ".key{display:inline-block;width:.8em;height:.8em;border-radius:2px;margin:0 .3em 0 "
    "1em;vertical-align:-1px}.scroll{overflow-x:auto}\n";

#define PLOT_LEFT  190.0
#define PLOT_WIDTH 720.0
#define ROW_HEIGHT 24

static double number_at(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static double stat_at(const json_t *object, const char *key, const char *which)
{
    return number_at(json_object_get(object, key), which);
}

static int put_label(const json_t *row, size_t i, struct buf *out)
{
    int r = buf_printf(out, "<text x=\"0\" y=\"%zu\">", i * ROW_HEIGHT + 16);

    r = r < 0 ? r : html_put_key(out, "", row, "work", " ");
    r = r < 0 ? r : html_put_key(out, "", row, "language", ", ");
    r = r < 0 ? r : html_put_key(out, "", row, "mode", "");
    return r < 0 ? r : buf_printf(out, "</text>\n");
}

static int plot_open(size_t rows, const char *what, struct buf *out)
{
    return buf_printf(out, "<svg viewBox=\"0 0 1000 %zu\" role=\"img\" aria-label=\"%s\">\n",
                      rows * ROW_HEIGHT + 6, what);
}

static double sum_of_parts(const json_t *row)
{
    const json_t *parts = json_object_get(row, "parts_ms");
    double sum = 0;

    for (enum bench_part part = 0; part < BENCH_PARTS; part++) {
        sum += stat_at(parts, bench_part_name(part), "median");
    }
    return sum;
}

static int put_bar(const json_t *row, size_t i, double scale, struct buf *out)
{
    const json_t *parts = json_object_get(row, "parts_ms");
    double x = PLOT_LEFT;
    int r = put_label(row, i, out);

    for (enum bench_part part = 0; part < BENCH_PARTS && r == 0; part++) {
        double v = stat_at(parts, bench_part_name(part), "median");

        r = v <= 0
                ? 0
                : buf_printf(out,
                             "<rect x=\"%.1f\" y=\"%zu\" width=\"%.2f\" height=\"16\" "
                             "fill=\"var(--c%d)\"><title>%s %.1f ms</title></rect>\n",
                             x, i * ROW_HEIGHT + 4, v * scale, (int)part, bench_part_name(part), v);
        x += v * scale;
    }
    return r < 0 ? r
                 : buf_printf(out, "<text class=\"soft\" x=\"%.1f\" y=\"%zu\">%.1f ms</text>\n",
                              x + 6, i * ROW_HEIGHT + 16, sum_of_parts(row));
}

static int put_parts_plot(const json_t *rows, struct buf *out)
{
    double most = 0;
    int r = buf_printf(out, "<h2>Where the time goes</h2>\n<p class=\"note\">Medians of each part."
                            "<br>");

    for (enum bench_part part = 0; part < BENCH_PARTS && r == 0; part++) {
        r = buf_printf(out, "<span class=\"key\" style=\"background:var(--c%d)\"></span>%s\n",
                       (int)part, bench_part_name(part));
    }
    for (size_t i = 0; i < json_array_size(rows); i++) {
        double sum = sum_of_parts(json_array_get(rows, i));

        most = sum > most ? sum : most;
    }
    r = r < 0 ? r : buf_printf(out, "</p>\n");
    r = r < 0 ? r : plot_open(json_array_size(rows), "parts of each job's time", out);
    for (size_t i = 0; i < json_array_size(rows) && r == 0; i++) {
        r = put_bar(json_array_get(rows, i), i, most > 0 ? PLOT_WIDTH / most : 0, out);
    }
    return r < 0 ? r : buf_printf(out, "</svg>\n");
}

static double most_of(const json_t *row)
{
    const json_t *samples = json_object_get(row, "samples_ms");
    double most = 0;

    for (size_t i = 0; i < json_array_size(samples); i++) {
        double v = json_number_value(json_array_get(samples, i));

        most = v > most ? v : most;
    }
    return most;
}

/* Each row to its own scale: the spread counts here, not the size. */
static int put_samples(const json_t *row, size_t i, struct buf *out)
{
    const json_t *samples = json_object_get(row, "samples_ms");
    double most = most_of(row);
    double scale = most > 0 ? (PLOT_WIDTH - 60) / most : 0;
    size_t y = i * ROW_HEIGHT + 12;
    int r = put_label(row, i, out);

    r = r < 0 ? r
              : buf_printf(out, "<line x1=\"%.0f\" y1=\"%zu\" x2=\"%.0f\" y2=\"%zu\"/>\n",
                           PLOT_LEFT, y, PLOT_LEFT + PLOT_WIDTH - 60, y);
    for (size_t k = 0; k < json_array_size(samples) && r == 0; k++) {
        double v = json_number_value(json_array_get(samples, k));

        r = buf_printf(out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%zu\" r=\"4\"/>\n",
                       PLOT_LEFT + v * scale, y);
    }
    r = r < 0 ? r
              : buf_printf(out,
                           "<rect class=\"mid\" x=\"%.1f\" y=\"%zu\" width=\"2\" height=\"14\"/>\n",
                           PLOT_LEFT + stat_at(row, "wall_ms", "median") * scale - 1, y - 7);
    return r < 0 ? r
                 : buf_printf(out, "<text class=\"soft\" x=\"%.0f\" y=\"%zu\">%.1f ms</text>\n",
                              PLOT_LEFT + PLOT_WIDTH - 50, y + 4, most);
}

static int put_spread_plot(const json_t *rows, struct buf *out)
{
    int r =
        buf_printf(out, "<h2>Every run</h2>\n<p class=\"note\">From 0 to the slowest run of each "
                        "row; the bar is the median.</p>\n");

    r = r < 0 ? r : plot_open(json_array_size(rows), "the time of every run", out);
    for (size_t i = 0; i < json_array_size(rows) && r == 0; i++) {
        r = put_samples(json_array_get(rows, i), i, out);
    }
    return r < 0 ? r : buf_printf(out, "</svg>\n");
}

static int put_cells(const json_t *stat, struct buf *out)
{
    static const char *const keys[] = {"median", "p95", "min"};
    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(keys) && r == 0; i++) {
        r = json_is_object(stat)
                ? buf_printf(out, "<td class=\"n\">%.1f</td>", number_at(stat, keys[i]))
                : buf_printf(out, "<td class=\"n\">-</td>");
    }
    return r;
}

static int put_results(const json_t *rows, struct buf *out)
{
    int r = buf_printf(
        out,
        "<h2>Results</h2>\n<p class=\"note\">Milliseconds. Overhead: all but the program's own "
        "time. CPU: all processes of a job together.</p>\n<table>\n<thead><tr><th>work</th>"
        "<th>language</th><th>mode</th><th class=\"n\">runs</th><th class=\"n\">median</th>"
        "<th class=\"n\">p95</th><th class=\"n\">min</th><th class=\"n\">overhead</th>"
        "<th class=\"n\">CPU</th></tr></thead>\n<tbody>\n");

    for (size_t i = 0; i < json_array_size(rows) && r == 0; i++) {
        const json_t *o = json_array_get(rows, i);

        r = html_put_key(out, "<tr><td>", o, "work", "");
        r = r < 0 ? r : html_put_key(out, "<div class=\"note FAIL\">", o, "why", "</div>");
        r = r < 0 ? r : html_put_key(out, "</td><td>", o, "language", "</td><td>");
        r = r < 0 ? r : html_put_key(out, "", o, "mode", "</td>");
        r = r < 0 ? r
                  : buf_printf(out, "<td class=\"n\">%" PRIi64 "</td>",
                               (int64_t)json_integer_value(json_object_get(o, "runs")));
        r = r < 0 ? r : put_cells(json_object_get(o, "wall_ms"), out);
        r = r < 0 ? r
                  : buf_printf(out, "<td class=\"n\">%.1f</td><td class=\"n\">%.1f</td></tr>\n",
                               stat_at(o, "overhead_ms", "median"), stat_at(o, "cpu_ms", "median"));
    }
    return r < 0 ? r : buf_printf(out, "</tbody>\n</table>\n");
}

static int put_parts(const json_t *rows, struct buf *out)
{
    int r =
        buf_printf(out, "<h2>Parts</h2>\n<p class=\"note\">Median, 95th percentile and minimum in "
                        "milliseconds.</p>\n<div class=\"scroll\"><table>\n<thead><tr><th></th>");

    for (enum bench_part part = 0; part < BENCH_PARTS && r == 0; part++) {
        r = buf_printf(out, "<th class=\"n\">%s</th>", bench_part_name(part));
    }
    r = r < 0 ? r : buf_printf(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < json_array_size(rows) && r == 0; i++) {
        const json_t *o = json_array_get(rows, i);
        const json_t *parts = json_object_get(o, "parts_ms");

        r = html_put_key(out, "<tr><td>", o, "work", " ");
        r = r < 0 ? r : html_put_key(out, "", o, "language", ", ");
        r = r < 0 ? r : html_put_key(out, "", o, "mode", "</td>");
        for (enum bench_part part = 0; part < BENCH_PARTS && r == 0; part++) {
            const char *name = bench_part_name(part);

            r = buf_printf(out, "<td class=\"n\">%.1f<br>%.1f<br>%.1f</td>",
                           stat_at(parts, name, "median"), stat_at(parts, name, "p95"),
                           stat_at(parts, name, "min"));
        }
        r = r < 0 ? r : buf_printf(out, "</tr>\n");
    }
    return r < 0 ? r : buf_printf(out, "</tbody>\n</table></div>\n");
}

/* What is no row of the table, in the words of the terminal's. */
static int put_rest(const json_t *report, struct buf *out)
{
    auto_buf struct buf text = BUF_INIT(64 * KIB);
    int r = bench_table_rest(report, &text);

    if (r < 0 || text.len == 0) {
        return r;
    }
    r = buf_printf(out, "<h2>Throughput, density, empty state</h2>\n<pre class=\"card\">");
    r = r < 0 ? r : html_put_text(out, (const char *)text.data, text.len);
    return r < 0 ? r : buf_printf(out, "</pre>\n");
}

static int put_facts(const json_t *report, struct buf *out)
{
    int r = buf_printf(out, "<h2>Host</h2>\n<div class=\"card\"><dl>\n");

    r = r < 0 ? r : html_put_host(out, json_object_get(report, "host"));
    r = r < 0 ? r : html_put_key(out, "<dt>airlock</dt><dd>", report, "airlock", "</dd>\n");
    r = r < 0 ? r : html_put_key(out, "<dt>engine</dt><dd>", report, "engine", " (");
    r = r < 0 ? r : html_put_key(out, "", report, "isolation", ")</dd>\n");
    return r < 0 ? r
                 : buf_printf(out,
                              "<dt>load of a minute</dt><dd>%.1f before, %.1f after</dd>\n"
                              "</dl></div>\n",
                              number_at(report, "load_before"), number_at(report, "load_after"));
}

int bench_html(const json_t *report, struct buf *out)
{
    const json_t *rows = json_object_get(report, "results");
    bool good = bench_holds(report);
    int r = html_head(out, "airlock bench", style_more);

    r = r < 0 ? r
              : buf_printf(out,
                           "<h1>airlock bench</h1>\n<p class=\"lead\"><strong class=\"%s\">%s"
                           "</strong></p>\n",
                           good ? "ok" : "FAIL",
                           good ? "Every run succeeded." : "Not every run succeeded.");
    r = r < 0 ? r : html_put_key(out, "<p class=\"note\">Started ", report, "started", "");
    r = r < 0 ? r
              : buf_printf(out, ", %.0f s, %" PRIi64 " rounds in turn.</p>\n",
                           number_at(report, "seconds"),
                           (int64_t)json_integer_value(json_object_get(report, "rounds")));
    r = r < 0 ? r : put_results(rows, out);
    r = r < 0 ? r : put_parts_plot(rows, out);
    r = r < 0 ? r : put_spread_plot(rows, out);
    r = r < 0 ? r : put_rest(report, out);
    r = r < 0 ? r : put_parts(rows, out);
    r = r < 0 ? r : put_facts(report, out);
    return r < 0 ? r : buf_printf(out, "</body>\n</html>\n");
}
