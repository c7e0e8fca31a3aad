#include "job/result.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"

#include "job/result-internal.h"

/* A name from the guest: as it is if it is UTF-8, else escaped, with the exact bytes beside it. */
static void set_name(struct builder *b, json_t *object, const uint8_t *name, size_t len)
{
    auto_buf struct buf shown = BUF_INIT(8 * len + 1);

    if (str_is_utf8(name, len)) {
        set(b, object, "name", json_stringn((const char *)name, len));
        return;
    }
    if (str_escape(&shown, name, len, false) < 0) {
        b->failed = true;
        return;
    }
    set(b, object, "name", json_stringn((const char *)shown.data, shown.len));
    set(b, object, "name_base64", json_base64(name, len));
}

static json_t *stream(struct builder *b, const struct result_stream *s)
{
    static const uint8_t nothing[1];
    json_t *o = json_object();
    const uint8_t *data = s->data != NULL ? s->data : nothing;

    if (o == NULL) {
        return NULL;
    }
    if (s->data == NULL && s->bytes > 0) {
        set(b, o, "encoding", json_null());
        set(b, o, "data", json_null());
    } else if (str_is_utf8(data, s->bytes)) {
        set(b, o, "encoding", json_string("utf8"));
        set(b, o, "data", json_stringn((const char *)data, s->bytes));
    } else {
        set(b, o, "encoding", json_string("base64"));
        set(b, o, "data", json_base64(data, s->bytes));
    }
    set(b, o, "bytes", integer(s->bytes));
    set(b, o, "truncated", json_boolean(s->truncated));
    return o;
}

static json_t *outputs_list(struct builder *b, const struct outputs *outputs)
{
    json_t *a = json_array();

    for (size_t i = 0; a != NULL && outputs != NULL && i < outputs->n_items; i++) {
        const struct output_item *item = &outputs->items[i];
        json_t *o = NULL;

        if (item->is_dir) {
            continue;
        }
        o = json_object();
        if (o != NULL) {
            set_name(b, o, item->name, item->name_len);
            set(b, o, "bytes", integer(item->bytes));
            set(b, o, "sha256", json_string(item->digest.hex));
        }
        append(b, a, o);
    }
    return a;
}

static json_t *dropped_one(struct builder *b, const uint8_t *name, size_t len, const char *why)
{
    json_t *o = json_object();

    if (o != NULL) {
        set_name(b, o, name, len);
        set(b, o, "why", json_string(why));
    }
    return o;
}

/* Refused entries, and with a verdict other than success everything. */
static json_t *dropped_list(struct builder *b, const struct outputs *outputs, const char *all_why)
{
    json_t *a = json_array();

    for (size_t i = 0; a != NULL && outputs != NULL && i < outputs->n_dropped; i++) {
        append(b, a,
               dropped_one(b, outputs->dropped[i].name, outputs->dropped[i].name_len,
                           outputs->dropped[i].why));
    }
    for (size_t i = 0; a != NULL && outputs != NULL && all_why != NULL && i < outputs->n_items;
         i++) {
        if (!outputs->items[i].is_dir) {
            append(b, a,
                   dropped_one(b, outputs->items[i].name, outputs->items[i].name_len, all_why));
        }
    }
    return a;
}

static json_t *limits(struct builder *b, const struct spec_limits *l)
{
    json_t *o = json_object();

    for (size_t i = 0; o != NULL && i < spec_limit_infos_len; i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];
        uint64_t v = spec_limit_get(l, info);

        set(b, o, info->json, integer(info->unit == SPEC_UNIT_NS ? v / NS_PER_MS : v));
    }
    return o;
}

static json_t *inputs(struct builder *b, const struct stage *stage)
{
    json_t *a = json_array();

    for (size_t i = 0; a != NULL && stage != NULL && i < stage->n_inputs; i++) {
        const struct stage_item *item = &stage->inputs[i];
        json_t *o = NULL;

        if (item->is_dir) {
            continue;
        }
        o = json_object();
        if (o != NULL) {
            set_name(b, o, (const uint8_t *)item->name, strlen(item->name));
            set(b, o, "bytes", integer(item->bytes));
            set(b, o, "sha256", json_string(item->digest.hex));
        }
        append(b, a, o);
    }
    return a;
}

