#include "cli/suite-case.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "job/text.h"
#include "job/verdict.h"

#define STDIN_MAX (64 * MIB)

/* What a key's value may be; bits. */
enum kind {
    TEXT = 1,
    TEXTS = 2,    /* a list of texts */
    COUNT = 4,    /* a whole number, 0 or more */
    SECONDS = 8,  /* a number above 0 */
    NUMBERS = 16, /* a list of whole numbers or, for signals, names */
    YES = 32,     /* true or false */
    MAP = 64,     /* an object of texts */
    SIZES = 128,  /* an object of whole numbers or null */
    LIMITS = 256,
};

static const struct key {
    const char *name;
    unsigned int kinds;
    const char *wanted;
} keys[] = {
    {"expect", TEXT | TEXTS, "a verdict or a list of verdicts"},
    {"which", TEXT | TEXTS, "a text or a list of texts"},
    {"reason", TEXT | TEXTS, "a text or a list of texts"},
    {"exit", COUNT, "a whole number"},
    {"exit_any", NUMBERS, "a list of whole numbers"},
    {"signal", COUNT | TEXT, "a number or a name"},
    {"signal_any", NUMBERS, "a list of numbers or names"},
    {"stdout", TEXT, "a text"},
    {"has", TEXT | TEXTS, "a text or a list of texts"},
    {"has_any", TEXT | TEXTS, "a text or a list of texts"},
    {"never", TEXT | TEXTS, "a text or a list of texts"},
    {"err", TEXT | TEXTS, "a text or a list of texts"},
    {"out_bytes", COUNT, "a whole number"},
    {"stdin", TEXT, "a text"},
    {"stdin_hex", TEXT, "pairs of hexadecimal digits"},
    {"stdin_bytes", COUNT, "a whole number"},
    {"limits", LIMITS, "an object of numbers"},
    {"after", TEXT, "a text"},
    {"needs", TEXT | TEXTS, "a text or a list of texts"},
    {"note", TEXT, "a text"},
    {"source", TEXT | TEXTS, "a text or a list of texts"},
    {"ref_known_bad", TEXT, "a text"}, /* another runner's exception: a remark here */
    {"root", YES, "true or false"},
    {"args", TEXTS, "a list of texts"},
    {"env", MAP, "an object of texts"},
    {"in", MAP, "an object of texts"},
    {"outputs", SIZES, "an object of whole numbers or null"},
    {"dropped", COUNT | TEXT | TEXTS, "a whole number or a list of reasons"},
    {"events", TEXT | TEXTS, "a text or a list of texts"},
    {"contract", TEXT, "a text"},
    {"only", TEXT, "a text"},
    {"quick", YES, "true or false"},
    {"min_peak_mib", COUNT, "a whole number"},
    {"max_run_s", SECONDS, "a number above 0"},
};

static const struct key limit_keys[] = {
    {"wall_s", SECONDS, "a number above 0"},    {"cpu_s", SECONDS, "a number above 0"},
    {"mem_mib", COUNT, "a whole number"},       {"pids", COUNT, "a whole number"},
    {"disk_mib", COUNT, "a whole number"},      {"out_kib", COUNT, "a whole number"},
    {"err_kib", COUNT, "a whole number"},       {"inodes", COUNT, "a whole number"},
    {"vcpus", COUNT, "a whole number"},         {"out_files", COUNT, "a whole number"},
    {"out_total_kib", COUNT, "a whole number"}, {"out_depth", COUNT, "a whole number"},
};

size_t suite_texts(const json_t *value)
{
    return json_is_array(value) ? json_array_size(value) : value != NULL ? 1 : 0;
}

const json_t *suite_text_at(const json_t *value, size_t i)
{
    return json_is_array(value) ? json_array_get(value, i) : value;
}

bool suite_texts_have(const json_t *value, const char *text)
{
    for (size_t i = 0; i < suite_texts(value); i++) {
        const char *one = json_string_value(suite_text_at(value, i));

        if (one != NULL && strcmp(one, text) == 0) {
            return true;
        }
    }
    return false;
}

const char *suite_language_name(enum spec_language language)
{
    return language == SPEC_PYTHON ? "python" : "javascript";
}

static bool is_count(const json_t *v)
{
    return json_is_integer(v) && json_integer_value(v) >= 0 &&
           json_integer_value(v) <= INT64_MAX / 2;
}

