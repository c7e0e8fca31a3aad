#include "job/spec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "base/str.h"

#include "job/spec-internal.h"
#include "job/text.h"
#include "proto/msg.h"
#include "sys/digest.h"
#include "sys/fd.h"

#define NS_PER_H (3600 * NS_PER_S)

/* The kernel's MAX_ARG_STRLEN without the NUL: a longer one fails in the guest's execve(). */
#define STRING_MAX 131071u
/* What the host itself adds: interpreter, script name, PATH, HOME, LANG, OUT. */
#define HOST_ARGS    4u
#define HOST_ENV     16u
#define HOST_STRINGS 2048u
/* A string's share of MSG_STRINGS_BYTES: the bytes, a NUL and a length field. */
#define STRING_COST 5u

#define LIMIT(field, opt, js, u, d, lo, hi, text)                                            \
    {                                                                                        \
        .option = (opt), .json = (js), .unit = SPEC_UNIT_##u,                                \
        .offset = offsetof(struct spec_limits, field), .def = (d), .min = (lo), .max = (hi), \
        .help = (text)                                                                       \
    }

/*
 * The bounds are what can be enforced, not what is wise: memory starts where a Python still comes
 * up; disk and input end below the fixed device sizes (job/stage.h); stdout and stderr end where
 * the guest's pipes and the JSON result can still hold all of it; in-files ends at
 * SPEC_INPUTS_MAX.
 */
const struct spec_limit_info spec_limit_infos[] = {
    LIMIT(wall_ns, "wall", "wall_ms", NS, 10 * NS_PER_S, NS_PER_MS, 24 * NS_PER_H,
          "time from the program's start to its end, on the host's clock"),
    LIMIT(cpu_ns, "cpu", "cpu_ms", NS, 5 * NS_PER_S, NS_PER_MS, 192 * NS_PER_H,
          "CPU time of the whole machine, measured on the host; on engine tcg 10s if not given"),
    LIMIT(memory_bytes, "memory", "memory_bytes", BYTES, 256 * MIB, 32 * MIB, 64 * GIB,
          "memory of the program and all its processes"),
    LIMIT(vcpus, "vcpus", "vcpus", COUNT, 1, 1, 8, "virtual CPUs"),
    LIMIT(pids, "pids", "pids", COUNT, 64, 1, 32768, "processes and threads at once"),
    LIMIT(disk_bytes, "disk", "disk_bytes", BYTES, 64 * MIB, 4 * MIB, 15 * GIB,
          "size of the filesystem under /work, /out and /tmp"),
    LIMIT(inodes, "inodes", "inodes", COUNT, 4096, 16, MIB, "files and directories on that disk"),
    LIMIT(stdin_bytes, "stdin-bytes", "stdin_bytes", BYTES, 64 * MIB, 1, 16 * GIB,
          "bytes of standard input"),
    LIMIT(stdout_bytes, "stdout", "stdout_bytes", BYTES, MIB, 1, 64 * MIB,
          "bytes of standard output"),
    LIMIT(stderr_bytes, "stderr", "stderr_bytes", BYTES, MIB, 1, 64 * MIB,
          "bytes of standard error"),
    LIMIT(input_bytes, "in-bytes", "input_bytes", BYTES, 64 * MIB, 1, 3 * GIB,
          "bytes of the program and all input files"),
    LIMIT(input_files, "in-files", "input_files", COUNT, 1024, 1, SPEC_INPUTS_MAX, "input files"),
    LIMIT(output_bytes, "out-bytes", "output_bytes", BYTES, 16 * MIB, 1, 4 * GIB,
          "bytes of all output files"),
    LIMIT(output_files, "out-files", "output_files", COUNT, 64, 1, 65536,
          "entries of /out: files, directories and dropped ones"),
    LIMIT(output_depth, "out-depth", "output_depth", COUNT, 16, 1, 64,
          "parts of an output's path: a/b/c has 3"),
};
const size_t spec_limit_infos_len = ARRAY_LEN(spec_limit_infos);

