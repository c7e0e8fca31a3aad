#include "cli/cmd-bench.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/num.h"

#include "cli/batch.h"
#include "cli/bench-measure.h"
#include "cli/bench-pool.h"
#include "cli/opt.h"
#include "cli/report.h"
#include "image/store.h"
#include "sup/engine.h"
#include "sup/pool.h"
#include "sys/clock.h"
#include "sys/fd.h"

static const char about[] =
    "Measures jobs on this host, and where their time goes: hello and transforms of 1 MB of JSON\n"
    "and CSV in Python and Node.js, each in a machine cloned for it and in one from a pool of\n"
    "clones; then throughput, and how many clones can wait at once.";

static const char epilog[] =
    "All runs of one round come in turn, so that what else the host does meets all of them alike.\n"
    "--from-empty builds kernel, images and templates in a directory of its own, from Debian's\n"
    "archive, and drops the host's page cache before each step where it may; minutes.\n"
    "\n"
    "Exit codes: 0 every run succeeded, 1 one did not, 2 wrong command line, 7 the measurement\n"
    "itself could not go on, 9 interrupted.\n"
    "\n"
    "Examples:\n"
    "  airlock bench\n"
    "  airlock bench --rounds 50 --html report.html\n"
    "  airlock bench --rounds 1 --density 200 --seconds 0\n"
    "  airlock bench --work hello --language python --json > report.json";

#define ROUNDS_DEFAULT  10u
#define POOL_DEFAULT    2u
#define DENSITY_DEFAULT 8u
#define SECONDS_DEFAULT 10u
#define SECONDS_MAX     3600u

struct bench_options {
    bool json, from_empty;
    const char *rounds, *pool, *density, *seconds, *work, *language, *engine, *state, *html,
        *programs;
    uint64_t n_rounds, n_pool, n_density, n_seconds;
};

static const char *const work_names[] = {"hello", "json", "csv", NULL};
static const char *const language_names[] = {"python", "javascript", NULL};
static const char *const engine_names[] = {"auto", "kvm", "tcg", NULL};

/* One of a list (opt->data), stored as a string of that list. */
static int take_choice(void *config, const struct opt *opt, char *value, struct err *err)
{
    const char *const *names = opt->data;
    size_t i = 0;
    int r = opt_choice(opt, value, names, &i, err);

    if (r == 0) {
        *(const char **)(void *)((char *)config + opt->offset) = names[i];
    }
    return r;
}

static const struct opt options_table[] = {
    OPT_VALUE("rounds", "N", struct bench_options, rounds, "runs of each kind (default: 10)"),
    {.name = "work",
     .arg = "hello|json|csv",
     .take = take_choice,
     .data = work_names,
     .offset = offsetof(struct bench_options, work),
     .help = "only this work"},
    {.name = "language",
     .arg = "python|javascript",
     .take = take_choice,
     .data = language_names,
     .offset = offsetof(struct bench_options, language),
     .help = "only this language"},
    OPT_VALUE("pool", "N", struct bench_options, pool,
              "clones that wait in the pool (default: 2); 0: no pooled runs"),
    OPT_VALUE("density", "N", struct bench_options, density,
              "clones that shall wait at once (default: 8); 0: not measured"),
    OPT_VALUE("seconds", "N", struct bench_options, seconds,
              "how long throughput is measured, each way (default: 10); 0: not at all"),
    OPT_FLAG("from-empty", struct bench_options, from_empty,
             "also build everything from an empty state directory"),
    OPT_FLAG("json", struct bench_options, json,
             "print one JSON object on stdout; the table goes to stderr"),
    OPT_VALUE("html", "FILE", struct bench_options, html, "write the report as one HTML page"),
    OPT_VALUE("programs", "DIR", struct bench_options, programs,
              "write the programs and their inputs there; run nothing"),
    {.name = "engine",
     .arg = "auto|kvm|tcg",
     .take = take_choice,
     .data = engine_names,
     .offset = offsetof(struct bench_options, engine),
     .help = "what runs the machines (default: auto)"},
    OPT_VALUE("state", "DIR", struct bench_options, state,
              "where images and the guest kernel are kept"),
};

static const struct opt_cmd bench_cmd = {
    .name = "airlock bench",
    .usage = "[options]",
    .about = about,
    .epilog = epilog,
    .opts = options_table,
    .n_opts = ARRAY_LEN(options_table),
};

