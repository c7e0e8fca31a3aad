#include "job/record.h"

#include <time.h>

#include "job/result-internal.h"
#include "sys/clock.h"

const char *record_time(uint64_t realtime_ns, char text[40])
{
    time_t s = (time_t)(realtime_ns / NS_PER_S);
    struct tm tm = {0};
    size_t n = gmtime_r(&s, &tm) != NULL ? strftime(text, 40, "%Y-%m-%dT%H:%M:%S", &tm) : 0;

    (void)snprintf(text + n, 40 - n, ".%06uZ", (unsigned int)(realtime_ns % NS_PER_S / 1000));
    return text;
}

static json_t *time_or_null(uint64_t realtime_ns)
{
    char text[40];

    return realtime_ns != 0 ? json_string(record_time(realtime_ns, text)) : json_null();
}

static json_t *file(struct builder *b, uint64_t bytes, const struct digest *digest)
{
    json_t *o = json_object();

    if (o != NULL) {
        set(b, o, "bytes", integer(bytes));
        set(b, o, "digest", digest_text(digest));
    }
    return o;
}

static json_t *program(struct builder *b, const struct result *r)
{
    return r->stage != NULL && r->stage->program.name != NULL
               ? file(b, r->stage->program.bytes, &r->stage->program.digest)
               : json_null();
}

static json_t *stdin_file(struct builder *b, const struct record *rec)
{
    return rec->has_stdin ? file(b, rec->stdin_bytes, &rec->stdin_digest) : json_null();
}

static json_t *input_files(struct builder *b, const struct result *r)
{
    json_t *a = json_array();

    for (size_t i = 0; a != NULL && r->stage != NULL && i < r->stage->n_inputs; i++) {
        append(b, a, file(b, r->stage->inputs[i].bytes, &r->stage->inputs[i].digest));
    }
    return a;
}

static json_t *output_files(struct builder *b, const struct result *r, uint64_t *ret_total)
{
    json_t *a = json_array();

    for (size_t i = 0; a != NULL && r->outputs != NULL && i < r->outputs->n_items; i++) {
        const struct output_item *item = &r->outputs->items[i];

        if (!item->is_dir && (*ret_total)++ < RECORD_FILES_MAX) {
            append(b, a, file(b, item->bytes, &item->digest));
        }
    }
    return a;
}

static const char *language(enum spec_language l)
{
    return l == SPEC_PYTHON ? "python" : l == SPEC_JAVASCRIPT ? "javascript" : "command";
}

static const char *engine(enum spec_engine e)
{
    return e == SPEC_ENGINE_KVM ? "kvm" : e == SPEC_ENGINE_TCG ? "tcg" : "auto";
}

/* Any bytes but NUL, the same for the same bytes: what is not UTF-8 is escaped. */
static json_t *strings(struct builder *b, char *const *list, size_t n, const char *until)
{
    json_t *a = json_array();

    for (size_t i = 0; a != NULL && i < n; i++) {
        size_t len = strcspn(list[i], until);
        auto_buf struct buf shown = BUF_INIT(8 * len + 1);

        if (str_escape(&shown, list[i], len, false) < 0) {
            b->failed = true;
            break;
        }
        append(b, a, json_stringn(shown.data != NULL ? (const char *)shown.data : "", shown.len));
    }
    return a;
}

static json_t *named_inputs(struct builder *b, const struct result *r)
{
    json_t *a = input_files(b, r);

    for (size_t i = 0; a != NULL && i < json_array_size(a); i++) {
        set(b, json_array_get(a, i), "name", printable(r->stage->inputs[i].name));
    }
    return a;
}

static json_t *limits_json(struct builder *b, const struct spec_limits *l)
{
    json_t *o = json_object();

    for (size_t i = 0; o != NULL && i < spec_limit_infos_len; i++) {
        set(b, o, spec_limit_infos[i].json, integer(spec_limit_get(l, &spec_limit_infos[i])));
    }
    return o;
}

int record_spec_digest(const struct result *r, const struct record *rec, struct digest *ret,
                       struct err *err)
{
    /* Arguments and names are bounded by what a JOB takes, and escaped at most eightfold. */
    auto_buf struct buf text = BUF_INIT(16 * MIB);
    struct builder builder = {0};
    struct builder *b = &builder;
    const struct spec *spec = r->spec;
    json_t *o = json_object();
    int n = 0;

    if (o == NULL) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for the digest of the job");
    }
    set(b, o, "args", strings(b, spec->args, spec->n_args, ""));
    set(b, o, "cold_interpreter", json_boolean(spec->cold_interpreter));
    set(b, o, "engine", json_string(engine(spec->engine)));
    set(b, o, "env", strings(b, spec->env, spec->n_env, "="));
    set(b, o, "image", digest_text(&r->root));
    set(b, o, "inputs", named_inputs(b, r));
    set(b, o, "isolation",
        json_string(spec->isolation == SPEC_ISOLATION_HARDWARE ? "hardware" : "emulated"));
    set(b, o, "language", json_string(language(spec->language)));
    set(b, o, "limits", limits_json(b, &spec->limits));
    set(b, o, "program", program(b, r));
    set(b, o, "root", json_boolean(spec->root));
    set(b, o, "stdin", stdin_file(b, rec));
    n = json_dump_callback(o, json_to_buf, &text, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(o);
    if (b->failed || n < 0) {
        return err_set(err, ERR_HOST, ENOMEM, "out of memory for the digest of the job");
    }
    digest_of_data(text.data, text.len, ret);
    return 0;
}

