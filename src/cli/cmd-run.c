#include "cli/cmd-run.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#include "airlock/verdict.h"
#include "cli/outlet.h"
#include "cli/run-loop.h"
#include "cli/run-options.h"
#include "image/build.h"
#include "image/store.h"
#include "job/outputs.h"
#include "job/result.h"
#include "job/verdict.h"
#include "sup/sup.h"
#include "sys/fd.h"

#define VERDICTS 10

struct run {
    struct run_options *options;
    struct outlet out;
    struct outlet err;
    struct buf result; /* JSON text */
    const char *step;  /* what is being done: the reason if it fails */
};

static void run_fini(struct run *run)
{
    outlet_fini(&run->out);
    outlet_fini(&run->err);
    buf_fini(&run->result);
}

/* "airlock: " and a line on stderr, harmless; straight to the descriptor, in order with progress. */
static void say(struct run *run, const char *text)
{
    auto_buf struct buf line = BUF_INIT(64 * KIB);
    const char *lead = run->err.term.mid_line || run->out.term.mid_line ? "\n" : "";
    bool shown = (run->out.term.mid_line && run->out.term.escape) ||
                 (run->err.term.mid_line && isatty(STDERR_FILENO) == 1);

    if (buf_printf(&line, "%sairlock: ", shown ? lead : "") < 0 ||
        str_escape(&line, text, strlen(text), false) < 0 || buf_printf(&line, "\n") < 0) {
        return;
    }
    (void)!write(STDERR_FILENO, line.data, line.len);
}

static void on_step(void *ctx, const char *text)
{
    struct run *run = ctx;

    if (!run->options->quiet) {
        say(run, text);
    }
}

static int require_readable(const char *what, const char *path, struct err *err)
{
    int r = access(path, R_OK) < 0 ? -errno : 0;

    if (r == 0) {
        return 0;
    }
    return err_set(err, ERR_USAGE, -r, "%s '%s': %s; %s", what, path, strerrordesc_np(-r),
                   r == -EACCES ? "make it readable for you, directories above it included"
                                : "check the path");
}

/* Finds what can't work before minutes go into building an image; staging checks for real. */
static int check_readable(const struct spec *spec, struct err *err)
{
    int r = spec->program_path != NULL ? require_readable("script", spec->program_path, err) : 0;

    for (size_t i = 0; i < spec->n_inputs && r == 0; i++) {
        r = spec->inputs[i].path != NULL ? require_readable("--in", spec->inputs[i].path, err) : 0;
    }
    if (r == 0 && spec->stdin_path != NULL) {
        r = require_readable("--stdin", spec->stdin_path, err);
    }
    return r;
}

static const char *image_of(const struct spec *spec)
{
    if (spec->image != NULL) {
        return spec->image;
    }
    return spec->language == SPEC_JAVASCRIPT ? "javascript" : "python";
}

/* Everything before the supervisor. */
static int prepare(struct run *run, struct store *store, struct err *err)
{
    const struct spec *spec = &run->options->spec;
    struct build_progress progress = {.step = on_step, .ctx = run};
    int r = 0;

    run->step = "specification";
    if (run->options->fault.class != ERR_NONE) {
        *err = run->options->fault;
        return -err->errnum;
    }
    r = spec_check(spec, err);
    if (r < 0) {
        return r;
    }
    run->step = "inputs";
    r = check_readable(spec, err);
    if (r < 0) {
        return r;
    }
    run->step = "outputs";
    r = spec->out_dir != NULL ? outputs_check_dir(spec->out_dir, err) : 0;
    if (r < 0) {
        return r;
    }
    run->step = "state";
    r = store_open(run->options->state, store, err);
    if (r < 0) {
        return r;
    }
    run->step = "image";
    return build_ensure(store, image_of(spec), &progress, err);
}