bool spec_disk_is_default(const struct spec_limits *limits)
{
    bool same = true;

    for (size_t i = 0; i < ARRAY_LEN(spec_limit_infos); i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];

        if (info->offset == offsetof(struct spec_limits, disk_bytes) ||
            info->offset == offsetof(struct spec_limits, inodes)) {
            same = same && spec_limit_get(limits, info) == info->def;
        }
    }
    return same;
}

static void limit_put(struct spec_limits *l, const struct spec_limit_info *info, uint64_t value)
{
    *(uint64_t *)(void *)((char *)l + info->offset) = value;
}

void spec_init(struct spec *spec)
{
    *spec = (struct spec){.stdin_fd = -1};
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        limit_put(&spec->limits, &spec_limit_infos[i], spec_limit_infos[i].def);
    }
}

static void free_strings(char **list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        free(list[i]);
    }
    free(list);
}

void spec_fini(struct spec *spec)
{
    free(spec->image);
    free(spec->program_path);
    free(spec->program_data);
    free(spec->program_name);
    free_strings(spec->args, spec->n_args);
    for (size_t i = 0; i < spec->n_env; i++) {
        explicit_bzero(spec->env[i], strlen(spec->env[i])); /* values may be secrets */
    }
    free_strings(spec->env, spec->n_env);
    for (size_t i = 0; i < spec->n_inputs; i++) {
        free(spec->inputs[i].name);
        free(spec->inputs[i].path);
        free(spec->inputs[i].data);
    }
    free(spec->inputs);
    free(spec->archive_path);
    free(spec->archive_data);
    contract_fini(&spec->contract);
    free(spec->stdin_path);
    free(spec->stdin_data);
    fd_close_p(&spec->stdin_fd);
    free(spec->out_dir);
    *spec = (struct spec){.stdin_fd = -1};
}

int spec_no_memory(struct err *err)
{
    return err_set(err, ERR_HOST, ENOMEM, "out of memory reading the job");
}

void spec_limit_give(struct spec *spec, const struct spec_limit_info *info, uint64_t value)
{
    limit_put(&spec->limits, info, value);
    switch (info->offset) {
    case offsetof(struct spec_limits, cpu_ns):
        spec->cpu_given = true;
        break;
    case offsetof(struct spec_limits, output_bytes):
    case offsetof(struct spec_limits, output_files):
    case offsetof(struct spec_limits, output_depth):
        spec->outputs_given = true;
        break;
    default:
        break;
    }
}

bool spec_wants_outputs(const struct spec *spec)
{
    return spec->out_dir != NULL || spec->contract.kind != CONTRACT_NONE || spec->outputs_given;
}

const char *spec_value_text(enum spec_unit unit, uint64_t v, char out[32])
{
    static const struct {
        enum spec_unit unit;
        uint64_t factor;
        const char *suffix;
    } scales[] = {
        {SPEC_UNIT_BYTES, GIB, "G"},        {SPEC_UNIT_BYTES, MIB, "M"},
        {SPEC_UNIT_BYTES, KIB, "K"},        {SPEC_UNIT_BYTES, 1, " bytes"},
        {SPEC_UNIT_NS, 60 * NS_PER_S, "m"}, {SPEC_UNIT_NS, NS_PER_S, "s"},
        {SPEC_UNIT_NS, NS_PER_MS, "ms"},    {SPEC_UNIT_NS, 1, "ns"},
        {SPEC_UNIT_COUNT, 1, ""},
    };

    for (size_t i = 0; i < ARRAY_LEN(scales); i++) {
        if (scales[i].unit == unit && v % scales[i].factor == 0 && v >= scales[i].factor) {
            (void)snprintf(out, 32, "%" PRIu64 "%s", v / scales[i].factor, scales[i].suffix);
            return out;
        }
    }
    (void)snprintf(out, 32, "%" PRIu64, v);
    return out;
}

