#include "cli/cmd-suite.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"
#include "base/str.h"

#include "cli/batch.h"
#include "cli/opt.h"
#include "cli/report.h"
#include "cli/suite-limits.h"
#include "cli/suite-remote.h"
#include "cli/suite-report.h"
#include "cli/suite-run.h"
#include "image/store.h"
#include "sup/engine.h"
#include "sys/clock.h"
#include "sys/fd.h"

static const char about[] =
    "Runs hostile programs, each with the end it must come to, through airlock itself, and says\n"
    "which of them did not end so. They are in this binary; --cases takes a folder of your own.\n"
    "docs/suite.md describes the first line of a program, which says what must happen.";

static const char epilog[] =
    "Limits in the programs are written for native speed; on engine tcg wall and CPU are\n"
    "multiplied by 5 (--slow), except where reaching them is the point.\n"
    "\n"
    "Exit codes: 0 all hold, 1 a case does not, 2 wrong command line or case, 7 the suite itself\n"
    "could not go on, 9 interrupted.\n"
    "\n"
    "Examples:\n"
    "  airlock suite\n"
    "  airlock suite --quick --html report.html\n"
    "  airlock suite --filter '^memory/' --language python -j 1\n"
    "  airlock suite --cases my-programs --json > report.json";

struct suite_options {
    bool list, quick, json, cold;
    const char *filter, *language, *engine, *state, *cases, *html, *jobs, *pool, *slow;
    struct http_config http;
};

static int take_language(void *config, const struct opt *opt, char *value, struct err *err)
{
    static const char *const names[] = {"python", "javascript", NULL};

    struct suite_options *o = config;
    size_t i = 0;
    int r = opt_choice(opt, value, names, &i, err);

    o->language = r == 0 ? names[i] : NULL;
    return r;
}

static int take_engine(void *config, const struct opt *opt, char *value, struct err *err)
{
    static const char *const names[] = {"auto", "kvm", "tcg", NULL};

    struct suite_options *o = config;
    size_t i = 0;
    int r = opt_choice(opt, value, names, &i, err);

    o->engine = r == 0 ? names[i] : NULL;
    return r;
}

static const struct opt options_table[] = {
    OPT_VALUE("jobs", "N", struct suite_options, jobs,
              "machines at once; also -j N (default: the number of CPUs)"),
    OPT_VALUE("pool", "N", struct suite_options, pool,
              "keep N restored machines waiting for the next programs, and run each in one"),
    OPT_VALUE("filter", "RE", struct suite_options, filter,
              "only programs whose FAMILY/KIND.py matches this extended regular expression"),
    {.name = "language",
     .arg = "python|javascript",
     .take = take_language,
     .help = "only programs in this language"},
    OPT_FLAG("quick", struct suite_options, quick, "only the quick subset"),
    OPT_FLAG("list", struct suite_options, list,
             "name the programs and what they expect; run none"),
    OPT_VALUE("cases", "DIR", struct suite_options, cases,
              "take the programs of this folder instead"),
    OPT_FLAG("json", struct suite_options, json,
             "print one JSON object on stdout; the table goes to stderr"),
    OPT_VALUE("html", "FILE", struct suite_options, html, "write the report as one HTML page"),
    OPT_FLAG("cold-interpreter", struct suite_options, cold,
             "start each Python and Node.js anew (airlock run --cold-interpreter)"),
    {.name = "engine",
     .arg = "auto|kvm|tcg",
     .take = take_engine,
     .help = "what runs the machines (default: auto)"},
    OPT_VALUE(
        "slow", "N", struct suite_options, slow,
        "multiply wall and CPU limits by N: for a host that is slow itself, such as one that is\n"
        "emulated (default: 1, on engine tcg 5)"),
    OPT_VALUE("state", "DIR", struct suite_options, state,
              "where images and the guest kernel are kept"),
    OPT_VALUE(
        "url", "URL", struct suite_options, http.url,
        "run the programs at a daemon (airlock submit): http://HOST:PORT, https://HOST:PORT or\n"
        "unix:PATH; the token is $AIRLOCK_TOKEN or in --token-file"),
    OPT_VALUE("token-file", "FILE", struct suite_options, http.token_file,
              "with --url: read the token from FILE"),
    OPT_VALUE("cacert", "FILE", struct suite_options, http.cacert,
              "with --url: trust what the certificates in FILE signed"),
};

