/*
 * A small owner of a pool for tests/e2e/cases_pool.py: one JSON array per line on stdin is an order,
 * one line on stdout is its answer.
 *
 *   pool-driver STATE MEMBERS [AGE_MS]
 *
 *   ["plan", N, ARG...]     N machines for `airlock run ARG...`
 *   ["wait", SECONDS]       until they all wait
 *   ["tick", MS]            serve the pool for so long
 *   ["job", ARG...]         submit `airlock run ARG...`; answers {"hit": ..., "result": {...}, "took_ns": ...}
 *   ["begin", ARG...]       submit it and do not wait for its result; then
 *   ["end"]                 wait for the result of the last begun
 *   ["members"]             pids of the supervisors this process has
 *   ["stats"]
 *   ["free"]                ends the pool and waits for it
 */
#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "base/num.h"

#include "cli/run-options.h"
#include "sup/pool.h"
#include "sys/clock.h"

#define WORDS_MAX 64

struct driver {
    struct store store;
    struct pool *pool;
    struct sup begun;
    bool begun_hit;
};

static json_t *failure(const struct err *err)
{
    return json_pack("{s:s}", "error", err->msg);
}

static json_t *mistake(const char *what)
{
    return json_pack("{s:s}", "error", what);
}

/* The words of an order from the n-th on, as the command line of `airlock run`. */
static bool parse_job(json_t *order, size_t from, struct run_options *options, char **words)
{
    char *argv[WORDS_MAX]; /* the parser moves its pointers about */
    size_t n = 0;
    int exit_code = 0;

    words[n++] = strdup("run");
    for (size_t i = from; i < json_array_size(order) && n < WORDS_MAX - 1; i++) {
        words[n++] = strdup(json_string_value(json_array_get(order, i)));
    }
    words[n] = NULL;
    memcpy(argv, words, sizeof(argv));
    return run_options_parse(options, (int)n, argv, &exit_code) && options->fault.class == ERR_NONE;
}

static void free_words(char **words)
{
    for (size_t i = 0; words[i] != NULL; i++) {
        free(words[i]);
    }
}

static json_t *take_result(struct sup *sup, bool hit)
{
    for (;;) {
        struct sup_event ev = {0};
        struct err err = ERR_INIT;
        int r = sup_next(sup, &ev, &err);

        if (r < 0) {
            return failure(&err);
        }
        if (r == 0) {
            return mistake("no result");
        }
        if (ev.kind == SUP_RESULT) {
            json_t *result =
                json_loadb((const char *)ev.data, ev.len, JSON_REJECT_DUPLICATES, NULL);

            return json_pack("{s:b, s:o}", "hit", hit, "result", result);
        }
    }
}

static json_t *submit(struct driver *d, json_t *order, struct sup *ret, bool *ret_hit)
{
    auto_run_options struct run_options options;
    char *words[WORDS_MAX] = {NULL};
    struct err err = ERR_INIT;
    json_t *answer = NULL;

    run_options_init(&options);
    if (!parse_job(order, 1, &options, words) || spec_check(&options.spec, &err) < 0) {
        answer = mistake("this is no job");
    } else if (pool_submit(d->pool, &options.spec, false, ret, ret_hit, &err) < 0) {
        answer = failure(&err);
    }
    free_words(words);
    return answer;
}

static json_t *do_job(struct driver *d, json_t *order)
{
    auto_sup struct sup sup = SUP_INIT;
    bool hit = false;
    uint64_t begun_ns = clock_mono_ns();
    json_t *answer = submit(d, order, &sup, &hit);

    if (answer == NULL) {
        answer = take_result(&sup, hit);
        (void)json_object_set_new(answer, "took_ns",
                                  json_integer((json_int_t)(clock_mono_ns() - begun_ns)));
    }
    return answer;
}

static json_t *do_begin(struct driver *d, json_t *order)
{
    json_t *answer = submit(d, order, &d->begun, &d->begun_hit);

    return answer != NULL ? answer : json_pack("{s:b}", "hit", d->begun_hit);
}

static json_t *do_end(struct driver *d)
{
    json_t *answer = take_result(&d->begun, d->begun_hit);

    sup_fini(&d->begun);
    d->begun = (struct sup)SUP_INIT;
    return answer;
}

static json_t *do_plan(struct driver *d, json_t *order)
{
    const struct spec *specs[POOL_MEMBERS_MAX];
    auto_run_options struct run_options options;
    char *words[WORDS_MAX] = {NULL};
    size_t n = (size_t)json_integer_value(json_array_get(order, 1));
    struct err err = ERR_INIT;
    json_t *answer = NULL;

    run_options_init(&options);
    if (n > POOL_MEMBERS_MAX || !parse_job(order, 2, &options, words)) {
        answer = mistake("this is no plan");
    }
    for (size_t i = 0; answer == NULL && i < n; i++) {
        specs[i] = &options.spec;
    }
    if (answer == NULL && pool_plan(d->pool, specs, n, &err) < 0) {
        answer = failure(&err);
    }
    free_words(words);
    return answer != NULL ? answer : json_object();
}

