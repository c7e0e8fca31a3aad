#include "cli/suite-limits.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void suite_words_fini(struct suite_words *words)
{
    for (size_t i = 0; i < words->n; i++) {
        free(words->list[i]);
    }
    *words = (struct suite_words){.n = 0};
}

int suite_word(struct suite_words *words, struct err *err, const char *fmt, ...)
{
    char *word = NULL;
    va_list args;
    int n = 0;

    if (words->n >= SUITE_WORDS_MAX) {
        return err_usage(err, "more than %u words on one command line", SUITE_WORDS_MAX);
    }
    va_start(args, fmt);
    n = vasprintf(&word, fmt, args);
    va_end(args);
    if (n < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    words->list[words->n++] = word;
    words->list[words->n] = NULL;
    return 0;
}

static const struct spec_limit_info *info_of(const char *option)
{
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        if (strcmp(spec_limit_infos[i].option, option) == 0) {
            return &spec_limit_infos[i];
        }
    }
    assert(!"every option here is one of the product's");
    return NULL;
}

static const json_t *limit(const struct suite_case *c, const char *key)
{
    return json_object_get(json_object_get(c->head, "limits"), key);
}

/* Is this clock, "wall" or "cpu", the one that shall end the program? */
static bool is_reached(const struct suite_case *c, const char *clock)
{
    const json_t *which = json_object_get(c->head, "which");
    bool cpu = strcmp(clock, "cpu") == 0;

    which = which != NULL ? which : json_object_get(c->head, "reason");
    if (!suite_expects(c, "timeout") || suite_expects(c, "success")) {
        return false;
    }
    if (which != NULL) {
        return suite_texts_have(which, clock);
    }
    return cpu == (limit(c, "cpu_s") != NULL && limit(c, "wall_s") == NULL);
}

static uint64_t clock_limit(const struct suite_case *c, const char *clock, unsigned int slow)
{
    const json_t *given = limit(c, strcmp(clock, "cpu") == 0 ? "cpu_s" : "wall_s");
    uint64_t ns = given != NULL ? (uint64_t)(json_number_value(given) * (double)NS_PER_S)
                                : info_of(clock)->def;

    if (slow <= 1) {
        return ns;
    }
    if (is_reached(c, clock)) {
        uint64_t begin =
            c->language == SPEC_PYTHON ? SUITE_START_PYTHON_NS : SUITE_START_JAVASCRIPT_NS;

        return ns + begin * slow / SUITE_SLOW_EMULATED;
    }
    return ns * slow;
}

uint64_t suite_wall_ns(const struct suite_case *c, unsigned int slow)
{
    return clock_limit(c, "wall", slow);
}

struct bound {
    uint64_t min, max;
    const char *why_min, *why_max;
};

static struct bound bound_of(const struct suite_case *c, const struct spec_limit_info *info)
{
    struct bound b = {.min = info->min,
                      .max = info->max,
                      .why_min = "the least that airlock takes",
                      .why_max = "the most that airlock takes"};
    const json_t *disk = limit(c, "disk_mib");

    if (strcmp(info->option, "pids") == 0 && c->language == SPEC_JAVASCRIPT) {
        b.min = SUITE_PIDS_JAVASCRIPT;
        b.why_min = "what Node.js itself needs";
    }
    if (strcmp(info->option, "inodes") == 0 && disk != NULL) {
        uint64_t most = (uint64_t)json_integer_value(disk) * KIB; /* one for each KiB */

        if (most >= b.min && most < b.max) {
            b.max = most;
            b.why_max = "the most that this disk takes";
        }
    }
    return b;
}

static int note(json_t *changes, const struct spec_limit_info *info, uint64_t from, uint64_t to,
                const char *why)
{
    char text[160];
    char before[32];
    char after[32];

    (void)snprintf(text, sizeof(text), "--%s %s instead of %s: %s", info->option,
                   spec_value_text(info->unit, to, after),
                   spec_value_text(info->unit, from, before), why);
    return json_array_append_new(changes, json_string(text));
}

static int put(const struct suite_case *c, const char *option, uint64_t v,
               struct suite_words *words, json_t *changes, struct err *err)
{
    const struct spec_limit_info *info = info_of(option);
    struct bound b = bound_of(c, info);
    uint64_t to = v < b.min ? b.min : v > b.max ? b.max : v;

    if (to != v && !suite_expects(c, "rejected")) {
        if (note(changes, info, v, to, v < b.min ? b.why_min : b.why_max) < 0) {
            return err_set(err, ERR_HOST, ENOMEM, "out of memory");
        }
        v = to;
    }
    if (info->unit == SPEC_UNIT_NS) {
        return suite_word(words, err, "--%s=%llums", option, v / NS_PER_MS);
    }
    return suite_word(words, err, "--%s=%" PRIu64, option, v);
}

int suite_limit_words(const struct suite_case *c, unsigned int slow, struct suite_words *words,
                      json_t *changes, struct err *err)
{
    static const struct {
        const char *key, *option;
        uint64_t unit;
    } map[] = {
        {"mem_mib", "memory", MIB},    {"pids", "pids", 1},
        {"disk_mib", "disk", MIB},     {"out_kib", "stdout", KIB},
        {"err_kib", "stderr", KIB},    {"inodes", "inodes", 1},
        {"vcpus", "vcpus", 1},         {"out_files", "out-files", 1},
        {"out_depth", "out-depth", 1}, {"out_total_kib", "out-bytes", KIB},
    };

    const json_t *both = limit(c, "out_kib");
    int r = put(c, "wall", clock_limit(c, "wall", slow), words, changes, err);

    if (r == 0) {
        r = put(c, "cpu", clock_limit(c, "cpu", slow), words, changes, err);
    }
    for (size_t i = 0; i < ARRAY_LEN(map) && r == 0; i++) {
        const json_t *v = limit(c, map[i].key);

        if (v != NULL) {
            r = put(c, map[i].option, (uint64_t)json_integer_value(v) * map[i].unit, words, changes,
                    err);
        }
    }
    /* One cap for both streams, unless stderr has its own. */
    if (r == 0 && both != NULL && limit(c, "err_kib") == NULL) {
        r = put(c, "stderr", (uint64_t)json_integer_value(both) * KIB, words, changes, err);
    }
    return r;
}