#define COMMAND "bench"

static void say(const char *text)
{
    batch_say(COMMAND, text);
}

static int parse_number(const char *name, const char *text, uint64_t min, uint64_t max,
                        uint64_t *number, struct err *err)
{
    uint64_t v = 0;

    if (text == NULL) {
        return 0;
    }
    if (num_parse_u64(text, &v) < 0 || v < min || v > max) {
        return err_usage(err, "--%s '%.32s': give a number from %llu to %llu", name, text,
                         (unsigned long long)min, (unsigned long long)max);
    }
    *number = v;
    return 0;
}

static int parse_numbers(struct bench_options *o, struct err *err)
{
    int r = parse_number("rounds", o->rounds, 1, BENCH_ROUNDS_MAX, &o->n_rounds, err);

    r = r < 0 ? r : parse_number("pool", o->pool, 0, POOL_MEMBERS_MAX, &o->n_pool, err);
    r = r < 0 ? r : parse_number("density", o->density, 0, BENCH_DENSITY_MAX, &o->n_density, err);
    return r < 0 ? r : parse_number("seconds", o->seconds, 0, SECONDS_MAX, &o->n_seconds, err);
}

static int write_programs(const char *dir, struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0, &fd, err);

    return r < 0 ? r : bench_write_all(fd, err);
}

static int find_engine(struct bench *b, const struct bench_options *o, struct err *err)
{
    const struct engine *engine = NULL;
    int r = batch_engine(o->state, o->engine, &engine, err);

    if (r < 0) {
        return r;
    }
    b->facts.engine = engine->name;
    b->facts.isolation = engine->isolation;
    b->setup.engine = engine->name;
    return 0;
}

static bool is_wanted(const char *choice, const char *name)
{
    return choice == NULL || strcmp(choice, name) == 0;
}

static int choose_rows(struct bench *b, const struct bench_options *o, struct err *err)
{
    static const enum spec_language languages[] = {SPEC_PYTHON, SPEC_JAVASCRIPT};

    int r = 0;

    b->facts.rounds = o->n_rounds;
    for (enum bench_work work = 0; work < BENCH_WORKS; work++) {
        for (size_t i = 0; i < ARRAY_LEN(languages) && r == 0; i++) {
            const struct bench_kind kind = {work, languages[i]};

            if (!is_wanted(o->work, bench_work_name(work)) ||
                !is_wanted(o->language, bench_language_name(languages[i]))) {
                continue;
            }
            r = bench_add_row(b, kind, BENCH_BY_CLONE, err);
            if (r == 0 && o->n_pool > 0) {
                r = bench_add_row(b, kind, BENCH_BY_POOL, err);
            }
        }
    }
    return r;
}

/* Built now, if they are missing, so that no run waits for it. */
static int ensure_images(const struct bench *b, struct err *err)
{
    bool wanted[2] = {false, false};

    for (size_t i = 0; i < b->facts.n_rows; i++) {
        wanted[b->facts.rows[i].kind.language == SPEC_JAVASCRIPT] = true;
    }
    return batch_images(COMMAND, b->setup.state, wanted[0], wanted[1], err);
}

static double load_now(void)
{
    double load = 0;

    return getloadavg(&load, 1) == 1 ? load : 0;
}

static int rounds(struct bench *b, const struct bench_options *o, struct err *err)
{
    int r = 0;

    say("warming up: one run of each kind");
    r = bench_warm_up(b, err);
    for (size_t n = 0; n < o->n_rounds && r == 0; n++) {
        char text[64];

        (void)snprintf(text, sizeof(text), "round %zu of %zu", n + 1, (size_t)o->n_rounds);
        say(text);
        r = bench_clones(b, err);
        if (r == 0 && o->n_pool > 0) {
            r = bench_pooled(b, (unsigned int)o->n_pool, err);
        }
    }
    return r;
}

static int rates(struct bench *b, const struct bench_options *o, struct err *err)
{
    unsigned int processors = batch_processors(BENCH_AT_ONCE_MAX);
    uint64_t ns = o->n_seconds * NS_PER_S;
    int r = 0;

    if (ns == 0) {
        return 0;
    }
    say("throughput");
    r = bench_clone_rate(b, processors, ns, err);
    if (r == 0 && o->n_pool > 0) {
        r = bench_pool_rate(b, processors, (unsigned int)o->n_pool, ns, err);
    }
    return r;
}