static const struct opt_cmd suite_cmd = {
    .name = "airlock suite",
    .usage = "[options]",
    .about = about,
    .epilog = epilog,
    .opts = options_table,
    .n_opts = ARRAY_LEN(options_table),
};

struct suite {
    const struct suite_options *options;
    struct suite_cases cases;
    struct suite_setup setup;
    struct suite_facts facts;
    struct store store; /* of the pool */
    struct pool *pool;
    FILE *table;
    size_t done, all;
};

static void suite_fini(struct suite *s)
{
    pool_free(s->pool);
    store_fini(&s->store);
    suite_cases_fini(&s->cases);
    suite_setup_fini(&s->setup);
}

#define COMMAND "suite"

static void on_bad(void *ctx, const struct err *err)
{
    (void)ctx;
    batch_say(COMMAND, err->msg);
}

static void on_end(void *ctx, const struct suite_case *c)
{
    struct suite *s = ctx;
    auto_buf struct buf line = BUF_INIT(16 * KIB);

    s->done++;
    if (suite_line(c, s->done, s->all, &line) == 0) {
        (void)fwrite(line.data, 1, line.len, s->table);
        (void)fflush(s->table);
    }
}

static int parse_jobs(const struct suite_options *o, unsigned int *ret, struct err *err)
{
    uint64_t v = 0;

    if (o->jobs == NULL) {
        *ret = batch_processors(SUITE_JOBS_MAX);
        return 0;
    }
    if (num_parse_u64(o->jobs, &v) < 0 || v == 0 || v > SUITE_JOBS_MAX) {
        return err_usage(err, "--jobs '%.32s': give a number from 1 to %u", o->jobs,
                         SUITE_JOBS_MAX);
    }
    *ret = (unsigned int)v;
    return 0;
}

static int parse_slow(struct suite *s, struct err *err)
{
    const char *text = s->options->slow;
    uint64_t v = strcmp(s->facts.isolation, "emulated") == 0 ? SUITE_SLOW_EMULATED : 1;

    if (text != NULL && (num_parse_u64(text, &v) < 0 || v == 0 || v > SUITE_SLOW_MAX)) {
        return err_usage(err, "--slow '%.32s': give a number from 1 to %u", text, SUITE_SLOW_MAX);
    }
    s->facts.slow = s->setup.slow = (unsigned int)v;
    return 0;
}

/*
 * What the limits are scaled for. The jobs choose by the same rule; a daemon is asked by the one
 * question that cannot be answered wrongly, a job.
 */
static int find_engine(struct suite *s, struct err *err)
{
    const struct suite_options *o = s->options;
    const struct engine *engine = NULL;
    int r = o->http.url != NULL ? suite_remote_engine(&o->http, o->engine, &s->facts, err)
                                : batch_engine(o->state, o->engine, &engine, err);

    if (r < 0) {
        return r;
    }
    if (engine != NULL) {
        s->facts.engine = engine->name;
        s->facts.isolation = engine->isolation;
    }
    r = parse_slow(s, err);
    if (r < 0) {
        return r;
    }
    s->setup.engine = s->facts.engine;
    s->setup.state = o->state;
    s->setup.cold = o->cold;
    s->setup.remote = o->http.url != NULL ? &o->http : NULL;
    return 0;
}

static int load(struct suite *s, struct err *err)
{
    const struct suite_options *o = s->options;
    bool python = o->language == NULL || strcmp(o->language, "python") == 0;
    bool javascript = o->language == NULL || strcmp(o->language, "javascript") == 0;
    struct suite_choice choice = {
        .filter = o->filter, .quick = o->quick, .python = python, .javascript = javascript};
    int r = suite_load(o->cases, on_bad, NULL, &s->cases, err);

    if (r == 0) {
        r = suite_select(&s->cases, &choice, err);
    }
    if (r == 0) {
        s->all = suite_count(&s->cases).selected;
    }
    if (r == 0 && s->all == 0) {
        r = err_usage(err, "no case is left after --filter, --language and --quick; see --list");
    }
    return r;
}

