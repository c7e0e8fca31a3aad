#include "cli/bench-run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/str.h"

#include "cli/batch.h"
#include "job/result.h"
#include "sys/clock.h"
#include "sys/fd.h"

#define PATIENCE_NS (600 * NS_PER_S)

const char *bench_part_name(enum bench_part part)
{
    static const char *const names[BENCH_PARTS] = {"image",   "stage",   "template", "clone",
                                                   "ready",   "start",   "run",      "collect",
                                                   "inspect", "destroy", "around"};

    return names[part];
}

void bench_parts(const json_t *result, struct bench_sample *sample)
{
    static const struct {
        const char *key;
        enum bench_part part; /* that ends with it */
    } ends[] = {
        {"admitted_ns", BENCH_IMAGE},    {"staged_ns", BENCH_STAGE},
        {"template_ns", BENCH_TEMPLATE}, {"executed_ns", BENCH_CLONE},
        {"spawned_ns", BENCH_READY},     {"ready_ns", BENCH_READY},
        {"started_ns", BENCH_START},     {"exited_ns", BENCH_RUN},
        {"collected_ns", BENCH_COLLECT}, {"killed_ns", BENCH_DESTROY},
        {"inspected_ns", BENCH_INSPECT}, {"exported_ns", BENCH_INSPECT},
        {"cleaned_ns", BENCH_DESTROY},
    };

    const json_t *phases = json_object_get(result, "phases");
    const json_t *machine = json_object_get(result, "machine");
    const char *interpreter = json_string_value(json_object_get(machine, "interpreter"));
    uint64_t last = 0;

    for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
        json_int_t v = json_integer_value(json_object_get(phases, ends[i].key));
        uint64_t at = v > 0 ? (uint64_t)v : 0;

        if (at > last) {
            sample->part_ns[ends[i].part] += at - last;
            last = at;
        }
    }
    sample->part_ns[BENCH_AROUND] = sample->wall_ns > last ? sample->wall_ns - last : 0;
    sample->template_built = json_is_true(json_object_get(machine, "template_built"));
    sample->warm = interpreter != NULL && strcmp(interpreter, "warm") == 0;
    sample->template_ns = sample->part_ns[BENCH_TEMPLATE];
}

bool bench_is_good(const json_t *result, const struct buf *line, struct buf *why)
{
    const char *verdict = json_string_value(json_object_get(result, "verdict"));
    const char *message = json_string_value(json_object_get(result, "message"));
    const json_t *out = json_object_get(json_object_get(result, "stdout"), "data");
    const json_t *cleanup = json_object_get(result, "cleanup");
    int r = 0;

    if (verdict == NULL) {
        r = buf_printf(why, "no result");
    } else if (strcmp(verdict, "success") != 0) {
        r = buf_printf(why, "%.40s: ", verdict);
        r = r < 0 || message == NULL ? r : str_escape(why, message, strlen(message), false);
    } else if (json_string_length(out) != line->len ||
               memcmp(json_string_value(out), line->data, line->len) != 0) {
        r = buf_printf(why, "the program printed something else than it must");
    } else if (!json_is_true(json_object_get(cleanup, "verified"))) {
        r = buf_printf(why, "the cleanup is not verified");
    } else {
        return true;
    }
    (void)r; /* cut or not: it is false either way */
    return false;
}

uint64_t bench_children_cpu_ns(void)
{
    struct rusage ru = {0};

    (void)getrusage(RUSAGE_CHILDREN, &ru);
    return ((uint64_t)ru.ru_utime.tv_sec + (uint64_t)ru.ru_stime.tv_sec) * NS_PER_S +
           ((uint64_t)ru.ru_utime.tv_usec + (uint64_t)ru.ru_stime.tv_usec) * 1000;
}

int bench_setup_init(struct bench_setup *setup, struct err *err)
{
    int r = batch_directory("bench", 64, setup->dir, sizeof(setup->dir), &setup->dirfd, err);

    if (r == 0) {
        r = bench_write_all(setup->dirfd, err);
    }
    for (enum bench_work work = 0; work < BENCH_WORKS && r == 0; work++) {
        auto_buf struct buf input = BUF_INIT(2 * MIB);

        if (bench_input(work, &input, &setup->lines[work]) < 0) {
            r = err_set(err, ERR_HOST, ENOMEM, "out of memory for the input");
        }
    }
    return r;
}