int spec_limit_fail(const struct spec_limit_info *info, const char *label, const char *shown,
                    const char *why, struct err *err)
{
    char lo[32];
    char hi[32];

    return err_usage(err, "%s: '%s' %s; give a value from %s to %s", label, shown, why,
                     spec_value_text(info->unit, info->min, lo),
                     spec_value_text(info->unit, info->max, hi));
}

static const char *unit_word(enum spec_unit unit)
{
    switch (unit) {
    case SPEC_UNIT_BYTES:
        return "is not a size (bytes, or a whole number with K, M or G)";
    case SPEC_UNIT_NS:
        return "is not a time (seconds, or a number with ms, s or m)";
    case SPEC_UNIT_COUNT:
        break;
    }
    return "is not a whole number";
}

int spec_set_limit(struct spec *spec, const struct spec_limit_info *info, const char *text,
                   struct err *err)
{
    char label[40];
    struct text shown = text_of_str(text);
    uint64_t v = 0;
    int r = 0;

    (void)snprintf(label, sizeof(label), "--%s", info->option);
    switch (info->unit) {
    case SPEC_UNIT_BYTES:
        r = num_parse_size(text, &v);
        break;
    case SPEC_UNIT_NS:
        r = num_parse_duration(text, &v);
        break;
    case SPEC_UNIT_COUNT:
        r = num_parse_u64(text, &v);
        break;
    }
    if (r == -EINVAL) {
        return spec_limit_fail(
            info, label, shown.s,
            text[0] == '-' && text[1] != '\0' ? "is negative" : unit_word(info->unit), err);
    }
    if (r < 0 || v > info->max) {
        return spec_limit_fail(info, label, shown.s, "is more than airlock can enforce", err);
    }
    if (v < info->min) {
        return spec_limit_fail(info, label, shown.s, v == 0 ? "is zero" : "is too small", err);
    }
    spec_limit_give(spec, info, v);
    return 0;
}

static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s);
    size_t m = strlen(suffix);

    return n > m && strcmp(s + n - m, suffix) == 0;
}

int spec_set_program(struct spec *spec, const char *path, struct err *err)
{
    static const struct {
        const char *suffix;
        const char *name;
        enum spec_language language;
    } kinds[] = {
        {".py", "main.py", SPEC_PYTHON},
        {".js", "main.js", SPEC_JAVASCRIPT},
        {".mjs", "main.mjs", SPEC_JAVASCRIPT},
        {".cjs", "main.cjs", SPEC_JAVASCRIPT},
    };

    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        auto_free char *copy = NULL;
        auto_free char *name = NULL;

        if (!ends_with(path, kinds[i].suffix)) {
            continue;
        }
        copy = strdup(path);
        name = strdup(kinds[i].name);
        if (copy == NULL || name == NULL) {
            return spec_no_memory(err);
        }
        free(spec->program_path);
        free(spec->program_name);
        spec->program_path = STEAL_PTR(&copy);
        spec->program_name = STEAL_PTR(&name);
        spec->language = kinds[i].language;
        return 0;
    }
    return err_usage(err,
                     "'%s': what language is this? Name the script *.py, *.js, *.mjs or *.cjs, or "
                     "use --image IMAGE -- COMMAND",
                     text_of_str(path).s);
}

/* Appends a copy of s to a NULL-terminated list. */
static int append(char ***list, size_t *n, const char *s, struct err *err)
{
    auto_free char *copy = strdup(s);
    char **grown = NULL;

    if (copy == NULL) {
        return spec_no_memory(err);
    }
    grown = reallocarray(*list, *n + 2, sizeof(**list));
    if (grown == NULL) {
        return spec_no_memory(err);
    }
    *list = grown;
    grown[*n] = STEAL_PTR(&copy);
    (*n)++;
    grown[*n] = NULL;
    return 0;
}