static json_t *phases(struct builder *b, const struct result_phases *p)
{
    const struct {
        const char *name;
        uint64_t ns;
    } all[] = {
        {"admitted_ns", p->admitted},   {"staged_ns", p->staged},
        {"template_ns", p->templated},  {"executed_ns", p->executed},
        {"spawned_ns", p->spawned},     {"ready_ns", p->ready},
        {"started_ns", p->started},     {"exited_ns", p->exited},
        {"collected_ns", p->collected}, {"killed_ns", p->killed},
        {"inspected_ns", p->inspected}, {"exported_ns", p->exported},
        {"cleaned_ns", p->cleaned},
    };

    json_t *o = json_object();

    for (size_t i = 0; o != NULL && i < ARRAY_LEN(all); i++) {
        set(b, o, all[i].name, all[i].ns != 0 ? integer(all[i].ns) : json_null());
    }
    return o;
}

static json_t *peaks(struct builder *b, const struct result *r)
{
    const struct msg_exit *e = r->events->has_exit ? &r->events->exit : r->last_report;
    json_t *o = json_object();

    if (o == NULL) {
        return NULL;
    }
    set(b, o, "cpu_ns", integer(r->cpu_ns));
    set(b, o, "machine_cpu_ns", integer(r->machine_cpu_ns));
    set(b, o, "machine_rss_bytes", integer(r->machine_rss_bytes));
    set(b, o, "guest_memory_bytes", e != NULL ? integer(e->memory_peak_bytes) : json_null());
    set(b, o, "guest_cpu_ns", e != NULL ? integer(e->cpu_usec * 1000) : json_null());
    set(b, o, "guest_pids", e != NULL && e->pids_peak != 0 ? integer(e->pids_peak) : json_null());
    set(b, o, "guest_scratch_bytes", e != NULL ? integer(e->scratch_bytes) : json_null());
    set(b, o, "stdout_bytes", integer(r->out.bytes));
    set(b, o, "stderr_bytes", integer(r->err.bytes));
    set(b, o, "input_bytes", integer(r->stage != NULL ? r->stage->input_bytes : 0));
    set(b, o, "output_bytes", integer(r->outputs != NULL ? r->outputs->total_bytes : 0));
    return o;
}

static json_t *events(struct builder *b, const struct events *ev)
{
    json_t *a = json_array();

    for (size_t i = 0; a != NULL && i < ev->n; i++) {
        const struct event *e = &ev->list[i];
        json_t *o = json_object();

        if (o != NULL) {
            set(b, o, "kind", json_string(event_name(e->kind)));
            set(b, o, "source", json_string(event_source(e->kind)));
            set(b, o, "at_ns", integer(e->at_ns));
            if (e->reason != NULL) {
                set(b, o, "reason", json_string(e->reason));
            }
            if (e->detail[0] != '\0') {
                set(b, o, "detail", printable(e->detail));
            }
        }
        append(b, a, o);
    }
    return a;
}

/* Which limits the host's own control groups hold; the others are held as docs/limits.md says. */
static json_t *host_limits(struct builder *b, const struct cgroup_report *report)
{
    static const char *const states[] = {
        [CGROUP_NOT_ASKED] = "not_asked",
        [CGROUP_ENFORCED] = "enforced",
        [CGROUP_MOOT] = "moot",
        [CGROUP_ABSENT] = "absent",
    };
    json_t *o = json_object();

    for (int i = 0; o != NULL && report != NULL && i < CGROUP_N_LIMITS; i++) {
        set(b, o, cgroup_limit_name((enum cgroup_limit)i), json_string(states[report->state[i]]));
    }
    return o;
}