/* No room now is not the job's fault, and may be tried again. */
static bool is_capacity(const struct err *err)
{
    return err->class == ERR_LIMIT || err->errnum == ENOSPC || err->errnum == EDQUOT ||
           err->errnum == ENOMEM || err->errnum == EAGAIN || err->errnum == EMFILE ||
           err->errnum == ENFILE;
}

/* The one phase that takes seconds and is not the program's. */
static void on_phase(void *ctx, const char *name, size_t len)
{
    struct run *run = ctx;
    char text[IMAGE_NAME_MAX + 128];

    if (len == strlen(SUP_PHASE_BUILD) && memcmp(name, SUP_PHASE_BUILD, len) == 0) {
        (void)snprintf(text, sizeof(text),
                       "preparing a template for image '%.*s' (once per image and machine size)",
                       IMAGE_NAME_MAX, image_of(&run->options->spec));
        on_step(run, text);
    } else if (len == strlen(SUP_PHASE_PROBE) && memcmp(name, SUP_PHASE_PROBE, len) == 0) {
        on_step(run, "finding out whether KVM works here, up to 20 s (once per boot of this host)");
    }
}

static int supervise(struct run *run, const struct store *store, struct err *err)
{
    bool json = run->options->json;
    auto_sup struct sup sup = SUP_INIT;
    struct run_loop loop = {.sup = &sup,
                            .out = json ? NULL : &run->out,
                            .err = json ? NULL : &run->err,
                            .result = &run->result,
                            .phase = on_phase,
                            .ctx = run};
    int r = 0;

    run->step = "supervisor";
    r = sup_start(&run->options->spec, store, !json, &sup, err);
    if (r < 0 && is_capacity(err)) { /* no process, descriptor or memory to be had now */
        err->class = ERR_LIMIT;
        run->step = r == -ENOMEM ? "memory" : "machines";
    }
    return r < 0 ? r : run_loop(&loop, err);
}

/* What became of the job, read from the result that goes to people and scripts alike. */
struct report {
    enum airlock_verdict verdict;
    char message[ERR_MSG_MAX];
    int exit_code; /* of the program, 128+N for a signal; -1 if it did not end by itself */
    uint64_t boot_ns, run_ns, total_ns;
    size_t n_outputs;
    size_t n_dropped;
    char unclean[ERR_MSG_MAX]; /* what the cleanup could not prove or remove, "" if nothing */
};

static uint64_t phase(const json_t *root, const char *name)
{
    json_int_t v = json_integer_value(json_object_get(json_object_get(root, "phases"), name));

    return v > 0 ? (uint64_t)v : 0;
}

static uint64_t since(uint64_t from, uint64_t to)
{
    return from != 0 && to > from ? to - from : 0;
}

static int program_exit(const json_t *root)
{
    const json_t *code = json_object_get(root, "exit_code");
    const char *signal = json_string_value(json_object_get(root, "signal"));
    char text[24];

    if (json_is_integer(code)) {
        return (int)(json_integer_value(code) & 0xff);
    }
    for (uint32_t n = 1; signal != NULL && n <= 64; n++) {
        if (strcmp(signal_name(n, text), signal) == 0) {
            return 128 + (int)n;
        }
    }
    return -1;
}

/* The checks of the cleanup that failed, and what earlier jobs left: never only in the JSON. */
static void read_cleanup(const json_t *root, struct report *ret)
{
    json_t *cleanup = json_object_get(root, "cleanup");
    const char *left = json_string_value(json_object_get(cleanup, "left_over"));
    const char *name = NULL;
    json_t *ok = NULL;
    auto_buf struct buf text = BUF_INIT(sizeof(ret->unclean));
    int r = 0;

    json_object_foreach(json_object_get(cleanup, "checks"), name, ok)
    {
        if (r == 0 && !json_is_true(ok)) {
            r = buf_printf(&text, "%s%s", text.len == 0 ? "the cleanup is not verified: " : ", ",
                           name);
        }
    }
    if (r == 0 && left != NULL) {
        r = buf_printf(&text, "%sfrom an earlier job %.900s", text.len == 0 ? "" : "; ", left);
    }
    if (text.len > 0) {
        (void)snprintf(ret->unclean, sizeof(ret->unclean), "warning: %s", (const char *)text.data);
    }
}