static json_t *do_wait(struct driver *d, json_t *order)
{
    uint64_t ns = (uint64_t)json_integer_value(json_array_get(order, 1)) * NS_PER_S;
    struct err err = ERR_INIT;

    return pool_wait(d->pool, ns, &err) < 0 ? failure(&err) : json_object();
}

static json_t *do_tick(struct driver *d, json_t *order)
{
    uint64_t until =
        clock_mono_ns() + (uint64_t)json_integer_value(json_array_get(order, 1)) * NS_PER_MS;

    for (uint64_t now = clock_mono_ns(); now < until; now = clock_mono_ns()) {
        struct pollfd p = {.fd = pool_fd(d->pool), .events = POLLIN};

        if (poll(&p, 1, (int)((until - now) / NS_PER_MS) + 1) > 0) {
            pool_tick(d->pool);
        }
    }
    return json_object();
}

static json_t *do_members(void)
{
    char path[64];
    char text[4096] = "";
    json_t *pids = json_array();
    FILE *f = NULL;
    char *rest = NULL;

    (void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
    f = fopen(path, "re");
    if (f != NULL) {
        text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
        (void)fclose(f);
    }
    for (char *word = strtok_r(text, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        uint64_t pid = 0;

        if (num_parse_u64(word, &pid) == 0) {
            (void)json_array_append_new(pids, json_integer((json_int_t)pid));
        }
    }
    return pids;
}

static json_t *do_stats(const struct driver *d)
{
    struct pool_stats s;

    pool_stats(d->pool, &s);
    return json_pack("{s:i, s:i, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s}", "planned",
                     (int)s.planned, "waiting", (int)s.waiting, "preparing", (int)s.preparing,
                     "hits", (json_int_t)s.hits, "misses", (json_int_t)s.misses, "restored",
                     (json_int_t)s.restored, "failed", (json_int_t)s.failed, "died",
                     (json_int_t)s.died, "retired", (json_int_t)s.retired, "restore_ns",
                     (json_int_t)s.restore_ns, "why", s.why);
}

static json_t *obey(struct driver *d, json_t *order)
{
    const char *word = json_string_value(json_array_get(order, 0));

    if (word == NULL) {
        return mistake("an order is an array that begins with a word");
    }
    if (strcmp(word, "plan") == 0) {
        return do_plan(d, order);
    }
    if (strcmp(word, "wait") == 0) {
        return do_wait(d, order);
    }
    if (strcmp(word, "tick") == 0) {
        return do_tick(d, order);
    }
    if (strcmp(word, "job") == 0) {
        return do_job(d, order);
    }
    if (strcmp(word, "begin") == 0) {
        return do_begin(d, order);
    }
    if (strcmp(word, "end") == 0) {
        return do_end(d);
    }
    if (strcmp(word, "members") == 0) {
        return do_members();
    }
    if (strcmp(word, "stats") == 0) {
        return do_stats(d);
    }
    if (strcmp(word, "free") == 0) {
        pool_free(d->pool);
        d->pool = NULL;
        return json_object();
    }
    return mistake("this order is not known");
}

static void serve(struct driver *d)
{
    char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, stdin) > 0) {
        json_t *order = json_loads(line, 0, NULL);
        json_t *answer = obey(d, order);

        (void)json_dumpf(answer, stdout, JSON_COMPACT);
        (void)fputc('\n', stdout);
        (void)fflush(stdout);
        json_decref(answer);
        json_decref(order);
    }
    free(line);
}

int main(int argc, char **argv)
{
    struct driver d = {.store = STORE_INIT, .begun = SUP_INIT};
    struct pool_config config = {.store = &d.store};
    uint64_t members = 0;
    uint64_t age_ms = 0;
    struct err err = ERR_INIT;

    if (argc < 3 || num_parse_u64(argv[2], &members) < 0 ||
        (argc > 3 && num_parse_u64(argv[3], &age_ms) < 0)) {
        (void)fprintf(stderr, "usage: pool-driver STATE MEMBERS [AGE_MS]\n");
        return 2;
    }
    config.members_max = (unsigned int)members;
    config.age_max_ns = age_ms * NS_PER_MS;
    if (store_open(argv[1], &d.store, &err) < 0 || pool_new(&config, &d.pool, &err) < 0) {
        (void)fprintf(stderr, "pool-driver: %s\n", err.msg);
        return 1;
    }
    serve(&d);
    sup_fini(&d.begun);
    pool_free(d.pool);
    store_fini(&d.store);
    return 0;
}
