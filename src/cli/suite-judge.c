#include "cli/suite-judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#include "job/base64.h"
#include "job/text.h"
#include "job/verdict.h"

#define SHOWN 60u /* bytes of a stream in a message */

struct judge {
    const struct suite_case *c;
    const json_t *head;
    const json_t *result;
    const char *verdict; /* never NULL while the keys are checked */
    struct buf *why;
    bool holds;
};

/* A full buffer loses text, never the failure. */
static void printf_like(2, 3) miss(struct judge *j, const char *fmt, ...)
{
    char text[512];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (buf_printf(j->why, "%s", j->why->len > 0 ? "; " : "") == 0) {
        (void)!str_escape(j->why, text, strlen(text), false);
    }
    j->holds = false;
}

static const char *text_in(const json_t *object, const char *key)
{
    const char *s = json_string_value(json_object_get(object, key));

    return s != NULL ? s : "";
}

/* A stream's bytes as they were. */
struct stream {
    const uint8_t *data;
    size_t len;
    uint8_t *decoded; /* owner, if it was base64 */
};

static void stream_fini(struct stream *s)
{
    free(s->decoded);
}

static bool stream_of(const struct judge *j, const char *name, struct stream *ret)
{
    const json_t *o = json_object_get(j->result, name);
    const json_t *data = json_object_get(o, "data");

    *ret = (struct stream){0};
    if (!json_is_string(data)) {
        return false;
    }
    ret->data = (const uint8_t *)json_string_value(data);
    ret->len = json_string_length(data);
    if (strcmp(text_in(o, "encoding"), "base64") == 0) {
        if (base64_decode(json_string_value(data), ret->len, &ret->decoded, &ret->len) < 0) {
            return false;
        }
        ret->data = ret->decoded;
    }
    return true;
}

static bool contains(const struct stream *s, const json_t *text)
{
    return memmem(s->data, s->len, json_string_value(text), json_string_length(text)) != NULL;
}

/* The first place where two texts part, for the message. */
static size_t parting(const struct stream *s, const json_t *text)
{
    size_t n = 0;

    while (n < s->len && n < json_string_length(text) &&
           s->data[n] == (uint8_t)json_string_value(text)[n]) {
        n++;
    }
    return n;
}

static void check_exact(struct judge *j, const struct stream *out)
{
    const json_t *want = json_object_get(j->head, "stdout");
    struct text got;
    struct text wanted;
    size_t at = 0;

    if (want == NULL || (out->len == json_string_length(want) &&
                         memcmp(out->data, json_string_value(want), out->len) == 0)) {
        return;
    }
    at = parting(out, want);
    got = text_of(out->data + at, out->len - at < SHOWN ? out->len - at : SHOWN);
    wanted = text_of_str(json_string_value(want) + at);
    miss(j, "stdout has %zu bytes, not %zu; from byte %zu on '%.80s' instead of '%.80s'", out->len,
         json_string_length(want), at, got.s, wanted.s);
}

static void check_has(struct judge *j, const char *key, const char *stream, const struct stream *s)
{
    const json_t *want = json_object_get(j->head, key);

    for (size_t i = 0; i < suite_texts(want); i++) {
        const json_t *text = suite_text_at(want, i);

        if (!contains(s, text)) {
            miss(j, "%s lacks '%.100s'", stream, json_string_value(text));
        }
    }
}

static void check_has_any(struct judge *j, const struct stream *out)
{
    const json_t *want = json_object_get(j->head, "has_any");

    for (size_t i = 0; i < suite_texts(want); i++) {
        if (contains(out, suite_text_at(want, i))) {
            return;
        }
    }
    if (want != NULL) {
        miss(j, "stdout has none of the %zu texts of 'has_any'", suite_texts(want));
    }
}

static void check_never(struct judge *j, const struct stream *out)
{
    const json_t *texts = json_object_get(j->head, "never");

    for (size_t i = 0; i < suite_texts(texts); i++) {
        if (contains(out, suite_text_at(texts, i))) {
            miss(j, "stdout has '%.100s'", json_string_value(suite_text_at(texts, i)));
        }
    }
}

static void check_streams(struct judge *j)
{
    const json_t *bytes = json_object_get(j->head, "out_bytes");
    __attribute__((cleanup(stream_fini))) struct stream out = {0};
    __attribute__((cleanup(stream_fini))) struct stream errs = {0};

    if (!stream_of(j, "stdout", &out) || !stream_of(j, "stderr", &errs)) {
        out = (struct stream){.data = (const uint8_t *)"", .decoded = out.decoded};
        errs = (struct stream){.data = (const uint8_t *)"", .decoded = errs.decoded};
    }
    check_exact(j, &out);
    check_has(j, "has", "stdout", &out);
    check_has_any(j, &out);
    check_never(j, &out);
    check_has(j, "err", "stderr", &errs);
    if (bytes != NULL && (json_int_t)out.len != json_integer_value(bytes)) {
        miss(j, "%zu bytes of stdout came back, not %" PRIu64, out.len,
             (uint64_t)json_integer_value(bytes));
    }
}

