#include "cli/suite-job.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

#include "airlock/verdict.h"
#include "cli/batch.h"
#include "cli/run-options.h"
#include "cli/suite-judge.h"
#include "cli/suite-limits.h"
#include "job/outputs.h"
#include "job/result.h"
#include "job/verdict.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define STREAM_KEPT 8192u

int suite_setup_init(struct suite_setup *setup, struct err *err)
{
    return batch_directory("suite", 32, setup->dir, sizeof(setup->dir), &setup->dirfd, err);
}

void suite_setup_fini(struct suite_setup *setup)
{
    struct err ignored = ERR_INIT;

    if (setup->dirfd >= 0) { /* it holds what was interrupted */
        for (unsigned int n = 0; n < setup->numbers; n++) {
            char name[16];

            (void)snprintf(name, sizeof(name), "%u", n);
            (void)!fd_remove_tree(setup->dirfd, name, &ignored);
        }
    }
    if (setup->dir[0] != '\0') {
        (void)rmdir(setup->dir);
    }
    fd_close_p(&setup->dirfd);
    setup->dir[0] = '\0';
}

void suite_job_fini(struct suite_job *job)
{
    proc_fini(&job->proc);
    sup_fini(&job->sup);
    buf_fini(&job->text);
    fd_close_p(&job->out_fd);
    fd_close_p(&job->err_fd);
    *job = (struct suite_job)SUITE_JOB_INIT;
}

static int write_file(int dirfd, const char *name, const void *data, size_t len, struct err *err)
{
    auto_fd int fd = -1;
    int r = fd_open(dirfd, name, O_WRONLY | O_CREAT | O_EXCL, 0600, &fd, err);

    return r < 0 ? r : fd_write_full(fd, data, len, err);
}

static int open_capture(int dirfd, const char *name, int *ret, struct err *err)
{
    return fd_open(dirfd, name, O_RDWR | O_CREAT | O_EXCL, 0600, ret, err);
}

static const char *program_name(const struct suite_case *c)
{
    const char *suffix = strrchr(c->path, '.');

    return strcmp(suffix, ".py") == 0    ? "case.py"
           : strcmp(suffix, ".mjs") == 0 ? "case.mjs"
           : strcmp(suffix, ".cjs") == 0 ? "case.cjs"
                                         : "case.js";
}

/* A job's directory and its path. */
struct place {
    int fd;
    char path[320];
};

static int input_words(const struct suite_case *c, const struct place *at,
                       struct suite_words *words, struct err *err)
{
    json_t *inputs = json_object_get(c->head, "in");
    json_t *env = json_object_get(c->head, "env");
    const char *name = "";
    json_t *text = NULL;
    unsigned int n = 0;
    int r = 0;

    json_object_foreach(inputs, name, text)
    {
        char file[24];

        if (strchr(name, ':') != NULL) {
            return err_usage(err, "input '%.80s': a name with ':' can't be given to --in", name);
        }
        (void)snprintf(file, sizeof(file), "in-%u", n++);
        r = write_file(at->fd, file, json_string_value(text), json_string_length(text), err);
        if (r == 0) {
            r = suite_word(words, err, "--in=%s/%s:%s", at->path, file, name);
        }
        if (r < 0) {
            return r;
        }
    }
    json_object_foreach(env, name, text)
    {
        r = suite_word(words, err, "--env=%s=%s", name, json_string_value(text));
        if (r < 0) {
            return r;
        }
    }
    return 0;
}

static int stdin_words(const struct suite_case *c, const struct place *at,
                       struct suite_words *words, struct err *err)
{
    auto_free uint8_t *data = NULL;
    size_t len = 0;
    int r = suite_case_stdin(c, &data, &len, err);

    if (r < 0 || data == NULL) {
        return r;
    }
    r = write_file(at->fd, "stdin", data, len, err);
    return r < 0 ? r : suite_word(words, err, "--stdin=%s/stdin", at->path);
}