static int list(const struct suite *s)
{
    int failed = 0;

    for (size_t i = 0; i < s->cases.n; i++) {
        const struct suite_case *c = &s->cases.list[i];
        auto_buf struct buf line = BUF_INIT(16 * KIB);
        char expected[240];
        const char *fault = suite_pair_fault(&s->cases, c);

        if (!c->selected) {
            continue;
        }
        (void)suite_expectation(c, expected, sizeof(expected));
        if (str_escape(&line, c->path, strlen(c->path), false) == 0) {
            (void)printf("%-48s %-28s%s%s\n", (const char *)line.data, expected,
                         json_is_true(json_object_get(c->head, "quick")) ? " quick" : "",
                         json_object_get(c->head, "only") != NULL ? " only" : "");
        }
        if (fault != NULL) {
            (void)fprintf(stderr, "airlock suite: %s: %s\n", (const char *)line.data, fault);
            failed = 1;
        }
    }
    return failed;
}

/* A kind without its twin fails before anything is run. */
static int fail_unpaired(struct suite *s, struct err *err)
{
    for (size_t i = 0; i < s->cases.n; i++) {
        struct suite_case *c = &s->cases.list[i];
        const char *fault = c->selected ? suite_pair_fault(&s->cases, c) : NULL;
        int r = fault != NULL ? suite_settle(c, SUITE_FAILED, fault, err) : 0;

        if (r < 0) {
            return r;
        }
        if (fault != NULL) {
            on_end(s, c);
        }
    }
    return 0;
}

/* Built now, if they are missing, so that no case waits for it. */
static int ensure_images(const struct suite *s, struct err *err)
{
    bool wanted[2] = {false, false};

    if (s->options->http.url != NULL) {
        return 0; /* the daemon's images are its operator's */
    }
    for (size_t i = 0; i < s->cases.n; i++) {
        const struct suite_case *c = &s->cases.list[i];

        wanted[c->language == SPEC_JAVASCRIPT] |= c->selected;
    }
    return batch_images(COMMAND, s->options->state, wanted[0], wanted[1], err);
}

static int parse_pool(const struct suite_options *o, unsigned int *ret, struct err *err)
{
    uint64_t v = 0;

    if (o->pool == NULL) {
        return 0;
    }
    if (num_parse_u64(o->pool, &v) < 0 || v == 0 || v > POOL_MEMBERS_MAX) {
        return err_usage(err, "--pool '%.32s': give a number from 1 to %u", o->pool,
                         POOL_MEMBERS_MAX);
    }
    *ret = (unsigned int)v;
    return 0;
}

static int open_pool(struct suite *s, struct err *err)
{
    const struct pool_config config = {.store = &s->store, .members_max = s->facts.pool_size};
    int r = s->facts.pool_size > 0 ? store_open(s->options->state, &s->store, err) : 0;

    if (r == 0 && s->facts.pool_size > 0) {
        r = pool_new(&config, &s->pool, err);
        s->setup.pool = s->pool;
    }
    return r;
}

/* All machines that still wait are gone afterwards. */
static void close_pool(struct suite *s)
{
    struct pool_stats stats;

    if (s->pool != NULL) {
        pool_stats(s->pool, &stats);
        s->facts.pool_hits = stats.hits;
        s->facts.pool_misses = stats.misses;
        s->facts.pool_restored = stats.restored;
    }
    pool_free(s->pool);
    s->pool = NULL;
    s->setup.pool = NULL;
}

static int run(struct suite *s, struct err *err)
{
    struct suite_run run = {.cases = &s->cases,
                            .setup = &s->setup,
                            .jobs = s->facts.jobs,
                            .pool_size = s->facts.pool_size,
                            .on_end = on_end,
                            .ctx = s};
    uint64_t start = clock_mono_ns();
    int r = suite_setup_init(&s->setup, err);

    s->facts.started = time(NULL);
    if (s->facts.slow > 1) {
        (void)fprintf(s->table,
                      "engine %s: wall and CPU limits x %u; a clock that shall be reached + %llu s "
                      "(Python), + %llu s (JavaScript)\n",
                      s->facts.engine, s->facts.slow,
                      SUITE_START_PYTHON_NS * s->facts.slow / SUITE_SLOW_EMULATED / NS_PER_S,
                      SUITE_START_JAVASCRIPT_NS * s->facts.slow / SUITE_SLOW_EMULATED / NS_PER_S);
    }
    if (r == 0) {
        r = fail_unpaired(s, err);
    }
    if (r == 0) {
        r = open_pool(s, err);
    }
    if (r == 0) {
        r = suite_skip_needy(&run, err);
    }
    if (r == 0) {
        r = suite_run(&run, err);
    }
    close_pool(s);
    s->facts.ns = clock_mono_ns() - start;
    s->facts.interrupted = r < 0;
    return r;
}

