#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/str.h"

#include "cli/remote.h"
#include "job/json-build.h"
#include "job/text.h"

#define TYPE_BYTES "application/octet-stream"

void remote_body_fini(struct remote_body *body)
{
    if (body->json != NULL) {
        explicit_bzero(body->json, strlen(body->json));
    }
    free(body->json);
    free(body->parts);
    *body = (struct remote_body){0};
}

/* JSON is UTF-8; whoever needs other bytes can give them as a file. */
static int check_text(const char *what, size_t i, const char *text, struct err *err)
{
    if (str_is_utf8(text, strlen(text))) {
        return 0;
    }
    return err_usage(err,
                     "%s %zu is not UTF-8, which is all that can be sent to a daemon; put such "
                     "bytes in a file and give it with --in",
                     what, i + 1);
}

static int set_program(struct builder *b, json_t *root, const struct spec *spec, struct err *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < spec->n_args; i++) {
        int r = check_text("argument", i, spec->args[i], err);

        if (r < 0) {
            json_decref(list);
            return r;
        }
        append(b, list, json_string(spec->args[i]));
    }
    set(b, root, spec->language == SPEC_COMMAND ? "command" : "args", list);
    if (spec->language == SPEC_COMMAND) {
        return 0;
    }
    set(b, root, "language", json_string(spec->language == SPEC_PYTHON ? "python" : "javascript"));
    if (strcmp(spec->program_name, "main.mjs") == 0 ||
        strcmp(spec->program_name, "main.cjs") == 0) {
        set(b, root, "program_name", json_string(spec->program_name));
    }
    if (str_is_utf8(spec->program_data, spec->program_len)) {
        set(b, root, "code", json_stringn((const char *)spec->program_data, spec->program_len));
    } else {
        set(b, root, "code_base64", json_base64(spec->program_data, spec->program_len));
    }
    return 0;
}

static int set_env(struct builder *b, json_t *root, const struct spec *spec, struct err *err)
{
    json_t *env = json_object();
    int r = 0;

    for (size_t i = 0; i < spec->n_env && r == 0; i++) {
        const char *equals = strchr(spec->env[i], '=');
        size_t n = equals != NULL ? (size_t)(equals - spec->env[i]) : 0;
        auto_free char *name = strndup(spec->env[i], n);

        r = check_text("variable", i, spec->env[i], err);
        if (r == 0 && name != NULL && equals != NULL) {
            set(b, env, name, json_string(equals + 1));
        } else if (r == 0) {
            b->failed = true;
        }
    }
    if (r < 0 || spec->n_env == 0) {
        json_decref(env);
    } else {
        set(b, root, "env", env);
    }
    return r;
}

static bool is_output_cap(const struct spec_limit_info *info)
{
    return info->offset == offsetof(struct spec_limits, output_bytes) ||
           info->offset == offsetof(struct spec_limits, output_files) ||
           info->offset == offsetof(struct spec_limits, output_depth);
}

/* What the caller gave, since giving the default means more than leaving it out. */
static bool limit_is_told(const struct spec *spec, const struct spec_limit_info *info)
{
    if (info->offset == offsetof(struct spec_limits, cpu_ns)) {
        return spec->cpu_given;
    }
    if (is_output_cap(info) && spec->outputs_given) {
        return true;
    }
    return spec_limit_get(&spec->limits, info) != info->def;
}

static int set_limits(struct builder *b, json_t *root, const struct spec *spec, struct err *err)
{
    json_t *limits = json_object();
    int r = 0;

    for (size_t i = 0; i < spec_limit_infos_len && r == 0; i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];
        uint64_t v = spec_limit_get(&spec->limits, info);
        uint64_t unit = info->unit == SPEC_UNIT_NS ? NS_PER_MS : 1;

        if (!limit_is_told(spec, info)) {
            continue;
        }
        if (v % unit != 0) {
            r = err_usage(err, "--%s: a daemon counts whole milliseconds; round it", info->option);
        } else {
            set(b, limits, info->json, integer(v / unit));
        }
    }
    if (r < 0 || json_object_size(limits) == 0) {
        json_decref(limits);
    } else {
        set(b, root, "limits", limits);
    }
    return r;
}