/* Numbers come as integers of ns; absent ones are null. */
static int read_report(const struct buf *text, struct report *ret, struct err *err)
{
    json_error_t at;
    json_t *root = text->data != NULL ? json_loadb((const char *)text->data, text->len,
                                                   JSON_ALLOW_NUL, &at) /* in a stream */
                                      : NULL;
    const char *verdict = json_string_value(json_object_get(root, "verdict"));
    const char *message = json_string_value(json_object_get(root, "message"));
    static const char *const ends[] = {"killed_ns", "inspected_ns", "exported_ns", "cleaned_ns"};
    int number = VERDICTS;

    for (int v = 0; verdict != NULL && v < VERDICTS; v++) {
        if (strcmp(verdict_name((enum airlock_verdict)v), verdict) == 0) {
            number = v;
        }
    }
    if (number == VERDICTS) {
        json_decref(root);
        return err_set(err, ERR_HOST, EPROTO, "the supervisor gave no readable result");
    }
    *ret = (struct report){.verdict = (enum airlock_verdict)number,
                           .exit_code = program_exit(root),
                           .boot_ns = since(phase(root, "spawned_ns"), phase(root, "ready_ns")),
                           .run_ns = since(phase(root, "started_ns"), phase(root, "exited_ns")),
                           .n_outputs = json_array_size(json_object_get(root, "outputs")),
                           .n_dropped = json_array_size(json_object_get(root, "dropped"))};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        uint64_t end = phase(root, ends[i]);

        ret->total_ns = end > ret->total_ns ? end : ret->total_ns;
    }
    (void)snprintf(ret->message, sizeof(ret->message), "%s", message != NULL ? message : "");
    read_cleanup(root, ret);
    json_decref(root);
    return 0;
}

static double seconds(uint64_t ns)
{
    return (double)ns / (double)NS_PER_S;
}

static void summarize(struct run *run, const struct report *rep)
{
    const char *dir = run->options->spec.out_dir;
    auto_buf struct buf text = BUF_INIT(16 * KIB);
    int r = 0;

    if (rep->verdict != AIRLOCK_SUCCESS) {
        r = buf_printf(&text, "%s: %s", verdict_name(rep->verdict), rep->message);
    } else {
        r = buf_printf(&text, "success in %.1f s (boot %.1f s, run %.1f s)", seconds(rep->total_ns),
                       seconds(rep->boot_ns), seconds(rep->run_ns));
        if (r == 0 && rep->n_outputs > 0) {
            r = buf_printf(&text, ", %zu output%s %s%s", rep->n_outputs,
                           rep->n_outputs == 1 ? "" : "s",
                           dir != NULL ? "in " : "not kept: no --out", dir != NULL ? dir : "");
        }
        if (r == 0 && rep->n_dropped > 0) {
            r = buf_printf(&text, ", %zu dropped (--json says which and why)", rep->n_dropped);
        }
    }
    if (r == 0) {
        say(run, (const char *)text.data);
    }
}

/* The result of a job that has no supervisor (any more) to write one. */
static int own_result(struct run *run, enum airlock_verdict verdict, const char *reason,
                      const char *message)
{
    buf_fini(&run->result);
    if (run->options->json) {
        return result_rejected_json(verdict, reason, message, &run->result);
    }
    return 0;
}

/* stdout or stderr could not take everything. */
static bool lost_output(struct run *run)
{
    struct outlet *outlets[] = {&run->out, &run->err};
    bool lost = false;

    for (size_t i = 0; i < ARRAY_LEN(outlets); i++) {
        char text[160];

        if (!outlets[i]->broken && outlet_pending(outlets[i]) == 0) {
            continue;
        }
        lost = true;
        (void)snprintf(text, sizeof(text), "%s: %s; output was lost", outlets[i]->name,
                       outlets[i]->broken
                           ? strerror(outlets[i]->broken_by) /* NOLINT(concurrency-mt-unsafe) */
                           : "the reader stopped reading");
        say(run, text);
    }
    return lost;
}