/* A header that speaks of outputs asks for them; the others see what a caller without --out sees. */
static bool wants_outputs(const struct suite_case *c)
{
    return json_object_get(c->head, "outputs") != NULL ||
           json_object_get(c->head, "dropped") != NULL ||
           json_object_get(c->head, "contract") != NULL || suite_expects(c, "output_overflow") ||
           suite_expects(c, "output_rejected");
}

/* `airlock run`, or the same through a daemon. The token stays in the environment, or its file. */
static int command_words(const struct suite_setup *setup, struct suite_words *words,
                         struct err *err)
{
    const struct http_config *remote = setup->remote;
    int r = suite_word(words, err, "/proc/self/exe");

    if (r == 0) {
        r = suite_word(words, err, remote != NULL ? "submit" : "run");
    }
    if (r == 0) {
        r = suite_word(words, err, "--json");
    }
    if (r == 0 && remote == NULL && setup->state != NULL) {
        r = suite_word(words, err, "--state=%s", setup->state);
    }
    if (r < 0 || remote == NULL) {
        return r;
    }
    r = suite_word(words, err, "--wait");
    if (r == 0) {
        r = suite_word(words, err, "--quiet"); /* stderr is why there is no result */
    }
    if (r == 0 && remote->url != NULL) {
        r = suite_word(words, err, "--url=%s", remote->url);
    }
    if (r == 0 && remote->token_file != NULL) {
        r = suite_word(words, err, "--token-file=%s", remote->token_file);
    }
    return r == 0 && remote->cacert != NULL ? suite_word(words, err, "--cacert=%s", remote->cacert)
                                            : r;
}

static int setup_words(const struct suite_setup *setup, const struct suite_case *c,
                       const struct place *at, struct suite_words *words, struct err *err)
{
    const char *contract = json_string_value(json_object_get(c->head, "contract"));
    int r = command_words(setup, words, err);

    if (r == 0 && wants_outputs(c)) {
        r = suite_word(words, err, "--out=%s/out", at->path);
    }
    if (r == 0 && setup->engine != NULL) {
        r = suite_word(words, err, "--engine=%s", setup->engine);
    }
    if (r == 0 && json_is_true(json_object_get(c->head, "root"))) {
        r = suite_word(words, err, "--root");
    }
    if (r == 0 && setup->cold) {
        r = suite_word(words, err, "--cold-interpreter");
    }
    if (r == 0 && contract != NULL) {
        r = suite_word(words, err, "--contract=%s", contract);
    }
    return r;
}

static int command_line(const struct suite_setup *setup, struct suite_case *c,
                        const struct place *at, struct suite_words *words, struct err *err)
{
    const json_t *args = json_object_get(c->head, "args");
    int r = setup_words(setup, c, at, words, err);

    json_decref(c->outcome.changes);
    c->outcome.changes = json_array();
    if (r == 0 && c->outcome.changes == NULL) {
        r = err_set(err, ERR_HOST, ENOMEM, "out of memory");
    }
    if (r == 0) {
        r = suite_limit_words(c, setup->slow, words, c->outcome.changes, err);
    }
    if (r == 0) {
        r = input_words(c, at, words, err);
    }
    if (r == 0) {
        r = stdin_words(c, at, words, err);
    }
    if (r == 0) {
        r = write_file(at->fd, program_name(c), c->code, c->code_len, err);
    }
    if (r == 0) {
        r = suite_word(words, err, "%s/%s", at->path, program_name(c));
    }
    for (size_t i = 0; i < suite_texts(args) && r == 0; i++) {
        r = suite_word(words, err, "%s", json_string_value(suite_text_at(args, i)));
    }
    return r;
}

/* As a process, as a user would. */
static int spawn(const struct suite_words *words, struct suite_job *job, struct err *err)
{
    const struct proc_fd fds[] = {{.fd = job->out_fd, .target = STDOUT_FILENO},
                                  {.fd = job->err_fd, .target = STDERR_FILENO}};
    const struct proc_spec spec = {.argv = (const char *const *)words->list,
                                   .envp = (const char *const *)environ,
                                   .fds = fds,
                                   .n_fds = ARRAY_LEN(fds),
                                   .die_with_parent = true};

    return proc_spawn(&spec, &job->proc, err);
}