int spec_add_arg(struct spec *spec, const char *arg, struct err *err)
{
    if (spec->n_args >= MSG_ARGS_MAX - HOST_ARGS) {
        return err_usage(err,
                         "more than %u arguments for the program; put them in a file and pass it "
                         "with --in",
                         MSG_ARGS_MAX - HOST_ARGS);
    }
    if (strlen(arg) > STRING_MAX) {
        return err_usage(err,
                         "argument %zu of the program has %zu bytes, at most %u are possible; put "
                         "it in a file and pass it with --in",
                         spec->n_args + 1, strlen(arg), STRING_MAX);
    }
    return append(&spec->args, &spec->n_args, arg, err);
}

static bool env_name_ok(const char *name, size_t len)
{
    if (len == 0 || len > SPEC_NAME_MAX || (name[0] >= '0' && name[0] <= '9')) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        char c = name[i];

        if (!(c == '_' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
              (c >= 'a' && c <= 'z'))) {
            return false;
        }
    }
    return true;
}

/* No message here may hold a value: a text without '=' may be one, so it isn't shown either. */
int spec_append_env(struct spec *spec, const char *assignment, const char *label, struct err *err)
{
    const char *eq = strchr(assignment, '=');
    size_t len = eq == NULL ? 0 : (size_t)(eq - assignment);

    if (eq == NULL) {
        return err_usage(err, "%s: the text given has no '='; write NAME=VALUE", label);
    }
    if (!env_name_ok(assignment, len)) {
        return err_usage(err,
                         "%s: '%s' is not a variable name; use letters, digits and '_', not "
                         "beginning with a digit, at most %u",
                         label, text_of(assignment, len).s, SPEC_NAME_MAX);
    }
    if (strlen(assignment) > STRING_MAX) {
        return err_usage(err,
                         "%s: %.*s has %zu bytes with its value, at most %u are possible; pass "
                         "it in a file with --in",
                         label, (int)len, assignment, strlen(assignment), STRING_MAX);
    }
    if (spec->n_env >= MSG_ENV_MAX - HOST_ENV) {
        return err_usage(err, "%s: more than %u environment variables", label,
                         MSG_ENV_MAX - HOST_ENV);
    }
    for (size_t i = 0; i < spec->n_env; i++) {
        if (strncmp(spec->env[i], assignment, len + 1) == 0) {
            return err_usage(err, "%s: %.*s is given twice; give it once", label, (int)len,
                             assignment);
        }
    }
    return append(&spec->env, &spec->n_env, assignment, err);
}

int spec_add_env(struct spec *spec, const char *assignment, struct err *err)
{
    return spec_append_env(spec, assignment, "--env", err);
}

/* NULL, or what is wrong with a name in /in. */
static const char *name_fault(const char *name)
{
    size_t len = strlen(name);

    if (len == 0) {
        return "is empty";
    }
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        return "is not a file name";
    }
    if (len > SPEC_NAME_MAX) {
        return "is longer than 255 bytes";
    }
    if (strchr(name, '/') != NULL) {
        return "has a '/' in it";
    }
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)name[i] < 0x20 || name[i] == 0x7f) {
            return "has a control character in it";
        }
    }
    return str_is_utf8(name, len) ? NULL : "is not valid UTF-8";
}

int spec_append_input(struct spec *spec, struct spec_input *take_input, const char *label,
                      struct err *err)
{
    const char *fault = name_fault(take_input->name);
    struct spec_input *grown = NULL;

    if (fault != NULL) {
        return err_usage(err, "%s: the name '%s' %s; it must be a plain file name%s", label,
                         text_of_str(take_input->name).s, fault,
                         take_input->path != NULL ? " (--in FILE:NAME, the last ':' separates)"
                                                  : "");
    }
    if (spec->n_inputs >= SPEC_INPUTS_MAX) {
        return err_usage(err, "more than %u input files; pack them into fewer", SPEC_INPUTS_MAX);
    }
    grown = reallocarray(spec->inputs, spec->n_inputs + 1, sizeof(*grown));
    if (grown == NULL) {
        return spec_no_memory(err);
    }
    spec->inputs = grown;
    grown[spec->n_inputs++] = *take_input;
    *take_input = (struct spec_input){0};
    return 0;
}