/* What was asked for, counted. */
static json_t *spec_json(struct builder *b, const struct result *r, const struct record *rec)
{
    struct digest digest = {0};
    struct err ignored = ERR_INIT;
    json_t *o = json_object();

    if (o == NULL) {
        return NULL;
    }
    /* Files are in it by their digests, so without a stage there is none. */
    if (r->stage != NULL && record_spec_digest(r, rec, &digest, &ignored) < 0) {
        b->failed = true;
    }
    set(b, o, "digest", digest_text(&digest));
    set(b, o, "language", json_string(language(r->spec->language)));
    set(b, o, "engine", json_string(engine(r->spec->engine)));
    set(b, o, "root", json_boolean(r->spec->root));
    set(b, o, "args", integer(r->spec->n_args));
    set(b, o, "env", integer(r->spec->n_env));
    return o;
}

/* Texts of events quote file names, consoles and programs: what they mean is in kind and reason. */
static json_t *event_list(struct builder *b, const struct events *ev)
{
    json_t *a = json_array();

    for (size_t i = 0; a != NULL && i < ev->n; i++) {
        json_t *o = json_object();

        if (o != NULL) {
            set(b, o, "kind", json_string(event_name(ev->list[i].kind)));
            set(b, o, "source", json_string(event_source(ev->list[i].kind)));
            set(b, o, "at_ns", integer(ev->list[i].at_ns));
            set(b, o, "reason", text_or_null(ev->list[i].reason));
        }
        append(b, a, o);
    }
    return a;
}

static json_t *stream(struct builder *b, const struct result_stream *s)
{
    json_t *o = json_object();

    if (o != NULL) {
        set(b, o, "bytes", integer(s->bytes));
        set(b, o, "truncated", json_boolean(s->truncated));
    }
    return o;
}

static void set_verdict(struct builder *b, json_t *root, const struct result *r)
{
    struct verdict v = verdict_decide(r->events);
    const struct msg_exit *e = r->events->has_exit ? &r->events->exit : NULL;
    char text[24];

    set(b, root, "verdict", json_string(verdict_name(v.verdict)));
    set(b, root, "reason", text_or_null(v.reason));
    set(b, root, "exit_code",
        e != NULL && !e->signaled ? json_integer((json_int_t)e->code) : json_null());
    set(b, root, "signal",
        e != NULL && e->signaled ? json_string(signal_name(e->code, text)) : json_null());
}

static void set_files(struct builder *b, json_t *root, const struct result *r,
                      const struct record *rec)
{
    uint64_t n_outputs = 0;

    set(b, root, "program", program(b, r));
    set(b, root, "inputs", input_files(b, r));
    set(b, root, "stdin", stdin_file(b, rec));
    set(b, root, "stdout", stream(b, &r->out));
    set(b, root, "stderr", stream(b, &r->err));
    set(b, root, "outputs", output_files(b, r, &n_outputs));
    set(b, root, "outputs_total", integer(n_outputs));
    set(b, root, "dropped_total",
        integer(r->outputs != NULL ? r->outputs->n_dropped + r->outputs->n_dropped_more : 0));
    set(b, root, "exported", json_boolean(r->outputs_exported));
}

int record_json(const struct result *r, const struct record *rec, struct buf *out)
{
    static const char *const states[] = {
        [RECORD_ENDING] = "ending",
        [RECORD_FINISHED] = "finished",
        [RECORD_LOST] = "lost",
    };

    static const char *const unknown[] = {
        "spec",          "program",       "inputs",   "stdin",  "stdout", "stderr", "outputs",
        "outputs_total", "dropped_total", "exported", "limits", "phases", "peaks",  "machine",
    };

    struct builder builder = {0};
    struct builder *b = &builder;
    json_t *root = json_object();

    if (root == NULL) {
        return -ENOMEM;
    }
    set(b, root, "record", json_integer(RECORD_VERSION));
    set(b, root, "id", json_string(r->machine_id));
    set(b, root, "state", json_string(states[rec->state]));
    set(b, root, "airlock", json_string(AIRLOCK_VERSION));
    set(b, root, "submitted", time_or_null(rec->submitted_realtime_ns));
    set(b, root, "written", time_or_null(clock_ns(CLOCK_REALTIME)));
    set(b, root, "written_by", json_string(rec->written_by));
    set_verdict(b, root, r);
    set(b, root, "spec", spec_json(b, r, rec));
    set_files(b, root, r, rec);
    set(b, root, "events", event_list(b, r->events));
    result_set_evidence(b, root, r);
    for (size_t i = 0; rec->id_only && i < ARRAY_LEN(unknown); i++) {
        set(b, root, unknown[i], json_null());
    }
    return json_finish(b, root, out);
}