/* The words from "run" on. False: they are no job, and `airlock run` says best what is wrong. */
static bool parse(const struct suite_words *words, struct run_options *ret)
{
    auto_suite_words struct suite_words copy = {.n = 0};
    char *argv[SUITE_WORDS_MAX + 1]; /* the parser moves its pointers about */
    struct err ignored = ERR_INIT;
    int exit_code = 0;

    for (size_t i = 1; i < words->n; i++) { /* the values of --env are wiped from the copy */
        if (suite_word(&copy, &ignored, "%s", words->list[i]) < 0) {
            return false;
        }
    }
    memcpy(argv, copy.list, sizeof(argv));
    return run_options_parse(ret, (int)copy.n, argv, &exit_code) && ret->fault.class == ERR_NONE &&
           spec_check(&ret->spec, &ignored) == 0 &&
           (ret->spec.out_dir == NULL || outputs_check_dir(ret->spec.out_dir, &ignored) == 0);
}

static int start(const struct suite_setup *setup, const struct suite_words *words,
                 struct suite_job *job, struct err *err)
{
    auto_run_options struct run_options options;
    bool hit = false;

    if (setup->pool == NULL) {
        return spawn(words, job, err);
    }
    run_options_init(&options);
    if (!parse(words, &options)) {
        return spawn(words, job, err);
    }
    job->text.max = RESULT_JSON_MAX;
    return pool_submit(setup->pool, &options.spec, false, &job->sup, &hit, err);
}

int suite_job_start(struct suite_setup *setup, struct suite_case *c, struct suite_job *ret,
                    struct err *err)
{
    auto_suite_words struct suite_words words = {.n = 0};
    auto_suite_job struct suite_job job = SUITE_JOB_INIT;
    auto_fd int dirfd = -1;
    struct place at = {.fd = -1};
    int r = 0;

    (void)snprintf(job.name, sizeof(job.name), "%u", setup->numbers++);
    (void)snprintf(at.path, sizeof(at.path), "%s/%s", setup->dir, job.name);
    if (mkdirat(setup->dirfd, job.name, 0700) < 0) {
        return err_sys(err, "make '%s'", at.path);
    }
    r = fd_open(setup->dirfd, job.name, O_RDONLY | O_DIRECTORY, 0, &dirfd, err);
    if (r < 0) {
        return r;
    }
    at.fd = dirfd;
    r = command_line(setup, c, &at, &words, err);
    if (r == 0) {
        r = open_capture(dirfd, "stdout", &job.out_fd, err);
    }
    if (r == 0) {
        r = open_capture(dirfd, "stderr", &job.err_fd, err);
    }
    if (r < 0) {
        return err_wrap(err, "%s", c->path);
    }
    job.start_ns = clock_mono_ns();
    job.give_up_ns = job.start_ns + suite_wall_ns(c, setup->slow) + SUITE_PATIENCE_NS;
    r = start(setup, &words, &job, err);
    if (r < 0) {
        return r;
    }
    job.c = c;
    c->outcome.state = SUITE_RUNNING;
    *ret = job;
    job = (struct suite_job)SUITE_JOB_INIT;
    return 0;
}

int suite_job_model(const struct suite_setup *setup, const struct suite_case *c, struct spec *ret,
                    struct err *err)
{
    const struct place nowhere = {.fd = -1, .path = "."};
    auto_suite_words struct suite_words words = {.n = 0};
    auto_run_options struct run_options options;
    json_t *changes = json_array();
    int r = setup_words(setup, c, &nowhere, &words, err);

    run_options_init(&options);
    if (r == 0) {
        r = suite_limit_words(c, setup->slow, &words, changes, err);
    }
    if (r == 0) {
        r = suite_word(&words, err, "%s", program_name(c));
    }
    json_decref(changes);
    if (r == 0) {
        (void)parse(&words, &options); /* what is no job has its defaults, and fits less */
        *ret = options.spec;
        spec_init(&options.spec);
    }
    return r;
}