/* A list, none of whose members is anything else than the kinds. */
static bool is_list(const json_t *v, unsigned int kinds)
{
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *one = json_array_get(v, i);

        if (!((kinds & TEXT) != 0 && json_is_string(one)) &&
            !((kinds & COUNT) != 0 && is_count(one))) {
            return false;
        }
    }
    return json_is_array(v) && json_array_size(v) > 0;
}

static bool is_object_of(json_t *v, unsigned int kind)
{
    const char *name = "";
    json_t *one = NULL;

    json_object_foreach(v, name, one)
    {
        bool ok = kind == MAP ? json_is_string(one) : json_is_null(one) || is_count(one);

        if (!ok || name[0] == '\0') {
            return false;
        }
    }
    return json_is_object(v);
}

static bool fits(const struct key *key, json_t *v)
{
    return ((key->kinds & TEXT) != 0 && json_is_string(v)) ||
           ((key->kinds & TEXTS) != 0 && is_list(v, TEXT)) ||
           ((key->kinds & NUMBERS) != 0 && is_list(v, TEXT | COUNT)) ||
           ((key->kinds & COUNT) != 0 && is_count(v)) ||
           ((key->kinds & SECONDS) != 0 && json_is_number(v) && json_number_value(v) > 0 &&
            json_number_value(v) <= 86400) ||
           ((key->kinds & YES) != 0 && json_is_boolean(v)) ||
           ((key->kinds & MAP) != 0 && is_object_of(v, MAP)) ||
           ((key->kinds & SIZES) != 0 && is_object_of(v, SIZES)) ||
           ((key->kinds & LIMITS) != 0 && json_is_object(v));
}

static int check_object(json_t *object, const struct key *known, size_t n, struct err *err)
{
    const char *name = "";
    json_t *value = NULL;

    json_object_foreach(object, name, value)
    {
        const struct key *key = NULL;

        for (size_t i = 0; i < n && key == NULL; i++) {
            key = strcmp(known[i].name, name) == 0 ? &known[i] : NULL;
        }
        if (key == NULL) {
            return err_usage(err, "unknown key '%s'", text_of_str(name).s);
        }
        if (!fits(key, value)) {
            return err_usage(err, "key '%s' must be %s", name, key->wanted);
        }
    }
    return 0;
}

static int check_verdicts(const json_t *expect, struct err *err)
{
    for (size_t i = 0; i < suite_texts(expect); i++) {
        const char *name = json_string_value(suite_text_at(expect, i));

        if (verdict_find(name) < 0) {
            return err_usage(err, "key 'expect': '%s' is no verdict", text_of_str(name).s);
        }
    }
    return expect != NULL ? 0 : err_usage(err, "key 'expect' is missing");
}

/* Names of signals must be the ones that results use. */
static int check_signals(const json_t *value, const char *key, struct err *err)
{
    for (size_t i = 0; i < suite_texts(value); i++) {
        const char *name = json_string_value(suite_text_at(value, i));
        char text[24];
        bool known = name == NULL;

        for (uint32_t n = 1; n <= 64 && !known; n++) {
            known = strcmp(signal_name(n, text), name) == 0;
        }
        if (!known) {
            return err_usage(err, "key '%s': '%s' is no signal", key, text_of_str(name).s);
        }
    }
    return 0;
}

static int nibble(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static int check_stdin(const json_t *head, struct err *err)
{
    const json_t *hex = json_object_get(head, "stdin_hex");
    size_t given = 0;
    size_t len = json_string_length(hex);

    given += json_object_get(head, "stdin") != NULL;
    given += json_object_get(head, "stdin_bytes") != NULL;
    given += hex != NULL;
    if (given > 1) {
        return err_usage(err, "'stdin', 'stdin_hex' and 'stdin_bytes' exclude each other");
    }
    for (size_t i = 0; i < len; i++) {
        if (nibble(json_string_value(hex)[i]) < 0 || len % 2 != 0) {
            return err_usage(err, "key 'stdin_hex' must be pairs of hexadecimal digits");
        }
    }
    if ((uint64_t)json_integer_value(json_object_get(head, "stdin_bytes")) > STDIN_MAX) {
        return err_usage(err, "key 'stdin_bytes' must be at most %llu", STDIN_MAX);
    }
    return 0;
}

static int check_head(json_t *head, struct err *err)
{
    json_t *limits = json_object_get(head, "limits");
    int r = check_object(head, keys, ARRAY_LEN(keys), err);

    if (r == 0 && limits != NULL) {
        r = check_object(limits, limit_keys, ARRAY_LEN(limit_keys), err);
        r = r < 0 ? err_wrap(err, "limits") : 0;
    }
    if (r == 0) {
        r = check_verdicts(json_object_get(head, "expect"), err);
    }
    if (r == 0) {
        r = check_signals(json_object_get(head, "signal"), "signal", err);
    }
    if (r == 0) {
        r = check_signals(json_object_get(head, "signal_any"), "signal_any", err);
    }
    return r == 0 ? check_stdin(head, err) : r;
}

static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s);
    size_t m = strlen(suffix);

    return n > m && strcmp(s + n - m, suffix) == 0;
}