/* Each limit that they do not hold: why not, and what bounds the machine in its place. */
static json_t *host_limits_absent(struct builder *b, const struct result *r)
{
    json_t *a = json_array();

    for (int i = 0; a != NULL && r->cgroup != NULL && i < CGROUP_N_LIMITS; i++) {
        enum cgroup_limit limit = (enum cgroup_limit)i;
        json_t *o = NULL;

        if (r->cgroup->state[limit] != CGROUP_ABSENT) {
            continue;
        }
        o = json_object();
        if (o != NULL) {
            set(b, o, "limit", json_string(cgroup_limit_name(limit)));
            set(b, o, "why", printable(r->cgroup->why[limit]));
            set(b, o, "instead", text_or_null(r->instead != NULL ? r->instead(limit) : NULL));
        }
        append(b, a, o);
    }
    return a;
}

static json_t *machine(struct builder *b, const struct result *r)
{
    json_t *o = json_object();

    if (o == NULL) {
        return NULL;
    }
    set(b, o, "id", text_or_null(r->machine_id));
    set(b, o, "engine", text_or_null(r->engine));
    set(b, o, "isolation", text_or_null(r->isolation));
    set(b, o, "monitor", text_or_null(r->monitor));
    set(b, o, "memory_bytes", integer(r->machine_memory_bytes));
    set(b, o, "host_limits", host_limits(b, r->cgroup));
    set(b, o, "host_limits_absent", host_limits_absent(b, r));
    set(b, o, "image", text_or_null(r->image));
    set(b, o, "image_digest", digest_text(&r->root));
    set(b, o, "kernel_version", text_or_null(r->kernel_version));
    set(b, o, "kernel_digest", digest_text(&r->kernel));
    set(b, o, "initramfs_digest", digest_text(&r->initramfs));
    set(b, o, "template", text_or_null(r->template.hex));
    set(b, o, "template_built", json_boolean(r->template_built));
    set(b, o, "interpreter", text_or_null(r->interpreter));
    set(b, o, "interpreter_why", text_or_null(r->interpreter_why));
    set(b, o, "pooled", json_boolean(r->pooled));
    return o;
}

static json_t *cleanup(struct builder *b, const struct result *r)
{
    json_t *o = json_object();
    json_t *checks = json_object();
    json_t *failures = json_object();
    bool all = true;

    for (size_t i = 0; checks != NULL && i < r->n_checks; i++) {
        set(b, checks, r->checks[i].name, json_boolean(r->checks[i].ok));
        all = all && r->checks[i].ok;
        if (!r->checks[i].ok && failures != NULL) {
            set(b, failures, r->checks[i].name, printable(r->checks[i].detail));
        }
    }
    if (o == NULL) {
        json_decref(checks);
        json_decref(failures);
        return NULL;
    }
    /* Where nobody looked (no supervisor, or it died) nothing is said. */
    set(b, o, "verified", r->n_checks > 0 ? json_boolean(all) : json_null());
    set(b, o, "checks", checks);
    set(b, o, "failures", failures);
    set(b, o, "stop", text_or_null(r->stop));
    set(b, o, "ended_by", text_or_null(r->ended_by));
    set(b, o, "left_over", r->left_over != NULL ? printable(r->left_over) : json_null());
    return o;
}

/* "10 s", "1.5 s", "64 MiB": a limit as a person reads it. */
static const char *shown_limit(const struct spec *spec, const char *json_name, char text[40])
{
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];
        uint64_t v = spec_limit_get(&spec->limits, info);

        if (strcmp(info->json, json_name) != 0) {
            continue;
        }
        if (info->unit == SPEC_UNIT_NS) {
            (void)snprintf(text, 40, "%.10g s", (double)v / (double)NS_PER_S);
        } else if (info->unit == SPEC_UNIT_BYTES && v >= MIB && v % MIB == 0) {
            (void)snprintf(text, 40, "%llu MiB", (unsigned long long)(v / MIB));
        } else if (info->unit == SPEC_UNIT_BYTES) {
            (void)snprintf(text, 40, "%llu bytes", (unsigned long long)v);
        } else {
            (void)snprintf(text, 40, "%llu", (unsigned long long)v);
        }
        return text;
    }
    return "?";
}

