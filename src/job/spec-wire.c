/*
 * How it works: every field in one fixed order.  A string or block that may be absent has its
 * length plus one before it, 0 standing for NULL; counts are compared with what the setters allow
 * by the setters themselves.
 */
#include "job/spec-wire.h"

#include <errno.h>
#include <string.h>

#include "job/spec-internal.h"
#include "proto/wire.h"

#define MAGIC 0x31707361u /* "asp1" */

enum flag {
    FLAG_ROOT = 1,
    FLAG_CPU_GIVEN = 2,
    FLAG_OUTPUTS_GIVEN = 4,
    FLAG_COLD_INTERPRETER = 8,
    FLAG_OUT_AS_OWNER = 16,
    FLAGS_ALL = 31
};

/* --- writing --- */

static void put_bytes(struct wire_out *w, const void *data, size_t len)
{
    wire_write_u64(w, data == NULL ? 0 : (uint64_t)len + 1);
    wire_write(w, data, data == NULL ? 0 : len);
}

static void put_string(struct wire_out *w, const char *s)
{
    put_bytes(w, s, s == NULL ? 0 : strlen(s));
}

static void put_strings(struct wire_out *w, char *const *list, size_t n)
{
    wire_write_u64(w, n);
    for (size_t i = 0; i < n; i++) {
        put_string(w, list[i]);
    }
}

int spec_encode(const struct spec *spec, struct buf *out, struct err *err)
{
    struct wire_out w = wire_out_start(out);

    wire_write_u32(&w, MAGIC);
    wire_write_u32(&w, (uint32_t)spec->language);
    wire_write_u32(&w, (uint32_t)spec->engine);
    wire_write_u32(&w, (uint32_t)spec->isolation);
    wire_write_u32(&w, (spec->root ? FLAG_ROOT : 0u) | (spec->cpu_given ? FLAG_CPU_GIVEN : 0u) |
                           (spec->outputs_given ? FLAG_OUTPUTS_GIVEN : 0u) |
                           (spec->cold_interpreter ? FLAG_COLD_INTERPRETER : 0u) |
                           (spec->out_as_owner ? FLAG_OUT_AS_OWNER : 0u));
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        wire_write_u64(&w, spec_limit_get(&spec->limits, &spec_limit_infos[i]));
    }
    put_string(&w, spec->image);
    put_string(&w, spec->program_path);
    put_string(&w, spec->program_name);
    put_string(&w, spec->archive_path);
    put_string(&w, spec->stdin_path);
    put_string(&w, spec->out_dir);
    put_bytes(&w, spec->program_data, spec->program_len);
    put_bytes(&w, spec->archive_data, spec->archive_len);
    put_bytes(&w, spec->stdin_data, spec->stdin_len);
    put_strings(&w, spec->args, spec->n_args);
    put_strings(&w, spec->env, spec->n_env);
    wire_write_u64(&w, spec->n_inputs);
    for (size_t i = 0; i < spec->n_inputs; i++) {
        put_string(&w, spec->inputs[i].name);
        put_string(&w, spec->inputs[i].path);
        put_bytes(&w, spec->inputs[i].data, spec->inputs[i].data_len);
    }
    wire_write_u32(&w, (uint32_t)spec->contract.kind);
    put_strings(&w, spec->contract.names, spec->contract.n_names);
    if (w.error < 0 && out->data != NULL) {
        explicit_bzero(out->data + w.start, out->len - w.start);
    }
    if (wire_out_end(&w) == 0) {
        return 0;
    }
    return w.error == -ENOBUFS
               ? err_set(err, ERR_USAGE, EFBIG,
                         "the job is too large to hand over; give large inputs as files")
               : spec_no_memory(err);
}

/* --- reading: false, and the fault is noted, at the first thing that does not fit --- */

struct reader {
    struct wire_in in;
    const char *fault;
};

static bool bad(struct reader *rd, const char *what)
{
    rd->fault = rd->fault != NULL ? rd->fault : what;
    return false;
}

