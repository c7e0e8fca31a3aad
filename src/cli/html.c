#include "cli/html.h"

#include <inttypes.h>
#include <string.h>

#include "base/str.h"

#include "cli/report.h"

static const char meta[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
    "'unsafe-inline'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<title>";

static const char style[] =
    "</title>\n<style>\n"
    ":root{color-scheme:light dark;--fg:#1c1f23;--bg:#fff;--soft:#5c6570;--line:#d9dee4;--card:"
    "#f5f7f9;--ok:#17713a;--bad:#b3261e;--skip:#8a5a00}\n"
    "@media(prefers-color-scheme:dark){:root{--fg:#e4e7eb;--bg:#14171a;--soft:#9aa4af;--line:"
    "#333a42;--card:#1d2126;--ok:#63c587;--bad:#ff8a80;--skip:#e5b567}}\n"
    "body{font:15px/1.5 system-ui,sans-serif;color:var(--fg);background:var(--bg);max-width:1200px;"
    "margin:0 auto;padding:1.5rem}\n"
    "h1{font-size:1.5rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}\n"
    ".lead{font-size:1.1rem}.ok{color:var(--ok)}.FAIL{color:var(--bad)}.skip,.notrun{color:"
    "var(--skip)}\n"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;vertical-align:top;padding:"
    ".3rem .6rem;border-bottom:1px solid var(--line)}\n"
    "th{color:var(--soft);font-weight:600}.n{text-align:right;white-space:nowrap}\n"
    "td,pre,code{overflow-wrap:anywhere}dl{display:grid;grid-template-columns:max-content 1fr;gap:"
    ".2rem 1rem;margin:0}\n"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}code,pre{font:13px/1.45 "
    "ui-monospace,monospace}\n"
    "pre{white-space:pre-wrap;margin:.3rem 0;max-height:20rem;overflow:auto}\n"
    ".card{background:var(--card);border:1px solid var(--line);border-radius:6px;padding:.8rem "
    "1rem;margin:.8rem 0}\n"
    ".note{color:var(--soft);font-size:.9em}summary{cursor:pointer}\n";

int html_head(struct buf *out, const char *title, const char *more_style)
{
    int r = buf_put(out, meta, sizeof(meta) - 1);

    r = r < 0 ? r : html_put_text(out, title, strlen(title));
    r = r < 0 ? r : buf_put(out, style, sizeof(style) - 1);
    r = r < 0 ? r : buf_put(out, more_style, strlen(more_style));
    return r < 0 ? r : buf_printf(out, "</style>\n</head>\n<body>\n");
}

int html_put_text(struct buf *out, const char *text, size_t len)
{
    auto_buf struct buf safe = BUF_INIT(REPORT_MAX);
    int r = len > 0 ? str_escape(&safe, text, len, true) : 0;

    for (size_t i = 0; i < safe.len && r == 0; i++) {
        char c = (char)safe.data[i];
        const char *ref = c == '&'    ? "&amp;"
                          : c == '<'  ? "&lt;"
                          : c == '>'  ? "&gt;"
                          : c == '"'  ? "&quot;"
                          : c == '\'' ? "&#39;"
                                      : NULL;

        r = ref != NULL ? buf_put(out, ref, strlen(ref)) : buf_put(out, &c, 1);
    }
    return r;
}

const char *html_text_of(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s != NULL ? s : "";
}

int html_put_key(struct buf *out, const char *before, const json_t *object, const char *key,
                 const char *after)
{
    const json_t *v = json_object_get(object, key);
    int r = 0;

    if (!json_is_string(v) || json_string_length(v) == 0) {
        return 0;
    }
    r = buf_put(out, before, strlen(before));
    r = r < 0 ? r : html_put_text(out, json_string_value(v), json_string_length(v));
    return r < 0 ? r : buf_put(out, after, strlen(after));
}

int html_put_host(struct buf *out, const json_t *host)
{
    double memory = (double)json_integer_value(json_object_get(host, "memory_bytes"));
    int r = html_put_key(out, "<dt>host</dt><dd>", host, "os", ", ");
    r = r < 0 ? r : html_put_key(out, "Linux ", host, "kernel", "</dd>\n");
    r = r < 0 ? r
              : buf_printf(out, "<dt>processors</dt><dd>%" PRIi64,
                           (int64_t)json_integer_value(json_object_get(host, "cpus")));
    r = r < 0 ? r : html_put_key(out, " x ", host, "cpu", "");
    r = r < 0 ? r
              : buf_printf(out, ", %.1f GiB of memory%s</dd>\n", memory / (double)GIB,
                           json_is_true(json_object_get(host, "is_virtual_machine"))
                               ? ", itself a virtual machine"
                               : "");
    return r;
}