static int tell(struct suite *s, struct err *err)
{
    auto_buf struct buf summary = BUF_INIT(MIB);
    auto_buf struct buf text = BUF_INIT(REPORT_MAX);
    json_t *report = suite_report(&s->cases, &s->facts);
    int r = report != NULL && suite_summary(&s->cases, &s->facts, &summary) == 0
                ? 0
                : err_set(err, ERR_HOST, ENOMEM, "out of memory for the report");

    if (r == 0) {
        (void)fwrite(summary.data, 1, summary.len, s->table);
        (void)fflush(s->table);
    }
    if (r == 0 && s->options->html != NULL) {
        r = report_page(s->options->html, suite_html, report, err);
    }
    if (r == 0 && s->options->json) {
        r = report_dump(report, &text) < 0
                ? err_set(err, ERR_HOST, ENOMEM, "out of memory for the report")
                : fd_write_full(STDOUT_FILENO, text.data, text.len, err);
    }
    if (r == 0 && ferror(s->table) != 0) {
        r = err_set(err, ERR_HOST, EIO, "the table could not be written");
    }
    json_decref(report);
    return r;
}

/* "-j N" and "-jN", as make has it: the table of options knows only long names. */
static void widen_jobs(int argc, char **argv)
{
    static char name[] = "--jobs";
    static char joined[40];

    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-j") == 0) {
            argv[i] = name;
        } else if (strncmp(argv[i], "-j", 2) == 0) {
            (void)snprintf(joined, sizeof(joined), "--jobs=%.30s", argv[i] + 2);
            argv[i] = joined;
        }
    }
}

int cmd_suite(int argc, char **argv)
{
    struct suite_options options = {0};
    __attribute__((cleanup(suite_fini))) struct suite s = {.options = &options,
                                                           .cases = SUITE_CASES_INIT,
                                                           .setup = SUITE_SETUP_INIT,
                                                           .store = STORE_INIT};
    struct opt_rest rest = {0};
    struct err err = ERR_INIT;
    struct err late = ERR_INIT;
    struct suite_count n = {0};
    int exit_code = 0;
    int r = 0;

    widen_jobs(argc, argv);
    if (!opt_start(&suite_cmd, argc, argv, &options, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 0) {
        return opt_mistake(&suite_cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    if (options.http.url != NULL && (options.pool != NULL || options.state != NULL)) {
        return opt_mistake(&suite_cmd, "--%s: a daemon has its own; leave it out beside --url",
                           options.pool != NULL ? "pool" : "state");
    }
    if (options.http.url == NULL &&
        (options.http.token_file != NULL || options.http.cacert != NULL)) {
        return opt_mistake(&suite_cmd, "--token-file and --cacert need --url");
    }
    s.table = options.json ? stderr : stdout;
    s.facts = (struct suite_facts){
        .cases = options.cases, .filter = options.filter, .quick = options.quick};
    r = parse_jobs(&options, &s.facts.jobs, &err);
    if (r == 0) {
        r = parse_pool(&options, &s.facts.pool_size, &err);
    }
    if (r == 0) {
        r = load(&s, &err);
    }
    if (r == 0 && options.list) {
        return list(&s);
    }
    if (r == 0) {
        r = ensure_images(&s, &err);
    }
    if (r == 0) {
        r = find_engine(&s, &err); /* a probe boots the kernel that came with the images */
    }
    if (r < 0) {
        return batch_exit_code(COMMAND, r, &err);
    }
    r = run(&s, &err);
    if (tell(&s, &late) < 0) {
        return batch_exit_code(COMMAND, -late.errnum, &late);
    }
    if (r < 0) {
        return batch_exit_code(COMMAND, r, &err);
    }
    n = suite_count(&s.cases);
    return n.failed == 0 && n.waiting == 0 && n.passed > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
