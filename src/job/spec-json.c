/*
 * How it works: the nesting is bounded before jansson sees the text, then every key is looked up
 * in one table; what the table does not have is refused. Errors carry the path of the member
 * ("files[2].name") and never a value, since any value may be a secret.
 */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "job/base64.h"
#include "job/spec-internal.h"
#include "job/text.h"
#include "proto/msg.h"

#define JSON_DEPTH_MAX 16u
#define LABEL_MAX      (TEXT_MAX + 48u)

/* Brackets outside of strings; the text need not be well-formed. */
static bool nesting_ok(const char *text, size_t len)
{
    size_t depth = 0;
    bool in_string = false;

    for (size_t i = 0; i < len; i++) {
        char c = text[i];

        if (in_string) {
            if (c == '\\') {
                i++;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '{' || c == '[') {
            depth++;
            if (depth > JSON_DEPTH_MAX) {
                return false;
            }
        } else if ((c == '}' || c == ']') && depth > 0) {
            depth--;
        }
    }
    return true;
}

/* jansson's own text quotes the document, which may hold secrets: only its code is used. */
static const char *parse_fault(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);

    if (code == json_error_duplicate_key) {
        return "a key stands twice in one object";
    }
    if (code == json_error_invalid_utf8) {
        return "not valid UTF-8";
    }
    if (code == json_error_premature_end_of_input) {
        return "the text ends too early";
    }
    if (code == json_error_end_of_input_expected) {
        return "something follows the object";
    }
    if (code == json_error_numeric_overflow) {
        return "a number is too large";
    }
    if (code == json_error_null_byte_in_key) {
        return "a key has a NUL in it";
    }
    return "not well-formed JSON";
}

static const char *type_name(const json_t *json)
{
    switch (json_typeof(json)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "an array";
    case JSON_STRING:
        return "a string";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number with decimals or exponent";
    case JSON_TRUE:
    case JSON_FALSE:
        return "a boolean";
    case JSON_NULL:
        break;
    }
    return "null";
}

static int want(const json_t *json, json_type type, const char *word, const char *label,
                struct err *err)
{
    if (json_typeof(json) == type) {
        return 0;
    }
    return err_usage(err, "%s: must be %s, but is %s", label, word, type_name(json));
}

/* A string without NUL; borrowed. */
static int get_string(const json_t *json, const char *label, const char **ret, struct err *err)
{
    int r = want(json, JSON_STRING, "a string", label, err);

    if (r < 0) {
        return r;
    }
    if (strlen(json_string_value(json)) != json_string_length(json)) {
        return err_usage(err, "%s: has a NUL character in it; remove it", label);
    }
    *ret = json_string_value(json);
    return 0;
}

/* Text as it is, or base64. *ret is never NULL afterwards: empty content is content. */
static int get_bytes(const json_t *json, bool base64, const char *label, uint8_t **ret,
                     size_t *ret_len, struct err *err)
{
    uint8_t *copy = NULL;
    int r = want(json, JSON_STRING, "a string", label, err);

    if (r < 0) {
        return r;
    }
    if (base64) {
        r = base64_decode(json_string_value(json), json_string_length(json), ret, ret_len);
        if (r == -EINVAL) {
            return err_usage(err,
                             "%s: is not base64; use the alphabet with '+' and '/', padded with "
                             "'=', without blanks",
                             label);
        }
        return r < 0 ? spec_no_memory(err) : 0;
    }
    copy = malloc(json_string_length(json) + 1);
    if (copy == NULL) {
        return spec_no_memory(err);
    }
    memcpy(copy, json_string_value(json), json_string_length(json) + 1);
    *ret = copy;
    *ret_len = json_string_length(json);
    return 0;
}

static int take_language(struct spec *spec, json_t *json, struct err *err)
{
    const char *s = NULL;
    const char *name = "main.py";
    char *copy = NULL;
    int r = get_string(json, "language", &s, err);

    if (r < 0) {
        return r;
    }
    spec->language = SPEC_PYTHON;
    if (strcmp(s, "javascript") == 0) {
        spec->language = SPEC_JAVASCRIPT;
        name = "main.js";
    } else if (strcmp(s, "python") != 0) {
        return err_usage(err, "language: '%s' is not known; use \"python\" or \"javascript\"",
                         text_of_str(s).s);
    }
    copy = strdup(name);
    if (copy == NULL) {
        return spec_no_memory(err);
    }
    free(spec->program_name);
    spec->program_name = copy;
    return 0;
}