/* As --contract has it: KIND, or KIND:NAME,... */
static int set_contract(struct builder *b, json_t *root, const struct spec *spec, struct err *err)
{
    static const char *const kinds[] = {[CONTRACT_FILES] = "files",
                                        [CONTRACT_JSON] = "json",
                                        [CONTRACT_CSV] = "csv",
                                        [CONTRACT_ARCHIVE] = "archive"};

    const struct contract *c = &spec->contract;
    auto_buf struct buf text = BUF_INIT(MIB);
    int r = 0;

    if (c->kind == CONTRACT_NONE) {
        return 0;
    }
    r = buf_printf(&text, "%s", kinds[c->kind]);
    for (size_t i = 0; i < c->n_names && r == 0; i++) {
        r = check_text("the name of the contract", i, c->names[i], err);
        if (r < 0) {
            return r;
        }
        r = buf_printf(&text, "%c%s", i == 0 ? ':' : ',', c->names[i]);
    }
    b->failed = b->failed || r < 0;
    if (r == 0) {
        set(b, root, "contract", json_string((const char *)text.data));
    }
    return 0;
}

static void set_rest(struct builder *b, json_t *root, const struct spec *spec,
                     const struct remote_terms *terms)
{
    if (spec->image != NULL) {
        set(b, root, "image", json_string(spec->image));
    }
    if (spec->engine != SPEC_ENGINE_AUTO) {
        set(b, root, "engine", json_string(spec->engine == SPEC_ENGINE_KVM ? "kvm" : "tcg"));
    }
    if (spec->isolation == SPEC_ISOLATION_HARDWARE) {
        set(b, root, "isolation", json_string("hardware"));
    }
    if (spec->root) {
        set(b, root, "root", json_true());
    }
    if (spec->cold_interpreter) {
        set(b, root, "cold_interpreter", json_true());
    }
    if (terms->has_priority) {
        set(b, root, "priority", integer(terms->priority));
    }
    if (terms->deadline_ms > 0) {
        set(b, root, "deadline_ms", integer(terms->deadline_ms));
    }
}

static int build_json(const struct spec *spec, const struct remote_terms *terms, char **ret,
                      struct err *err)
{
    struct builder b = {0};
    json_t *root = json_object();
    int r = set_program(&b, root, spec, err);

    if (r == 0) {
        r = set_env(&b, root, spec, err);
    }
    if (r == 0) {
        r = set_limits(&b, root, spec, err);
    }
    if (r == 0) {
        r = set_contract(&b, root, spec, err);
    }
    if (r == 0) {
        set_rest(&b, root, spec, terms);
        *ret = b.failed ? NULL : json_dumps(root, JSON_COMPACT);
        r = *ret != NULL ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory for the request");
    }
    json_decref(root);
    return r;
}

/* It becomes part of a header. */
static int check_name(size_t i, const char *name, struct err *err)
{
    for (const unsigned char *p = (const unsigned char *)name; *p != '\0'; p++) {
        if (*p < 0x20 || *p == 0x7f) {
            return err_usage(err,
                             "the name of input %zu has a control character in it; give it another "
                             "with --in FILE:NAME",
                             i + 1);
        }
    }
    return check_text("the name of input", i, name, err);
}

static int add_parts(const struct spec *spec, struct remote_body *body, struct err *err)
{
    size_t n = 0;

    body->parts = calloc(spec->n_inputs + 3, sizeof(*body->parts));
    if (body->parts == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for the request");
    }
    body->parts[n++] = (struct http_part){
        .name = "job", .type = "application/json", .data = body->json, .len = strlen(body->json)};
    for (size_t i = 0; i < spec->n_inputs; i++) {
        const struct spec_input *in = &spec->inputs[i];
        int r = check_name(i, in->name, err);

        if (r < 0) {
            return r;
        }
        body->parts[n++] = (struct http_part){.name = "file",
                                              .filename = in->name,
                                              .type = TYPE_BYTES,
                                              .data = in->data,
                                              .len = in->data_len};
    }
    if (spec->stdin_data != NULL) {
        body->parts[n++] = (struct http_part){
            .name = "stdin", .type = TYPE_BYTES, .data = spec->stdin_data, .len = spec->stdin_len};
    }
    if (spec->archive_data != NULL) {
        body->parts[n++] = (struct http_part){.name = "archive",
                                              .type = TYPE_BYTES,
                                              .data = spec->archive_data,
                                              .len = spec->archive_len};
    }
    body->n_parts = n > 1 ? n : 0;
    return 0;
}

int remote_body_build(const struct spec *spec, const struct remote_terms *terms,
                      struct remote_body *ret, struct err *err)
{
    auto_remote_body struct remote_body body = {0};
    int r = build_json(spec, terms, &body.json, err);

    if (r == 0) {
        r = add_parts(spec, &body, err);
    }
    if (r == 0) {
        body.key = terms->key;
        *ret = body;
        body = (struct remote_body){0};
    }
    return r;
}
