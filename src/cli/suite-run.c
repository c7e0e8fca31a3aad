#include "cli/suite-run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

#include "cli/batch.h"
#include "cli/suite-pool.h"
#include "sys/clock.h"
#include "sys/fd.h"

struct state {
    const struct suite_run *run;
    struct suite_job jobs[SUITE_JOBS_MAX];
    size_t running;
    size_t last;         /* index of the case that ended last */
    uint64_t not_before; /* no room until then */
};

static void state_fini(struct state *s)
{
    for (size_t i = 0; i < SUITE_JOBS_MAX; i++) {
        if (s->jobs[i].c != NULL) {
            s->jobs[i].c->outcome.state = SUITE_WAITING;
        }
        suite_job_fini(&s->jobs[i]);
    }
}

static bool is_over(const struct suite_case *c)
{
    return c->outcome.state != SUITE_WAITING && c->outcome.state != SUITE_RUNNING;
}

/* The follower of what just ended, or else the first that need not wait for another. */
static struct suite_case *next_case(const struct state *s)
{
    const struct suite_cases *cases = s->run->cases;
    struct suite_case *first = NULL;

    for (size_t i = 0; i < cases->n; i++) {
        struct suite_case *c = &cases->list[i];

        if (!c->selected || c->outcome.state != SUITE_WAITING ||
            (c->after != SIZE_MAX && !is_over(&cases->list[c->after]))) {
            continue;
        }
        if (c->after != SIZE_MAX && c->after == s->last) {
            return c;
        }
        first = first != NULL ? first : c;
    }
    return first;
}

/*
 * The pool makes machines for the cases that come next; while there is no room, only for the first,
 * so that what waits for others keeps nothing from it.
 */
static int plan(const struct state *s, struct err *err)
{
    const struct suite_cases *cases = s->run->cases;
    const struct suite_case *next[POOL_MEMBERS_MAX];
    const struct suite_case *first = next_case(s);
    bool crowded = clock_mono_ns() < s->not_before;
    size_t n = 0;

    if (first != NULL && !crowded) {
        next[n++] = first;
    }
    for (size_t i = 0; i < cases->n && n < s->run->pool_size && !crowded; i++) {
        const struct suite_case *c = &cases->list[i];

        if (c->selected && c->outcome.state == SUITE_WAITING && c != first) {
            next[n++] = c;
        }
    }
    return suite_pool_plan(s->run, next, n, err);
}

static int start_some(struct state *s, struct err *err)
{
    for (unsigned int i = 0; i < s->run->jobs && clock_mono_ns() >= s->not_before; i++) {
        struct suite_case *c = s->jobs[i].c == NULL ? next_case(s) : NULL;
        int r = c != NULL && s->run->pool_size > 0 ? suite_pool_ask(s->run, c, err) : 0;

        if (r > 0) {
            return 0; /* its machine is being restored */
        }
        if (r < 0) {
            return r;
        }
        r = c != NULL ? suite_job_start(s->run->setup, c, &s->jobs[i], err) : 0;

        if (r < 0) {
            return r;
        }
        s->running += c != NULL;
    }
    return 0;
}

int suite_settle(struct suite_case *c, enum suite_state state, const char *why, struct err *err)
{
    c->outcome.state = state;
    free(c->outcome.why);
    c->outcome.why = strdup(why);
    return c->outcome.why != NULL ? 0 : err_set(err, ERR_HOST, ENOMEM, "out of memory");
}

static int end_one(struct state *s, struct suite_job *job, struct err *err)
{
    struct suite_case *c = job->c;
    int r = suite_job_end(s->run->setup, job, err);

    s->running--;
    if (r == 1 && c->outcome.capacity_waits < SUITE_CAPACITY_TRIES) {
        c->outcome.capacity_waits++;
        s->not_before = clock_mono_ns() + SUITE_CAPACITY_WAIT_NS;
        return 0;
    }
    if (r == 1) {
        const char *message = json_string_value(json_object_get(c->outcome.result, "message"));
        char why[512];

        (void)snprintf(why, sizeof(why), "no room for it, tried %u times: %.300s",
                       SUITE_CAPACITY_TRIES + 1, message != NULL ? message : "");
        r = suite_settle(c, SUITE_FAILED, why, err);
    }
    if (r == 0) {
        s->last = (size_t)(c - s->run->cases->list);
        s->run->on_end(s->run->ctx, c);
    }
    return r;
}