static int take_image(struct spec *spec, json_t *json, struct err *err)
{
    const char *s = NULL;
    int r = get_string(json, "image", &s, err);

    return r < 0 ? r : spec_put_image(spec, s, "image", err);
}

static int take_strings(struct spec *spec, json_t *json, const char *label, struct err *err)
{
    size_t i = 0;
    json_t *item = NULL;
    int r = want(json, JSON_ARRAY, "an array of strings", label, err);

    if (r < 0) {
        return r;
    }
    json_array_foreach(json, i, item)
    {
        char path[LABEL_MAX];
        const char *s = NULL;

        (void)snprintf(path, sizeof(path), "%s[%zu]", label, i);
        r = get_string(item, path, &s, err);
        if (r < 0) {
            return r;
        }
        r = spec_add_arg(spec, s, err);
        if (r < 0) {
            return err_wrap(err, "%s", label);
        }
    }
    return 0;
}

static int take_command(struct spec *spec, json_t *json, struct err *err)
{
    return take_strings(spec, json, "command", err);
}

static int take_args(struct spec *spec, json_t *json, struct err *err)
{
    return take_strings(spec, json, "args", err);
}

static int take_code(struct spec *spec, json_t *json, struct err *err)
{
    return get_bytes(json, false, "code", &spec->program_data, &spec->program_len, err);
}

static int take_code_base64(struct spec *spec, json_t *json, struct err *err)
{
    return get_bytes(json, true, "code_base64", &spec->program_data, &spec->program_len, err);
}

static int take_stdin(struct spec *spec, json_t *json, struct err *err)
{
    return get_bytes(json, false, "stdin", &spec->stdin_data, &spec->stdin_len, err);
}

static int take_stdin_base64(struct spec *spec, json_t *json, struct err *err)
{
    return get_bytes(json, true, "stdin_base64", &spec->stdin_data, &spec->stdin_len, err);
}