int spec_add_input(struct spec *spec, const char *arg, struct err *err)
{
    const char *colon = strrchr(arg, ':');
    size_t path_len = colon == NULL ? strlen(arg) : (size_t)(colon - arg);
    auto_free char *path = strndup(arg, path_len);
    auto_free char *name = NULL;
    struct spec_input input = {0};
    char label[TEXT_MAX + 16];
    int r = 0;

    if (path == NULL) {
        return spec_no_memory(err);
    }
    if (path_len == 0) {
        return err_usage(err, "--in '%s': no file is named; write --in FILE or --in FILE:NAME",
                         text_of_str(arg).s);
    }
    if (colon != NULL) {
        name = strdup(colon + 1);
    } else {
        const char *slash = strrchr(path, '/');

        name = strdup(slash == NULL ? path : slash + 1);
    }
    if (name == NULL) {
        return spec_no_memory(err);
    }
    (void)snprintf(label, sizeof(label), "--in '%s'", text_of_str(arg).s);
    input = (struct spec_input){.name = name, .path = path};
    r = spec_append_input(spec, &input, label, err);
    if (r == 0) {
        name = NULL;
        path = NULL;
    }
    return r;
}

int spec_set_archive(struct spec *spec, const char *path, struct err *err)
{
    char *copy = NULL;

    if (*path == '\0') {
        return err_usage(err,
                         "--in-archive: an empty name; name a .tar, .tar.gz, .tar.zst or .zip");
    }
    if (spec->archive_path != NULL) {
        return err_usage(err, "--in-archive is given twice; pack it all into one archive");
    }
    copy = strdup(path);
    if (copy == NULL) {
        return spec_no_memory(err);
    }
    spec->archive_path = copy;
    return 0;
}

int spec_set_contract(struct spec *spec, const char *text, struct err *err)
{
    struct contract parsed = {0};
    int r = contract_parse(text, &parsed, err);

    if (r == 0) {
        contract_fini(&spec->contract);
        spec->contract = parsed;
    }
    return r;
}

bool spec_image_name_ok(const char *s, size_t len)
{
    if (len == 0 || len > 64) {
        return false;
    }
    for (size_t i = 0; i < len; i++) {
        bool word = (s[i] >= 'a' && s[i] <= 'z') || (s[i] >= '0' && s[i] <= '9');

        if (!word && (i == 0 || strchr("._-", s[i]) == NULL)) {
            return false;
        }
    }
    return true;
}

int spec_put_image(struct spec *spec, const char *image, const char *label, struct err *err)
{
    static const char prefix[] = "@sha256:";
    const char *at = strchr(image, '@');
    size_t len = at == NULL ? strlen(image) : (size_t)(at - image);
    char *copy = NULL;

    if (!spec_image_name_ok(image, len)) {
        return err_usage(err,
                         "%s '%s': not an image name; use lower-case letters, digits, '.', "
                         "'_' and '-', at most 64 (`airlock image list` shows what there is)",
                         label, text_of_str(image).s);
    }
    if (at != NULL &&
        (strncmp(at, prefix, sizeof(prefix) - 1) != 0 || !digest_is_hex(at + sizeof(prefix) - 1))) {
        return err_usage(err,
                         "%s '%s': after the name comes nothing or @sha256: and 64 lower-case "
                         "hex digits",
                         label, text_of_str(image).s);
    }
    copy = strdup(image);
    if (copy == NULL) {
        return spec_no_memory(err);
    }
    free(spec->image);
    spec->image = copy;
    return 0;
}