/* In ms, until the first deadline; -1 = none. */
static int patience(const struct state *s, bool more)
{
    uint64_t now = clock_mono_ns();
    uint64_t until = more && s->not_before > now ? s->not_before : UINT64_MAX;

    for (unsigned int i = 0; i < s->run->jobs; i++) {
        if (s->jobs[i].c != NULL && s->jobs[i].give_up_ns < until) {
            until = s->jobs[i].give_up_ns;
        }
    }
    if (until == UINT64_MAX) {
        return -1;
    }
    return until <= now ? 0 : (int)((until - now) / NS_PER_MS) + 1;
}

static int wait_some(struct state *s, int signals, bool more, struct err *err)
{
    struct pollfd fds[SUITE_JOBS_MAX + 2];
    struct pool *pool = s->run->setup->pool;
    unsigned int n = s->run->jobs;

    for (unsigned int i = 0; i < n; i++) {
        fds[i] = (struct pollfd){.fd = s->jobs[i].c != NULL ? suite_job_fd(&s->jobs[i]) : -1,
                                 .events = POLLIN};
    }
    fds[n] = (struct pollfd){.fd = signals, .events = POLLIN};
    fds[n + 1] = (struct pollfd){.fd = pool != NULL ? pool_fd(pool) : -1, .events = POLLIN};
    if (poll(fds, n + 2, patience(s, more)) < 0 && errno != EINTR) {
        return err_sys(err, "poll");
    }
    if (fds[n].revents != 0) {
        return err_set(err, ERR_USAGE, EINTR, "interrupted");
    }
    if (pool != NULL && fds[n + 1].revents != 0) {
        pool_tick(pool);
    }
    for (unsigned int i = 0; i < n; i++) {
        struct suite_job *job = &s->jobs[i];
        bool ended = job->c != NULL && ((fds[i].revents != 0 && suite_job_hear(job)) ||
                                        clock_mono_ns() >= job->give_up_ns);
        int r = ended ? end_one(s, job, err) : 0;

        if (r < 0) {
            return r;
        }
    }
    return 0;
}

int suite_run(const struct suite_run *run, struct err *err)
{
    __attribute__((cleanup(state_fini))) struct state s = {.run = run, .last = SIZE_MAX};
    auto_fd int signals = -1;
    sigset_t old;
    int r = batch_signals(&old, &signals, err);

    for (size_t i = 0; i < SUITE_JOBS_MAX; i++) {
        s.jobs[i] = (struct suite_job)SUITE_JOB_INIT;
    }
    while (r == 0) {
        bool more = false;

        r = run->pool_size > 0 ? plan(&s, err) : 0;
        if (r == 0) {
            r = start_some(&s, err);
        }
        more = next_case(&s) != NULL;
        if (r < 0 || (s.running == 0 && !more)) {
            break;
        }
        r = wait_some(&s, signals, more, err);
    }
    if (r < 0) {
        return r; /* the signals stay blocked: what follows is the end */
    }
    r = sigprocmask(SIG_SETMASK, &old, NULL); /* NOLINT(concurrency-mt-unsafe): one thread */
    return r < 0 ? err_sys(err, "unblock signals") : 0;
}

static const char ask_python[] = "# airlock-case: {\"expect\": \"success\"}\n"
                                 "import importlib.util, shutil, sys\n"
                                 "for name in sys.argv[1:]:\n"
                                 "    try:\n"
                                 "        found = importlib.util.find_spec(name) is not None\n"
                                 "    except (ImportError, ValueError):\n"
                                 "        found = False\n"
                                 "    if found or shutil.which(name):\n"
                                 "        print(name)\n";
static const char ask_javascript[] =
    "// airlock-case: {\"expect\": \"success\"}\n"
    "const fs = require('fs');\n"
    "const dirs = (process.env.PATH || '').split(':');\n"
    "for (const name of process.argv.slice(2)) {\n"
    "    let found = dirs.some((dir) => fs.existsSync(`${dir}/${name}`));\n"
    "    try { require.resolve(name); found = true; } catch (e) { /* not a module */ }\n"
    "    if (found) console.log(name);\n"
    "}\n";