static int take_env(struct spec *spec, json_t *json, struct err *err)
{
    const char *key = NULL;
    json_t *item = NULL;
    int r = want(json, JSON_OBJECT, "an object of strings", "env", err);

    if (r < 0) {
        return r;
    }
    json_object_foreach(json, key, item)
    {
        char path[LABEL_MAX];
        const char *value = NULL;
        auto_free char *assignment = NULL;

        (void)snprintf(path, sizeof(path), "env.%s", text_of_str(key).s);
        if (strchr(key, '=') != NULL) {
            return err_usage(err, "env: a variable's name has a '=' in it");
        }
        r = get_string(item, path, &value, err);
        if (r < 0) {
            return r;
        }
        if (asprintf(&assignment, "%s=%s", key, value) < 0) {
            assignment = NULL;
            return spec_no_memory(err);
        }
        r = spec_append_env(spec, assignment, "env", err);
        explicit_bzero(assignment, strlen(assignment));
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

/* Fills input (the caller frees what is in it on failure). */
static int read_file(json_t *json, const char *label, struct spec_input *input, struct err *err)
{
    const char *key = NULL;
    json_t *item = NULL;
    int r = want(json, JSON_OBJECT, "an object with name and content", label, err);

    if (r < 0) {
        return r;
    }
    json_object_foreach(json, key, item)
    {
        char path[2 * LABEL_MAX];
        const char *s = NULL;
        bool base64 = strcmp(key, "content_base64") == 0;

        (void)snprintf(path, sizeof(path), "%s.%s", label, text_of_str(key).s);
        if (strcmp(key, "name") == 0) {
            r = get_string(item, path, &s, err);
            input->name = r == 0 ? strdup(s) : NULL;
            if (r == 0 && input->name == NULL) {
                return spec_no_memory(err);
            }
        } else if (!base64 && strcmp(key, "content") != 0) {
            return err_usage(err, "%s: unknown key; a file has name and content or content_base64",
                             path);
        } else if (input->data != NULL) {
            return err_usage(err, "%s: has content and content_base64; give one of them", label);
        } else {
            r = get_bytes(item, base64, path, &input->data, &input->data_len, err);
        }
        if (r < 0) {
            return r;
        }
    }
    if (input->name == NULL || input->data == NULL) {
        return err_usage(err, "%s: has no %s", label,
                         input->name == NULL ? "name" : "content or content_base64");
    }
    return 0;
}

static int take_files(struct spec *spec, json_t *json, struct err *err)
{
    size_t i = 0;
    json_t *item = NULL;
    int r = want(json, JSON_ARRAY, "an array of objects", "files", err);

    if (r < 0) {
        return r;
    }
    json_array_foreach(json, i, item)
    {
        struct spec_input input = {0};
        char label[LABEL_MAX];

        (void)snprintf(label, sizeof(label), "files[%zu]", i);
        r = read_file(item, label, &input, err);
        if (r == 0) {
            r = spec_append_input(spec, &input, label, err);
        }
        free(input.name);
        free(input.data);
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static const struct spec_limit_info *find_limit(const char *key)
{
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        if (strcmp(spec_limit_infos[i].json, key) == 0) {
            return &spec_limit_infos[i];
        }
    }
    return NULL;
}

static int take_limits(struct spec *spec, json_t *json, struct err *err)
{
    const char *key = NULL;
    json_t *item = NULL;
    int r = want(json, JSON_OBJECT, "an object of integers", "limits", err);

    if (r < 0) {
        return r;
    }
    json_object_foreach(json, key, item)
    {
        const struct spec_limit_info *info = find_limit(key);
        char path[LABEL_MAX];
        uint64_t unit = 0;
        json_int_t v = 0;

        (void)snprintf(path, sizeof(path), "limits.%s", text_of_str(key).s);
        if (info == NULL) {
            return err_usage(err, "%s: there is no such limit", path);
        }
        r = want(item, JSON_INTEGER, "an integer", path, err);
        if (r < 0) {
            return r;
        }
        unit = info->unit == SPEC_UNIT_NS ? NS_PER_MS : 1;
        v = json_integer_value(item);
        if (v < 0 || (uint64_t)v < info->min / unit || (uint64_t)v > info->max / unit) {
            return err_usage(err,
                             "%s: %" PRId64 " is out of range; give an integer from %" PRIu64
                             " to %" PRIu64,
                             path, (int64_t)v, info->min / unit, info->max / unit);
        }
        spec_limit_give(spec, info, (uint64_t)v * unit);
    }
    return 0;
}

static int take_engine(struct spec *spec, json_t *json, struct err *err)
{
    const char *s = NULL;
    int r = get_string(json, "engine", &s, err);

    if (r < 0) {
        return r;
    }
    if (strcmp(s, "auto") == 0) {
        spec->engine = SPEC_ENGINE_AUTO;
    } else if (strcmp(s, "kvm") == 0) {
        spec->engine = SPEC_ENGINE_KVM;
    } else if (strcmp(s, "tcg") == 0) {
        spec->engine = SPEC_ENGINE_TCG;
    } else {
        return err_usage(err, "engine: '%s' is not known; use \"auto\", \"kvm\" or \"tcg\"",
                         text_of_str(s).s);
    }
    return 0;
}

static int take_isolation(struct spec *spec, json_t *json, struct err *err)
{
    const char *s = NULL;
    int r = get_string(json, "isolation", &s, err);

    if (r < 0) {
        return r;
    }
    if (strcmp(s, "hardware") == 0) {
        spec->isolation = SPEC_ISOLATION_HARDWARE;
    } else if (strcmp(s, "emulated") == 0) {
        spec->isolation = SPEC_ISOLATION_EMULATED;
    } else {
        return err_usage(err, "isolation: '%s' is not known; use \"hardware\" or \"emulated\"",
                         text_of_str(s).s);
    }
    return 0;
}

static int get_bool(json_t *json, const char *key, bool *ret, struct err *err)
{
    if (!json_is_boolean(json)) {
        return err_usage(err, "%s: true or false is needed, but this is %s", key, type_name(json));
    }
    *ret = json_is_true(json);
    return 0;
}

static int take_root(struct spec *spec, json_t *json, struct err *err)
{
    return get_bool(json, "root", &spec->root, err);
}

static int take_archive_base64(struct spec *spec, json_t *json, struct err *err)
{
    return get_bytes(json, true, "archive_base64", &spec->archive_data, &spec->archive_len, err);
}

static int take_contract(struct spec *spec, json_t *json, struct err *err)
{
    const char *s = NULL;
    int r = get_string(json, "contract", &s, err);

    return r < 0 ? r : spec_set_contract(spec, s, err);
}

static int take_cold_interpreter(struct spec *spec, json_t *json, struct err *err)
{
    return get_bool(json, "cold_interpreter", &spec->cold_interpreter, err);
}

/* Node.js tells modules from scripts by it. After "language", which sets the usual one. */
static int take_program_name(struct spec *spec, json_t *json, struct err *err)
{
    static const char *const names[] = {"main.py", "main.js", "main.mjs", "main.cjs"};

    size_t first = spec->language == SPEC_PYTHON ? 0 : 1;
    size_t end = spec->language == SPEC_PYTHON ? 1 : ARRAY_LEN(names);
    const char *s = NULL;
    int r = get_string(json, "program_name", &s, err);

    for (size_t i = first; i < end && r == 0; i++) {
        if (strcmp(s, names[i]) == 0) {
            char *copy = strdup(s);

            free(spec->program_name);
            spec->program_name = copy;
            return copy == NULL ? spec_no_memory(err) : 0;
        }
    }
    return r < 0 ? r
                 : err_usage(err,
                             "program_name: '%s' is not possible; Python has main.py, "
                             "JavaScript main.js, main.mjs or main.cjs",
                             text_of_str(s).s);
}

static const struct key {
    const char *name;
    int (*take)(struct spec *spec, json_t *json, struct err *err);
} keys[] = {
    {"language", take_language},
    {"program_name", take_program_name},
    {"image", take_image},
    {"command", take_command},
    {"code", take_code},
    {"code_base64", take_code_base64},
    {"args", take_args},
    {"env", take_env},
    {"stdin", take_stdin},
    {"stdin_base64", take_stdin_base64},
    {"files", take_files},
    {"limits", take_limits},
    {"engine", take_engine},
    {"isolation", take_isolation},
    {"archive_base64", take_archive_base64},
    {"contract", take_contract},
    {"root", take_root},
    {"cold_interpreter", take_cold_interpreter},
};

static bool is_known(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (strcmp(keys[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static const struct spec_extra *find_extra(const struct spec_extras *extras, const char *name)
{
    for (size_t i = 0; i < extras->n; i++) {
        if (strcmp(extras->list[i].name, name) == 0) {
            return &extras->list[i];
        }
    }
    return NULL;
}

static void set_field(char field[SPEC_FIELD_SIZE], const char *name)
{
    (void)snprintf(field, SPEC_FIELD_SIZE, "%s", name);
}

/* Which keys may, must and must not stand together. */
static int check_keys(json_t *json, struct spec_extras *extras, struct err *err)
{
    static const struct {
        const char *one, *other;
    } exclusive[] = {
        {"code", "code_base64"},     {"stdin", "stdin_base64"},  {"language", "command"},
        {"command", "code"},         {"command", "code_base64"}, {"command", "args"},
        {"command", "program_name"},
    };

    const char *key = NULL;
    json_t *item = NULL;

    json_object_foreach(json, key, item)
    {
        if (!is_known(key) && find_extra(extras, key) == NULL) {
            set_field(extras->field, text_of_str(key).s);
            return err_usage(err, "'%s': unknown key", text_of_str(key).s);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(exclusive); i++) {
        if (json_object_get(json, exclusive[i].one) != NULL &&
            json_object_get(json, exclusive[i].other) != NULL) {
            set_field(extras->field, exclusive[i].other);
            return err_usage(err, "'%s' and '%s' exclude each other; give one of them",
                             exclusive[i].one, exclusive[i].other);
        }
    }
    if (json_object_get(json, "command") != NULL) {
        if (json_object_get(json, "image") != NULL) {
            return 0;
        }
        set_field(extras->field, "image");
        return err_usage(err, "'command' needs 'image'; add it");
    }
    if (json_object_get(json, "language") == NULL) {
        set_field(extras->field, "language");
        return err_usage(err, "nothing to run; give 'language' and 'code', or 'image' and "
                              "'command'");
    }
    if (json_object_get(json, "code") == NULL && json_object_get(json, "code_base64") == NULL) {
        set_field(extras->field, "code");
        return err_usage(err, "'language' needs 'code' or 'code_base64'; add it");
    }
    return 0;
}

/* Messages begin with the member's path and ": "; a name from the document may cut it short. */
static void field_of_message(char field[SPEC_FIELD_SIZE], const char *key, const char *msg)
{
    const char *end = strstr(msg, ": ");
    size_t n = end != NULL ? (size_t)(end - msg) : 0;

    set_field(field, key);
    if (strncmp(msg, key, strlen(key)) == 0 && n > strlen(key) && n < SPEC_FIELD_SIZE) {
        memcpy(field, msg, n);
        field[n] = '\0';
    }
}

static int take_extra(const struct spec_extra *extra, const json_t *json, struct err *err)
{
    json_int_t v = 0;
    int r = want(json, JSON_INTEGER, "an integer", extra->name, err);

    if (r < 0) {
        return r;
    }
    v = json_integer_value(json);
    if (v < 0 || (uint64_t)v < extra->min || (uint64_t)v > extra->max) {
        return err_usage(
            err, "%s: %" PRId64 " is out of range; give an integer from %" PRIu64 " to %" PRIu64,
            extra->name, (int64_t)v, extra->min, extra->max);
    }
    *extra->ret = (uint64_t)v;
    return 0;
}

static int take_all(struct spec *spec, json_t *json, struct spec_extras *extras, struct err *err)
{
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        json_t *item = json_object_get(json, keys[i].name);
        int r = item != NULL ? keys[i].take(spec, item, err) : 0;

        if (r < 0) {
            field_of_message(extras->field, keys[i].name, err->msg);
            return r;
        }
    }
    for (size_t i = 0; i < extras->n; i++) {
        const json_t *item = json_object_get(json, extras->list[i].name);
        int r = item != NULL ? take_extra(&extras->list[i], item, err) : 0;

        if (r < 0) {
            set_field(extras->field, extras->list[i].name);
            return r;
        }
    }
    return 0;
}

int spec_from_json_extra(struct spec *spec, const char *text, size_t len,
                         struct spec_extras *extras, struct err *err)
{
    json_auto_t *json = NULL;
    json_error_t error;
    int r = 0;

    extras->field[0] = '\0';
    if (len > SPEC_JSON_MAX) {
        return err_usage(err,
                         "the job has %zu bytes, at most %llu are possible; give large inputs "
                         "as files",
                         len, SPEC_JSON_MAX);
    }
    if (!nesting_ok(text, len)) {
        return err_usage(err, "more than %u levels of objects and arrays; a job needs three",
                         JSON_DEPTH_MAX);
    }
    json = json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (json == NULL) {
        if (json_error_code(&error) == json_error_out_of_memory) {
            return spec_no_memory(err);
        }
        return err_usage(err, "line %d, column %d: %s", error.line, error.column,
                         parse_fault(&error));
    }
    if (!json_is_object(json)) {
        return err_usage(err, "a job must be a JSON object, but this is %s", type_name(json));
    }
    r = check_keys(json, extras, err);
    return r < 0 ? r : take_all(spec, json, extras, err);
}

int spec_from_json(struct spec *spec, const char *text, size_t len, struct err *err)
{
    struct spec_extras none = {.n = 0};

    return spec_from_json_extra(spec, text, len, &none, err);
}

int spec_add_input_data(struct spec *spec, const char *name, const void *data, size_t len,
                        const char *label, struct err *err)
{
    struct spec_input input = {.name = strdup(name), .data = malloc(len + 1), .data_len = len};
    int r = 0;

    if (input.name == NULL || input.data == NULL) {
        r = spec_no_memory(err);
    } else {
        memcpy(input.data, data, len);
        r = spec_append_input(spec, &input, label, err);
    }
    free(input.name);
    free(input.data);
    return r;
}