int spec_set_image(struct spec *spec, const char *image, struct err *err)
{
    return spec_put_image(spec, image, "--image", err);
}

static const char *source_of(const struct spec_input *input)
{
    return input->path != NULL ? input->path : "inline content";
}

static int check_inputs(const struct spec *spec, struct err *err)
{
    if (spec->n_inputs > spec->limits.input_files) {
        return err_usage(err, "%zu input files, but --in-files allows %" PRIu64 "; raise it",
                         spec->n_inputs, spec->limits.input_files);
    }
    for (size_t i = 1; i < spec->n_inputs; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(spec->inputs[i].name, spec->inputs[k].name) == 0) {
                return err_usage(err,
                                 "two inputs are named '%s': '%s' and '%s'; give one another name "
                                 "with --in FILE:NAME",
                                 text_of_str(spec->inputs[i].name).s,
                                 text_of_str(source_of(&spec->inputs[k])).s,
                                 text_of_str(source_of(&spec->inputs[i])).s);
            }
        }
    }
    return 0;
}

static int check_program(const struct spec *spec, struct err *err)
{
    bool has_program = spec->program_path != NULL || spec->program_data != NULL;

    if (spec->language == SPEC_COMMAND) {
        if (has_program) {
            return err_usage(err, "both a script and a command; give one of them");
        }
        if (spec->n_args == 0 || spec->args[0][0] == '\0') {
            return err_usage(err, "nothing to run; name a script (*.py, *.js) or a command after "
                                  "--image IMAGE --");
        }
        if (spec->image == NULL) {
            return err_usage(err, "a command needs an image; add --image IMAGE (`airlock image "
                                  "list` shows what there is)");
        }
        return 0;
    }
    if (!has_program || spec->program_name == NULL) {
        return err_usage(err, "nothing to run; name a script (*.py, *.js) or give code");
    }
    if (spec->program_path != NULL && spec->program_data != NULL) {
        return err_usage(err, "both a script file and code; give one of them");
    }
    return 0;
}

static size_t strings_cost(char *const *list, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        sum += strlen(list[i]) + STRING_COST;
    }
    return sum;
}

static int check_limits(const struct spec *spec, struct err *err)
{
    const struct spec_limits *l = &spec->limits;

    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];
        uint64_t v = spec_limit_get(l, info);
        char label[40];
        char shown[32];

        if (v >= info->min && v <= info->max) {
            continue;
        }
        (void)snprintf(label, sizeof(label), "--%s", info->option);
        (void)spec_value_text(info->unit, v, shown);
        return spec_limit_fail(info, label, shown, "is out of range", err);
    }
    if (l->inodes > l->disk_bytes / SPEC_DISK_BYTES_PER_INODE) {
        return err_usage(err,
                         "--inodes %" PRIu64 ": too many for --disk of %" PRIu64
                         " bytes; at most one for each %u bytes",
                         l->inodes, l->disk_bytes, SPEC_DISK_BYTES_PER_INODE);
    }
    if (spec->stdin_data != NULL && spec->stdin_len > l->stdin_bytes) {
        return err_usage(err, "stdin has %zu bytes, but --stdin-bytes allows %" PRIu64 "; raise it",
                         spec->stdin_len, l->stdin_bytes);
    }
    return 0;
}

int spec_check(const struct spec *spec, struct err *err)
{
    size_t strings = strings_cost(spec->args, spec->n_args) + strings_cost(spec->env, spec->n_env) +
                     HOST_STRINGS;
    int r = check_program(spec, err);

    if (r == 0) {
        r = check_inputs(spec, err);
    }
    if (r == 0) {
        r = check_limits(spec, err);
    }
    if (r == 0 && strings > MSG_STRINGS_BYTES) {
        r = err_usage(err,
                      "arguments and environment together have %zu bytes, at most %u are possible; "
                      "put large ones in a file and pass it with --in",
                      strings, MSG_STRINGS_BYTES);
    }
    return r;
}