/* The names that cases of a language need, each once. */
static json_t *needs_of(const struct suite_cases *cases, enum spec_language language)
{
    json_t *all = json_array();

    for (size_t i = 0; i < cases->n; i++) {
        const struct suite_case *c = &cases->list[i];
        const json_t *needs = json_object_get(c->head, "needs");

        for (size_t k = 0; c->selected && c->language == language && k < suite_texts(needs); k++) {
            const char *name = json_string_value(suite_text_at(needs, k));

            if (!suite_texts_have(all, name)) {
                (void)!json_array_append_new(all, json_string(name));
            }
        }
    }
    return all;
}

/* A line of the answer. */
static bool has_line(const char *text, const char *name)
{
    size_t len = strlen(name);

    for (const char *at = text; (at = strstr(at, name)) != NULL; at += len) {
        if ((at == text || at[-1] == '\n') && at[len] == '\n') {
            return true;
        }
    }
    return false;
}

static int skip_by_answer(const struct suite_run *run, const struct suite_case *ask,
                          struct err *err)
{
    const char *have =
        json_string_value(json_object_get(json_object_get(ask->outcome.result, "stdout"), "data"));
    bool asked = ask->outcome.state == SUITE_PASSED && have != NULL;

    for (size_t i = 0; i < run->cases->n; i++) {
        struct suite_case *c = &run->cases->list[i];
        const json_t *needs = json_object_get(c->head, "needs");
        const char *missing = NULL;
        char why[SUITE_WHY_MAX];
        int r = 0;

        for (size_t k = 0; k < suite_texts(needs) && missing == NULL; k++) {
            const char *name = json_string_value(suite_text_at(needs, k));

            missing = asked && has_line(have, name) ? NULL : name;
        }
        if (!c->selected || c->language != ask->language || missing == NULL) {
            continue;
        }
        if (asked) {
            (void)snprintf(why, sizeof(why), "the image lacks '%.100s'", missing);
        } else {
            (void)snprintf(why, sizeof(why), "the image could not be asked for '%.100s': %.600s",
                           missing, ask->outcome.why != NULL ? ask->outcome.why : "no answer");
        }
        r = suite_settle(c, asked ? SUITE_SKIPPED : SUITE_FAILED, why, err);
        if (r < 0) {
            return r;
        }
        run->on_end(run->ctx, c);
    }
    return 0;
}

static void nothing(void *ctx, const struct suite_case *c)
{
    (void)ctx;
    (void)c;
}

static int ask(const struct suite_run *run, enum spec_language language, json_t *take_needs,
               struct err *err)
{
    const char *code = language == SPEC_PYTHON ? ask_python : ask_javascript;
    struct suite_case c = {.after = SIZE_MAX};
    struct suite_cases one = {.list = &c, .n = 1};
    struct suite_run asking = *run;
    int r = suite_case_parse(language == SPEC_PYTHON ? "needs.py" : "needs.js", code, strlen(code),
                             &c, err);

    if (r < 0) {
        json_decref(take_needs);
        return r;
    }
    c.selected = true;
    asking.cases = &one;
    asking.on_end = nothing;
    if (json_object_set_new(c.head, "args", take_needs) < 0) {
        r = err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (r == 0) {
        r = suite_run(&asking, err);
    }
    if (r == 0) {
        r = skip_by_answer(run, &c, err);
    }
    suite_case_fini(&c);
    return r;
}

int suite_skip_needy(const struct suite_run *run, struct err *err)
{
    static const enum spec_language languages[] = {SPEC_PYTHON, SPEC_JAVASCRIPT};

    int r = 0;

    for (size_t i = 0; i < ARRAY_LEN(languages) && r == 0; i++) {
        json_t *needs = needs_of(run->cases, languages[i]);

        if (json_array_size(needs) == 0) {
            json_decref(needs);
            continue;
        }
        r = ask(run, languages[i], needs, err);
    }
    return r;
}