int suite_job_fd(const struct suite_job *job)
{
    return job->sup.proc.pid > 0 ? job->sup.fd : job->proc.pidfd;
}

bool suite_job_hear(struct suite_job *job)
{
    struct sup_event ev = {0};
    struct err ignored = ERR_INIT;

    if (job->sup.proc.pid <= 0) {
        return true; /* its end is the one thing to hear */
    }
    if (sup_next(&job->sup, &ev, &ignored) <= 0) {
        return true; /* without a result */
    }
    job->done = ev.kind == SUP_RESULT;
    if (job->done) {
        (void)!buf_put(&job->text, ev.data,
                       ev.len); /* without it: no result, and so it is judged */
    }
    return job->done;
}

static void fts_close_p(FTS **fts)
{
    if (*fts != NULL) {
        (void)fts_close(*fts);
    }
}

/* What stands in --out must be what the result lists: so many files with so many bytes. */
static int check_exported(const char *dir, const json_t *result, struct buf *why)
{
    auto_free char *path = strdup(dir);
    char *const roots[] = {path, NULL};
    __attribute__((cleanup(fts_close_p))) FTS *fts =
        path != NULL ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL) : NULL;
    const json_t *list = json_object_get(result, "outputs");
    uint64_t bytes = 0;
    uint64_t listed = 0;
    size_t files = 0;
    size_t odd = 0;
    FTSENT *ent = NULL;

    while (fts != NULL && (ent = fts_read(fts)) != NULL) {
        bool is_dir = ent->fts_info == FTS_D || ent->fts_info == FTS_DP;
        bool missing = ent->fts_level == 0 && ent->fts_info == FTS_NS;

        if (ent->fts_info == FTS_F) {
            files++;
            bytes += (uint64_t)ent->fts_statp->st_size;
        } else if (!is_dir && !missing) {
            odd++;
        }
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        listed += (uint64_t)json_integer_value(json_object_get(json_array_get(list, i), "bytes"));
    }
    if (fts != NULL && odd == 0 && files == json_array_size(list) && bytes == listed) {
        return 0;
    }
    (void)!buf_printf(why,
                      "%s--out holds %zu files of %" PRIu64 " bytes and %zu that are no files, "
                      "the result lists %zu of %" PRIu64,
                      why->len > 0 ? "; " : "", files, bytes, odd, json_array_size(list), listed);
    return -1;
}

static json_t *read_result(struct suite_job *job, struct buf *why)
{
    struct buf text = BUF_INIT(RESULT_JSON_MAX);
    struct err err = ERR_INIT;
    json_error_t at;
    json_t *result = NULL;

    if (job->done) {
        text = job->text;
        job->text = (struct buf){0};
    } else if (lseek(job->out_fd, 0, SEEK_SET) < 0 ||
               fd_read_all(job->out_fd, "the result", &text, &err) < 0) {
        (void)!buf_printf(why, "the result can't be read: %s", err.msg);
        buf_fini(&text);
        return NULL;
    }
    result = text.len > 0 ? json_loadb((const char *)text.data, text.len,
                                       JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &at)
                          : NULL;
    buf_fini(&text);
    if (!json_is_object(result)) {
        json_decref(result);
        (void)!buf_printf(why, "airlock run gave no JSON result");
        return NULL;
    }
    return result;
}

/* The end of what airlock said itself: why there is no result. */
static void add_stderr(struct suite_job *job, struct buf *why)
{
    char tail[600];
    struct stat st;
    struct err ignored = ERR_INIT;
    size_t n = 0;
    off_t from = 0;

    if (fstat(job->err_fd, &st) < 0) {
        return;
    }
    from = st.st_size > (off_t)sizeof(tail) ? st.st_size - (off_t)sizeof(tail) : 0;
    if (fd_pread_full(job->err_fd, tail, sizeof(tail), (uint64_t)from, &n, &ignored) == 0 &&
        n > 0 && buf_printf(why, ": ") == 0) {
        (void)!str_escape(why, tail, n, false);
    }
}