/* Does the last line of stderr say that the program could not be parsed? A hint, not evidence. */
static bool looks_unparsed(const struct result *r)
{
    static const char *const errors[] = {"SyntaxError:", "IndentationError:", "TabError:"};

    for (size_t i = 0; r->stderr_tail != NULL && i < ARRAY_LEN(errors); i++) {
        const char *at = strstr(r->stderr_tail, errors[i]);

        if (at != NULL && (at == r->stderr_tail || at[-1] == '\n')) {
            return true;
        }
    }
    return false;
}

static void message_of_exit(const struct result *r, const struct msg_exit *e, struct buf *out)
{
    char text[24];
    int n = 0;

    if (e->signaled) {
        n = buf_printf(out, "the program was ended by %s (signal %u)", signal_name(e->code, text),
                       (unsigned int)e->code);
    } else if (looks_unparsed(r) && e->code == 1) {
        n = buf_printf(out, "the program could not be parsed: its stderr ends with a SyntaxError "
                            "(exit code 1)");
    } else {
        n = buf_printf(out, "the program ended with exit code %u", (unsigned int)e->code);
    }
    (void)n; /* a message that does not fit stays cut */
}

static void message_of_timeout(const struct result *r, bool wall, struct buf *out)
{
    char text[40];
    bool slow = r->isolation != NULL && strcmp(r->isolation, "emulated") == 0;

    (void)!buf_printf(out, "the %s limit of %s was reached and the machine was killed%s",
                      wall ? "wall time" : "CPU time",
                      shown_limit(r->spec, wall ? "wall_ms" : "cpu_ms", text),
                      slow ? "; limits are host time and engine tcg is 10-20 times slower than "
                             "the bare CPU: raise it with "
                           : "; raise it with ");
    (void)!buf_printf(out, "%s", wall ? "--wall" : "--cpu");
}

static void message_of_overflow(const struct result *r, const struct verdict *v, struct buf *out)
{
    static const struct {
        const char *reason, *json, *what, *option;
    } caps[] = {
        {"stdout", "stdout_bytes", "stdout went over its cap of %s", "--stdout"},
        {"stderr", "stderr_bytes", "stderr went over its cap of %s", "--stderr"},
        {"output_bytes", "output_bytes", "the output files went over their cap of %s",
         "--out-bytes"},
        {"output_files", "output_files", "more output files than the cap of %s", "--out-files"},
        {"output_depth", "output_depth", "output directories deeper than the cap of %s",
         "--out-depth"},
    };

    char text[40];

    for (size_t i = 0; i < ARRAY_LEN(caps); i++) {
        if (strcmp(v->reason, caps[i].reason) == 0) {
            const char *cut = strstr(caps[i].what, "%s");

            (void)!buf_printf(out, "%.*s%s", (int)(cut - caps[i].what), caps[i].what,
                              shown_limit(r->spec, caps[i].json, text));
            if (v->decided_by != NULL && v->decided_by->detail[0] != '\0') {
                (void)!buf_printf(out, " (%s)", v->decided_by->detail);
            }
            (void)!buf_printf(out, "; raise it with %s", caps[i].option);
        }
    }
}

static void message(const struct result *r, const struct verdict *v, struct buf *out)
{
    const char *detail = v->decided_by != NULL ? v->decided_by->detail : "";
    char text[40];

    switch (v->verdict) {
    case AIRLOCK_SUCCESS:
        (void)!buf_printf(out, "the program ended with exit code 0 and its outputs were accepted");
        break;
    case AIRLOCK_USER_EXCEPTION:
        message_of_exit(r, &r->events->exit, out);
        break;
    case AIRLOCK_TIMEOUT:
        message_of_timeout(r, strcmp(v->reason, "wall") == 0, out);
        break;
    case AIRLOCK_OOM:
        (void)!buf_printf(out,
                          "the program was killed because it needed more than the memory limit of "
                          "%s; raise it with --memory",
                          shown_limit(r->spec, "memory_bytes", text));
        break;
    case AIRLOCK_OUTPUT_OVERFLOW:
        message_of_overflow(r, v, out);
        break;
    case AIRLOCK_SANDBOX_FAILURE:
        (void)!buf_printf(out, "the sandbox failed in phase '%s', not the program: %s",
                          v->reason != NULL ? v->reason : "?",
                          detail[0] != '\0' ? detail : "the guest never reported");
        break;
    case AIRLOCK_CANCELED:
        (void)!buf_printf(out, "the caller canceled the job; the machine was killed");
        break;
    case AIRLOCK_REJECTED:
    case AIRLOCK_CAPACITY_REJECTED:
    case AIRLOCK_OUTPUT_REJECTED:
    default:
        (void)!buf_printf(out, "%s", detail);
        break;
    }
}