void bench_setup_fini(struct bench_setup *setup)
{
    struct err ignored = ERR_INIT;
    char *name = setup->dir[0] != '\0' ? strrchr(setup->dir, '/') : NULL;

    fd_close_p(&setup->dirfd);
    if (name != NULL) {
        auto_fd int parent = -1;

        *name = '\0';
        if (fd_open(AT_FDCWD, setup->dir[0] != '\0' ? setup->dir : "/", O_RDONLY | O_DIRECTORY, 0,
                    &parent, &ignored) == 0) {
            (void)!fd_remove_tree(parent, name + 1, &ignored);
        }
    }
    setup->dir[0] = '\0';
    for (size_t i = 0; i < BENCH_WORKS; i++) {
        buf_fini(&setup->lines[i]);
    }
}

void bench_job_fini(struct bench_job *job)
{
    proc_fini(&job->proc);
    fd_close_p(&job->out_fd);
}

/* Each job has an empty directory for its outputs, as a caller's would be. */
static int empty_place(const struct bench_setup *setup, struct bench_kind kind, unsigned int place,
                       struct err *err)
{
    char name[16];
    int r = 0;

    if (bench_input_name(kind.work) == NULL) {
        return 0;
    }
    (void)snprintf(name, sizeof(name), "out%u", place);
    r = fd_remove_tree(setup->dirfd, name, err);
    if (r == 0 && mkdirat(setup->dirfd, name, 0700) < 0) {
        r = err_sys(err, "make '%s/%s'", setup->dir, name);
    }
    return r;
}

int bench_words(const struct bench_setup *setup, struct bench_kind kind, unsigned int place,
                struct suite_words *words, struct err *err)
{
    const char *input = bench_input_name(kind.work);
    int r = empty_place(setup, kind, place, err);

    r = r < 0 ? r : suite_word(words, err, "/proc/self/exe");
    r = r < 0 ? r : suite_word(words, err, "run");
    r = r < 0 ? r : suite_word(words, err, "--json");
    r = r < 0 ? r : suite_word(words, err, "--engine=%s", setup->engine);
    r = r < 0 ? r : suite_word(words, err, "--wall=120s");
    r = r < 0 ? r : suite_word(words, err, "--cpu=120s");
    if (r == 0 && setup->state != NULL) {
        r = suite_word(words, err, "--state=%s", setup->state);
    }
    if (r == 0 && input != NULL) {
        r = suite_word(words, err, "--in=%s/%s", setup->dir, input);
        r = r < 0 ? r : suite_word(words, err, "--out=%s/out%u", setup->dir, place);
    }
    r = r < 0 ? r
              : suite_word(words, err, "%s/%s", setup->dir,
                           bench_program_name(kind.work, kind.language));
    if (r == 0 && input != NULL) {
        r = suite_word(words, err, "/in/%s", input);
        r = r < 0 ? r : suite_word(words, err, "/out/result");
    }
    return r;
}

int bench_job_start(const struct bench_setup *setup, struct bench_kind kind, struct bench_job *job,
                    struct err *err)
{
    auto_suite_words struct suite_words words = {.n = 0};
    struct proc_spec spec = {.envp = (const char *const *)environ, .die_with_parent = true};
    struct proc_fd fds[1] = {0};
    int r = bench_words(setup, kind, job->place, &words, err);
    r = r < 0 ? r : fd_open_tmp(setup->dirfd, &job->out_fd, err);
    if (r < 0) {
        return r;
    }
    fds[0] = (struct proc_fd){.fd = job->out_fd, .target = STDOUT_FILENO};
    spec.fds = fds;
    spec.n_fds = ARRAY_LEN(fds);
    spec.argv = (const char *const *)words.list;
    job->start_ns = clock_mono_ns();
    return proc_spawn(&spec, &job->proc, err);
}

static json_t *read_result(int fd)
{
    auto_buf struct buf text = BUF_INIT(RESULT_JSON_MAX);
    struct err ignored = ERR_INIT;

    if (lseek(fd, 0, SEEK_SET) < 0 || fd_read_all(fd, "the result", &text, &ignored) < 0 ||
        text.len == 0) {
        return NULL;
    }
    return json_loadb((const char *)text.data, text.len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
                      NULL);
}

int bench_job_end(const struct bench_setup *setup, struct bench_kind kind, struct bench_job *job,
                  struct bench_sample *ret, struct buf *why, struct err *err)
{
    uint64_t cpu_before = bench_children_cpu_ns();
    struct proc_end end = {0};
    json_t *result = NULL;
    bool good = false;
    int r = proc_wait(&job->proc, PATIENCE_NS, &end, err);

    if (r < 0) {
        return r;
    }
    *ret = (struct bench_sample){.wall_ns = clock_mono_ns() - job->start_ns,
                                 .cpu_ns = bench_children_cpu_ns() - cpu_before};
    result = read_result(job->out_fd);
    good = bench_is_good(result, &setup->lines[kind.work], why);
    bench_parts(result, ret);
    json_decref(result);
    bench_job_fini(job);
    return good ? 0 : 1;
}
