#include "cli/cmd-remote.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

#include "cli/batch.h"
#include "cli/remote-opts.h"
#include "cli/remote-tell.h"
#include "cli/remote.h"
#include "job/outputs.h"
#include "job/text.h"
#include "job/verdict.h"

#define PAGE     200u
#define LIST_MAX 100000u
#define LIST_DEF 50u

static const char jobs_about[] = "Lists your jobs at a daemon, newest first.";
static const char cancel_about[] =
    "Asks a daemon to end jobs. Those that wait end at once; 'airlock watch ID' shows the end of "
    "others.";
static const char watch_about[] =
    "Shows a job at a daemon as 'airlock run' shows its own: output from the beginning and as it\n"
    "comes, the summary, the exit code. A broken connection is taken up again. Ctrl-C stops\n"
    "watching and leaves the job alone.";
static const char result_about[] =
    "Shows what a job that has ended left behind: output, summary, exit code, and with --out its\n"
    "output files, all of them or none.";

struct list_options {
    struct http_config http;
    const char *state, *verdict;
    uint64_t limit;
    bool json;
};

static int take_state(void *config, const struct opt *opt, char *value, struct err *err)
{
    static const char *const names[] = {"queued", "starting", "running", "ended", NULL};

    struct list_options *o = config;
    size_t i = 0;
    int r = opt_choice(opt, value, names, &i, err);

    o->state = r == 0 ? names[i] : NULL;
    return r;
}

static int take_verdict(void *config, const struct opt *opt, char *value, struct err *err)
{
    const char *names[AIRLOCK_CANCELED + 2] = {NULL};
    struct list_options *o = config;
    size_t i = 0;
    int r = 0;

    for (int v = AIRLOCK_SUCCESS; v <= AIRLOCK_CANCELED; v++) {
        names[v] = verdict_name((enum airlock_verdict)v);
    }
    r = opt_choice(opt, value, names, &i, err);
    o->verdict = r == 0 ? names[i] : NULL;
    return r;
}

static int take_limit(void *config, const struct opt *opt, char *value, struct err *err)
{
    struct list_options *o = config;

    (void)opt;
    if (num_parse_u64(value, &o->limit) < 0 || o->limit == 0 || o->limit > LIST_MAX) {
        return err_usage(err, "--limit '%.32s': give a number from 1 to %u", value, LIST_MAX);
    }
    return 0;
}

static const struct opt list_opts[] = {
    {.name = "state",
     .arg = "queued|starting|running|ended",
     .take = take_state,
     .help = "only jobs in this state"},
    {.name = "verdict",
     .arg = "VERDICT",
     .take = take_verdict,
     .help = "only jobs that ended with this verdict"},
    {.name = "limit", .arg = "N", .take = take_limit, .help = "at most so many (default: 50)"},
    OPT_FLAG("json", struct list_options, json, "print {\"jobs\":[...]} instead"),
    REMOTE_OPTS(offsetof(struct list_options, http)),
};

static const struct opt_cmd list_cmd = {.name = "airlock jobs",
                                        .usage = "[options]",
                                        .about = jobs_about,
                                        .opts = list_opts,
                                        .n_opts = ARRAY_LEN(list_opts)};

static void print_job(const struct remote_job *job)
{
    const char *created = json_string_value(json_object_get(job->json, "created"));
    const char *reason = json_string_value(json_object_get(job->json, "reason"));

    (void)printf("%s  %-8s  %-18s  %-24.24s  %s\n", job->id, remote_state_name(job->state),
                 job->verdict >= 0 ? verdict_name((enum airlock_verdict)job->verdict) : "-",
                 created != NULL ? text_of_str(created).s : "-",
                 reason != NULL ? text_of_str(reason).s : "");
}

/* What was listed so far. */
struct listing {
    const struct list_options *options;
    json_t *jobs; /* with --json */
    uint64_t n;
    char after[REMOTE_ID_SIZE];
};