static bool get_u32(struct reader *rd, uint32_t max, const char *what, uint32_t *ret)
{
    const uint8_t *at = wire_take(&rd->in, 4);

    *ret = at != NULL ? wire_get_u32(at) : 0;
    return (at != NULL && *ret <= max) || bad(rd, what);
}

static bool get_u64(struct reader *rd, uint64_t max, const char *what, uint64_t *ret)
{
    const uint8_t *at = wire_take(&rd->in, 8);

    *ret = at != NULL ? wire_get_u64(at) : 0;
    return (at != NULL && *ret <= max) || bad(rd, what);
}

/* Bytes with a NUL behind them, or NULL. */
static bool get_bytes(struct reader *rd, const char *what, uint8_t **ret, size_t *ret_len)
{
    const uint8_t *at = NULL;
    uint64_t n = 0;

    *ret = NULL;
    *ret_len = 0;
    if (!get_u64(rd, SPEC_WIRE_MAX, what, &n)) {
        return false;
    }
    if (n == 0) {
        return true;
    }
    at = wire_take(&rd->in, (size_t)n - 1);
    *ret = at != NULL ? malloc((size_t)n) : NULL;
    if (*ret == NULL) {
        return bad(rd, at == NULL ? what : "memory");
    }
    memcpy(*ret, at, (size_t)n - 1);
    (*ret)[n - 1] = 0;
    *ret_len = (size_t)n - 1;
    return true;
}

/* *ret is replaced: an initialised spec may have a value there. */
static bool get_string(struct reader *rd, const char *what, char **ret)
{
    uint8_t *s = NULL;
    size_t len = 0;
    bool ok =
        get_bytes(rd, what, &s, &len) && (s == NULL || memchr(s, 0, len) == NULL || bad(rd, what));

    if (!ok) {
        free(s);
        return false;
    }
    free(*ret);
    *ret = (char *)s;
    return true;
}

/* Each string goes through the setter, which checks it and how many there are. */
static bool get_each(struct reader *rd, const char *what, struct spec *spec,
                     int (*add)(struct spec *spec, const char *s, struct err *err))
{
    uint64_t n = 0;
    bool ok = get_u64(rd, UINT32_MAX, what, &n);

    for (uint64_t i = 0; ok && i < n; i++) {
        auto_free char *s = NULL;
        struct err err = ERR_INIT;

        ok = get_string(rd, what, &s) && ((s != NULL && add(spec, s, &err) == 0) || bad(rd, what));
        if (s != NULL) {
            explicit_bzero(s, strlen(s)); /* a variable's value may be a secret */
        }
    }
    return ok;
}

static bool get_inputs(struct reader *rd, struct spec *spec)
{
    static const char what[] = "inputs";
    uint64_t n = 0;
    bool ok = get_u64(rd, SPEC_INPUTS_MAX, what, &n);

    for (uint64_t i = 0; ok && i < n; i++) {
        struct spec_input input = {0};
        struct err err = ERR_INIT;

        ok = get_string(rd, what, &input.name) && get_string(rd, what, &input.path) &&
             get_bytes(rd, what, &input.data, &input.data_len) &&
             ((input.name != NULL && (input.path != NULL) != (input.data != NULL) &&
               spec_append_input(spec, &input, what, &err) == 0) ||
              bad(rd, what));
        free(input.name);
        free(input.path);
        free(input.data);
    }
    return ok;
}

static bool get_contract(struct reader *rd, struct contract *contract)
{
    static const char what[] = "contract";
    static const uint64_t names_max[] = {[CONTRACT_NONE] = 0,
                                         [CONTRACT_FILES] = CONTRACT_NAMES_MAX,
                                         [CONTRACT_JSON] = 1,
                                         [CONTRACT_CSV] = 1,
                                         [CONTRACT_ARCHIVE] = 1};
    static const uint64_t names_min[] = {
        [CONTRACT_JSON] = 1, [CONTRACT_CSV] = 1, [CONTRACT_ARCHIVE] = 0};
    uint32_t kind = 0;
    uint64_t n = 0;
    bool ok = get_u32(rd, CONTRACT_ARCHIVE, what, &kind) &&
              get_u64(rd, names_max[kind], what, &n) && (n >= names_min[kind] || bad(rd, what));

    contract->kind = (enum contract_kind)kind;
    contract->names = ok && n > 0 ? calloc(n, sizeof(char *)) : NULL;
    if (ok && n > 0 && contract->names == NULL) {
        return bad(rd, "memory");
    }
    for (uint64_t i = 0; ok && i < n; i++) {
        ok = get_string(rd, what, &contract->names[i]) &&
             (contract->names[i] != NULL || bad(rd, what));
        contract->n_names += ok;
    }
    return ok;
}

