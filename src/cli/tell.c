#include "cli/tell.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#include "cli/run-loop.h"
#include "job/result-read.h"
#include "job/result.h"
#include "job/verdict.h"

void teller_fini(struct teller *t)
{
    outlet_fini(&t->out);
    outlet_fini(&t->err);
    buf_fini(&t->result);
}

void teller_say(struct teller *t, const char *text)
{
    auto_buf struct buf line = BUF_INIT(64 * KIB);
    const char *lead = t->err.term.mid_line || t->out.term.mid_line ? "\n" : "";
    bool shown = (t->out.term.mid_line && t->out.term.escape) ||
                 (t->err.term.mid_line && isatty(STDERR_FILENO) == 1);

    if (buf_printf(&line, "%sairlock: ", shown ? lead : "") < 0 ||
        str_escape(&line, text, strlen(text), false) < 0 || buf_printf(&line, "\n") < 0) {
        return;
    }
    (void)!write(STDERR_FILENO, line.data, line.len);
}

void teller_step(struct teller *t, const char *text)
{
    if (!t->options->quiet) {
        teller_say(t, text);
    }
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
    int number = verdict_find(verdict);

    if (number < 0) {
        json_decref(root);
        return err_set(err, ERR_HOST, EPROTO, "the supervisor gave no readable result");
    }
    *ret = (struct report){.verdict = (enum airlock_verdict)number,
                           .exit_code = program_exit(root),
                           .boot_ns = result_read_span(result_read_phase(root, "spawned_ns"),
                                                       result_read_phase(root, "ready_ns")),
                           .run_ns = result_read_span(result_read_phase(root, "started_ns"),
                                                      result_read_phase(root, "exited_ns")),
                           .n_outputs = json_array_size(json_object_get(root, "outputs")),
                           .n_dropped = json_array_size(json_object_get(root, "dropped"))};
    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        uint64_t end = result_read_phase(root, ends[i]);

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

static void summarize(struct teller *t, const struct report *rep)
{
    const char *dir = t->options->spec.out_dir;
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
                           dir != NULL          ? "in "
                           : t->kept[0] != '\0' ? t->kept
                                                : "not kept: no --out",
                           dir != NULL ? dir : "");
        }
        if (r == 0 && rep->n_dropped > 0) {
            r = buf_printf(&text, ", %zu dropped (--json says which and why)", rep->n_dropped);
        }
    }
    if (r == 0) {
        teller_say(t, (const char *)text.data);
    }
}

/* The result of a job that has no supervisor (any more) to write one. */
static int own_result(struct teller *t, enum airlock_verdict verdict, const char *reason,
                      const char *message)
{
    buf_fini(&t->result);
    if (t->options->json) {
        return result_rejected_json(&t->options->spec.limits, verdict, reason, message, &t->result);
    }
    return 0;
}

/* stdout or stderr could not take everything. */
static bool lost_output(struct teller *t)
{
    struct outlet *outlets[] = {&t->out, &t->err};
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
        teller_say(t, text);
    }
    return lost;
}

static int print_result(struct teller *t)
{
    struct outlet *out = &t->out;
    struct err err = ERR_INIT;

    if (outlet_put(out, t->result.data, t->result.len, &err) < 0 ||
        outlet_put(out, "\n", 1, &err) < 0) {
        teller_say(t, err.msg);
        return -1;
    }
    run_drain(&out, 1);
    return 0;
}

/* Says what happened and picks the exit code. */
static int finish(struct teller *t, const struct report *rep)
{
    bool told = !t->options->json || print_result(t) == 0;

    if (lost_output(t) || !told) {
        return AIRLOCK_CANCELED; /* whoever asked did not get it all: never 0 */
    }
    if (!t->options->json && !t->options->quiet) {
        summarize(t, rep);
    }
    if (rep->unclean[0] != '\0') { /* with --json and --quiet too: somebody has to look */
        teller_say(t, rep->unclean);
    }
    if (t->options->exit_code == RUN_EXIT_PROGRAM && rep->exit_code >= 0) {
        return rep->exit_code;
    }
    return (int)rep->verdict;
}

int teller_fail(struct teller *t, enum airlock_verdict verdict, const struct err *err)
{
    struct report rep = {.verdict = verdict, .exit_code = -1};

    (void)snprintf(rep.message, sizeof(rep.message), "%s", err->msg);
    if (own_result(t, verdict, t->step, err->msg) < 0) {
        teller_say(t, "out of memory for the result");
        return (int)verdict;
    }
    if (!t->options->json && t->options->quiet) {
        summarize(t, &rep); /* without it a failure of ours would be silent */
    }
    return finish(t, &rep);
}

int teller_end(struct teller *t)
{
    struct report rep = {0};
    struct err err = ERR_INIT;

    if (read_report(&t->result, &rep, &err) < 0) {
        return teller_fail(t, AIRLOCK_SANDBOX_FAILURE, &err);
    }
    return finish(t, &rep);
}

bool teller_begin(struct teller *t, const struct run_options *options, int *ret_exit)
{
    static struct buf parting =
        BUF_INIT(64 * KIB); /* for a signal handler: never freed before it */

    struct err err = ERR_INIT;

    *t = (struct teller){
        .options = options, .result = BUF_INIT(RESULT_JSON_MAX), .step = "specification"};
    outlet_init(&t->out, STDOUT_FILENO, "standard output", !options->json);
    outlet_init(&t->err, STDERR_FILENO, "standard error", true);
    if (options->json &&
        (result_rejected_json(&options->spec.limits, AIRLOCK_CANCELED, "",
                              "the caller canceled the job before it started", &parting) < 0 ||
         buf_put(&parting, "\n", 1) < 0)) {
        teller_say(t, "out of memory");
        *ret_exit = AIRLOCK_CAPACITY_REJECTED;
        return false;
    }
    if (run_signals_init(&parting, &err) < 0) {
        *ret_exit = teller_fail(t, AIRLOCK_SANDBOX_FAILURE, &err);
        return false;
    }
    return true;
}