static int settle(struct suite_job *job, enum suite_state state, const struct buf *why,
                  struct err *err)
{
    struct suite_outcome *o = &job->c->outcome;

    o->state = state;
    o->ns = clock_mono_ns() - job->start_ns;
    free(o->why);
    o->why = why->len > 0 ? strndup((const char *)why->data, why->len) : NULL;
    return why->len > 0 && o->why == NULL ? err_set(err, ERR_HOST, ENOMEM, "out of memory") : 0;
}

/* A judged result keeps the beginning of a stream, for the report: hundreds stay in memory. */
static void shrink(json_t *result, const char *stream)
{
    json_t *o = json_object_get(result, stream);
    const json_t *data = json_object_get(o, "data");
    const char *text = json_string_value(data);
    size_t n = STREAM_KEPT;

    if (json_string_length(data) <= n) {
        return;
    }
    while (n > 0 && ((unsigned char)text[n] & 0xc0) == 0x80) {
        n--; /* not amid a character */
    }
    (void)!json_object_set_new(o, "data", json_stringn(text, n));
}

/* Whether it did, and how; a job of the pool has no process, so its verdict is the exit code. */
static bool has_ended(struct suite_job *job, struct proc_end *ret)
{
    struct err ignored = ERR_INIT;

    if (job->sup.proc.pid <= 0) {
        return proc_wait(&job->proc, 0, ret, &ignored) == 0;
    }
    ret->code = -1;
    return job->done || clock_mono_ns() < job->give_up_ns;
}

static int judge(const struct suite_setup *setup, struct suite_job *job, const struct proc_end *end,
                 struct err *err)
{
    auto_buf struct buf why = BUF_INIT(SUITE_WHY_MAX);
    json_t *result = read_result(job, &why);
    const char *verdict = json_string_value(json_object_get(result, "verdict"));
    char out[320];
    bool good = false;

    if (verdict != NULL && strcmp(verdict, "capacity_rejected") == 0 &&
        !suite_expects(job->c, "capacity_rejected")) {
        json_decref(job->c->outcome.result);
        job->c->outcome.result = result;
        job->c->outcome.state = SUITE_WAITING;
        return 1;
    }
    if (result == NULL) {
        (void)!buf_printf(&why, " (it ended with %s %d)", end->signaled ? "signal" : "exit code",
                          end->code);
        add_stderr(job, &why);
        return settle(job, SUITE_FAILED, &why, err);
    }
    json_decref(job->c->outcome.result);
    job->c->outcome.result = result;
    good = suite_judge(job->c, result,
                       job->done       ? verdict_find(verdict)
                       : end->signaled ? -1
                                       : end->code,
                       &why);
    (void)snprintf(out, sizeof(out), "%s/%s/out", setup->dir, job->name);
    good = (!wants_outputs(job->c) || check_exported(out, result, &why) == 0) && good;
    shrink(result, "stdout");
    shrink(result, "stderr");
    return settle(job, good ? SUITE_PASSED : SUITE_FAILED, &why, err);
}

int suite_job_end(const struct suite_setup *setup, struct suite_job *job, struct err *err)
{
    auto_buf struct buf why = BUF_INIT(SUITE_WHY_MAX);
    struct proc_end end = {0};
    struct err ignored = ERR_INIT;
    int r = 0;
    int removed = 0;

    if (!has_ended(job, &end)) {
        proc_kill(&job->proc);
        proc_kill(&job->sup.proc);
        (void)!buf_printf(&why, "no answer within the wall limit and %llu s",
                          SUITE_PATIENCE_NS / NS_PER_S);
        r = settle(job, SUITE_FAILED, &why, err);
    } else {
        r = judge(setup, job, &end, err);
    }
    removed = fd_remove_tree(setup->dirfd, job->name, r < 0 ? &ignored : err);
    suite_job_fini(job);
    return r < 0 ? r : removed < 0 ? removed : r;
}