static bool get_limits(struct reader *rd, struct spec *spec)
{
    bool ok = true;

    for (size_t i = 0; ok && i < spec_limit_infos_len; i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];
        uint64_t v = 0;

        ok = get_u64(rd, info->max, "limits", &v) && (v >= info->min || bad(rd, "limits"));
        if (ok) {
            spec_limit_give(spec, info, v);
        }
    }
    return ok;
}

static bool get_head(struct reader *rd, struct spec *spec)
{
    uint32_t v[4] = {0};
    uint32_t flags = 0;
    bool ok = get_u32(rd, UINT32_MAX, "start", &v[0]) && (v[0] == MAGIC || bad(rd, "start")) &&
              get_u32(rd, SPEC_JAVASCRIPT, "language", &v[1]) &&
              get_u32(rd, SPEC_ENGINE_TCG, "engine", &v[2]) &&
              get_u32(rd, SPEC_ISOLATION_HARDWARE, "isolation", &v[3]) &&
              get_u32(rd, FLAGS_ALL, "flags", &flags) && get_limits(rd, spec);

    spec->language = (enum spec_language)v[1];
    spec->engine = (enum spec_engine)v[2];
    spec->isolation = (enum spec_isolation)v[3];
    spec->root = (flags & FLAG_ROOT) != 0;
    spec->cpu_given = (flags & FLAG_CPU_GIVEN) != 0;
    spec->outputs_given = (flags & FLAG_OUTPUTS_GIVEN) != 0;
    spec->cold_interpreter = (flags & FLAG_COLD_INTERPRETER) != 0;
    spec->out_as_owner = (flags & FLAG_OUT_AS_OWNER) != 0;
    return ok;
}

static bool get_all(struct reader *rd, struct spec *spec)
{
    bool ok = get_head(rd, spec) && get_string(rd, "image", &spec->image) &&
              get_string(rd, "program", &spec->program_path) &&
              get_string(rd, "program's name", &spec->program_name) &&
              get_string(rd, "archive", &spec->archive_path) &&
              get_string(rd, "stdin", &spec->stdin_path) &&
              get_string(rd, "output directory", &spec->out_dir) &&
              get_bytes(rd, "program", &spec->program_data, &spec->program_len) &&
              get_bytes(rd, "archive", &spec->archive_data, &spec->archive_len) &&
              get_bytes(rd, "stdin", &spec->stdin_data, &spec->stdin_len) &&
              get_each(rd, "arguments", spec, spec_add_arg) &&
              get_each(rd, "environment", spec, spec_add_env) && get_inputs(rd, spec) &&
              get_contract(rd, &spec->contract);

    return ok && (rd->in.left == 0 || bad(rd, "end"));
}

static int decoded(const struct reader *rd, bool ok, struct err *err)
{
    if (ok) {
        return 0;
    }
    return strcmp(rd->fault, "memory") == 0
               ? spec_no_memory(err)
               : err_set(err, ERR_HOST, EPROTO, "a job that was handed over has a bad '%s'",
                         rd->fault);
}

int spec_decode(struct spec *spec, const uint8_t *data, size_t len, struct err *err)
{
    struct reader rd = {.in = {.at = data, .left = len}};
    bool ok = get_all(&rd, spec);

    return decoded(&rd, ok, err);
}

int spec_decode_head(struct spec *spec, const uint8_t *data, size_t len, struct err *err)
{
    struct reader rd = {.in = {.at = data, .left = len}};
    bool ok = get_head(&rd, spec);

    return decoded(&rd, ok, err);
}