static bool exit_is(const json_t *want, const json_t *got)
{
    for (size_t i = 0; json_is_integer(got) && i < suite_texts(want); i++) {
        if (json_integer_value(suite_text_at(want, i)) == json_integer_value(got)) {
            return true;
        }
    }
    return false;
}

static bool signal_is(const json_t *want, const json_t *got)
{
    for (size_t i = 0; json_is_string(got) && i < suite_texts(want); i++) {
        const json_t *one = suite_text_at(want, i);
        char text[24];
        const char *name = json_is_string(one)
                               ? json_string_value(one)
                               : signal_name((uint32_t)json_integer_value(one), text);

        if (strcmp(name, json_string_value(got)) == 0) {
            return true;
        }
    }
    return false;
}

/* Each of the four keys names ways that are right; one of them must be it. */
static void check_end(struct judge *j)
{
    const json_t *code = json_object_get(j->result, "exit_code");
    const json_t *signal = json_object_get(j->result, "signal");
    const json_t *wants[] = {json_object_get(j->head, "exit"), json_object_get(j->head, "exit_any"),
                             json_object_get(j->head, "signal"),
                             json_object_get(j->head, "signal_any")};
    bool asked = false;

    for (size_t i = 0; i < ARRAY_LEN(wants); i++) {
        asked = asked || wants[i] != NULL;
        if (i < 2 ? exit_is(wants[i], code) : signal_is(wants[i], signal)) {
            return;
        }
    }
    if (!asked) {
        return;
    }
    if (json_is_integer(code)) {
        miss(j, "the program ended with exit code %" PRIi64, (int64_t)json_integer_value(code));
    } else if (json_is_string(signal)) {
        miss(j, "the program ended by %.30s", json_string_value(signal));
    } else {
        miss(j, "the program did not end by itself");
    }
}

static void check_verdict(struct judge *j)
{
    const json_t *expect = json_object_get(j->head, "expect");

    if (!suite_texts_have(expect, j->verdict)) {
        miss(j, "%s: %.200s", j->verdict, text_in(j->result, "message"));
    }
}

/* Of several acceptable verdicts, those by the program's own end have no reason to compare. */
static void check_reason(struct judge *j)
{
    static const char *const names[] = {"which", "reason"};
    bool own = strcmp(j->verdict, "success") == 0 || strcmp(j->verdict, "user_exception") == 0;
    bool several = suite_texts(json_object_get(j->head, "expect")) > 1;
    const char *got = text_in(j->result, "reason");

    for (size_t i = 0; i < ARRAY_LEN(names) && !(own && several); i++) {
        const json_t *want = json_object_get(j->head, names[i]);

        if (want != NULL && !suite_texts_have(want, got)) {
            miss(j, "the reason is '%.60s', not '%.60s'", got,
                 json_string_value(suite_text_at(want, 0)));
        }
    }
}

static const json_t *named(const json_t *list, const char *name)
{
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (strcmp(text_in(json_array_get(list, i), "name"), name) == 0) {
            return json_array_get(list, i);
        }
    }
    return NULL;
}

/* The exact set. */
static void check_outputs(struct judge *j)
{
    json_t *want = json_object_get(j->head, "outputs");
    const json_t *got = json_object_get(j->result, "outputs");
    const char *name = "";
    json_t *bytes = NULL;

    json_object_foreach(want, name, bytes)
    {
        const json_t *one = named(got, name);
        json_int_t size = json_integer_value(json_object_get(one, "bytes"));

        if (one == NULL) {
            miss(j, "output '%.80s' is missing", name);
        } else if (json_is_integer(bytes) && size != json_integer_value(bytes)) {
            miss(j, "output '%.80s' has %" PRIi64 " bytes, not %" PRIi64, name, (int64_t)size,
                 (int64_t)json_integer_value(bytes));
        }
    }
    for (size_t i = 0; want != NULL && i < json_array_size(got); i++) {
        name = text_in(json_array_get(got, i), "name");
        if (json_object_get(want, name) == NULL) {
            miss(j, "output '%.80s' was not expected", name);
        }
    }
}