static int print_result(struct run *run)
{
    struct outlet *out = &run->out;
    struct err err = ERR_INIT;

    if (outlet_put(out, run->result.data, run->result.len, &err) < 0 ||
        outlet_put(out, "\n", 1, &err) < 0) {
        say(run, err.msg);
        return -1;
    }
    run_drain(&out, 1);
    return 0;
}

/* Says what happened and picks the exit code. */
static int finish(struct run *run, const struct report *rep)
{
    bool told = !run->options->json || print_result(run) == 0;

    if (lost_output(run) || !told) {
        return AIRLOCK_CANCELED; /* whoever asked did not get it all: never 0 */
    }
    if (!run->options->json && !run->options->quiet) {
        summarize(run, rep);
    }
    if (rep->unclean[0] != '\0') { /* with --json and --quiet too: somebody has to look */
        say(run, rep->unclean);
    }
    if (run->options->exit_code == RUN_EXIT_PROGRAM && rep->exit_code >= 0) {
        return rep->exit_code;
    }
    return (int)rep->verdict;
}

/* Failed without a result from the supervisor. */
static int fail(struct run *run, enum airlock_verdict verdict, const struct err *err)
{
    struct report rep = {.verdict = verdict, .exit_code = -1};

    (void)snprintf(rep.message, sizeof(rep.message), "%s", err->msg);
    if (own_result(run, verdict, run->step, err->msg) < 0) {
        say(run, "out of memory for the result");
        return (int)verdict;
    }
    if (!run->options->json && run->options->quiet) {
        summarize(run, &rep); /* without it a failure of ours would be silent */
    }
    return finish(run, &rep);
}

static int run_job(struct run *run)
{
    auto_store struct store store = STORE_INIT;
    struct report rep = {0};
    struct err err = ERR_INIT;

    if (prepare(run, &store, &err) < 0) {
        return fail(run, is_capacity(&err) ? AIRLOCK_CAPACITY_REJECTED : AIRLOCK_REJECTED, &err);
    }
    if (supervise(run, &store, &err) < 0) {
        return fail(run,
                    err.class == ERR_LIMIT ? AIRLOCK_CAPACITY_REJECTED : AIRLOCK_SANDBOX_FAILURE,
                    &err);
    }
    if (read_report(&run->result, &rep, &err) < 0) {
        return fail(run, AIRLOCK_SANDBOX_FAILURE, &err);
    }
    return finish(run, &rep);
}

int cmd_run(int argc, char **argv)
{
    static struct buf parting =
        BUF_INIT(64 * KIB); /* for a signal handler: never freed before it */
    auto_run_options struct run_options options;
    __attribute__((cleanup(run_fini))) struct run run = {.options = &options,
                                                         .out = OUTLET_INIT,
                                                         .err = OUTLET_INIT,
                                                         .result = BUF_INIT(RESULT_JSON_MAX),
                                                         .step = "specification"};
    struct err err = ERR_INIT;
    int exit_code = 0;

    run_options_init(&options);
    if (!run_options_parse(&options, argc, argv, &exit_code)) {
        return exit_code;
    }
    outlet_init(&run.out, STDOUT_FILENO, "standard output", !options.json);
    outlet_init(&run.err, STDERR_FILENO, "standard error", true);
    if (options.json &&
        (result_rejected_json(AIRLOCK_CANCELED, "", "the caller canceled the job before it started",
                              &parting) < 0 ||
         buf_put(&parting, "\n", 1) < 0)) {
        say(&run, "out of memory");
        return AIRLOCK_CAPACITY_REJECTED;
    }
    if (run_signals_init(&parting, &err) < 0) {
        return fail(&run, AIRLOCK_SANDBOX_FAILURE, &err);
    }
    exit_code = run_job(&run);
    return exit_code;
}