static int from_empty(struct bench *b, const struct bench_options *o, struct err *err)
{
    int r = 0;

    if (!o->from_empty) {
        return 0;
    }
    if (is_wanted(o->language, "python")) {
        say("from an empty state: Python");
        r = bench_from_empty(b, SPEC_PYTHON, err);
    }
    if (r == 0 && is_wanted(o->language, "javascript")) {
        say("from an empty state: JavaScript");
        r = bench_from_empty(b, SPEC_JAVASCRIPT, err);
    }
    return r;
}

static int measure(struct bench *b, const struct bench_options *o, struct err *err)
{
    uint64_t start = clock_mono_ns();
    int r = batch_signals(NULL, &b->signals, err);

    b->facts.started = time(NULL);
    b->facts.load_before = load_now();
    r = r < 0 ? r : bench_setup_init(&b->setup, err);
    r = r < 0 ? r : rounds(b, o, err);
    r = r < 0 ? r : rates(b, o, err);
    if (r == 0 && o->n_density > 0) {
        say("density");
        r = bench_measure_density(b, o->n_density, err);
    }
    r = r < 0 ? r : from_empty(b, o, err);
    b->facts.load_after = load_now();
    b->facts.ns = clock_mono_ns() - start;
    b->facts.interrupted = r < 0;
    return r;
}

static int tell(const struct bench *b, const struct bench_options *o, bool *ret_holds,
                struct err *err)
{
    auto_buf struct buf text = BUF_INIT(REPORT_MAX);
    auto_buf struct buf table = BUF_INIT(MIB);
    json_t *report = bench_report(&b->facts);
    int r = report != NULL && bench_table(report, &table) == 0 && report_dump(report, &text) == 0
                ? 0
                : err_set(err, ERR_HOST, ENOMEM, "out of memory for the report");

    if (r == 0) {
        *ret_holds = bench_holds(report);
        r = fd_write_full(o->json ? STDERR_FILENO : STDOUT_FILENO, table.data, table.len, err);
    }
    if (r == 0 && o->html != NULL) {
        r = report_page(o->html, bench_html, report, err);
    }
    if (r == 0 && o->json) {
        r = fd_write_full(STDOUT_FILENO, text.data, text.len, err);
    }
    json_decref(report);
    return r;
}

static int run(struct bench *b, const struct bench_options *o)
{
    struct err err = ERR_INIT;
    struct err late = ERR_INIT;
    bool holds = false;
    int r = choose_rows(b, o, &err);

    b->setup.state = o->state;
    r = r < 0 ? r : ensure_images(b, &err);
    r = r < 0 ? r
              : find_engine(b, o, &err); /* a probe boots the kernel that came with the images */
    if (r < 0) {
        return batch_exit_code(COMMAND, r, &err);
    }
    r = measure(b, o, &err);
    if (tell(b, o, &holds, &late) < 0) {
        return batch_exit_code(COMMAND, -late.errnum, &late);
    }
    if (r < 0) {
        return batch_exit_code(COMMAND, r, &err);
    }
    return holds ? EXIT_SUCCESS : EXIT_FAILURE;
}

int cmd_bench(int argc, char **argv)
{
    struct bench_options options = {.n_rounds = ROUNDS_DEFAULT,
                                    .n_pool = POOL_DEFAULT,
                                    .n_density = DENSITY_DEFAULT,
                                    .n_seconds = SECONDS_DEFAULT};
    static struct bench_density density; /* large, and once in a process */
    auto_bench struct bench b = BENCH_INIT;
    struct opt_rest rest = {0};
    struct err err = ERR_INIT;
    int exit_code = 0;

    if (!opt_start(&bench_cmd, argc, argv, &options, &rest, &exit_code)) {
        return exit_code;
    }
    if (rest.n > 0) {
        return opt_mistake(&bench_cmd, "unexpected argument '%.64s'", rest.operands[0]);
    }
    b.facts.density = &density;
    b.density = &density;
    if (parse_numbers(&options, &err) < 0) {
        return batch_exit_code(COMMAND, -EINVAL, &err);
    }
    if (options.programs != NULL) {
        return write_programs(options.programs, &err) < 0
                   ? batch_exit_code(COMMAND, -err.errnum, &err)
                   : EXIT_SUCCESS;
    }
    return run(&b, &options);
}