static void head(struct builder *b, json_t *root, const struct verdict *v, const struct buf *msg,
                 const struct msg_exit *e)
{
    char text[24];

    set(b, root, "verdict", json_string(verdict_name(v->verdict)));
    set(b, root, "reason", text_or_null(v->reason));
    set(b, root, "message", printable(msg->data != NULL ? (const char *)msg->data : ""));
    set(b, root, "exit_code",
        e != NULL && !e->signaled ? json_integer((json_int_t)e->code) : json_null());
    set(b, root, "signal",
        e != NULL && e->signaled ? json_string(signal_name(e->code, text)) : json_null());
}

void result_set_evidence(struct builder *b, json_t *root, const struct result *r)
{
    set(b, root, "limits", limits(b, &r->spec->limits));
    set(b, root, "phases", phases(b, &r->phases));
    set(b, root, "peaks", peaks(b, r));
    set(b, root, "machine", machine(b, r));
    set(b, root, "cleanup", cleanup(b, r));
}

int result_json(const struct result *r, struct buf *out)
{
    auto_buf struct buf msg = BUF_INIT(4096);
    struct builder builder = {0};
    struct builder *b = &builder;
    struct verdict v = verdict_decide(r->events);
    /* An exit report counts only before anything else decided: with one, it did end by itself. */
    bool ended_itself = r->events->has_exit;
    bool success = v.verdict == AIRLOCK_SUCCESS;
    json_t *root = json_object();

    if (root == NULL) {
        return -ENOMEM;
    }
    message(r, &v, &msg);
    head(b, root, &v, &msg, ended_itself ? &r->events->exit : NULL);
    set(b, root, "stdout", stream(b, &r->out));
    set(b, root, "stderr", stream(b, &r->err));
    set(b, root, "outputs", success ? outputs_list(b, r->outputs) : json_array());
    set(b, root, "dropped",
        dropped_list(b, r->outputs, success ? NULL : "the verdict is not success"));
    set(b, root, "inputs", inputs(b, r->stage));
    set(b, root, "events", events(b, r->events));
    result_set_evidence(b, root, r);
    return json_finish(b, root, out);
}

/* The event that a verdict given without a supervisor stands on. */
static enum event_kind kind_without_supervisor(enum airlock_verdict verdict)
{
    if (verdict == AIRLOCK_CAPACITY_REJECTED) {
        return EVENT_CAPACITY;
    }
    if (verdict == AIRLOCK_SANDBOX_FAILURE) {
        return EVENT_HOST_FAULT; /* the supervisor died or could not be started */
    }
    return verdict == AIRLOCK_CANCELED ? EVENT_CANCELED : EVENT_REJECTED;
}

int result_kept_json(const struct spec_limits *limits, const struct result_kept *kept,
                     enum airlock_verdict verdict, const char *reason, const char *text,
                     struct buf *out)
{
    struct events ev = {0};
    struct spec spec;
    struct result r = {.spec = &spec, .events = &ev, .out = kept->out, .err = kept->err};
    int n = 0;

    spec_init(&spec);
    spec.limits = *limits;
    (void)snprintf(r.machine_id, sizeof(r.machine_id), "%s", kept->machine_id);
    events_add(&ev, kind_without_supervisor(verdict), 0, reason, text);
    n = result_json(&r, out);
    spec_fini(&spec);
    return n;
}

int result_rejected_json(const struct spec_limits *limits, enum airlock_verdict verdict,
                         const char *reason, const char *text, struct buf *out)
{
    const struct result_kept nothing = {.machine_id = ""};

    return result_kept_json(limits, &nothing, verdict, reason, text, out);
}