bool suite_is_program(const char *path)
{
    return ends_with(path, ".py") || ends_with(path, ".js") || ends_with(path, ".mjs") ||
           ends_with(path, ".cjs");
}

static int parse_head(const struct suite_case *c, json_t **ret, struct err *err)
{
    const char *mark = c->language == SPEC_PYTHON ? "# airlock-case: " : "// airlock-case: ";
    const char *end = memchr(c->code, '\n', c->code_len);
    size_t lead = strlen(mark);
    size_t len = end != NULL ? (size_t)(end - c->code) : c->code_len;
    json_error_t at;
    json_t *head = NULL;

    if (len < lead || memcmp(c->code, mark, lead) != 0) {
        return err_usage(err, "the first line must be '%s{...}'", mark);
    }
    head = json_loadb(c->code + lead, len - lead, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &at);
    if (head == NULL) {
        return err_usage(err, "header, column %zu: %s", lead + (size_t)at.column,
                         text_of_str(at.text).s);
    }
    if (!json_is_object(head)) {
        json_decref(head);
        return err_usage(err, "the header must be a JSON object");
    }
    *ret = head;
    return check_head(head, err);
}

int suite_case_parse(const char *path, const char *text, size_t len, struct suite_case *ret,
                     struct err *err)
{
    struct suite_case c = {.after = SIZE_MAX};
    int r = 0;

    if (!suite_is_program(path) || len > SUITE_PROGRAM_MAX) {
        return err_usage(err, "%s: %s", text_of_str(path).s,
                         len > SUITE_PROGRAM_MAX ? "larger than a program of the suite may be"
                                                 : "neither *.py nor *.js");
    }
    c.language = ends_with(path, ".py") ? SPEC_PYTHON : SPEC_JAVASCRIPT;
    c.path = strdup(path);
    c.name = strndup(path, (size_t)(strrchr(path, '.') - path));
    c.code = malloc(len + 1);
    c.code_len = len;
    if (c.path == NULL || c.name == NULL || c.code == NULL) {
        suite_case_fini(&c);
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    memcpy(c.code, text, len);
    c.code[len] = '\0';
    r = parse_head(&c, &c.head, err);
    if (r < 0) {
        suite_case_fini(&c);
        return err_wrap(err, "%s", text_of_str(path).s);
    }
    *ret = c;
    return 0;
}

void suite_case_fini(struct suite_case *c)
{
    free(c->path);
    free(c->name);
    free(c->code);
    json_decref(c->head);
    free(c->outcome.why);
    json_decref(c->outcome.result);
    json_decref(c->outcome.changes);
    *c = (struct suite_case){.after = SIZE_MAX};
}

bool suite_expects(const struct suite_case *c, const char *verdict)
{
    return suite_texts_have(json_object_get(c->head, "expect"), verdict);
}

int suite_case_stdin(const struct suite_case *c, uint8_t **ret, size_t *ret_len, struct err *err)
{
    const json_t *text = json_object_get(c->head, "stdin");
    const json_t *hex = json_object_get(c->head, "stdin_hex");
    const json_t *zeros = json_object_get(c->head, "stdin_bytes");
    size_t len = text != NULL  ? json_string_length(text)
                 : hex != NULL ? json_string_length(hex) / 2
                               : (size_t)json_integer_value(zeros);
    uint8_t *data = NULL;

    *ret = NULL;
    *ret_len = 0;
    if (text == NULL && hex == NULL && zeros == NULL) {
        return 0;
    }
    data = calloc(1, len + 1);
    if (data == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (text != NULL) {
        memcpy(data, json_string_value(text), len);
    }
    for (size_t i = 0; hex != NULL && i < len; i++) {
        const char *pair = json_string_value(hex) + 2 * i;

        data[i] = (uint8_t)(nibble(pair[0]) * 16 + nibble(pair[1]));
    }
    *ret = data;
    *ret_len = len;
    return 0;
}