/* A number: so many. Reasons: each of them, and no other. */
static void check_dropped(struct judge *j)
{
    const json_t *want = json_object_get(j->head, "dropped");
    const json_t *got = json_object_get(j->result, "dropped");

    if (json_is_integer(want)) {
        if (json_integer_value(want) != (json_int_t)json_array_size(got)) {
            miss(j, "%zu outputs were dropped, not %" PRIi64, json_array_size(got),
                 (int64_t)json_integer_value(want));
        }
        return;
    }
    for (size_t i = 0; want != NULL && i < json_array_size(got); i++) {
        const json_t *one = json_array_get(got, i);

        if (!suite_texts_have(want, text_in(one, "why"))) {
            miss(j, "'%.80s' was dropped as '%.80s'", text_in(one, "name"), text_in(one, "why"));
        }
    }
    for (size_t i = 0; i < suite_texts(want); i++) {
        const char *reason = json_string_value(suite_text_at(want, i));
        bool found = false;

        for (size_t k = 0; k < json_array_size(got) && !found; k++) {
            found = strcmp(text_in(json_array_get(got, k), "why"), reason) == 0;
        }
        if (!found) {
            miss(j, "nothing was dropped as '%.80s'", reason);
        }
    }
}

static void check_events(struct judge *j)
{
    const json_t *want = json_object_get(j->head, "events");
    const json_t *got = json_object_get(j->result, "events");

    for (size_t i = 0; i < suite_texts(want); i++) {
        const char *kind = json_string_value(suite_text_at(want, i));
        bool found = false;

        for (size_t k = 0; k < json_array_size(got) && !found; k++) {
            found = strcmp(text_in(json_array_get(got, k), "kind"), kind) == 0;
        }
        if (!found) {
            miss(j, "no event '%.60s'", kind);
        }
    }
}

static uint64_t number(const json_t *object, const char *key)
{
    json_int_t v = json_integer_value(json_object_get(object, key));

    return v > 0 ? (uint64_t)v : 0;
}

static void check_measures(struct judge *j)
{
    const json_t *peaks = json_object_get(j->result, "peaks");
    const json_t *phases = json_object_get(j->result, "phases");
    const json_t *most = json_object_get(j->head, "max_run_s");
    uint64_t least = number(j->head, "min_peak_mib");
    uint64_t peak = number(peaks, "guest_memory_bytes") / MIB;
    uint64_t started = number(phases, "started_ns");
    uint64_t end = number(phases, "exited_ns");

    if (peak < least) {
        miss(j, "at most %" PRIu64 " MiB were used, %" PRIu64 " should have been", peak, least);
    }
    end = end != 0 ? end : number(phases, "killed_ns");
    if (most != NULL && (started == 0 || end < started ||
                         (double)(end - started) > json_number_value(most) * 1e9)) {
        miss(j, "it ran for %.1f s, at most %.1f are right",
             end > started ? (double)(end - started) / 1e9 : 0.0, json_number_value(most));
    }
}

/* What holds for every job, whatever its header says. */
static void check_always(struct judge *j, int exit_code)
{
    const json_t *limits = json_object_get(j->result, "limits");
    const json_t *cleanup = json_object_get(j->result, "cleanup");
    static const char *const streams[] = {"stdout", "stderr"};

    if (exit_code < 0 || exit_code >= VERDICT_COUNT ||
        strcmp(verdict_name((enum airlock_verdict)exit_code), j->verdict) != 0) {
        miss(j, "airlock ended with %d, which is not the number of %s", exit_code, j->verdict);
    }
    for (size_t i = 0; i < ARRAY_LEN(streams); i++) {
        char key[32];
        uint64_t got = number(json_object_get(j->result, streams[i]), "bytes");

        (void)snprintf(key, sizeof(key), "%s_bytes", streams[i]);
        if (json_is_integer(json_object_get(limits, key)) && got > number(limits, key)) {
            miss(j, "%" PRIu64 " bytes of %s are more than the limit", got, streams[i]);
        }
    }
    if (json_is_object(cleanup) && number(json_object_get(j->result, "phases"), "spawned_ns") > 0 &&
        !json_is_true(json_object_get(cleanup, "verified"))) {
        miss(j, "the cleanup after it was not verified");
    }
    if (strcmp(j->verdict, "success") != 0 &&
        json_array_size(json_object_get(j->result, "outputs")) > 0) {
        miss(j, "outputs were accepted with a verdict other than success");
    }
}

bool suite_judge(const struct suite_case *c, const json_t *result, int exit_code, struct buf *why)
{
    struct judge j = {.c = c, .head = c->head, .result = result, .why = why, .holds = true};

    j.verdict = json_string_value(json_object_get(result, "verdict"));
    if (j.verdict == NULL) {
        miss(&j, "the result has no verdict");
        return false;
    }
    check_verdict(&j);
    check_reason(&j);
    check_end(&j);
    check_streams(&j);
    check_outputs(&j);
    check_dropped(&j);
    check_events(&j);
    check_measures(&j);
    check_always(&j, exit_code);
    return j.holds;
}