/* Each entry is checked like any other job: what is printed never is a stranger's bytes. */
static int take_entry(struct listing *l, json_t *entry, struct err *err)
{
    auto_remote_job struct remote_job job = REMOTE_JOB_INIT;
    int r = remote_job_take(entry, &job, err);

    if (r < 0) {
        return r;
    }
    l->n++;
    memcpy(l->after, job.id, sizeof(l->after));
    if (!l->options->json) {
        print_job(&job);
        return 0;
    }
    return json_array_append(l->jobs, entry) < 0 ? err_set(err, ERR_HOST, ENOMEM, "out of memory")
                                                 : 0;
}

/* One page. 1 if there is another. */
static int list_page(struct http *h, struct listing *l, struct err *err)
{
    const struct list_options *o = l->options;
    uint64_t want = o->limit - l->n < PAGE ? o->limit - l->n : PAGE;
    json_t *page = NULL;
    json_t *entry = NULL;
    char path[256];
    size_t i = 0;
    int r = 0;

    (void)snprintf(path, sizeof(path), "/v1/jobs?limit=%" PRIu64 "%s%s%s%s%s%s", want,
                   o->state != NULL ? "&state=" : "", o->state != NULL ? o->state : "",
                   o->verdict != NULL ? "&verdict=" : "", o->verdict != NULL ? o->verdict : "",
                   l->after[0] != '\0' ? "&after=" : "", l->after);
    r = remote_get_json(h, path, &page, err);
    if (r == 0 && !json_is_array(json_object_get(page, "jobs"))) {
        r = err_set(err, ERR_HOST, EPROTO, "the daemon's answer is no list of jobs");
    }
    json_array_foreach(json_object_get(page, "jobs"), i, entry)
    {
        r = r == 0 && l->n < o->limit ? take_entry(l, entry, err) : r;
    }
    if (r == 0) {
        r = i > 0 && l->n < o->limit && json_is_string(json_object_get(page, "next")) ? 1 : 0;
    }
    json_decref(page);
    return r;
}

static int list(const struct list_options *o, struct err *err)
{
    auto_http struct http *h = NULL;
    struct listing l = {.options = o, .jobs = json_array()};
    json_t *all = NULL;
    int r = http_new(&o->http, &h, err);

    while (r == 0) {
        r = list_page(h, &l, err);
        if (r == 0) {
            break;
        }
        r = r == 1 ? 0 : r;
    }
    if (r == 0 && o->json) {
        all = json_pack("{s:O}", "jobs", l.jobs);
        r = all != NULL ? remote_tell_json(all, err)
                        : err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    json_decref(all);
    json_decref(l.jobs);
    return r;
}

int cmd_jobs(int argc, char **argv)
{
    struct list_options o = {.limit = LIST_DEF};
    struct opt_rest rest = {0};
    struct err err = ERR_INIT;
    int exit_code = 0;

    if (!opt_start(&list_cmd, argc, argv, &o, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 0) {
        return opt_mistake(&list_cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    return list(&o, &err) < 0 ? remote_tell_error("jobs", &err) : 0;
}

struct job_options {
    struct http_config http;
    const char *out;
    bool json, quiet;
};

static const struct opt cancel_opts[] = {REMOTE_OPTS(offsetof(struct job_options, http))};

static const struct opt_cmd cancel_cmd = {.name = "airlock cancel",
                                          .usage = "[options] ID...",
                                          .about = cancel_about,
                                          .opts = cancel_opts,
                                          .n_opts = ARRAY_LEN(cancel_opts)};

static int cancel_one(struct http *h, const char *id, struct err *err)
{
    int r = remote_check_id(id, err);

    if (r == 0) {
        r = remote_cancel(h, id, err);
    }
    if (r >= 0) {
        (void)printf("%s  %s\n", id, r == 0 ? "ended" : "asked to end");
        return 0;
    }
    return r;
}

int cmd_cancel(int argc, char **argv)
{
    struct job_options o = {.out = NULL};
    auto_http struct http *h = NULL;
    struct opt_rest rest = {0};
    struct err err = ERR_INIT;
    int exit_code = 0;

    if (!opt_start(&cancel_cmd, argc, argv, &o, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n == 0) {
        return opt_mistake(&cancel_cmd, "which job? Give its ID ('airlock jobs' lists them)");
    }
    if (http_new(&o.http, &h, &err) < 0) {
        return remote_tell_error("cancel", &err);
    }
    for (size_t i = 0; i < rest.n; i++) {
        struct err one = ERR_INIT;

        if (cancel_one(h, rest.operands[i], &one) < 0) {
            exit_code = remote_tell_error("cancel", &one);
        }
    }
    return exit_code;
}

static const struct opt job_opts[] = {
    OPT_VALUE("out", "DIR", struct job_options, out,
              "put the job's output files into DIR, all of them or, unless the verdict is\n"
              "success, nothing"),
    OPT_FLAG("json", struct job_options, json,
             "print the result as one JSON object, as 'airlock run --json' does"),
    OPT_FLAG("quiet", struct job_options, quiet, "no progress and no summary on stderr"),
    REMOTE_OPTS(offsetof(struct job_options, http)),
};

static const struct opt_cmd watch_cmd = {.name = "airlock watch",
                                         .usage = "[options] ID",
                                         .about = watch_about,
                                         .opts = job_opts,
                                         .n_opts = ARRAY_LEN(job_opts)};
static const struct opt_cmd result_cmd = {.name = "airlock result",
                                          .usage = "[options] ID",
                                          .about = result_about,
                                          .opts = job_opts,
                                          .n_opts = ARRAY_LEN(job_opts)};

/* The job's own are the daemon's business; here they only bound what is taken from it. */
static void widest_limits(struct spec_limits *limits)
{
    for (size_t i = 0; i < spec_limit_infos_len; i++) {
        const struct spec_limit_info *info = &spec_limit_infos[i];

        *(uint64_t *)(void *)((char *)limits + info->offset) = info->max;
    }
}

/* That the job is there and has ended with all its data, or what is the matter. */
static int check_ended(const struct job_options *o, const char *id, struct err *err)
{
    auto_http struct http *h = NULL;
    auto_remote_job struct remote_job job = REMOTE_JOB_INIT;
    int r = http_new(&o->http, &h, err);

    if (r == 0) {
        r = remote_get(h, id, &job, err);
    }
    if (r < 0) {
        return r;
    }
    if (job.state != REMOTE_ENDED) {
        return err_set(err, ERR_USAGE, EBUSY, "the job is %s; 'airlock watch %s' follows it",
                       remote_state_name(job.state), id);
    }
    if (json_is_true(json_object_get(job.json, "purged"))) {
        return err_set(err, ERR_USAGE, ENOENT,
                       "the job ended with %s, and what it left was removed since",
                       verdict_name((enum airlock_verdict)job.verdict));
    }
    return 0;
}

static int show(const struct opt_cmd *cmd, bool ended, int argc, char **argv)
{
    struct job_options o = {.out = NULL};
    auto_run_options struct run_options options;
    auto_teller struct teller tell = TELLER_INIT;
    struct relay_job job = {.http = &o.http};
    struct opt_rest rest = {0};
    struct err err = ERR_INIT;
    int exit_code = 0;
    int r = 0;

    run_options_init(&options);
    if (!opt_start(cmd, argc, argv, &o, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n != 1) {
        return opt_mistake(cmd, "give the ID of one job ('airlock jobs' lists them)");
    }
    options.json = o.json;
    options.quiet = o.quiet;
    options.spec.out_dir = o.out != NULL ? strdup(o.out) : NULL;
    widest_limits(&options.spec.limits);
    if (!teller_begin(&tell, &options, &exit_code)) {
        return exit_code;
    }
    r = remote_check_id(rest.operands[0], &err);
    if (r == 0 && o.out != NULL) {
        r = outputs_check_dir(o.out, &err);
    }
    if (r == 0 && ended) {
        r = check_ended(&o, rest.operands[0], &err);
    }
    if (r < 0) {
        return teller_fail(&tell, remote_verdict(&err), &err);
    }
    job.id = rest.operands[0];
    job.out_dir = o.out;
    job.limits = &options.spec.limits;
    job.streaming = !o.json;
    return remote_tell_follow(&tell, &job);
}

int cmd_watch(int argc, char **argv)
{
    return show(&watch_cmd, false, argc, argv);
}

int cmd_result(int argc, char **argv)
{
    return show(&result_cmd, true, argc, argv);
}
